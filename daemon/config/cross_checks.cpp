#include "daemon/config/cross_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "daemon/config/connection_urls.h"
#include "daemon/config/source_checks.h"
#include "daemon/content/branding.h"
#include "platform/clock.h"
#include "platform/keys.h"
#include "platform/text.h"
#include "platform/time.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"
#include "schema/ids.h"
#include "schema/sql/dsn.h"
#include "sync/access/credential.h"

namespace giftsync::config {
namespace {

// Rules between the keys of `crm` and of what depends on the kind of CRM.

const std::string kSalesforce = "crm.salesforce";

void refuse_without_effect(ParsedConfig& parsed, const std::string& path, const std::string& cause,
                           const std::string& allowed, const std::string& next_step) {
  parsed.refuse(path, "a key that " + cause + " leaves without effect", allowed, next_step);
}

/// Whether the key belongs to the connection of an external CRM.
bool is_beside_connection(const SettingsKey& key) {
  return key.details.only_beside == "crm.connection" || key.path == "crm.columns";
}

/// Columns of request records, which only the built-in CRM and an org of Salesforce have.
void check_external_columns(ParsedConfig& parsed) {
  for (const auto& [field, name] : parsed.settings.crm.columns) {
    if (field.starts_with("request_record."))
      parsed.refuse("crm.columns", in_quotes(field) + " beside crm.connection",
                    "fields of objects that an external CRM has", "remove it, or set crm.type: salesforce");
  }
}

void check_external_keys(ParsedConfig& parsed) {
  if (parsed.has("crm.connection")) return;
  for (const SettingsKey& key : settings_keys()) {
    if (is_beside_connection(key) && parsed.has(key.path))
      refuse_without_effect(parsed, key.path, "a missing crm.connection", "only with crm.connection",
                            "remove it, or add crm.connection");
  }
}

void check_sql(ParsedConfig& parsed) {
  check_external_keys(parsed);
  check_external_columns(parsed);
  const auto refuse = [&](const std::string& path) {
    refuse_without_effect(parsed, path, "crm.type: sql", "only with crm.type: salesforce",
                          "remove it, or set crm.type: salesforce");
  };
  for (const SettingsKey& key : settings_keys()) {
    // Keys of one flow are refused with the other one already.
    if (!key.path.starts_with(kSalesforce + ".") || !parsed.has(key.path)) continue;
    if (key.details.only_with.value != "client_credentials") refuse(key.path);
  }
  if (parsed.has("crm.objects")) refuse("crm.objects");
  if (parsed.has("crm.namespace") && parsed.settings.crm.name_space.empty() &&
      !parsed.is_faulty("crm.namespace"))
    parsed.refuse("crm.namespace", "an empty text beside crm.type: sql",
                  "a letter, then up to 14 letters, digits and single underscores",
                  "correct it, or remove the key for its default");
}

void require(ParsedConfig& parsed, const char* name, const std::string& reason) {
  const std::string path = kSalesforce + "." + name;
  if (parsed.has(path) || parsed.is_faulty(path)) return;
  parsed.refuse(path, "nothing", allowed_by(find_settings_key(path)->rule), "add it: " + reason);
}

void check_sign_in(ParsedConfig& parsed) {
  require(parsed, "domain", "giftsync calls the org there");
  require(parsed, "client_id", "it identifies the org's app for giftsync");
  if (parsed.is_faulty(kSalesforce + ".flow")) return;
  if (parsed.settings.crm.salesforce.flow == SalesforceFlow::client_credentials)
    return require(parsed, "client_secret", "flow: client_credentials signs in with it");
  require(parsed, "username", "flow: jwt signs in as this user");
  require(parsed, "private_key", "flow: jwt signs with it");
  const std::string path = kSalesforce + ".private_key";
  if (!parsed.has(path) || parsed.is_faulty(path)) return;
  const auto key = SigningKey::from_pem(parsed.settings.crm.salesforce.private_key.reveal());
  if (!key)
    parsed.refuse(path, "a key " + key.error(),
                  "an RSA key in PEM form of 2048 bits or more, without passphrase",
                  "make one: openssl req -x509 -newkey rsa:2048 -noenc -keyout salesforce.key -out "
                  "salesforce.crt, and give the app the certificate");
}

/// "-" has no meaning for what every org has and giftsync needs.
void check_columns(ParsedConfig& parsed) {
  for (const auto& [field, name] : parsed.settings.crm.columns) {
    if (name == "-" && !field.starts_with("gift_record."))
      parsed.refuse("crm.columns", in_quotes("-") + " for " + in_quotes(field),
                    "in Salesforce \"-\" only for fields of the gift record", "remove it, or name the field");
  }
}

/// The names of package version 1.1, unless the file has others.
void name_status_log(ParsedConfig& parsed) {
  const std::string& name_space = parsed.settings.crm.name_space;
  const auto packaged = [&](const char* name) {
    return name_space.empty() ? name : name_space + "__" + name;
  };
  const auto name = [&](const char* key, std::string& value, const std::string& own) {
    if (!parsed.has(std::string("crm.status_log.") + key)) value = own;
  };
  StatusLogSettings& log = parsed.settings.crm.status_log;
  name("object", log.object, packaged("Status_Log__c"));
  name("transaction_id", log.transaction_id, packaged("RecipientTransactionId__c"));
  name("status", log.status, packaged("Status__c"));
  name("time", log.time, "CreatedDate");
  if (log.object.find('.') != std::string::npos)
    parsed.refuse("crm.status_log.object", "a name with a dot beside crm.type: salesforce",
                  "an object's API name such as Status_Log__c", "correct it");
}

void check_salesforce(ParsedConfig& parsed) {
  if (!parsed.has("crm.namespace")) parsed.settings.crm.name_space.clear();
  name_status_log(parsed);
  for (const SettingsKey& key : settings_keys()) {
    const bool is_of_sql = key.path == "crm.connection" || key.details.only_beside == "crm.connection";
    if (is_of_sql && parsed.has(key.path))
      refuse_without_effect(parsed, key.path, "crm.type: salesforce", "only with crm.type: sql",
                            "remove it, or set crm.type: sql");
  }
  check_sign_in(parsed);
  check_columns(parsed);
  const std::string& user = parsed.settings.crm.integration_user;
  if (!user.empty() && !parsed.is_faulty("crm.integration_user") && !long_record_id(user))
    parsed.refuse("crm.integration_user", in_quotes(user),
                  "an Id of Salesforce: 15 letters and digits, or 18 whose last three fit the others",
                  "set it to the Id that giftsyncctl crm check names");
}

/// Nothing in such an org keeps two daemons from sending one request record.
void check_bare_requests(ParsedConfig& parsed) {
  parsed.refuse(
      "requests.enabled", "true beside crm.salesforce.mode: bare",
      "false in bare mode: a request record is claimed by the rules of giftsync's package, which such an "
      "org does not have",
      "remove it, or deploy the package with \"giftsyncctl crm setup\" and remove crm.salesforce.mode");
}

/// Request records need the built-in CRM's tables and triggers, or the rules of giftsync's package.
void check_requests(ParsedConfig& parsed) {
  const std::string key = "requests.enabled";
  if (!parsed.settings.requests.enabled) return;
  const bool is_salesforce = parsed.settings.crm.kind() == CrmKind::salesforce;
  if (is_salesforce) {
    if (parsed.settings.crm.salesforce.mode == SalesforceMode::bare) check_bare_requests(parsed);
  } else if (parsed.has("crm.connection")) {
    parsed.refuse(key, "true beside crm.connection",
                  "false with an external CRM: request records exist in the built-in CRM and in Salesforce",
                  "remove it, or remove crm.connection and what belongs to it");
  }
}

/// An alias leads to an address, never to another alias (SYNC-74). Keeps both as addresses are compared.
void check_sender_aliases(ParsedConfig& parsed) {
  const std::string path = "crm.sender_aliases";
  const std::string allowed = "addresses that are no alias, each alias once";
  std::set<std::string> aliases;
  for (const auto& [alias, address] : parsed.settings.crm.sender_aliases) {
    if (!aliases.insert(email_key(alias)).second)
      parsed.refuse(path, in_quotes(alias) + " twice", allowed, "remove one of both");
  }
  for (const auto& [alias, address] : parsed.settings.crm.sender_aliases) {
    if (aliases.contains(email_key(address)))
      parsed.refuse(path, in_quotes(address) + " for " + in_quotes(alias) + ", which is an alias itself",
                    allowed, "name the address that the CRM has");
  }
  for (auto& [alias, address] : parsed.settings.crm.sender_aliases) {
    alias = email_key(alias);
    address = email_key(address);
  }
}

/// Without users every owner would be unknown.
void check_fallback_owner(ParsedConfig& parsed) {
  CrmSettings& crm = parsed.settings.crm;
  const std::string path = "crm.fallback_owner";
  if (crm.fallback_owner.empty() || parsed.is_faulty(path)) return;
  const bool has_no_users =
      std::ranges::count(crm.tables, std::pair<std::string, std::string>("user", "-")) > 0;
  if (crm.kind() == CrmKind::external && has_no_users)
    parsed.refuse(path, in_quotes(crm.fallback_owner) + " beside crm.tables: { user: \"-\" }",
                  "only in a CRM whose users giftsync sees", "remove it, or name the table of users");
  if (crm.kind() == CrmKind::salesforce && !long_record_id(crm.fallback_owner))
    parsed.refuse(path, in_quotes(crm.fallback_owner),
                  "an Id of Salesforce: 15 letters and digits, or 18 whose last three fit the others",
                  "set it to the Id of an active user");
  crm.fallback_owner = long_crm_id(crm.fallback_owner);
}

/// Adds a fault for each key that the kind of CRM requires or does not use, for request records that it does
/// not have (SYNC-50), and for a private key that cannot sign. In Salesforce there is no namespace unless the
/// file names one.
void check_crm_keys(ParsedConfig& parsed) {
  if (parsed.is_faulty("crm.type")) return;
  if (parsed.settings.crm.type == CrmType::salesforce) {
    check_salesforce(parsed);
  } else {
    check_sql(parsed);
  }
  check_requests(parsed);
  check_sender_aliases(parsed);
  check_fallback_owner(parsed);
  parsed.settings.crm.integration_user = long_crm_id(parsed.settings.crm.integration_user);
}

}  // namespace

namespace {

// Rules between the keys of one single-sign-on connection, and between connections.

const std::string kList = "sso.connections";

void require(ParsedConfig& config, const char* name) {
  const std::string path = kList + "." + name;
  if (config.has(path) || config.faulty.contains(path)) return;
  const std::string_view kind = to_word(config.settings.sso.connections.back().kind);
  config.refuse(path, "nothing", allowed_by(find_settings_key(path)->rule),
                fmt::format("add it: a connection of type {} needs it", kind));
}

/// Without `openid` a provider signs no one in.
void check_scopes(ParsedConfig& config) {
  const std::string path = kList + ".scopes";
  const std::vector<std::string>& scopes = config.settings.sso.connections.back().scopes;
  if (!config.has(path) || config.faulty.contains(path) ||
      std::find(scopes.begin(), scopes.end(), "openid") != scopes.end())
    return;
  config.refuse(path, "a list without openid", "a list with openid", "add openid");
}

/// A client of the provider has an id and a secret; SAML uses neither.
void check_client(ParsedConfig& config) {
  if (config.settings.sso.connections.back().kind != SsoKind::saml) {
    require(config, "client_id");
    require(config, "client_secret");
    return;
  }
  for (const char* name : {"client_id", "client_secret", "redirect", "algorithms", "scopes"}) {
    const std::string path = kList + "." + name;
    if (!config.has(path)) continue;
    config.refuse(path, "a key that type: saml leaves without effect", "only with type: oidc or directory",
                  "remove it");
  }
}

/// SIGN-16. Nothing of the groups has an effect without one.
void check_groups(ParsedConfig& config) {
  const SsoConnectionSettings& connection = config.settings.sso.connections.back();
  const std::string path = kList + ".groups";
  if (config.faulty.contains(path)) return;
  for (const char* name : {"groups_claim", "groups_give_operator"})
    if (connection.groups.empty() && config.has(kList + "." + name))
      config.refuse(kList + "." + name, "a key that has no effect without groups", "only beside groups",
                    "remove it, or add groups");
  if (connection.groups_give_operator) return;
  for (const auto& [group, role] : connection.groups)
    if (role == "operator")
      config.refuse(path, in_quotes("operator") + " for " + in_quotes(group),
                    "sender, approver, admin or auditor",
                    "grant it with \"giftsyncctl user grant\", or set groups_give_operator: true");
}

void check_certificate(ParsedConfig& config, const char* key, const std::string& file_name, UtcMillis now) {
  const std::string path = kList + "." + key;
  const SsoConnectionSettings& connection = config.settings.sso.connections.back();
  if (!config.has(path) || config.faulty.contains(path) || connection.kind != SsoKind::saml) return;
  const auto refuse = [&](const std::string& clause) {
    config.refuse(path, in_quotes(file_name) + ", " + clause,
                  "an X.509 certificate (PEM) with an RSA key of 2048 bits or more, or an EC key of 256",
                  "ask the provider's administrator for the certificate with which it signs now");
  };
  std::ifstream file(file_name, std::ios::binary);
  const std::string pem{std::istreambuf_iterator<char>(file), {}};
  const auto certificate = parse_certificate(pem);
  if (!certificate) return refuse(certificate.error());
  const CertificateIssues issues = validate_certificate(*certificate, now);
  const auto warn = [&](const std::string& clause) {
    config.warnings.push_back({config.line_of(path), path, in_quotes(file_name) + ", " + clause});
  };
  for (const auto& fault : issues.faults) {
    // Sign-ins are refused by themselves (SAML-8); gifts, mails and commands must not end with a date.
    if (fault.cause == CertificateCause::weak_key)
      refuse(fault.clause);
    else
      warn(fault.clause +
           ": it verifies no sign-in; ask the provider's administrator for the one with which it signs now, "
           "and look at this host's clock");
  }
  for (const std::string& warning : issues.warnings) warn(warning);
}

/// `one` contains one parsed connection. Adds a fault for keys that its type requires or does not use, and
/// for its certificate; warns of SHA1, and of a certificate that expires soon or is not valid now.
void check_connection_keys(ParsedConfig& config, UtcMillis now) {
  if (config.faulty.contains(kList + ".type")) return;
  check_client(config);
  const SsoConnectionSettings& connection = config.settings.sso.connections.back();
  if (connection.kind == SsoKind::oidc) require(config, "domains");
  if (connection.kind == SsoKind::oidc && config.has(kList + ".domains") && connection.domains.empty() &&
      !config.faulty.contains(kList + ".domains")) {
    const std::string path = kList + ".domains";
    config.refuse(path, "none", "at least one domain",
                  "add the domain whose people sign in through this connection");
  }
  check_scopes(config);
  check_groups(config);
  check_certificate(config, "certificate", connection.certificate, now);
  check_certificate(config, "next_certificate", connection.next_certificate, now);
  if (connection.kind == SsoKind::saml && connection.sha1) {
    config.warnings.push_back({config.lines.at(kList + ".hash"), kList + ".hash",
                               "SHA1 signatures can be forged; ask the provider's administrator for SHA256"});
  }
}

/// Call it after all connections were parsed.
void check_sso(ParsedConfig& parsed) {
  const bool is_known = !parsed.faulty.contains("sso") && !parsed.faulty.contains("sso.auth_url");
  if (!parsed.has(kList) || parsed.has("sso.auth_url") || !is_known ||
      parsed.settings.sso.connections.empty())
    return;
  parsed.faults.push_back({parsed.lines.at(kList), "sso.auth_url", "nothing",
                           allowed_by(find_settings_key("sso.auth_url")->rule),
                           "add it: the post-back URLs of the connections begin with it"});
}

}  // namespace

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
  parsed.refuse("server.admin_listen", in_quotes(server.admin_listen) + ", the same as server.listen",
                "another port or address",
                "change it, or remove the key to serve everything on server.listen");
}

std::string_view host_of_listen(std::string_view listen) {
  return listen.substr(0, listen.rfind(':'));
}

/// The same port of one address, or of all addresses of the machine.
bool may_collide(std::string_view listen, std::string_view other) {
  const std::string_view host = host_of_listen(listen);
  const std::string_view other_host = host_of_listen(other);
  const std::string_view port = listen.substr(host.size());
  const auto is_any = [](std::string_view one) { return one == "0.0.0.0" || one == "[::]"; };
  return port == other.substr(other_host.size()) && port != ":0" &&
         (host == other_host || is_any(host) || is_any(other_host));
}

void check_metrics_listener(ParsedConfig& parsed) {
  const std::string key = "metrics.listen";
  const std::string& listen = parsed.settings.metrics.listen;
  if (listen.empty() || parsed.is_faulty(key)) return;
  const ServerSettings& server = parsed.settings.server;
  for (const auto& [other_key, other] :
       {std::pair{"server.listen", &server.listen}, std::pair{"server.admin_listen", &server.admin_listen}}) {
    if (other->empty() || parsed.is_faulty(other_key) || !may_collide(listen, *other)) continue;
    parsed.refuse(key, fmt::format("{}, whose port is that of {}", in_quotes(listen), other_key),
                  "another port or address", "choose another port, such as 127.0.0.1:9480");
    return;
  }
  std::string host(host_of_listen(listen));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  if (is_loopback_host(host)) return;
  parsed.warnings.push_back({parsed.line_of(key), key,
                             in_quotes(listen) +
                                 " is reached from other machines, and metrics are served without a key; let "
                                 "only the monitoring's network reach it"});
}

/// A pair has two files, and its listeners are reached by https:// URLs alone.
void check_tls(ParsedConfig& parsed) {
  const std::string certificate = "server.tls.certificate";
  const std::string key = "server.tls.key";
  const std::string version = "server.tls.minimum_version";
  if (!parsed.has(certificate) && !parsed.has(key)) {
    if (parsed.has(version))
      refuse_without_effect(parsed, version, "a missing server.tls.certificate",
                            "only with server.tls.certificate",
                            "remove it, or add server.tls.certificate and server.tls.key");
    return;
  }
  if (parsed.has(certificate) != parsed.has(key)) {
    const std::string& present = parsed.has(certificate) ? certificate : key;
    const std::string& missing = parsed.has(certificate) ? key : certificate;
    parsed.refuse(missing, "nothing beside " + present, "both or neither",
                  "add " + missing + ", or remove " + present);
  }
  const ServerSettings& server = parsed.settings.server;
  for (const auto& [path, url] :
       {std::pair{"server.base_url", &server.base_url}, std::pair{"server.admin_url", &server.admin_url}}) {
    if (parsed.is_faulty(path) || !url->starts_with("http:")) continue;
    parsed.refuse(path, in_quotes(*url) + " beside server.tls",
                  "with server.tls an https:// URL: both addresses speak TLS",
                  "write https://, or remove server.tls where a proxy does TLS");
  }
}

/// A trusted address may say who calls: with all addresses, limits per address and logged addresses are the
/// caller's choice.
void warn_of_trusted_world(ParsedConfig& parsed) {
  const std::string key = "server.trusted_proxies";
  for (const std::string& block : parsed.settings.server.trusted_proxies) {
    if (!block.ends_with("/0")) continue;
    parsed.warnings.push_back(
        {parsed.line_of(key), key,
         in_quotes(block) +
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
                               in_quotes(*url) + " is public and without TLS, so " + what +
                                   " are sent unencrypted; use https:// with server.tls or a TLS proxy"});
  }
}

/// For test installations (GUARD-6); a live one would refuse most gifts.
void warn_of_allowed_domains(ParsedConfig& parsed) {
  const std::string key = "sending.allowed_domains";
  if (parsed.settings.sending.allowed_domains.empty()) return;
  parsed.warnings.push_back(
      {parsed.line_of(key), key, "gifts to all other domains are refused; remove it on a live installation"});
}

/// It would hold each request (GUARD-24).
void check_approval_rule(ParsedConfig& config) {
  const ApprovalRuleSettings& rule = config.settings.sending.approval.rules.back();
  const bool has_condition = !rule.amount_above.empty() || rule.recipients_above > 0 ||
                             rule.first_gift_to_domain || !rule.items.empty() || !rule.accounts.empty() ||
                             !rule.credentials.empty() || !rule.endpoints.empty();
  if (has_condition || !config.faults.empty()) return;
  config.refuse("sending.approval.rules", "a rule without a condition",
                "at least one of amount_above, recipients_above, first_gift_to_domain, items, accounts, "
                "credentials and endpoints",
                "add one; recipients_above: 1 holds each request to several recipients");
}

/// Held requests need a person who decides (GUARD-27).
void warn_of_missing_approvers(ParsedConfig& parsed) {
  const SendingSettings& sending = parsed.settings.sending;
  if (parsed.settings.console.enabled) return;
  std::string key;
  if (sending.budgets.holds) key = "sending.budgets.on_excess";
  if (sending.burst.holds) key = "sending.burst.on_excess";
  if (sending.frequency.on_excess == FrequencyExcess::hold) key = "sending.frequency.on_excess";
  if (!sending.approval.rules.empty()) key = "sending.approval.rules";
  if (key.empty()) return;
  parsed.warnings.push_back(
      {parsed.line_of(key), key,
       "console.enabled is false, so held requests are approved by giftsyncctl held approve, or with an API "
       "key that has the scope approve"});
}

/// A session's cookie would be sent unencrypted (CON-9).
void check_console(ParsedConfig& parsed) {
  const std::string& url = parsed.settings.server.admin_url;
  if (!parsed.settings.console.enabled || parsed.is_faulty("console.enabled") ||
      parsed.is_faulty("server.admin_url") || url.empty() || is_secure_admin_url(url))
    return;
  parsed.refuse(
      "console.enabled", fmt::format("true, while server.admin_url is {}", in_quotes(url)),
      "true only with an https:// server.admin_url, or one of this host",
      "set server.tls or put a TLS proxy in front, and make server.admin_url the https:// URL; or remove "
      "console.enabled");
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
        key, is_postgresql ? "a connection string" : in_quotes(connection),
        "with " + database.section + ".backend sqlite the path of a file, without \"file:\" and options",
        "write a path such as giftsync.db, or set " + database.section + ".backend: postgresql");
    return;
  }
  connection = (folder / connection).lexically_normal().string();
  // The driver treats a double quote as the end of the path.
  if (connection.find('"') != std::string::npos) {
    parsed.refuse(key, in_quotes(connection), "a path without double quotes, its folder's name included",
                  "rename the file or its folder");
  }
}

void check_postgresql(ParsedConfig& parsed, const DatabaseSection& database) {
  const std::string key = database.section + ".connection";
  const std::string password = database.section + ".password";
  if (const auto why = sql::postgresql_dsn_error(database.connection)) {
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
  if (sync::is_credential(CredentialKind::organization_token,
                          trimmed(parsed.settings.requests.organization_token.reveal())))
    return;
  parsed.refuse(key, "a text that is not an organization token", "got_live_ and 38 letters and digits",
                "copy it again, whole, or make one: giftsyncctl organization create, or rotate NAME");
}

/// Keys of which one alone has no meaning.
void require_both(ParsedConfig& parsed, const std::string& one, const std::string& other) {
  if (parsed.has(one) == parsed.has(other)) return;
  const std::string& present = parsed.has(one) ? one : other;
  const std::string& missing = parsed.has(one) ? other : one;
  parsed.faults.push_back({parsed.lines.at(present), missing, "nothing beside " + present, "both or neither",
                           "add " + missing + ", or remove " + present});
}

void check_relay_login(ParsedConfig& parsed) {
  const bool is_smtp = parsed.settings.email.transport == MailTransportKind::smtp;
  if (!is_smtp || parsed.is_faulty("email.transport") || parsed.is_faulty("email.smtp")) return;
  require_both(parsed, "email.smtp.username", "email.smtp.password");
}

void check_alerts(ParsedConfig& parsed) {
  const std::string from = "alerts.quiet_from";
  const std::string until = "alerts.quiet_until";
  if (parsed.is_faulty("alerts") || parsed.is_faulty(from) || parsed.is_faulty(until)) return;
  require_both(parsed, from, until);
  const AlertSettings& alerts = parsed.settings.alerts;
  if (parsed.has(from) && alerts.quiet_from == alerts.quiet_until)
    parsed.refuse(until, in_quotes(alerts.quiet_until) + ", the same as alerts.quiet_from", "another time",
                  "change it, or remove both so that no time is quiet");
  if (!alerts.mail_to.empty() && parsed.settings.email.transport == MailTransportKind::file)
    parsed.warnings.push_back({parsed.line_of("alerts.mail_to"), "alerts.mail_to",
                               "with email.transport: file these mails are files in email.directory, and no "
                               "one is mailed"});
}

/// The pages would show a broken picture.
void check_logo(ParsedConfig& parsed) {
  const std::string key = "pages.logo";
  if (!parsed.has(key) || parsed.is_faulty(key)) return;
  const auto logo = content::read_logo(parsed.settings.pages.logo);
  if (!logo) {
    parsed.refuse(key, in_quotes(parsed.settings.pages.logo) + ", " + logo.error(),
                  allowed_by(find_settings_key(key)->rule), "name another file");
  }
}

}  // namespace

void cross_check_element(ParsedConfig& config, const std::string& list_path) {
  for (const SettingsKey& key : settings_keys()) {
    if (const SettingsList* list = enclosing_list(key.path); list && list->path == list_path)
      check_key(config, key);
  }
  if (list_path == "sources") check_source(config);
  if (list_path == "sending.approval.rules") check_approval_rule(config);
  if (list_path == "sso.connections") check_connection_keys(config, system_now());
}

void cross_check(ParsedConfig& parsed, const std::filesystem::path& folder) {
  for (const SettingsKey& key : settings_keys()) {
    if (enclosing_list(key.path) == nullptr) check_key(parsed, key);
  }
  check_listeners(parsed);
  check_metrics_listener(parsed);
  check_tls(parsed);
  warn_of_trusted_world(parsed);
  warn_of_plaintext_urls(parsed);
  warn_of_allowed_domains(parsed);
  warn_of_missing_approvers(parsed);
  check_database(parsed, {"store", parsed.settings.store.backend, parsed.settings.store.connection}, folder);
  check_database(parsed, {"crm", parsed.settings.crm.backend, parsed.settings.crm.connection}, folder);
  check_crm_keys(parsed);
  check_relay_login(parsed);
  check_alerts(parsed);
  check_logo(parsed);
  check_sso(parsed);
  check_organization_token(parsed);
  check_console(parsed);
  RequestSettings& requests = parsed.settings.requests;
  if (requests.api_endpoint.empty()) requests.api_endpoint = parsed.settings.server.base_url;
}

}  // namespace giftsync::config
