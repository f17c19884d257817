#include "daemon/settings/whole_settings.h"

#include <fmt/format.h>

#include <string>
#include <variant>

#include "daemon/clock.h"
#include "daemon/crypto/api_key.h"
#include "daemon/pages/logo.h"
#include "daemon/settings/source_rules.h"
#include "daemon/settings/sso_rules.h"
#include "schema/connection_fault.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

/// True when the key's own value or a section around it was refused.
bool is_faulty(const GivenSettings& given, std::string path) {
  if (given.faulty.contains("")) return true;
  while (!given.faulty.contains(path)) {
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) return false;
    path.resize(dot);
  }
  return true;
}

/// The line of the innermost section around the key that the file has, else 1.
int line_for_missing(const GivenSettings& given, std::string path) {
  for (std::size_t dot = path.rfind('.'); dot != std::string::npos; dot = path.rfind('.')) {
    path.resize(dot);
    if (const auto found = given.lines.find(path); found != given.lines.end()) return found->second;
  }
  return 1;
}

std::string chosen_word(GivenSettings& given, const std::string& path) {
  const auto& choice = std::get<Choice>(find_settings_key(path)->rule);
  return choice.words[choice.chosen(given.settings)];
}

void check_key(GivenSettings& given, const SettingsKey& key) {
  const OnlyWith& with = key.only_with;
  if (!with.key.empty()) {
    if (is_faulty(given, with.key)) return;
    const std::string chosen = chosen_word(given, with.key);
    if (chosen != with.word) {
      if (!given.has(key.path)) return;
      given.faults.push_back({given.lines.at(key.path), key.path,
                              fmt::format("a key that {}: {} leaves without effect", with.key, chosen),
                              fmt::format("only with {}: {}", with.key, with.word),
                              fmt::format("remove it, or set {}: {}", with.key, with.word)});
      return;
    }
  }
  if (!key.is_required || given.has(key.path) || is_faulty(given, key.path)) return;
  const std::size_t dot = key.path.rfind('.');
  given.faults.push_back(
      {line_for_missing(given, key.path), key.path, "nothing", allowed_by(key.rule),
       fmt::format("add {} to section {}", key.path.substr(dot + 1), key.path.substr(0, dot))});
}

void check_listeners(GivenSettings& given) {
  const ServerSettings& server = given.settings.server;
  if (server.admin_listen.empty() || server.admin_listen != server.listen || server.listen.ends_with(":0"))
    return;
  given.faults.push_back({given.lines.at("server.admin_listen"), "server.admin_listen",
                          in_quotes(server.admin_listen) + ", the same as server.listen",
                          "another port or address",
                          "change it, or remove the key to serve everything on server.listen"});
}

/// A database that the settings name: the store's or a foreign CRM's.
struct NamedDatabase {
  std::string section;
  StoreBackend backend;
  std::string& connection;
};

void check_sqlite(GivenSettings& given, const NamedDatabase& database, const std::filesystem::path& folder) {
  std::string& connection = database.connection;
  const std::string key = database.section + ".connection";
  // Not shown: a PostgreSQL connection may carry a password.
  const bool is_postgresql = is_connection_uri(connection) || connection.find('=') != std::string::npos;
  if (is_postgresql || connection.starts_with(':') || connection.starts_with("file:")) {
    given.faults.push_back(
        {given.lines.at(key), key, is_postgresql ? "a connection string" : in_quotes(connection),
         "with " + database.section + ".backend sqlite the path of a file, without \"file:\" and options",
         "write a path such as giftsync.db, or set " + database.section + ".backend: postgresql"});
    return;
  }
  connection = (folder / connection).lexically_normal().string();
  // The driver takes it for the end of the path.
  if (connection.find('"') != std::string::npos) {
    given.faults.push_back({given.lines.at(key), key, in_quotes(connection),
                            "a path without double quotes, its folder's name included",
                            "rename the file or its folder"});
  }
}

void check_postgresql(GivenSettings& given, const NamedDatabase& database) {
  const std::string key = database.section + ".connection";
  const std::string password = database.section + ".password";
  const int line = given.lines.at(key);
  if (const auto why = schema::postgresql_connection_fault(database.connection)) {
    // Neither the text nor libpq's words for it are shown when it has a password.
    const bool is_odd = std::any_of(why->begin(), why->end(), [](char c) { return c >= 0 && c < ' '; });
    const bool is_secret = is_odd || database.connection.find("pass") != std::string::npos ||
                           database.connection.find('@') != std::string::npos;
    given.faults.push_back(
        {line, key,
         is_secret ? "a text that libpq cannot read"
                   : in_quotes(database.connection) + ", of which libpq says: " + *why,
         "with " + database.section + ".backend postgresql a connection string or URI",
         "write it as in \"host=/run/postgresql dbname=giftsync\", values with blanks in ''"});
  } else if (is_connection_uri(database.connection) && given.has(password)) {
    given.faults.push_back({line, key, "a URI beside " + password,
                            "with " + password + " the form \"host=... dbname=... user=...\"",
                            "write the connection in that form"});
  } else if (names_password(database.connection) && given.has(password)) {
    given.faults.push_back(
        {line, key, "a password in it beside " + password, "one password", "remove the one in " + key});
  } else if (names_password(database.connection)) {
    given.warnings.push_back(
        {line, key,
         "the password stands in the connection itself, where listings may show it; move it to " + password});
  }
}

void check_database(GivenSettings& given, const NamedDatabase& database,
                    const std::filesystem::path& folder) {
  const std::string key = database.section + ".connection";
  const bool is_known = given.has(key) && !is_faulty(given, key);
  if (!is_known || is_faulty(given, database.section + ".backend")) return;
  if (database.backend == StoreBackend::sqlite) {
    check_sqlite(given, database, folder);
  } else {
    check_postgresql(given, database);
  }
}

/// What tells of somebody else's CRM has no effect on our own.
void check_foreign_crm(GivenSettings& given) {
  if (given.has("crm.connection")) return;
  for (const char* key :
       {"crm.backend", "crm.password", "crm.schema", "crm.id_column", "crm.tables", "crm.columns"}) {
    if (!given.has(key)) continue;
    given.faults.push_back({given.lines.at(key), key,
                            "a key that a missing crm.connection leaves without effect",
                            "only with crm.connection", "remove it, or add crm.connection"});
  }
}

/// Request records are tables of ours with triggers; nothing could be sent from somebody else's CRM.
void check_requests(GivenSettings& given) {
  const std::string key = "requests.enabled";
  if (!given.settings.requests.enabled || !given.has("crm.connection")) return;
  given.faults.push_back(
      {given.lines.at(key), key, "true beside crm.connection",
       "false with a CRM that someone else owns: request records exist in the managed CRM only",
       "remove it, or remove crm.connection and what belongs to it"});
}

/// A text that no giftsyncctl printed would be refused with each gift only.
void check_organization_token(GivenSettings& given) {
  const std::string key = "requests.organization_token";
  if (!given.has(key) || is_faulty(given, key)) return;
  if (is_organization_token(schema::trimmed(given.settings.requests.organization_token.reveal()))) return;
  given.faults.push_back(
      {given.lines.at(key), key, "a text that is no organization token",
       "got_live_ and 38 letters and digits",
       "copy it again, whole, or make one: giftsyncctl organization create, or rotate NAME"});
}

/// A login has two halves.
void check_relay_login(GivenSettings& given) {
  const bool is_smtp = given.settings.email.transport == MailTransportKind::smtp;
  if (!is_smtp || is_faulty(given, "email.transport") || is_faulty(given, "email.smtp")) return;
  const std::string username = "email.smtp.username";
  const std::string password = "email.smtp.password";
  if (given.has(username) == given.has(password)) return;
  const std::string& present = given.has(username) ? username : password;
  const std::string& missing = given.has(username) ? password : username;
  given.faults.push_back({given.lines.at(present), missing, "nothing beside " + present, "both or neither",
                          "add " + missing + ", or remove " + present});
}

/// Whoever sees the page would see a broken picture.
void check_logo(GivenSettings& given) {
  const std::string key = "pages.logo";
  if (!given.has(key) || is_faulty(given, key)) return;
  const auto logo = read_logo(given.settings.pages.logo);
  if (const auto* fault = std::get_if<std::string>(&logo)) {
    given.faults.push_back({given.lines.at(key), key, in_quotes(given.settings.pages.logo) + ", " + *fault,
                            allowed_by(find_settings_key(key)->rule), "name another file"});
  }
}

}  // namespace

void check_element(GivenSettings& one, const std::string& list_path) {
  for (const SettingsKey& key : settings_keys()) {
    if (const SettingsList* list = list_around(key.path); list && list->path == list_path)
      check_key(one, key);
  }
  if (list_path == "sources") check_source(one);
  if (list_path == "sso.connections") check_connection_keys(one, system_now());
}

void check_together(GivenSettings& given, const std::filesystem::path& folder) {
  for (const SettingsKey& key : settings_keys()) {
    if (list_around(key.path) == nullptr) check_key(given, key);
  }
  check_listeners(given);
  check_database(given, {"store", given.settings.store.backend, given.settings.store.connection}, folder);
  check_database(given, {"crm", given.settings.crm.backend, given.settings.crm.connection}, folder);
  check_foreign_crm(given);
  check_requests(given);
  check_relay_login(given);
  check_logo(given);
  check_sso(given);
  check_organization_token(given);
  RequestSettings& requests = given.settings.requests;
  if (requests.api_endpoint.empty()) requests.api_endpoint = given.settings.server.base_url;
}

}  // namespace giftsync::daemon
