#include "daemon/config/settings_keys.h"

#include "daemon/config/settings_table.h"
#include "schema/ids.h"

namespace giftsync::config {
namespace {

constexpr std::int64_t kMaxBodyBytes = std::int64_t{16} << 20;
constexpr std::size_t kMaxProxies = 100;

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

KeyTable server_keys() {
  using S = ServerSettings;
  const TextForm address{"a numeric address and a port such as 127.0.0.1:8480 or [::1]:8480",
                         check_listen_address,
                         R"({"pattern": "^(\\[[0-9A-Fa-f:.]+\\]|[0-9.]+):[0-9]{1,5}$"})"};
  return {{"server.listen", "Address and port that the daemon listens on; port 0 means any free port.",
           Text{setting(&Settings::server, &S::listen), address}},
          {"server.admin_listen",
           "If set, the paths of admin_url are served on this address and port only.",
           Text{setting(&Settings::server, &S::admin_listen), address},
           {.example = "\"127.0.0.1:8481\""}},
          {"server.base_url",
           "The public URL. Recipients open its pages ({base_url}/g/...), API clients send gifts to it "
           "({base_url}/api/v1/gift_requests); links in mails begin with it.",
           Text{setting(&Settings::server, &S::base_url), kWebUrl},
           {.example = "\"http://127.0.0.1:8480\"", .is_required = true}},
          {"server.admin_url",
           "The URL for the company's own systems and staff: sources' webhooks "
           "({admin_url}/api/v1/webhooks/...), the CRM and its request records "
           "({admin_url}/api/v1/request_records). It may equal base_url, or be reachable inside the company "
           "only.",
           Text{setting(&Settings::server, &S::admin_url), kWebUrl},
           {.example = "\"http://127.0.0.1:8480\"", .is_required = true}},
          {"server.trusted_proxies", "Addresses or CIDR blocks of the proxies whose X-Forwarded-For counts.",
           TextList{setting(&Settings::server, &S::trusted_proxies),
                    0,
                    kMaxProxies,
                    {"an address or CIDR block such as 10.0.0.0/8", check_address_block}}}};
}

KeyTable limit_keys() {
  using L = LimitSettings;
  const auto limit = [](std::int64_t L::*member) { return setting(&Settings::limits, member); };
  return {
      {"limits.max_body_bytes", "The largest request body, in bytes.",
       WholeNumber{limit(&L::max_body_bytes), 256, kMaxBodyBytes, "bytes"}},
      {"limits.max_recipients", "The most recipients of one gift request.",
       WholeNumber{limit(&L::max_recipients), 1, 10'000, "recipients"}},
      {"limits.message_code_points", "The longest message of a gift, in Unicode code points.",
       WholeNumber{limit(&L::message_code_points), 1, 100'000, "code points"}},
      {"limits.name_code_points", "The longest first or last name, in Unicode code points.",
       WholeNumber{limit(&L::name_code_points), 1, 1'000, "code points"}},
      {"limits.placeholders",
       "How to treat a request with a leftover placeholder such as {{name}}: warn or refuse.",
       choice({"warn", "refuse"}, setting(&Settings::limits, &L::refuse_placeholders))},
      {"limits.requests_per_minute",
       "The most requests of one API key in a minute, for each daemon of a store; 0 sets no limit.",
       WholeNumber{limit(&L::requests_per_minute), 0, 1'000'000, "requests in a minute"}},
      {"limits.max_connections", "The most connections at a time; beyond it the oldest idle one is closed.",
       WholeNumber{limit(&L::max_connections), 1, 100'000, "connections"}},
      {"limits.max_connections_per_address",
       "The most connections of one address at a time; beyond it the oldest idle one of that address is "
       "closed.",
       WholeNumber{limit(&L::max_connections_per_address), 1, 100'000, "connections"}}};
}

KeyTable store_keys() {
  using S = StoreSettings;
  return {
      {"store.backend", "The database that holds all data of giftsync: sqlite or postgresql.",
       choice({"sqlite", "postgresql"}, setting(&Settings::store, &S::backend))},
      {"store.connection",
       "For sqlite the path of the database file, for postgresql a libpq connection string.",
       Text{setting(&Settings::store, &S::connection),
            {"a path such as giftsync.db (sqlite) or \"host=db.example.com dbname=giftsync\" (postgresql)"}},
       {.example = "\"/var/lib/giftsync/giftsync.db\"", .is_required = true}},
      {"store.password",
       "The password of the PostgreSQL user, as a reference to a secret.",
       SecretReference{setting(&Settings::store, &S::password)},
       {.example = "\"credential:store-password\"", .only_with = {"store.backend", "postgresql"}}},
      {"store.first_transaction_id",
       "The first transaction id to assign; ids that the store or the CRM already has are skipped.",
       WholeNumber{setting(&Settings::store, &S::first_transaction_id), 1, kMaxFirstTransactionId, "id"}}};
}

KeyTable task_keys() {
  using T = TaskSettings;
  return {{"tasks.enabled",
           "Whether each gift gets a task in the CRM; gifts sent before it was turned on get none. Existing "
           "tasks are completed even after it was turned off.",
           BooleanValue{setting(&Settings::tasks, &T::enabled)}},
          {"tasks.type", "The type of such a task.",
           Text{setting(&Settings::tasks, &T::type),
                plain_text("a task type of the CRM such as Other or Email")}},
          {"tasks.initial_status", "The status of a task while its gift is on its way.",
           Text{setting(&Settings::tasks, &T::initial_status),
                plain_text("a task status of the CRM such as Not Started")}},
          {"tasks.completed_status",
           "The status of a task once its gift was redeemed, donated, expired or refunded.",
           Text{setting(&Settings::tasks, &T::completed_status),
                plain_text("a task status of the CRM such as Completed")}}};
}

KeyTable catalogue_keys() {
  using C = CatalogueSettings;
  return {{"catalogue.item_url",
           "The web page of an item, with {gift_id} as its last segment.",
           Text{setting(&Settings::catalogue, &C::item_url),
                {"a web URL that ends with /{gift_id} such as https://shop.example.com/gifts/{gift_id}",
                 check_item_url,
                 R"({"pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@{}\\s][^?#@{}\\s]*/\\{gift_id\\}$"})"}},
           {.example = "\"https://shop.example.com/gifts/{gift_id}\""}},
          {"catalogue.low_code_threshold",
           "With this many codes or fewer left in an item's list, the admin is warned.",
           WholeNumber{setting(&Settings::catalogue, &C::low_code_threshold), 0, 1'000'000, "codes"}}};
}

KeyTable request_keys() {
  using R = RequestSettings;
  const auto boolean = [](bool R::*member) { return BooleanValue{setting(&Settings::requests, member)}; };
  return {
      {"requests.enabled",
       "Whether request records of the CRM are processed, and sent once approved; in the built-in CRM, and "
       "with "
       "type: salesforce in an org that has giftsync's package; not with crm.connection.",
       boolean(&R::enabled)},
      {"requests.auto_approved_default",
       "The value of Auto-Approved for request records that the CRM's own automation makes without one; with "
       "type: salesforce the default of the org's field decides, which must be the same.",
       boolean(&R::auto_approved_default)},
      {"requests.allow_api_auto_approval",
       "Whether an API key may make Auto-Approved request records of its own account, which then need no "
       "other person.",
       boolean(&R::allow_api_auto_approval)},
      {"requests.allow_self_approval",
       "Whether requesters may approve their own request records over HTTP, also by Auto-Approved.",
       boolean(&R::allow_self_approval)},
      {"requests.organization_token",
       "The organization token that sends the CRM's request records, from giftsyncctl organization create, "
       "as a reference to a secret.",
       SecretReference{setting(&Settings::requests, &R::organization_token)},
       {.example = "\"credential:organization-token\""}},
      {"requests.api_endpoint",
       "The address that the CRM's own interface calls, by default the root of server.base_url; change it "
       "only on the provider's instruction.",
       Text{setting(&Settings::requests, &R::api_endpoint), kWebUrl},
       {.example = "\"https://gifts.example.com\""}},
      {"requests.sending_interface_url",
       "The address of the sending interface that the CRM shows; change it only on the provider's "
       "instruction.",
       Text{setting(&Settings::requests, &R::sending_interface_url), kWebUrl},
       {.example = "\"https://send.example.com\""}}};
}

KeyTable console_keys() {
  using C = ConsoleSettings;
  const auto number = [](std::int64_t C::*member, std::int64_t maximum, std::string unit) {
    return WholeNumber{setting(&Settings::console, member), 1, maximum, std::move(unit)};
  };
  const auto sets = [](std::vector<std::string> C::*member) {
    return TextList{setting(&Settings::console, member), 0, 20, plain_text("a permission set's API name")};
  };
  return {
      {"console.enabled",
       "Whether the console is served at {server.admin_url}/console/; server.admin_url must then be https, "
       "except on this host, so that no session is sent unencrypted.",
       BooleanValue{setting(&Settings::console, &C::enabled)}},
      {"console.sign_in",
       "Whether people sign in through the connections of sso. sso.auth_url must then lead to this daemon, "
       "too: a proxy passes its path /login/ on.",
       BooleanValue{setting(&Settings::console, &C::sign_in)}},
      {"console.sso_plans",
       "The plans of accounts whose owners may sign in through an identity provider; owners of others get a "
       "link of giftsyncctl console sign-in-link.",
       TextList{setting(&Settings::console, &C::sso_plans),
                0,
                4,
                {"individual, team, enterprise or enterprise_plus", check_plan,
                 R"({"enum": ["individual", "team", "enterprise", "enterprise_plus"]})"}}},
      {"console.idle_minutes", "A session without a request for this long ends.",
       number(&C::idle_minutes, 1'440, "minutes")},
      {"console.absolute_hours", "Every session ends after this time, and the user signs in again.",
       number(&C::absolute_hours, 720, "hours")},
      {"console.audit_days", "How long the events of the audit log are kept.",
       number(&C::audit_days, 36'500, "days")},
      {"console.permission_set_minutes",
       "How often the permission sets of the users with a session are read again from a CRM of type "
       "salesforce; from a CRM in SQL tables it is every 30 seconds.",
       number(&C::permission_set_minutes, 1'440, "minutes")},
      {"console.permission_sets.sender", "Those that give the role sender.", sets(&C::sender_sets)},
      {"console.permission_sets.approver", "Those that give the role approver.", sets(&C::approver_sets)},
      {"console.permission_sets.admin", "Those that give the role admin.", sets(&C::admin_sets)}};
}

KeyTable log_keys() {
  return {
      {"log.level", "The lowest level that is logged.",
       string_choice({"debug", "info", "warning", "error"}, setting(&Settings::log, &LogSettings::level))},
      {"log.format", "One line of text or one JSON object for each event.",
       choice({"text", "json"}, setting(&Settings::log, &LogSettings::json))}};
}

}  // namespace

const std::vector<SettingsKey>& settings_keys() {
  static const std::vector<SettingsKey> keys =
      joined({server_keys, limit_keys, store_keys, crm_keys, salesforce_keys, matching_keys, task_keys,
              email_keys, catalogue_keys, page_keys, lifecycle_keys, source_keys, request_keys, sso_keys,
              console_keys, log_keys});
  return keys;
}

const std::vector<std::string>& unavailable_keys() {
  static const std::vector<std::string> keys{"server.tls", "metrics"};
  return keys;
}

// The sections of giftsyncd.yaml. `schema` holds what the JSON Schema cannot derive from single keys: the
// counterparts of cross_checks.cpp, crm_checks.cpp, source_checks.cpp and sso_checks.cpp.

namespace {

constexpr const char* kWholeFileSchema = R"([
  {"if": {"required": ["crm"], "properties": {"crm": {"type": "object", "required": ["connection"]}}},
   "then": {"properties": {"requests": {"properties": {"enabled": {"const": false}}}}}},
  {"if": {"required": ["crm"], "properties": {"crm": {"type": "object", "required": ["salesforce"], "properties":
     {"salesforce": {"type": "object", "required": ["mode"], "properties": {"mode": {"const": "bare"}}}}}}},
   "then": {"properties": {"requests": {"properties": {"enabled": {"const": false}}}}}}])";

constexpr const char* kCrmSchema = R"([
  {"if": {"properties": {"type": {"const": "salesforce"}}, "required": ["type"]},
   "then": {"required": ["salesforce"], "properties": {"connection": false, "backend": false, "password": false,
     "schema": false, "id_column": false, "tables": false,
     "status_log": {"properties": {"object": {"pattern": "^[^.]*$"}}},
     "salesforce": {"type": "object", "required": ["domain", "client_id"],
       "if": {"properties": {"flow": {"const": "client_credentials"}}, "required": ["flow"]},
       "then": {"required": ["client_secret"]}, "else": {"required": ["username", "private_key"]}}}},
   "else": {"dependentRequired": {"columns": ["connection"]},
     "properties": {"objects": false, "salesforce": {"maxProperties": 0}}}}])";

constexpr const char* kSourceSchema = R"([
  {"if": {"properties": {"preset": {"enum": ["ses", "postmark", "mailgun", "sendgrid"]}}, "required": ["preset"]},
   "then": {"properties": {"signature": false, "items": false, "status_map": false, "transactions": false,
     "fields": false,
     "may_set": {"type": "array", "items": {"enum": ["delivered", "undelivered", "opened"]}}}},
   "else": {"required": ["fields"], "properties": {
     "fields": {"type": "object", "required": ["transaction_id", "status", "occurred_at"]}}}},
  {"if": {"properties": {"preset": {"const": "ses"}}, "required": ["preset"]},
   "then": {"properties": {"secret": false}},
   "else": {"if": {"not": {"properties": {"type": {"const": "poll"}}, "required": ["type"]}},
     "then": {"required": ["secret"]}}},
  {"if": {"required": ["cursor"], "properties": {"cursor": {"type": "object", "minProperties": 1}}},
   "then": {"properties": {"since": false, "next": false}}},
  {"if": {"required": ["since"]},
   "then": {"oneOf": [{"required": ["page_size"]}, {"required": ["next"]}]}}])";

constexpr const char* kSsoSchema = R"([
  {"if": {"required": ["connections"], "properties": {"connections": {"type": "array", "minItems": 1}}},
   "then": {"required": ["auth_url"]}}])";

constexpr const char* kConnectionSchema = R"([
  {"if": {"properties": {"type": {"const": "saml"}}, "required": ["type"]},
   "then": {"properties": {"client_id": false, "client_secret": false, "redirect": false, "algorithms": false,
                           "scopes": false}},
   "else": {"required": ["client_id", "client_secret"]}},
  {"if": {"properties": {"type": {"const": "oidc"}}},
   "then": {"required": ["domains"], "properties": {"domains": {"minItems": 1}}}},
  {"properties": {"scopes": {"contains": {"const": "openid"}}}}])";

}  // namespace

const std::vector<SettingsSection>& settings_sections() {
  static const std::vector<SettingsSection> sections{
      {"", "The settings of giftsyncd.", kWholeFileSchema},
      {"server", "Where the daemon listens, and the URLs under which it is reached."},
      {"limits", "Limits for callers."},
      {"store", "giftsync's own database."},
      {"crm", "The CRM that has one gift record for every gift.", kCrmSchema},
      {"crm.status_log", "Where package version 1.1 logged status changes."},
      {"crm.salesforce", "The org of Salesforce of type: salesforce, and how giftsync calls it."},
      {"matching", "How a gift is matched to a contact, lead and opportunity."},
      {"matching.contact", "Contacts are searched first."},
      {"matching.contact.order_by", "Which of several matching contacts is taken."},
      {"matching.lead", "Leads that are not converted are searched when no contact matches."},
      {"matching.lead.order_by", "Which of several matching leads is taken."},
      {"matching.opportunity",
       "An open opportunity is found through the contact's opportunity contact roles."},
      {"matching.opportunity.order_by", "Which of several open opportunities is taken."},
      {"tasks",
       "A task in the CRM for each gift (Related To: the gift record; Name: the contact, if one matched)."},
      {"email", "How gifts are mailed."},
      {"email.smtp", "The relay of transport: smtp."},
      {"catalogue", "The items that can be sent."},
      {"pages", "The branding of the pages and mails that recipients see."},
      {"pages.charities",
       "The charities of which a recipient may choose one to donate a gift's value to; with none the "
       "sender's company chooses."},
      {"lifecycle",
       "How long gifts live. A gift keeps the values in force when it was sent: a change here applies only "
       "to gifts that are sent afterwards. A gift is opened once its recipient has tapped, clicked or "
       "pressed a key on its page, or has accepted or donated it; a visit alone is not enough. A source can "
       "also report it as opened."},
      {"sources",
       "Where status changes come from besides giftsync itself: webhooks that others call, feeds that "
       "giftsync polls.",
       kSourceSchema},
      {"sources.fields", "Where the parts of an event are."},
      {"sources.fields.costs", "Where the costs of a gift of an external source are."},
      {"sources.cursor", "How a poll continues."},
      {"requests", "Request records, and sending from inside the CRM."},
      {"sso", "Single sign-on: the connections to the identity providers of customers.", kSsoSchema},
      {"sso.connections", "The connections; giftsyncctl sso list and sso check show and check them.",
       kConnectionSchema},
      {"sso.connections.claims", "The attributes of the provider that identify the user."},
      {"console",
       "The web console for people who do not log in to the server; giftsyncctl user creates its users."},
      {"console.permission_sets",
       "The permission sets of the CRM that give its users a role here. Anyone who may assign them in the "
       "CRM "
       "may so become an admin of the console; the roles operator and auditor are granted by command only."},
      {"log", "The daemon's log, on standard error."}};
  return sections;
}

}  // namespace giftsync::config
