#include "daemon/config/settings_keys.h"

#include <utility>

#include "schema/ids.h"

namespace giftsync::daemon::config {
namespace {

/// setting(&Settings::server, &ServerSettings::listen): the accessor of one value.
template <class... Members>
auto setting(Members... members) {
  using Value = std::remove_reference_t<decltype((std::declval<Settings&>().*....*members))>;
  return Accessor<Value>([members...](Settings& settings) -> Value& { return (settings.*....*members); });
}

/// Values in the order of the enumerators (or of false, true).
template <class T>
Choice choice(std::vector<std::string> values, Accessor<T> accessor) {
  return {std::move(values),
          [accessor](Settings& settings, std::size_t index) { accessor(settings) = static_cast<T>(index); },
          [accessor](Settings& settings) { return static_cast<std::size_t>(accessor(settings)); }};
}

/// The text itself is the value.
Choice string_choice(const std::vector<std::string>& values, const Accessor<std::string>& accessor) {
  return {values,
          [values, accessor](Settings& settings, std::size_t index) { accessor(settings) = values[index]; },
          [values, accessor](Settings& settings) {
            std::size_t index = 0;
            while (values[index] != accessor(settings)) ++index;
            return index;
          }};
}

/// A choice that has only one value so far.
Choice single_value_choice(std::string value) {
  return {{std::move(value)}, [](Settings&, std::size_t) {}, [](Settings&) { return std::size_t{0}; }};
}

constexpr std::int64_t kMaxBodyBytes = std::int64_t{16} << 20;
constexpr std::size_t kMaxProxies = 100;
constexpr std::size_t kMaxMatchingFields = 10;

constexpr const char* kListenAllowed = "a numeric address and a port such as 127.0.0.1:8480 or [::1]:8480";
constexpr const char* kWebUrlAllowed =
    "an http:// or https:// URL without user, query and fragment such as https://gifts.example.com";
constexpr const char* kColumnAllowed = "a column's name such as createddate";
constexpr const char* kFieldAllowed = "a field's API name such as Email or Work_Email__c";

void add_server(std::vector<SettingsKey>& keys) {
  using S = ServerSettings;
  keys.push_back({"server.listen", "Address and port that the daemon listens on; port 0 means any free port.",
                  Text{setting(&Settings::server, &S::listen), kListenAllowed, check_listen_address}});
  keys.push_back({"server.admin_listen",
                  "If set, the paths of admin_url are served on this address and port only.",
                  Text{setting(&Settings::server, &S::admin_listen), kListenAllowed, check_listen_address}});
  keys.push_back(
      {"server.base_url",
       "The URL under which recipients and API clients reach the daemon; links in mails begin with it.",
       Text{setting(&Settings::server, &S::base_url), kWebUrlAllowed, check_web_url}, true});
  keys.push_back({"server.admin_url", "The URL under which the company's own staff reach the daemon.",
                  Text{setting(&Settings::server, &S::admin_url), kWebUrlAllowed, check_web_url}, true});
  keys.push_back({"server.trusted_proxies",
                  "Addresses or CIDR blocks of the proxies whose X-Forwarded-For counts.",
                  TextList{setting(&Settings::server, &S::trusted_proxies), 0, kMaxProxies,
                           "an address or CIDR block such as 10.0.0.0/8", check_address_block}});
}

void add_limits(std::vector<SettingsKey>& keys) {
  using L = LimitSettings;
  const auto limit = [](std::int64_t L::*member) { return setting(&Settings::limits, member); };
  keys.push_back({"limits.max_body_bytes", "The largest request body, in bytes.",
                  WholeNumber{limit(&L::max_body_bytes), 256, kMaxBodyBytes, "bytes"}});
  keys.push_back({"limits.max_recipients", "The most recipients of one gift request.",
                  WholeNumber{limit(&L::max_recipients), 1, 10'000, "recipients"}});
  keys.push_back({"limits.message_code_points", "The longest message of a gift, in Unicode code points.",
                  WholeNumber{limit(&L::message_code_points), 1, 100'000, "code points"}});
  keys.push_back({"limits.name_code_points", "The longest first or last name, in Unicode code points.",
                  WholeNumber{limit(&L::name_code_points), 1, 1'000, "code points"}});
  keys.push_back({"limits.placeholders",
                  "How to treat a request with a leftover placeholder such as {{name}}: warn or refuse.",
                  choice<bool>({"warn", "refuse"}, setting(&Settings::limits, &L::refuse_placeholders))});
  keys.push_back({"limits.requests_per_minute",
                  "The most requests of one API key in a minute; 0 sets no limit.",
                  WholeNumber{limit(&L::requests_per_minute), 0, 1'000'000, "requests in a minute"}});
  keys.push_back({"limits.max_connections",
                  "The most connections at a time; beyond it the oldest idle one is closed.",
                  WholeNumber{limit(&L::max_connections), 1, 100'000, "connections"}});
  keys.push_back({"limits.max_connections_per_address",
                  "The most connections of one address at a time; beyond it the oldest idle one of that "
                  "address is closed.",
                  WholeNumber{limit(&L::max_connections_per_address), 1, 100'000, "connections"}});
}

void add_store(std::vector<SettingsKey>& keys) {
  using S = StoreSettings;
  keys.push_back({"store.backend", "The database that holds all data of giftsync: sqlite or postgresql.",
                  choice<StoreBackend>({"sqlite", "postgresql"}, setting(&Settings::store, &S::backend))});
  keys.push_back(
      {"store.connection",
       "For sqlite the path of the database file, for postgresql a libpq connection string.",
       Text{setting(&Settings::store, &S::connection),
            "a path such as giftsync.db (sqlite) or \"host=db.example.com dbname=giftsync\" (postgresql)",
            nullptr},
       true});
  keys.push_back({"store.password",
                  "The password of the PostgreSQL user, as a reference to a secret.",
                  SecretReference{setting(&Settings::store, &S::password)},
                  false,
                  {"store.backend", "postgresql"}});
  keys.push_back(
      {"store.first_transaction_id",
       "The first transaction id to assign; ids that the store or the CRM already has are skipped.",
       WholeNumber{setting(&Settings::store, &S::first_transaction_id), 1, schema::kMaxFirstTransactionId,
                   "id"}});
}

void add_crm(std::vector<SettingsKey>& keys) {
  using C = CrmSettings;
  keys.push_back({"crm.type",
                  "The kind of CRM: sql, tables in the store's own database or behind connection.",
                  single_value_choice("sql")});
  keys.push_back({"crm.namespace", "The package namespace in API names, as in giftsync__Message__c.",
                  Text{setting(&Settings::crm, &C::name_space),
                       "a letter, then up to 14 letters, digits and single underscores", check_namespace}});
  keys.push_back({"crm.integration_user",
                  "The id of the CRM user who counts as Actual Sender of gifts that no CRM user triggered.",
                  Text{setting(&Settings::crm, &C::integration_user), "a CRM user's id", check_plain_text}});
  add_external_crm_keys(keys);
  using L = StatusLogSettings;
  const auto field = [](std::string L::*member) {
    return Text{setting(&Settings::crm, &C::status_log, member), kColumnAllowed, check_field_name};
  };
  keys.push_back({"crm.status_log.object",
                  "The old status log's table, read only by giftsyncctl backfill status-timestamps.",
                  Text{setting(&Settings::crm, &C::status_log, &L::object),
                       "a table such as crm_status_log or salesforce.status_log", check_table_name}});
  keys.push_back({"crm.status_log.transaction_id", "Its field with the gift's Transaction Id.",
                  field(&L::transaction_id)});
  keys.push_back({"crm.status_log.status",
                  "Its field with the status, spelled as in giftsync; case does not matter.",
                  field(&L::status)});
  keys.push_back(
      {"crm.status_log.time", "Its field with the time at which the gift got that status.", field(&L::time)});
}

void add_person(std::vector<SettingsKey>& keys, const std::string& person,
                PersonMatchingSettings MatchingSettings::*member) {
  using P = PersonMatchingSettings;
  const std::string section = "matching." + person + ".";
  keys.push_back({section + "email_fields", "The fields of a " + person + " that hold e-mail addresses.",
                  TextList{setting(&Settings::matching, member, &P::email_fields), 1, kMaxMatchingFields,
                           kFieldAllowed, check_field_name}});
  keys.push_back(
      {section + "phone_fields",
       "The fields of a " + person + " that hold phone numbers, used when no e-mail address matches.",
       TextList{setting(&Settings::matching, member, &P::phone_fields), 0, kMaxMatchingFields, kFieldAllowed,
                check_field_name}});
  keys.push_back({section + "order_by.field",
                  "The field that decides between several matching " + person + "s.",
                  Text{setting(&Settings::matching, member, &P::order_by, &OrderBySettings::field),
                       kFieldAllowed, check_field_name}});
  keys.push_back({section + "order_by.direction",
                  "DESC takes the " + person + " with the highest value, ASC the lowest.",
                  choice<bool>({"ASC", "DESC"}, setting(&Settings::matching, member, &P::order_by,
                                                        &OrderBySettings::descending))});
}

void add_matching(std::vector<SettingsKey>& keys) {
  using M = MatchingSettings;
  add_person(keys, "contact", &M::contact);
  add_person(keys, "lead", &M::lead);
  using O = OpportunityMatchingSettings;
  keys.push_back({"matching.opportunity.enabled",
                  "Whether a gift to a contact is linked to an open opportunity of the contact's roles.",
                  BooleanValue{setting(&Settings::matching, &M::opportunity, &O::enabled)}});
  keys.push_back({"matching.opportunity.order_by.field",
                  "The field that decides between several open opportunities.",
                  Text{setting(&Settings::matching, &M::opportunity, &O::order_by, &OrderBySettings::field),
                       kFieldAllowed, check_field_name}});
  keys.push_back({"matching.opportunity.order_by.direction",
                  "DESC takes the opportunity with the highest value, ASC the lowest.",
                  choice<bool>({"ASC", "DESC"}, setting(&Settings::matching, &M::opportunity, &O::order_by,
                                                        &OrderBySettings::descending))});
  keys.push_back({"matching.on_no_match",
                  "How to treat a gift without a matching contact or lead: create makes its record without a "
                  "person, skip makes none.",
                  choice<bool>({"create", "skip"}, setting(&Settings::matching, &M::skip_unmatched))});
  keys.push_back({"matching.default_region", "The region of phone numbers without a country code.",
                  Text{setting(&Settings::matching, &M::default_region),
                       "a two-letter region (ISO 3166) in capital letters such as US or DE", check_region}});
}

void add_tasks(std::vector<SettingsKey>& keys) {
  using T = TaskSettings;
  keys.push_back({"tasks.enabled",
                  "Whether each gift gets a task in the CRM; gifts sent before it was turned on get none.",
                  BooleanValue{setting(&Settings::tasks, &T::enabled)}});
  keys.push_back({"tasks.type", "The type of such a task.",
                  Text{setting(&Settings::tasks, &T::type), "a task type of the CRM such as Other or Email",
                       check_plain_text}});
  keys.push_back({"tasks.initial_status", "The status of a task while its gift is on its way.",
                  Text{setting(&Settings::tasks, &T::initial_status),
                       "a task status of the CRM such as Not Started", check_plain_text}});
  keys.push_back({"tasks.completed_status",
                  "The status of a task once its gift was redeemed, donated, expired or refunded.",
                  Text{setting(&Settings::tasks, &T::completed_status),
                       "a task status of the CRM such as Completed", check_plain_text}});
}

void add_email(std::vector<SettingsKey>& keys) {
  using E = EmailSettings;
  const OnlyWith smtp{"email.transport", "smtp"};
  keys.push_back({"email.transport",
                  "How mails are sent: smtp through a mail relay, file as one .eml file each.",
                  choice<MailTransportKind>({"smtp", "file"}, setting(&Settings::email, &E::transport))});
  keys.push_back({"email.directory",
                  "The folder for the .eml files; it is created when missing.",
                  FilePath{setting(&Settings::email, &E::directory), "a folder's path such as outbox", false},
                  true,
                  {"email.transport", "file"}});
  keys.push_back({"email.from", "The address that gift mails come from.",
                  Text{setting(&Settings::email, &E::from), "an e-mail address such as gifts@example.com",
                       check_email_address},
                  true});
  keys.push_back(
      {"email.delivered_when",
       "A gift counts as delivered when the relay accepted its mail (accepted) or when a report "
       "says so (reported).",
       choice<bool>({"reported", "accepted"}, setting(&Settings::email, &E::delivered_when_accepted))});
  keys.push_back({"email.uncertain",
                  "A mail whose acceptance is unknown is sent again after 15 minutes (retry) or held for the "
                  "admin (hold).",
                  choice<bool>({"retry", "hold"}, setting(&Settings::email, &E::hold_uncertain))});
  keys.push_back(
      {"email.smtp.url",
       "The mail relay; smtp:// begins unencrypted and upgrades to TLS, smtps:// begins with TLS.",
       Text{setting(&Settings::email, &E::smtp_url),
            "smtp://HOST:PORT or smtps://HOST:PORT such as smtp://relay.example.com:587", check_smtp_url},
       true, smtp});
  keys.push_back({"email.smtp.username", "The user name at the relay; without it there is no login.",
                  Text{setting(&Settings::email, &E::smtp_username), "a user name", check_plain_text}, false,
                  smtp});
  keys.push_back({"email.smtp.password", "The password at the relay, as a reference to a secret.",
                  SecretReference{setting(&Settings::email, &E::smtp_password)}, false, smtp});
  keys.push_back({"email.smtp.require_tls", "Whether a relay that offers no TLS is refused.",
                  BooleanValue{setting(&Settings::email, &E::smtp_require_tls)}, false, smtp});
  keys.push_back({"email.smtp.ca_file",
                  "The certificate authorities (PEM) that verify the relay, in place of the system's.",
                  FilePath{setting(&Settings::email, &E::smtp_ca_file), "a readable file's path", true},
                  false, smtp});
}

void add_catalogue(std::vector<SettingsKey>& keys) {
  keys.push_back({"catalogue.item_url", "The web page of an item, with {gift_id} as its last segment.",
                  Text{setting(&Settings::catalogue, &CatalogueSettings::item_url),
                       "a web URL that ends with /{gift_id} such as https://shop.example.com/gifts/{gift_id}",
                       check_item_url}});
  keys.push_back({"catalogue.low_code_threshold",
                  "With this many codes or fewer left in an item's list, the admin is warned.",
                  WholeNumber{setting(&Settings::catalogue, &CatalogueSettings::low_code_threshold), 0,
                              1'000'000, "codes"}});
}

void add_requests(std::vector<SettingsKey>& keys) {
  using R = RequestSettings;
  keys.push_back(
      {"requests.enabled",
       "Whether request records of the CRM are processed, and sent once approved; in the managed CRM only.",
       BooleanValue{setting(&Settings::requests, &R::enabled)}});
  keys.push_back(
      {"requests.auto_approved_default",
       "The value of Auto-Approved for request records that the CRM's own automation makes without one.",
       BooleanValue{setting(&Settings::requests, &R::auto_approved_default)}});
  keys.push_back({"requests.allow_api_auto_approval",
                  "Whether an API key without the scope approve may make Auto-Approved request records.",
                  BooleanValue{setting(&Settings::requests, &R::allow_api_auto_approval)}});
  keys.push_back({"requests.allow_self_approval",
                  "Whether requesters may approve their own request records over HTTP.",
                  BooleanValue{setting(&Settings::requests, &R::allow_self_approval)}});
  keys.push_back({"requests.organization_token",
                  "The organization token that sends the CRM's request records, from giftsyncctl "
                  "organization create, as a reference to a secret.",
                  SecretReference{setting(&Settings::requests, &R::organization_token)}});
  keys.push_back({"requests.api_endpoint",
                  "The address that the CRM's own interface calls, by default the root of server.base_url; "
                  "change it only on the provider's instruction.",
                  Text{setting(&Settings::requests, &R::api_endpoint), kWebUrlAllowed, check_web_url}});
  keys.push_back(
      {"requests.sending_interface_url",
       "The address of the sending interface that the CRM shows; change it only on the provider's "
       "instruction.",
       Text{setting(&Settings::requests, &R::sending_interface_url), kWebUrlAllowed, check_web_url}});
}

void add_log(std::vector<SettingsKey>& keys) {
  keys.push_back(
      {"log.level", "The lowest level that is logged.",
       string_choice({"debug", "info", "warning", "error"}, setting(&Settings::log, &LogSettings::level))});
  keys.push_back({"log.format", "One line of text or one JSON object for each event.",
                  choice<bool>({"text", "json"}, setting(&Settings::log, &LogSettings::json))});
}

}  // namespace

const std::vector<SettingsKey>& settings_keys() {
  static const std::vector<SettingsKey> keys = [] {
    std::vector<SettingsKey> all;
    add_server(all);
    add_limits(all);
    add_store(all);
    add_crm(all);
    add_matching(all);
    add_tasks(all);
    add_email(all);
    add_catalogue(all);
    add_page_keys(all);
    add_lifecycle_keys(all);
    add_source_keys(all);
    add_requests(all);
    add_sso_keys(all);
    add_log(all);
    return all;
  }();
  return keys;
}

const std::vector<std::string>& unavailable_keys() {
  static const std::vector<std::string> keys{"server.tls", "metrics"};
  return keys;
}

}  // namespace giftsync::daemon::config
