#include "daemon/config/settings_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/config/settings_table.h"
#include "platform/text.h"
#include "schema/ids.h"
#include "schema/money.h"
#include "sync/crm/gift_record_draft.h"

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

TextForm listen_form() {
  return {"a numeric address and a port such as 127.0.0.1:8480 or [::1]:8480", check_listen_address,
          R"({"pattern": "^(\\[[0-9A-Fa-f:.]+\\]|[0-9.]+):[0-9]{1,5}$"})"};
}

KeyTable server_keys() {
  using S = ServerSettings;
  using T = TlsSettings;
  const std::string kPemFile = "a PEM file's path, or credential:NAME";
  const TextForm address = listen_form();
  return {
      {"server.listen", "Address and port that the daemon listens on; port 0 means any free port.",
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
                {"an address or CIDR block such as 10.0.0.0/8", check_address_block}}},
      {"server.tls.certificate",
       "The server's certificate, with the intermediate certificates after it. base_url and admin_url must "
       "then be https. A pair that changes is used within seconds, without a reload.",
       FilePath{setting(&Settings::server, &S::tls, &T::certificate), kPemFile, false, true},
       {.example = "\"/etc/giftsync/tls/fullchain.pem\"", .only_beside = "server.tls.key"}},
      {"server.tls.key",
       "Its private key, without a passphrase. A file that all users of the host can read is refused.",
       FilePath{setting(&Settings::server, &S::tls, &T::key), kPemFile, false, true},
       {.example = "\"/etc/giftsync/tls/privkey.pem\"", .only_beside = "server.tls.certificate"}},
      {"server.tls.minimum_version",
       "The lowest version of TLS that clients may use.",
       choice({"1.2", "1.3"}, setting(&Settings::server, &S::tls, &T::requires_1_3)),
       {.only_beside = "server.tls.certificate"}}};
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

TextFault check_amount(std::string& text) {
  const auto amount = from_decimal(text);
  if (!amount || amount->minor_units < 0) return "which is not such an amount";
  return std::nullopt;
}

TextFault check_percent(std::string& text) {
  const auto percent = parse_number<std::int64_t>(text);
  if (!percent || text.front() == '0' || *percent < 1 || *percent > 100) return "which is not such a number";
  return std::nullopt;
}

/// The four keys of one kind of budgets. `whose`: "each account".
void add_budget_keys(KeyTable& keys, const std::string& kind, const std::string& whose,
                     BudgetSettings BudgetsSettings::*budget) {
  using S = SendingSettings;
  using B = BudgetSettings;
  const std::string section = "sending.budgets." + kind + ".";
  const bool is_set_at_first = kind == "installation";
  const TextForm amount = amount_form();
  const auto gifts_of = [&](std::int64_t B::*member) {
    return WholeNumber{setting(&Settings::sending, &S::budgets, budget, member), 0, 1'000'000'000, "gifts"};
  };
  const auto amount_of = [&](std::string B::*member) {
    return Text{setting(&Settings::sending, &S::budgets, budget, member), amount};
  };
  keys.push_back({section + "day_gifts",
                  "The most gifts of " + whose + " in a day; 0 sets no limit.",
                  gifts_of(&B::day_gifts),
                  {.example = is_set_at_first ? "1000" : "", .is_set_at_first = is_set_at_first}});
  keys.push_back({section + "day_amount",
                  "The most that the gifts of " + whose +
                      " may cost in a day, fees included; 0.00 sets no "
                      "limit.",
                  amount_of(&B::day_amount),
                  {.example = "\"500.00\""}});
  keys.push_back({section + "month_gifts", "The most gifts in a calendar month.", gifts_of(&B::month_gifts)});
  keys.push_back({section + "month_amount",
                  "The most that they may cost in a calendar month.",
                  amount_of(&B::month_amount),
                  {.example = "\"5000.00\""}});
}

KeyTable budget_keys() {
  using S = SendingSettings;
  KeyTable keys{{"sending.time_zone", "The time zone in which the days and months of budgets begin.",
                 Text{setting(&Settings::sending, &S::time_zone), time_zone_form()}}};
  add_budget_keys(keys, "account", "each account", &BudgetsSettings::account);
  add_budget_keys(keys, "organization", "each organization", &BudgetsSettings::organization);
  add_budget_keys(keys, "installation", "all accounts together", &BudgetsSettings::installation);
  keys.push_back({"sending.budgets.warn_at",
                  "The parts of a budget in percent whose use is reported in the log.",
                  TextList{setting(&Settings::sending, &S::budgets, &BudgetsSettings::warn_at),
                           0,
                           5,
                           {"a whole number from 1 to 100 (percent)", check_percent,
                            R"({"type": "integer", "minimum": 1, "maximum": 100})"}},
                  {.example = "[80, 100]"}});
  keys.push_back(
      {"sending.budgets.on_excess",
       "What becomes of a request that does not fit: it is refused, or held until a person "
       "approves it.",
       choice({"refuse", "hold"}, setting(&Settings::sending, &S::budgets, &BudgetsSettings::holds))});
  keys.push_back(
      {"sending.burst.gifts",
       "The most gifts of one API key or organization token within sending.burst.minutes. 0 sets no limit.",
       WholeNumber{setting(&Settings::sending, &S::burst, &BurstSettings::gifts), 0, 1'000'000, "gifts"},
       {.example = "200", .is_set_at_first = true}});
  keys.push_back(
      {"sending.burst.minutes", "The length of the windows in which sending.burst.gifts counts.",
       WholeNumber{setting(&Settings::sending, &S::burst, &BurstSettings::minutes), 1, 1440, "minutes"}});
  keys.push_back(
      {"sending.burst.on_excess",
       "What becomes of a request beyond the burst: it is refused and pauses the key until an admin releases "
       "it, or it is held until a person approves it.",
       choice({"refuse", "hold"}, setting(&Settings::sending, &S::burst, &BurstSettings::holds))});
  return keys;
}

KeyTable frequency_keys() {
  using S = SendingSettings;
  using F = FrequencySettings;
  return {
      {"sending.frequency.gifts",
       "The most gifts of one address within sending.frequency.days; 0 sets no limit.",
       WholeNumber{setting(&Settings::sending, &S::frequency, &F::gifts), 0, 50, "gifts"},
       {.example = "2"}},
      {"sending.frequency.days", "The days before a gift request in which gifts count.",
       WholeNumber{setting(&Settings::sending, &S::frequency, &F::days), 1, 3'660, "days"}},
      {"sending.frequency.within",
       "Whose gifts count: those of all accounts, or those of the account's organization and those that were "
       "sent elsewhere.",
       choice({"installation", "organization"},
              setting(&Settings::sending, &S::frequency, &F::within_organization))},
      {"sending.frequency.on_excess",
       "What is done with a request beyond the limit: refuse it, send it with a warning, or hold it until a "
       "person approves it.",
       choice({"refuse", "warn", "hold"}, setting(&Settings::sending, &S::frequency, &F::on_excess))}};
}

KeyTable sending_keys() {
  using S = SendingSettings;
  using D = DoNotSendSettings;
  return {
      {"sending.allowed_domains",
       "The only domains that gifts are sent to, for a test installation; a domain includes its "
       "subdomains. With none gifts are sent to all.",
       TextList{
           setting(&Settings::sending, &S::allowed_domains),
           0,
           100,
           {"a domain such as example.com, or *.example.com for its subdomains alone", check_domain_pattern}},
       {.example = "[\"example.com\"]"}},
      {"sending.do_not_send.opt_out_link",
       "Whether mails and pages of gifts have a link by which recipients ask for no more gifts.",
       BooleanValue{setting(&Settings::sending, &S::do_not_send, &D::opt_out_link)}},
      {"sending.do_not_send.complaints",
       "Whether a recipient who reports a mail as unwanted gets no more gifts.",
       BooleanValue{setting(&Settings::sending, &S::do_not_send, &D::complaints)}},
      {"sending.do_not_send.bounces",
       "Whether new gifts to an address that does not exist, as its mail server or the mail provider said, "
       "are refused.",
       BooleanValue{setting(&Settings::sending, &S::do_not_send, &D::bounces)}},
      {"sending.do_not_send.bounce_days", "The days after which such an address is tried again.",
       WholeNumber{setting(&Settings::sending, &S::do_not_send, &D::bounce_days), 1, 3'660, "days"}}};
}

KeyTable test_keys() {
  using T = TestSettings;
  return {
      {"test.enabled",
       "Whether test keys (gsk_test_...) may be used. Their gifts reach neither recipients nor the CRM.",
       BooleanValue{setting(&Settings::test, &T::enabled)}},
      {"test.mail_sender", "Whether the sender of a test gift gets its mail, with [Test] before the subject.",
       BooleanValue{setting(&Settings::test, &T::mail_sender)}},
      {"test.keep_days", "The days after which test gifts are deleted.",
       WholeNumber{setting(&Settings::test, &T::keep_days), 1, 90, "days"}}};
}

KeyTable feed_keys() {
  using F = FeedSettings;
  return {
      {"feed.enabled",
       "Whether events about gifts are kept for readers of GET /api/v1/events. All daemons of a store, and "
       "the commands, need the same value.",
       BooleanValue{setting(&Settings::feed, &F::enabled)}},
      {"feed.keep_days", "The days after which events are deleted; a reader that is older begins again.",
       WholeNumber{setting(&Settings::feed, &F::keep_days), 1, 365, "days"}}};
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

constexpr std::int64_t kMaxDueDays = 3650;

TextFault check_task_text(std::string& text) {
  if (TextFault fault = check_plain_text(text)) return fault;
  const std::string fault = sync::task_text_fault(text);
  return fault.empty() ? TextFault() : TextFault(fault);
}

TextForm task_text_form(const std::string& example, bool may_be_empty = false) {
  const std::string names = fmt::format("{}", fmt::join(sync::kTaskPlaceholders, "|"));
  return {fmt::format("up to 255 characters with the placeholders {{{}}} such as {}",
                      fmt::join(sync::kTaskPlaceholders, "}, {"), example),
          check_task_text,
          fmt::format(R"({{"maxLength": 255, "pattern": "^([^{{}}]|[{{]({})[}}])*$"}})", names),
          may_be_empty};
}

KeyTable task_keys() {
  using T = TaskSettings;
  return {
      {"tasks.enabled",
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
            plain_text("a task status of the CRM such as Completed")}},
      {"tasks.subject",
       "The subject of a task, written when the task is made. {name} is the gift record's name, {item} the "
       "item, {recipient} and {sender} their names or addresses, {campaign} the campaign's id, {price} the "
       "total price, {status} the status, {link} the read-only page of the gift.",
       Text{setting(&Settings::tasks, &T::subject), task_text_form("\"Gift sent: {name}\"")},
       {.example = "\"Gift sent: {name}\""}},
      {"tasks.description",
       "The description of a task, with the same placeholders; empty for none.",
       Text{setting(&Settings::tasks, &T::description),
            task_text_form("\"{item} for {recipient}: {link}\"", true)},
       {.example = "\"{item} for {recipient}: {link}\""}},
      {"tasks.due_days",
       "The days from the day (UTC) on which the gift was sent to the task's due date; 0 for none.",
       WholeNumber{setting(&Settings::tasks, &T::due_days), 0, kMaxDueDays, "days"}},
      {"tasks.assignee",
       "Who owns a task: owner, the owner of the gift record; sender; account_owner, the owner of the "
       "gift's account. Without such a user it is the owner of the gift record.",
       choice({"owner", "sender", "account_owner"}, setting(&Settings::tasks, &T::assignee))}};
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
          {"catalogue.currency",
           "The currency of all costs, prices and budgets. Pages, CSV, --json and the API's items, gifts and "
           "balance then name it; nothing is converted, and all amounts have two decimals.",
           Text{setting(&Settings::catalogue, &C::currency),
                {"a currency code of ISO 4217, three capital letters such as EUR", check_currency,
                 R"({"pattern": "^[A-Z]{3}$"})"}},
           {.example = "EUR"}},
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
       "The plans of accounts whose owners may sign in through an identity provider; owners of others sign "
       "in "
       "by link: of giftsyncctl console sign-in-link, or by mail with mail_links: always.",
       TextList{setting(&Settings::console, &C::sso_plans),
                0,
                4,
                {"individual, team, enterprise or enterprise_plus", check_plan,
                 R"({"enum": ["individual", "team", "enterprise", "enterprise_plus"]})"}}},
      {"console.mail_links",
       "Whether a user may ask on the sign-in page for a link by mail, which works once, for ten minutes: "
       "only "
       "while people sign in through no provider, always, or never. Beside a provider such a link passes its "
       "second factor by.",
       choice({"without_provider", "always", "never"}, setting(&Settings::console, &C::mail_links))},
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

KeyTable metrics_keys() {
  return {{"metrics.listen",
           "If set, metrics for Prometheus are served at this address and port, under /metrics. They are "
           "served to anyone who reaches the address, without a key: use a loopback address, or a network "
           "of your monitoring alone.",
           Text{setting(&Settings::metrics, &MetricsSettings::listen), listen_form()},
           {.example = "\"127.0.0.1:9480\""}}};
}

TextFault check_time_of_day(std::string& text) {
  const bool has_form = text.size() == 5 && text[2] == ':' &&
                        text.find_first_not_of("0123456789:") == std::string::npos &&
                        std::count(text.begin(), text.end(), ':') == 1;
  if (!has_form || text.substr(0, 2) > "23" || text.substr(3) > "59") return "which is no such time";
  return std::nullopt;
}

KeyTable alert_keys() {
  using A = AlertSettings;
  const TextForm time{"a time of the day such as 22:00", check_time_of_day,
                      R"({"pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$"})"};
  return {
      {"alerts.mail_to",
       "Who is mailed when something begins to need an admin, as giftsyncctl status says it, and when it has "
       "ended.",
       TextList{setting(&Settings::alerts, &A::mail_to),
                0,
                20,
                {"an e-mail address such as ops@example.com", check_email_address,
                 R"({"maxLength": 254, "pattern": "^\\s*[^@\\s]+@[^@\\s]+\\s*$"})"}},
       {.example = "[\"ops@example.com\"]"}},
      {"alerts.quiet_from",
       "From this time of each day until alerts.quiet_until these mails wait.",
       Text{setting(&Settings::alerts, &A::quiet_from), time},
       {.example = "\"22:00\"", .only_beside = "alerts.quiet_until"}},
      {"alerts.quiet_until",
       "The end of that time.",
       Text{setting(&Settings::alerts, &A::quiet_until), time},
       {.example = "\"07:00\"", .only_beside = "alerts.quiet_from"}},
      {"alerts.time_zone", "The time zone of these times.",
       Text{setting(&Settings::alerts, &A::time_zone), time_zone_form()}},
      {"alerts.digest_minutes",
       "The least time between two of these mails. What begins and ends within it is not mailed.",
       WholeNumber{setting(&Settings::alerts, &A::digest_minutes), 0, 1'440, "minutes"}}};
}

KeyTable webhook_keys() {
  using W = WebhookSettings;
  return {{"webhooks.allowed_networks",
           "Addresses or CIDR blocks that events may be posted to beside those of the public Internet. "
           "http:// URLs may lead into these networks only.",
           TextList{setting(&Settings::webhooks, &W::allowed_networks),
                    0,
                    kMaxProxies,
                    {"an address or CIDR block such as 10.0.0.0/8", check_address_block}},
           {.example = "[\"10.0.0.0/8\"]"}},
          {"webhooks.ca_file",
           "The certificate authorities (PEM) of the receivers, in place of the system's.",
           FilePath{setting(&Settings::webhooks, &W::ca_file), kReadableFile, true},
           {.example = "\"company-ca.pem\""}},
          {"webhooks.log_days", "How long the attempts to post an event are kept, with the responses.",
           WholeNumber{setting(&Settings::webhooks, &W::log_days), 1, 90, "days"}}};
}

KeyTable log_keys() {
  return {
      {"log.level", "The lowest level that is logged.",
       string_choice({"debug", "info", "warning", "error"}, setting(&Settings::log, &LogSettings::level))},
      {"log.format",
       "One line of text or one JSON object for each event. In systemd's journal it is the message of an "
       "entry, "
       "which has the same fields with either: journalctl TRANSACTION=17.",
       choice({"text", "json"}, setting(&Settings::log, &LogSettings::json))}};
}

}  // namespace

TextForm amount_form() {
  return {"an amount such as 500.00, with at most two decimals", check_amount,
          R"({"maxLength": 20, "pattern": "^[0-9]+(\\.[0-9]{1,2})?$"})"};
}

const std::vector<SettingsKey>& settings_keys() {
  static const std::vector<SettingsKey> keys =
      joined({server_keys,     limit_keys,     budget_keys,  frequency_keys, approval_keys,
              sending_keys,    test_keys,      feed_keys,    store_keys,     crm_keys,
              salesforce_keys, matching_keys,  task_keys,    email_keys,     catalogue_keys,
              page_keys,       lifecycle_keys, source_keys,  request_keys,   sso_keys,
              console_keys,    log_keys,       metrics_keys, alert_keys,     webhook_keys});
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

constexpr const char* kServerSchema = R"([
  {"if": {"properties": {"tls": {"type": "object", "required": ["certificate"]}}, "required": ["tls"]},
   "then": {"properties": {"base_url": {"pattern": "^[Hh][Tt][Tt][Pp][Ss]:"},
     "admin_url": {"pattern": "^[Hh][Tt][Tt][Pp][Ss]:"}}}}])";

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

constexpr const char* kApprovalRuleSchema = R"([
  {"anyOf": [
    {"required": ["amount_above"]}, {"required": ["items"], "properties": {"items": {"minItems": 1}}},
    {"required": ["recipients_above"], "properties": {"recipients_above": {"not": {"const": 0}}}},
    {"required": ["first_gift_to_domain"], "properties": {"first_gift_to_domain": {"const": true}}},
    {"required": ["accounts"], "properties": {"accounts": {"minItems": 1}}},
    {"required": ["credentials"], "properties": {"credentials": {"minItems": 1}}},
    {"required": ["endpoints"], "properties": {"endpoints": {"minItems": 1}}}]}])";

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
  {"properties": {"scopes": {"contains": {"const": "openid"}}}},
  {"if": {"required": ["groups"], "properties": {"groups": {"minProperties": 1}}},
   "else": {"properties": {"groups_claim": false, "groups_give_operator": false}}},
  {"if": {"required": ["groups_give_operator"], "properties": {"groups_give_operator": {"const": true}}},
   "else": {"properties": {"groups": {"additionalProperties": {"not": {"const": "operator"}}}}}}])";

}  // namespace

const std::vector<SettingsSection>& settings_sections() {
  static const std::vector<SettingsSection> sections{
      {"", "The settings of giftsyncd.", kWholeFileSchema},
      {"server", "Where the daemon listens, and the URLs under which it is reached.", kServerSchema},
      {"server.tls", "TLS on both addresses; without it the daemon speaks plain HTTP, for a proxy with TLS."},
      {"limits", "Limits for callers."},
      {"sending", "To whom gifts are sent, how many, and for how much."},
      {"sending.budgets",
       "The most that is sent in a day or month. giftsyncctl budget sets budgets of single accounts."},
      {"sending.budgets.account", "Each account."},
      {"sending.budgets.organization", "Each organization."},
      {"sending.budgets.installation", "All accounts together."},
      {"sending.burst", "How many gifts an API key may request at once."},
      {"sending.frequency", "How many gifts a recipient gets."},
      {"sending.approval", "Which requests wait until a person approves them."},
      {"sending.approval.rules",
       "A request waits if all conditions of one rule are met; without a rule none does.",
       kApprovalRuleSchema},
      {"sending.do_not_send",
       "The list of who gets no gifts, which giftsyncctl do-not-send shows and changes."},
      {"test", "Test keys, whose gifts no recipient gets."},
      {"feed", "What has happened to gifts, in one order, for programs that follow it."},
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
      {"log", "The daemon's log, on standard error."},
      {"metrics", "What Prometheus reads."},
      {"alerts", "Mails to those who watch the installation without a monitoring system."},
      {"webhooks", "Events that giftsync posts to receivers; giftsyncctl webhook creates them."}};
  return sections;
}

}  // namespace giftsync::config
