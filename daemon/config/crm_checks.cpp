#include "daemon/config/crm_checks.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "platform/quoted_text.h"
#include "platform/signing_key.h"
#include "schema/crm_id.h"

namespace giftsync::daemon::config {
namespace {

const std::string kSalesforce = "crm.salesforce";

void refuse_without_effect(ParsedConfig& parsed, const std::string& path, const std::string& cause,
                           const std::string& allowed, const std::string& next_step) {
  parsed.refuse(path, "a key that " + cause + " leaves without effect", allowed, next_step);
}

/// Of an external CRM.
bool is_beside_connection(const SettingsKey& key) {
  return key.details.only_beside == "crm.connection" || key.path == "crm.columns";
}

/// Of request records, which only the built-in CRM and an org of Salesforce have.
void check_external_columns(ParsedConfig& parsed) {
  for (const auto& [field, name] : parsed.settings.crm.columns) {
    if (field.starts_with("request_record."))
      parsed.refuse("crm.columns", platform::in_quotes(field) + " beside crm.connection",
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
  const auto key = platform::SigningKey::from_pem(parsed.settings.crm.salesforce.private_key.reveal());
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
      parsed.refuse("crm.columns", platform::in_quotes("-") + " for " + platform::in_quotes(field),
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
  if (!user.empty() && !parsed.is_faulty("crm.integration_user") && !schema::long_record_id(user))
    parsed.refuse("crm.integration_user", platform::in_quotes(user),
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

}  // namespace

void check_crm_keys(ParsedConfig& parsed) {
  if (parsed.is_faulty("crm.type")) return;
  if (parsed.settings.crm.type == CrmType::salesforce) {
    check_salesforce(parsed);
  } else {
    check_sql(parsed);
  }
  check_requests(parsed);
  parsed.settings.crm.integration_user = schema::long_crm_id(parsed.settings.crm.integration_user);
}

}  // namespace giftsync::daemon::config
