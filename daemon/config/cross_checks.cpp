#include "daemon/config/cross_checks.h"

#include <fmt/format.h>

#include <string>
#include <tuple>
#include <variant>

#include "daemon/config/crm_checks.h"
#include "daemon/config/source_checks.h"
#include "daemon/config/sso_checks.h"
#include "daemon/content/logo.h"
#include "platform/clock.h"
#include "platform/quoted_text.h"
#include "platform/text.h"
#include "schema/sql/dsn_check.h"
#include "sync/api_key.h"

namespace giftsync::daemon::config {
namespace {

std::string chosen_word(ParsedConfig& parsed, const std::string& path) {
  const auto& choice = std::get<Choice>(find_settings_key(path)->rule);
  return choice.values[choice.chosen(parsed.settings)];
}

void check_key(ParsedConfig& parsed, const SettingsKey& key) {
  const OnlyWith& with = key.details.only_with;
  if (!with.key.empty()) {
    if (parsed.is_faulty(with.key)) return;
    const std::string chosen = chosen_word(parsed, with.key);
    if (chosen != with.value) {
      if (!parsed.has(key.path)) return;
      parsed.refuse(key.path, fmt::format("a key that {}: {} leaves without effect", with.key, chosen),
                    fmt::format("only with {}: {}", with.key, with.value),
                    fmt::format("remove it, or set {}: {}", with.key, with.value));
      return;
    }
  }
  if (!key.details.is_required || parsed.has(key.path) || parsed.is_faulty(key.path)) return;
  parsed.refuse(key.path, "nothing, and it is required", allowed_by(key.rule),
                fmt::format("add {} to section {}", name_in_section(key.path), section_of(key.path)));
}

void check_listeners(ParsedConfig& parsed) {
  const ServerSettings& server = parsed.settings.server;
  if (server.admin_listen.empty() || server.admin_listen != server.listen || server.listen.ends_with(":0"))
    return;
  parsed.refuse(
      "server.admin_listen", platform::in_quotes(server.admin_listen) + ", the same as server.listen",
      "another port or address", "change it, or remove the key to serve everything on server.listen");
}

/// A trusted address may say who calls: with all addresses, limits per address and logged addresses are the
/// caller's choice.
void warn_of_trusted_world(ParsedConfig& parsed) {
  const std::string key = "server.trusted_proxies";
  for (const std::string& block : parsed.settings.server.trusted_proxies) {
    if (!block.ends_with("/0")) continue;
    parsed.warnings.push_back(
        {parsed.line_of(key), key,
         platform::in_quotes(block) +
             " trusts every caller, who then chooses the address that limits and the log see; name the "
             "proxy's address"});
  }
}

/// Links and keys in clear text through networks of others.
void warn_of_plaintext_urls(ParsedConfig& parsed) {
  const ServerSettings& server = parsed.settings.server;
  for (const auto& [key, url, what] :
       {std::tuple{"server.base_url", &server.base_url, "gift links and API keys"},
        std::tuple{"server.admin_url", &server.admin_url, "API keys and secrets"}}) {
    if (!url->starts_with("http:") || !is_public_host(host_of_url(*url))) continue;
    parsed.warnings.push_back({parsed.line_of(key), key,
                               platform::in_quotes(*url) + " is public and without TLS, so " + what +
                                   " are sent unencrypted; use https:// and a TLS proxy"});
  }
}

/// A session's cookie would be sent unencrypted (CON-9).
void check_console(ParsedConfig& parsed) {
  const std::string& url = parsed.settings.server.admin_url;
  if (!parsed.settings.console.enabled || parsed.is_faulty("console.enabled") ||
      parsed.is_faulty("server.admin_url") || url.empty() || is_secure_admin_url(url))
    return;
  parsed.refuse(
      "console.enabled", fmt::format("true, while server.admin_url is {}", platform::in_quotes(url)),
      "true only with an https:// server.admin_url, or one of this host",
      "put a TLS proxy in front and make server.admin_url its https:// URL, or remove console.enabled");
}

/// A database in the settings: the store's or an external CRM's.
struct DatabaseSection {
  std::string section;
  StoreBackend backend;
  std::string& connection;
};

void check_sqlite(ParsedConfig& parsed, const DatabaseSection& database,
                  const std::filesystem::path& folder) {
  std::string& connection = database.connection;
  const std::string key = database.section + ".connection";
  // Not shown: a PostgreSQL connection may contain a password.
  const bool is_postgresql = is_connection_uri(connection) || connection.find('=') != std::string::npos;
  if (is_postgresql || connection.starts_with(':') || connection.starts_with("file:")) {
    parsed.refuse(
        key, is_postgresql ? "a connection string" : platform::in_quotes(connection),
        "with " + database.section + ".backend sqlite the path of a file, without \"file:\" and options",
        "write a path such as giftsync.db, or set " + database.section + ".backend: postgresql");
    return;
  }
  connection = (folder / connection).lexically_normal().string();
  // The driver treats a double quote as the end of the path.
  if (connection.find('"') != std::string::npos) {
    parsed.refuse(key, platform::in_quotes(connection),
                  "a path without double quotes, its folder's name included",
                  "rename the file or its folder");
  }
}

void check_postgresql(ParsedConfig& parsed, const DatabaseSection& database) {
  const std::string key = database.section + ".connection";
  const std::string password = database.section + ".password";
  if (const auto why = schema::sql::postgresql_dsn_error(database.connection)) {
    // The text is not shown: a word of it may be a password.
    parsed.refuse(key, "a text that libpq cannot read: " + *why,
                  "with " + database.section + ".backend postgresql a connection string or URI",
                  "write it as in \"host=/run/postgresql dbname=giftsync\", values with blanks in ''");
  } else if (is_connection_uri(database.connection) && parsed.has(password)) {
    parsed.refuse(key, "a URI beside " + password,
                  "with " + password + " the form \"host=... dbname=... user=...\"",
                  "write the connection in that form");
  } else if (has_password(database.connection) && parsed.has(password)) {
    parsed.refuse(key, "a password in it beside " + password, "one password", "remove the one in " + key);
  } else if (has_password(database.connection)) {
    parsed.warnings.push_back(
        {parsed.line_of(key), key,
         "the connection contains the password, and listings may show it; move it to " + password});
  }
}

void check_database(ParsedConfig& parsed, const DatabaseSection& database,
                    const std::filesystem::path& folder) {
  const std::string key = database.section + ".connection";
  const bool is_known = parsed.has(key) && !parsed.is_faulty(key);
  if (!is_known || parsed.is_faulty(database.section + ".backend")) return;
  if (database.backend == StoreBackend::sqlite) {
    check_sqlite(parsed, database, folder);
  } else {
    check_postgresql(parsed, database);
  }
}

/// Checked here because a wrong token would otherwise be refused only when a gift is sent.
void check_organization_token(ParsedConfig& parsed) {
  const std::string key = "requests.organization_token";
  if (parsed.is_faulty(key)) return;
  if (!parsed.has(key)) {
    if (parsed.settings.requests.enabled)
      parsed.warnings.push_back(
          {parsed.line_of("requests.enabled"), "requests.enabled",
           "no request record is sent without requests.organization_token; make one with "
           "giftsyncctl organization create"});
    return;
  }
  if (sync::is_organization_token(platform::trimmed(parsed.settings.requests.organization_token.reveal())))
    return;
  parsed.refuse(key, "a text that is not an organization token", "got_live_ and 38 letters and digits",
                "copy it again, whole, or make one: giftsyncctl organization create, or rotate NAME");
}

/// A login needs both keys.
void check_relay_login(ParsedConfig& parsed) {
  const bool is_smtp = parsed.settings.email.transport == MailTransportKind::smtp;
  if (!is_smtp || parsed.is_faulty("email.transport") || parsed.is_faulty("email.smtp")) return;
  const std::string username = "email.smtp.username";
  const std::string password = "email.smtp.password";
  if (parsed.has(username) == parsed.has(password)) return;
  const std::string& present = parsed.has(username) ? username : password;
  const std::string& missing = parsed.has(username) ? password : username;
  parsed.faults.push_back({parsed.lines.at(present), missing, "nothing beside " + present, "both or neither",
                           "add " + missing + ", or remove " + present});
}

/// The pages would show a broken picture.
void check_logo(ParsedConfig& parsed) {
  const std::string key = "pages.logo";
  if (!parsed.has(key) || parsed.is_faulty(key)) return;
  const auto logo = content::read_logo(parsed.settings.pages.logo);
  if (!logo) {
    parsed.refuse(key, platform::in_quotes(parsed.settings.pages.logo) + ", " + logo.error(),
                  allowed_by(find_settings_key(key)->rule), "name another file");
  }
}

}  // namespace

void cross_check_element(ParsedConfig& one, const std::string& list_path) {
  for (const SettingsKey& key : settings_keys()) {
    if (const SettingsList* list = enclosing_list(key.path); list && list->path == list_path)
      check_key(one, key);
  }
  if (list_path == "sources") check_source(one);
  if (list_path == "sso.connections") check_connection_keys(one, platform::system_now());
}

void cross_check(ParsedConfig& parsed, const std::filesystem::path& folder) {
  for (const SettingsKey& key : settings_keys()) {
    if (enclosing_list(key.path) == nullptr) check_key(parsed, key);
  }
  check_listeners(parsed);
  warn_of_trusted_world(parsed);
  warn_of_plaintext_urls(parsed);
  check_database(parsed, {"store", parsed.settings.store.backend, parsed.settings.store.connection}, folder);
  check_database(parsed, {"crm", parsed.settings.crm.backend, parsed.settings.crm.connection}, folder);
  check_crm_keys(parsed);
  check_relay_login(parsed);
  check_logo(parsed);
  check_sso(parsed);
  check_organization_token(parsed);
  check_console(parsed);
  RequestSettings& requests = parsed.settings.requests;
  if (requests.api_endpoint.empty()) requests.api_endpoint = parsed.settings.server.base_url;
}

}  // namespace giftsync::daemon::config
