// daemon/config: the keys of `crm`: the package, an external CRM's database and the names of its tables and
// columns (ARCH-32, SYNC-42), and the old status log. Those of Salesforce are in
// settings_salesforce_keys.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "crm/external_names.h"
#include "daemon/config/settings_table.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"
#include "schema/gift_record.h"
#include "schema/request_record.h"

namespace giftsync::config {
namespace {

constexpr std::size_t kMaxColumns = 200;
constexpr std::size_t kMaxAliases = 1000;
/// Fields that only giftsync uses; they have names in an org of Salesforce.
constexpr const char* kRecordVersionColumn = "gift_record.Record_Version";
constexpr const char* kRequestRecord = "request_record";
constexpr auto kOwnRequestFields =
    std::to_array<std::string_view>({"Claimed", "Guard_Modified", "Guard_Mark", "Creation_Key"});

TextFault check_identifier(std::string& text) {
  const std::string fault = text == "-" ? "which is not a name" : crm::external_name_fault(text, false);
  return fault.empty() ? TextFault() : TextFault(fault);
}

bool is_object(const std::string& name) {
  const auto& objects = crm::kExternalCrmObjects;
  return std::find(objects.begin(), objects.end(), name) != objects.end();
}

bool is_gift_field(const std::string& name) {
  const auto& fields = kGiftFields;
  return std::any_of(fields.begin(), fields.end(), [&](const FieldDescriptor& field) {
    return ascii_lower(field.name) == ascii_lower(name);
  });
}

bool is_request_field(const std::string& name) {
  const std::string wanted = ascii_lower(name);
  const auto is_wanted = [&](std::string_view field) { return ascii_lower(field) == wanted; };
  if (std::any_of(kOwnRequestFields.begin(), kOwnRequestFields.end(), is_wanted)) return true;
  for (std::size_t i = 0; i < kRequestRecordFieldCount; ++i) {
    if (is_wanted(descriptor_of(static_cast<RequestRecordField>(i)).name)) return true;
  }
  return false;
}

std::string table_fault(const std::string& object, const std::string& table) {
  return is_object(object) ? crm::external_name_fault(table, true) : "which is not an object of the CRM";
}

std::string column_fault(const std::string& field, const std::string& column) {
  const std::size_t dot = field.find('.');
  std::string name = dot == std::string::npos ? "" : field.substr(dot + 1);
  const std::string object = field.substr(0, dot);
  if ((!is_object(object) && object != kRequestRecord) || check_field_name(name))
    return "which is not OBJECT.FIELD";
  // A field that giftsync does not read would be a line without effect.
  if (field.starts_with("gift_record.") && name != "Id" && ascii_lower(name) != "isdeleted" &&
      field != kRecordVersionColumn && !is_gift_field(name))
    return "which is not a field of the gift record";
  if (object == kRequestRecord && !is_request_field(name))
    return "which is not a field of the request record";
  return crm::external_name_fault(column, false);
}

std::string alias_fault(const std::string& alias, const std::string& address) {
  for (const std::string& one : {alias, address})
    if (const auto fault = email_error(one)) return fmt::format("where {} {}", in_quotes(one), *fault);
  return {};
}

std::string object_fault(const std::string& object, const std::string& name) {
  if (object != "gift_record" && object != kRequestRecord)
    return "which is not an object with a name of its own";
  return name == "-" ? "which is not a name" : crm::external_name_fault(name, false);
}

KeyTable external_crm_keys() {
  using C = CrmSettings;
  const TextForm identifier{"a name of letters, digits and underscores", check_identifier,
                            R"({"pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "maxLength": 63})"};
  const std::string beside = "crm.connection";
  const OnlyWith postgresql{"crm.backend", "postgresql"};
  const std::string table_schema = fmt::format(
      R"({{"propertyNames": {{"enum": ["{}"]}}, "additionalProperties": {{"type": "string",
      "pattern": "^(-|[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)?)$"}}}})",
      fmt::join(crm::kExternalCrmObjects, "\", \""));
  return {
      {"crm.connection",
       "The database of an external CRM; without it giftsync makes the CRM's tables in its own store.",
       Text{setting(&Settings::crm, &C::connection),
            {"a libpq connection string such as \"host=db.example.com dbname=crm\" (postgresql) or a file's "
             "path (sqlite)"}},
       {.example = "\"host=db.example.com dbname=crm user=giftsync\""}},
      {"crm.backend",
       "The kind of database behind connection.",
       choice({"sqlite", "postgresql"}, setting(&Settings::crm, &C::backend)),
       {.only_beside = beside}},
      {"crm.password",
       "The password of the PostgreSQL user of that database, as a reference to a secret.",
       SecretReference{setting(&Settings::crm, &C::password)},
       {.example = "\"credential:crm-password\"", .only_with = postgresql, .only_beside = beside}},
      {"crm.schema",
       "The schema of its tables.",
       Text{setting(&Settings::crm, &C::schema), identifier},
       {.example = "salesforce", .only_with = postgresql, .only_beside = beside}},
      {"crm.id_column",
       "The column of each table that holds the CRM's own id, such as sfid.",
       Text{setting(&Settings::crm, &C::id_column), identifier},
       {.example = "sfid", .only_beside = beside}},
      {"crm.tables",
       "The tables of objects that differ from the default, the object's name in lower case; - if the CRM "
       "has no such object.",
       NameMap{setting(&Settings::crm, &C::tables), crm::kExternalCrmObjects.size(),
               fmt::format("one of {}, with a table's name or schema.table",
                           fmt::join(crm::kExternalCrmObjects, ", ")),
               table_fault, table_schema},
       {.example = "{ gift_record: giftsync__gift__c, lead: \"-\" }", .only_beside = beside}},
      {"crm.columns",
       "The columns of fields that differ from the default, the API name in lower case; - if the CRM has no "
       "such field. Only together with connection; with type: salesforce the API names of fields that differ "
       "from those of giftsync's package, and - only for fields of the gift record.",
       NameMap{setting(&Settings::crm, &C::columns), kMaxColumns,
               "an object and a field such as contact.Email or gift_record.Deal_Stage, with a column's name",
               column_fault, R"({"propertyNames": {"pattern": "^[a-z_]+[.][A-Za-z][A-Za-z0-9_]*$"},
               "additionalProperties": {"type": "string", "pattern": "^(-|[A-Za-z_][A-Za-z0-9_]*)$"}})"},
       {.example = "{ contact.Email: email_address, gift_record.Deal_Stage: \"-\" }"}},
      {"crm.objects",
       "With type: salesforce the API names of objects that differ from those of giftsync's package.",
       NameMap{setting(&Settings::crm, &C::objects), 2,
               "one of gift_record, request_record, with an API name such as thx__Gift__c", object_fault,
               R"({"propertyNames": {"enum": ["gift_record", "request_record"]},
               "additionalProperties": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}})"},
       {.example = "{ gift_record: thx__Gift__c }"}}};
}

KeyTable status_log_keys() {
  using L = StatusLogSettings;
  const auto column = [](std::string L::*member) {
    return Text{setting(&Settings::crm, &CrmSettings::status_log, member),
                {"a column's name such as createddate", check_field_name, kNamePattern}};
  };
  return {{"crm.status_log.object",
           "The old status log's table, read only by giftsyncctl backfill status-timestamps; with type: "
           "salesforce an object's API name, where the defaults are Status_Log__c with the fields "
           "RecipientTransactionId__c, Status__c and CreatedDate, behind the namespace if there is one.",
           Text{setting(&Settings::crm, &CrmSettings::status_log, &L::object),
                {"a table such as crm_status_log or salesforce.status_log", check_table_name,
                 R"({"pattern": "^([A-Za-z][A-Za-z0-9_]{0,62}\\.)?[A-Za-z][A-Za-z0-9_]{0,62}$"})"}}},
          {"crm.status_log.transaction_id",
           "Its field with the gift's Transaction Id: numbers, not text; it should have an index (in "
           "Salesforce an external id has one).",
           column(&L::transaction_id)},
          {"crm.status_log.status",
           "Its field with the status, spelled as in giftsync; case does not matter.", column(&L::status)},
          {"crm.status_log.time", "Its field with the time at which the gift got that status.",
           column(&L::time)}};
}

KeyTable package_keys() {
  using C = CrmSettings;
  return {
      {"crm.type",
       "The kind of CRM: sql, tables in the store's own database or behind connection; salesforce, an org "
       "of Salesforce (section salesforce).",
       choice({"sql", "salesforce"}, setting(&Settings::crm, &C::type))},
      {"crm.namespace",
       "The package namespace in API names, as in giftsync__Message__c; with type: salesforce there is "
       "none unless this key names one.",
       Text{setting(&Settings::crm, &C::name_space),
            {"a letter, then up to 14 letters, digits and single underscores; with type: salesforce also "
             "\"\" for none",
             check_namespace,
             R"({"pattern": "^([A-Za-z](_?[A-Za-z0-9])*)?$", "minLength": 0, "maxLength": 15})", true}}},
      {"crm.integration_user",
       "The id of the CRM user who counts as Actual Sender of gifts that no CRM user triggered.",
       Text{setting(&Settings::crm, &C::integration_user), plain_text("a CRM user's id")},
       {.example = "\"005000000000001AAA\""}},
      {"crm.fallback_owner",
       "The id of the CRM user who owns gift records and tasks whose own user is unknown or inactive; a CRM "
       "refuses tasks of inactive owners.",
       Text{setting(&Settings::crm, &C::fallback_owner), plain_text("a CRM user's id")},
       {.example = "\"005000000000002AAA\""}},
      {"crm.sender_aliases",
       "Addresses of senders, each with the address by which the CRM knows this user; not used where the "
       "permission to send is decided.",
       NameMap{setting(&Settings::crm, &C::sender_aliases), kMaxAliases,
               "an e-mail address with another one, which is no alias itself", alias_fault,
               R"({"propertyNames": {"pattern": "@"}, "additionalProperties": {"type": "string",
               "pattern": "@"}})"},
       {.example = "{ \"ana@old.example\": \"ana@example.com\" }"}},
      {"crm.record_url",
       "The page of a record in the CRM, to which the console links ids. {id} is the record's id, {object} "
       "its object's API name such as Contact. With type: salesforce the default is salesforce.domain and "
       "the id; else there are no links without it.",
       Text{setting(&Settings::crm, &C::record_url),
            {"an https:// URL with {id} behind its host, and {object} if it needs that, such as "
             "https://crm.example.com/{object}/{id}",
             check_record_url,
             R"({"pattern": "^[Hh][Tt][Tt][Pp][Ss]://[^/?#@{}\\s]+[/?]([^#@{}\\s]|[{](object|id)[}])*$"})"}},
       {.example = "\"https://crm.example.com/{object}/{id}\""}}};
}

}  // namespace

KeyTable crm_keys() {
  return joined({package_keys, external_crm_keys, status_log_keys});
}

// The keys of `crm.salesforce`: the org, the sign-in and the calls that giftsync may use.

namespace {

using S = SalesforceSettings;

constexpr std::int64_t kLeastRowsOfCall = 25;
constexpr std::int64_t kMostRowsOfCall = 1000;

template <class T>
auto salesforce(T S::*member) {
  return setting(&Settings::crm, &CrmSettings::salesforce, member);
}

KeyTable sign_in_keys() {
  const OnlyWith jwt{"crm.salesforce.flow", "jwt"};
  const OnlyWith client_credentials{"crm.salesforce.flow", "client_credentials"};
  return {{"crm.salesforce.domain",
           "The org's My Domain URL, at which giftsync signs in and calls the API. Required with type: "
           "salesforce.",
           Text{salesforce(&S::domain),
                {"an https:// URL of a host such as https://acme.my.salesforce.com", check_org_url,
                 R"({"pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\s]+/*$"})"}},
           {.example = "\"https://acme.my.salesforce.com\""}},
          {"crm.salesforce.login",
           "Which host's users the assertion of flow: jwt is for: production (login.salesforce.com), sandbox "
           "(test.salesforce.com) or a URL.",
           Text{salesforce(&S::login),
                {"production, sandbox or an https:// URL of a host", check_org_login,
                 R"({"pattern": "^(production|sandbox|[Hh][Tt][Tt][Pp][Ss]?://[^/?#@\\s]+/*)$"})"}}},
          {"crm.salesforce.flow",
           "How giftsync signs in: jwt, by an assertion that private_key signs; client_credentials, by "
           "client_secret.",
           choice({"jwt", "client_credentials"}, salesforce(&S::flow))},
          {"crm.salesforce.client_id",
           "The consumer key of the org's External Client App. Required with type: salesforce.",
           Text{salesforce(&S::client_id), plain_text("the consumer key as the app shows it")},
           {.example = "\"3MVG9...\""}},
          {"crm.salesforce.username",
           "The user name of the integration user. Required with flow: jwt.",
           Text{salesforce(&S::username), plain_text("a user name")},
           {.example = "\"giftsync@acme.example\"", .only_with = jwt}},
          {"crm.salesforce.private_key",
           "The RSA key (PEM, 2048 bits or more) whose certificate the app has, as a reference to a secret. "
           "Required with flow: jwt.",
           SecretReference{salesforce(&S::private_key), true},
           {.example = "\"credential:salesforce-key\"", .only_with = jwt}},
          {"crm.salesforce.client_secret",
           "The consumer secret of the app, as a reference to a secret. Required with flow: "
           "client_credentials.",
           SecretReference{salesforce(&S::client_secret)},
           {.example = "\"credential:salesforce-secret\"", .only_with = client_credentials}}};
}

KeyTable call_keys() {
  return {{"crm.salesforce.api_version", "The version of the Salesforce API.",
           Text{salesforce(&S::api_version),
                {"a version from 60.0 on such as 62.0", check_api_version,
                 R"({"type": ["string", "number"], "minimum": 60, "pattern": "^[1-9][0-9]{1,2}([.]0)?$"})"}}},
          {"crm.salesforce.share",
           "The part of the org's daily API calls that giftsync may use; beyond it only new gifts and status "
           "changes are written.",
           WholeNumber{salesforce(&S::share), 1, 100, "percent"}},
          {"crm.salesforce.keep_free",
           "The part of the org's daily API calls that stays free for others: giftsync makes no call while "
           "less is left.",
           WholeNumber{salesforce(&S::keep_free), 0, 90, "percent"}},
          {"crm.salesforce.rows_a_call",
           "The most rows that one call writes. giftsync takes fewer by itself after a row lock or a slow "
           "call.",
           WholeNumber{salesforce(&S::rows_a_call), kLeastRowsOfCall, kMostRowsOfCall, "rows"}},
          {"crm.salesforce.mode",
           "How an older state is kept from overwriting a newer one: guarded, by the validation rules of "
           "giftsync's package; bare, for the package of another owner, by one writer among all daemons and "
           "commands. Guarded mode never becomes bare by itself.",
           choice({"guarded", "bare"}, salesforce(&S::mode))}};
}

}  // namespace

KeyTable salesforce_keys() {
  return joined({sign_in_keys, call_keys});
}

}  // namespace giftsync::config
