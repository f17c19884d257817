#include "daemon/settings/settings_keys.h"

#include <utility>

#include "schema/ids.h"

namespace giftsync::daemon {
namespace {

/// at(&Settings::server, &ServerSettings::listen): the way to one value.
template <class... Members>
auto at(Members... members) {
  using Value = std::remove_reference_t<decltype((std::declval<Settings&>().*....*members))>;
  return Place<Value>([members...](Settings& settings) -> Value& { return (settings.*....*members); });
}

/// Words in the order of the enumerators (or of false, true).
template <class T>
Choice choice(std::vector<std::string> words, Place<T> place) {
  return {std::move(words),
          [place](Settings& settings, std::size_t word) { place(settings) = static_cast<T>(word); },
          [place](Settings& settings) { return static_cast<std::size_t>(place(settings)); }};
}

/// The word itself is the value.
Choice choice_of_word(const std::vector<std::string>& words, const Place<std::string>& place) {
  return {words, [words, place](Settings& settings, std::size_t word) { place(settings) = words[word]; },
          [words, place](Settings& settings) {
            std::size_t word = 0;
            while (words[word] != place(settings)) ++word;
            return word;
          }};
}

/// One word that is there for later ones.
Choice only_word(std::string word) {
  return {{std::move(word)}, [](Settings&, std::size_t) {}, [](Settings&) { return std::size_t{0}; }};
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
  keys.push_back({"server.listen", "Address and port that the daemon listens on; port 0 takes any free one.",
                  Text{at(&Settings::server, &S::listen), kListenAllowed, check_listen_address}});
  keys.push_back({"server.admin_listen",
                  "If set, the paths of admin_url are served on this address and port only.",
                  Text{at(&Settings::server, &S::admin_listen), kListenAllowed, check_listen_address}});
  keys.push_back(
      {"server.base_url",
       "The URL under which recipients and API clients reach the daemon; links in mails begin with it.",
       Text{at(&Settings::server, &S::base_url), kWebUrlAllowed, check_web_url}, true});
  keys.push_back({"server.admin_url", "The URL under which the company's own people reach the daemon.",
                  Text{at(&Settings::server, &S::admin_url), kWebUrlAllowed, check_web_url}, true});
  keys.push_back({"server.trusted_proxies",
                  "Addresses or CIDR blocks of the proxies whose X-Forwarded-For counts.",
                  TextList{at(&Settings::server, &S::trusted_proxies), 0, kMaxProxies,
                           "an address or CIDR block such as 10.0.0.0/8", check_address_block}});
}

void add_limits(std::vector<SettingsKey>& keys) {
  using L = LimitSettings;
  const auto limit = [](std::int64_t L::*member) { return at(&Settings::limits, member); };
  keys.push_back({"limits.body_bytes", "The largest request body, in bytes.",
                  WholeNumber{limit(&L::body_bytes), 256, kMaxBodyBytes, "bytes"}});
  keys.push_back({"limits.recipients", "The most recipients of one gift request.",
                  WholeNumber{limit(&L::recipients), 1, 10'000, "recipients"}});
  keys.push_back({"limits.message_code_points", "The longest message of a gift, in Unicode code points.",
                  WholeNumber{limit(&L::message_code_points), 1, 100'000, "code points"}});
  keys.push_back({"limits.name_code_points", "The longest first or last name, in Unicode code points.",
                  WholeNumber{limit(&L::name_code_points), 1, 1'000, "code points"}});
  keys.push_back({"limits.placeholders",
                  "What becomes of a request with a leftover placeholder such as {{name}}: warn or refuse.",
                  choice<bool>({"warn", "refuse"}, at(&Settings::limits, &L::refuse_placeholders))});
  keys.push_back({"limits.requests_per_minute",
                  "The most requests of one API key in a minute; 0 sets no limit.",
                  WholeNumber{limit(&L::requests_per_minute), 0, 1'000'000, "requests in a minute"}});
  keys.push_back({"limits.connections",
                  "The most connections at a time; beyond it the oldest idle one makes room.",
                  WholeNumber{limit(&L::connections), 1, 100'000, "connections"}});
  keys.push_back(
      {"limits.connections_per_address",
       "The most connections of one address at a time; beyond it that address loses its oldest idle one.",
       WholeNumber{limit(&L::connections_per_address), 1, 100'000, "connections"}});
}

void add_store(std::vector<SettingsKey>& keys) {
  using S = StoreSettings;
  keys.push_back({"store.backend", "The database that holds everything giftsync knows: sqlite or postgresql.",
                  choice<StoreBackend>({"sqlite", "postgresql"}, at(&Settings::store, &S::backend))});
  keys.push_back(
      {"store.connection",
       "For sqlite the path of the database file, for postgresql a libpq connection string.",
       Text{at(&Settings::store, &S::connection),
            "a path such as giftsync.db (sqlite) or \"host=db.example.com dbname=giftsync\" (postgresql)",
            nullptr},
       true});
  keys.push_back({"store.password",
                  "The password of the PostgreSQL user, as a reference to a secret.",
                  SecretReference{at(&Settings::store, &S::password)},
                  false,
                  {"store.backend", "postgresql"}});
  keys.push_back(
      {"store.first_transaction_id",
       "The first transaction id given out; ids already in the store or the CRM are jumped over.",
       WholeNumber{at(&Settings::store, &S::first_transaction_id), 1, schema::kMaxFirstTransactionId, "id"}});
}

void add_crm(std::vector<SettingsKey>& keys) {
  using C = CrmSettings;
  keys.push_back({"crm.type",
                  "The kind of CRM: sql, tables in the store's own database or behind connection.",
                  only_word("sql")});
  keys.push_back({"crm.namespace", "The package namespace in API names, as in giftsync__Message__c.",
                  Text{at(&Settings::crm, &C::name_space),
                       "a letter, then up to 14 letters, digits and single underscores", check_namespace}});
  keys.push_back({"crm.integration_user",
                  "The id of the CRM user who counts as Actual Sender of gifts that no CRM user triggered.",
                  Text{at(&Settings::crm, &C::integration_user), "a CRM user's id", check_plain_text}});
  add_foreign_crm_keys(keys);
  using L = StatusLogSettings;
  const auto field = [](std::string L::*member) {
    return Text{at(&Settings::crm, &C::status_log, member), kColumnAllowed, check_field_name};
  };
  keys.push_back({"crm.status_log.object",
                  "The old status log's table, read by giftsyncctl backfill status-timestamps alone.",
                  Text{at(&Settings::crm, &C::status_log, &L::object),
                       "a table such as crm_status_log or salesforce.status_log", check_table_name}});
  keys.push_back({"crm.status_log.transaction_id", "Its field with the gift's Transaction Id.",
                  field(&L::transaction_id)});
  keys.push_back({"crm.status_log.status",
                  "Its field with the status, in giftsync's words; case does not matter.",
                  field(&L::status)});
  keys.push_back(
      {"crm.status_log.time", "Its field with the time at which the gift got that status.", field(&L::time)});
}

void add_person(std::vector<SettingsKey>& keys, const std::string& person,
                PersonMatchingSettings MatchingSettings::*member) {
  using P = PersonMatchingSettings;
  const std::string section = "matching." + person + ".";
  keys.push_back({section + "email_fields", "The fields of a " + person + " that hold e-mail addresses.",
                  TextList{at(&Settings::matching, member, &P::email_fields), 1, kMaxMatchingFields,
                           kFieldAllowed, check_field_name}});
  keys.push_back(
      {section + "phone_fields",
       "The fields of a " + person + " that hold phone numbers, used when no e-mail address matches.",
       TextList{at(&Settings::matching, member, &P::phone_fields), 0, kMaxMatchingFields, kFieldAllowed,
                check_field_name}});
  keys.push_back({section + "order_by.field",
                  "The field that decides between several matching " + person + "s.",
                  Text{at(&Settings::matching, member, &P::order_by, &OrderBySettings::field), kFieldAllowed,
                       check_field_name}});
  keys.push_back({section + "order_by.direction",
                  "DESC takes the " + person + " with the highest value, ASC the lowest.",
                  choice<bool>({"ASC", "DESC"},
                               at(&Settings::matching, member, &P::order_by, &OrderBySettings::descending))});
}

void add_matching(std::vector<SettingsKey>& keys) {
  using M = MatchingSettings;
  add_person(keys, "contact", &M::contact);
  add_person(keys, "lead", &M::lead);
  using O = OpportunityMatchingSettings;
  keys.push_back({"matching.opportunity.enabled",
                  "Whether a gift to a contact is linked to an open opportunity of the contact's roles.",
                  YesNo{at(&Settings::matching, &M::opportunity, &O::enabled)}});
  keys.push_back({"matching.opportunity.order_by.field",
                  "The field that decides between several open opportunities.",
                  Text{at(&Settings::matching, &M::opportunity, &O::order_by, &OrderBySettings::field),
                       kFieldAllowed, check_field_name}});
  keys.push_back({"matching.opportunity.order_by.direction",
                  "DESC takes the opportunity with the highest value, ASC the lowest.",
                  choice<bool>({"ASC", "DESC"}, at(&Settings::matching, &M::opportunity, &O::order_by,
                                                   &OrderBySettings::descending))});
  keys.push_back({"matching.on_no_match",
                  "What becomes of a gift that matches nobody: create makes its record without a person, "
                  "skip makes none.",
                  choice<bool>({"create", "skip"}, at(&Settings::matching, &M::skip_unmatched))});
  keys.push_back({"matching.default_region", "The region of phone numbers without a country code.",
                  Text{at(&Settings::matching, &M::default_region),
                       "a two-letter region (ISO 3166) in capital letters such as US or DE", check_region}});
}

void add_tasks(std::vector<SettingsKey>& keys) {
  using T = TaskSettings;
  keys.push_back({"tasks.enabled",
                  "Whether each gift gets a task in the CRM; gifts from before it was turned on get none.",
                  YesNo{at(&Settings::tasks, &T::enabled)}});
  keys.push_back({"tasks.type", "The type of such a task.",
                  Text{at(&Settings::tasks, &T::type), "a task type of the CRM such as Other or Email",
                       check_plain_text}});
  keys.push_back({"tasks.initial_status", "The status of a task while its gift is on its way.",
                  Text{at(&Settings::tasks, &T::initial_status),
                       "a task status of the CRM such as Not Started", check_plain_text}});
  keys.push_back({"tasks.completed_status",
                  "The status of a task once its gift was redeemed, donated, expired or refunded.",
                  Text{at(&Settings::tasks, &T::completed_status),
                       "a task status of the CRM such as Completed", check_plain_text}});
}

void add_email(std::vector<SettingsKey>& keys) {
  using E = EmailSettings;
  const OnlyWith smtp{"email.transport", "smtp"};
  keys.push_back({"email.transport",
                  "How mails leave: smtp through a mail relay, file as one .eml file each.",
                  choice<MailTransportKind>({"smtp", "file"}, at(&Settings::email, &E::transport))});
  keys.push_back({"email.directory",
                  "The folder for the .eml files; it is made when missing.",
                  FilePath{at(&Settings::email, &E::directory), "a folder's path such as outbox", false},
                  true,
                  {"email.transport", "file"}});
  keys.push_back({"email.from", "The address that gift mails come from.",
                  Text{at(&Settings::email, &E::from), "an e-mail address such as gifts@example.com",
                       check_email_address},
                  true});
  keys.push_back({"email.delivered_when",
                  "A gift counts as delivered when the relay accepted its mail (accepted) or when a report "
                  "says so (reported).",
                  choice<bool>({"reported", "accepted"}, at(&Settings::email, &E::delivered_when_accepted))});
  keys.push_back({"email.uncertain",
                  "A mail whose acceptance nobody knows is sent again after 15 minutes (retry) or kept for "
                  "the admin (hold).",
                  choice<bool>({"retry", "hold"}, at(&Settings::email, &E::hold_uncertain))});
  keys.push_back(
      {"email.smtp.url", "The mail relay; smtp:// begins in clear and upgrades, smtps:// begins with TLS.",
       Text{at(&Settings::email, &E::smtp_url),
            "smtp://HOST:PORT or smtps://HOST:PORT such as smtp://relay.example.com:587", check_smtp_url},
       true, smtp});
  keys.push_back({"email.smtp.username", "The user name at the relay; without it there is no login.",
                  Text{at(&Settings::email, &E::smtp_username), "a user name", check_plain_text}, false,
                  smtp});
  keys.push_back({"email.smtp.password", "The password at the relay, as a reference to a secret.",
                  SecretReference{at(&Settings::email, &E::smtp_password)}, false, smtp});
  keys.push_back({"email.smtp.require_tls", "Whether a relay that offers no TLS is refused.",
                  YesNo{at(&Settings::email, &E::smtp_require_tls)}, false, smtp});
  keys.push_back(
      {"email.smtp.ca_file",
       "The certificate authorities (PEM) that the relay is checked against, in place of the system's.",
       FilePath{at(&Settings::email, &E::smtp_ca_file), "a readable file's path", true}, false, smtp});
}

void add_catalogue(std::vector<SettingsKey>& keys) {
  keys.push_back({"catalogue.item_url", "The web page of an item, with {gift_id} as its last segment.",
                  Text{at(&Settings::catalogue, &CatalogueSettings::item_url),
                       "a web URL that ends with /{gift_id} such as https://shop.example.com/gifts/{gift_id}",
                       check_item_url}});
  keys.push_back(
      {"catalogue.few_codes", "With so many codes left of an item's list, or fewer, the admin is warned.",
       WholeNumber{at(&Settings::catalogue, &CatalogueSettings::few_codes), 0, 1'000'000, "codes"}});
}

void add_requests(std::vector<SettingsKey>& keys) {
  using R = RequestSettings;
  keys.push_back(
      {"requests.enabled",
       "Whether request records of the CRM are seen to, and sent once approved; in the managed CRM only.",
       YesNo{at(&Settings::requests, &R::enabled)}});
  keys.push_back({"requests.auto_approved_default",
                  "Auto-Approved of request records that the CRM's own automation makes without a value.",
                  YesNo{at(&Settings::requests, &R::auto_approved_default)}});
  keys.push_back(
      {"requests.api_may_auto_approve",
       "Whether an API key without the scope approve may make request records that are Auto-Approved.",
       YesNo{at(&Settings::requests, &R::api_may_auto_approve)}});
  keys.push_back({"requests.own_approval",
                  "Whether somebody may approve over HTTP what they asked for themselves.",
                  YesNo{at(&Settings::requests, &R::own_approval)}});
  keys.push_back(
      {"requests.organization_token",
       "The token by which the CRM's request records are sent, from giftsyncctl organization create, "
       "as a reference to a secret.",
       SecretReference{at(&Settings::requests, &R::organization_token)}});
  keys.push_back({"requests.api_endpoint",
                  "The address that the CRM's own interface calls, the root of server.base_url unless it is "
                  "set; change it only on the provider's instruction.",
                  Text{at(&Settings::requests, &R::api_endpoint), kWebUrlAllowed, check_web_url}});
  keys.push_back({"requests.sending_interface_url",
                  "The address of the sending interface that the CRM shows; change it only on the provider's "
                  "instruction.",
                  Text{at(&Settings::requests, &R::sending_interface_url), kWebUrlAllowed, check_web_url}});
}

void add_log(std::vector<SettingsKey>& keys) {
  keys.push_back(
      {"log.level", "The least important lines that are still logged.",
       choice_of_word({"debug", "info", "warning", "error"}, at(&Settings::log, &LogSettings::level))});
  keys.push_back({"log.format", "One line of text or one JSON object for each event.",
                  choice<bool>({"text", "json"}, at(&Settings::log, &LogSettings::json))});
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

const std::vector<std::string>& keys_not_available() {
  static const std::vector<std::string> keys{"server.tls", "metrics"};
  return keys;
}

}  // namespace giftsync::daemon
