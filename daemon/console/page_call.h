// daemon/console: a request on its way to a page, and what all pages are made of. Any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <string_view>
#include <vector>

#include "crm/crm.h"
#include "daemon/config/settings.h"
#include "daemon/console/page_frame.h"
#include "daemon/http/http_message.h"
#include "daemon/identity/provider_sign_in.h"
#include "daemon/webhooks/webhook_changes.h"
#include "platform/clock.h"
#include "schema/money.h"
#include "schema/store/daemon_instances.h"
#include "schema/store/store.h"
#include "sync/access/sending_budgets.h"
#include "sync/attention.h"
#include "sync/crm/sync_step.h"
#include "sync/gift/held_requests.h"
#include "sync/request/request_record_findings.h"
#include "sync/request/request_record_to_gift_request.h"

namespace giftsync::console {

class ConsoleSignIn;

/// The CRM as pages use it.
struct CrmAccess {
  crm::Crm* crm = nullptr;     ///< must outlive the console; null: pages say that it is not there
  bool is_paid = false;        ///< each call counts: it is called after the press of a button only
  sync::SyncRules rules = {};  ///< of the sync workers
  /// Why the CRM is not called at all, a sentence; empty while it is.
  std::function<std::string()> pause = [] { return std::string(); };
  bool has_own_database = false;  ///< SQL, and not in the store
  /// Places for pages that ask a CRM outside of the store at the same time: a slow one must not stop all
  /// other pages.
  std::shared_ptr<std::counting_semaphore<2>> places = std::make_shared<std::counting_semaphore<2>>(2);
};

/// What the page of webhooks makes and tests endpoints with (CON-71).
struct WebhookAccess {
  webhooks::PostOptions post = {};
  webhooks::Seal seal = {};
  webhooks::Unseal unseal = {};
  /// Places for tests at the same time: each holds a thread while its receiver hangs.
  std::shared_ptr<std::counting_semaphore<2>> tests = std::make_shared<std::counting_semaphore<2>>(2);
};

struct ConsoleOptions {
  std::string admin_url;
  config::ConsoleSettings settings = {};
  Clock clock = system_now;
  /// The daemons of this store.
  std::function<std::vector<store::SeenDaemonInstance>()> daemons = [] {
    return std::vector<store::SeenDaemonInstance>();
  };
  /// Null, both of them: people sign in by link alone (SIGN-8). They must outlive the console.
  identity::ProviderSignIn* provider_sign_in = nullptr;
  const config::SsoSettings* sso = nullptr;
  /// The settings in force, and what wakes the request record worker (CON-27). They must outlive the console.
  /// Null: the pages that need them are not served.
  const config::Settings* in_force = nullptr;
  std::function<void()> on_request_decided = [] {};
  CrmAccess crm = {};
  /// What the store and the CRM say about the installation's health (OPS-27), without the daemons.
  std::function<sync::AttentionFacts()> attention = [] { return sync::AttentionFacts(); };
  /// Wakes the workers for mail and CRM, after a change.
  std::function<void()> wake_workers = [] {};
  /// What would keep a request record from being sent if it were approved now (CON-40). Absent: not checked.
  std::function<std::vector<sync::RequestRecordFinding>(const sync::LoadedRequestRecord&)> check_request = {};
  /// The token of the sign-in link that is mailed with this salt (SIGN-15). Absent: no links are mailed.
  std::function<std::string(const std::string& salt)> link_token = {};
  /// The budgets of the settings (CON-67).
  sync::SendingBudgetRules budget_rules = {};
  /// Called with each held gift request that was approved, and its gifts; wakes the workers. Absent: nothing.
  std::function<void(const sync::HeldReview&, const sync::HeldOutcome&)> on_held_approved = {};
  WebhookAccess webhooks = {};
  /// What a cancellation by filter looks at (CON-68): parts of 5,000 gifts.
  int cancel_search_parts = 6;
  /// One press of the cancellation of many gifts begins no further gift after this time.
  std::int64_t cancel_millis = 20'000;
};

/// The first part of every request's path; what follows is the path that pages and forms name.
inline constexpr std::string_view kConsolePath = "/console";
/// The rows of a page of a list.
inline constexpr std::size_t kPageRows = 50;
/// Rows of a list with forms: so the page stays below 60 kB.
inline constexpr std::size_t kRowsWithForms = 30;
/// The short cookie with the page that was wanted before signing in, for a link of the command line, which
/// names none (SIGN-12).
inline constexpr std::string_view kReturnCookie = "return";
/// A proof of the user is new for so long (CON-45).
inline constexpr std::int64_t kProofMillis = 10 * kMinuteMillis;

/// Who sent a request.
struct SignedIn {
  store::ConsoleSession session;
  store::ConsoleUser user;
  store::Viewer viewer;
};

/// What pages read and write.
struct PageContext {
  store::Store& store;
  const ConsoleOptions& options;
  const ConsoleUrl& url;
  ConsoleSignIn& sign_in;
};

struct PageCall {
  const PageContext& console;
  const http::HttpRequest& request;
  std::string parameter;  ///< of the route's {name}
  std::map<std::string, std::string> query;
  UtcMillis now;
  std::map<std::string, std::string> form = {};  ///< of a post
  std::optional<SignedIn> by = {};               ///< present, unless the route is open

  store::Store& store() const { return console.store; }
  const ConsoleUrl& url() const { return console.url; }
  const store::Viewer& viewer() const { return by->viewer; }
};

/// Whether this browser shows test gifts, and the post of the frame that switches it (CON-70).
bool shows_test_gifts(const PageCall& call);
http::HttpResponse switch_test_gifts(const PageCall& call);
/// The zone that the browser's cookie names, else UTC; and the post of the frame that sets it (CON-42).
std::string zone_of(const http::HttpRequest& request, const ConsoleUrl& url);
http::HttpResponse switch_zone(const PageCall& call);
/// The page's template with its data in the frame of who is signed in.
http::HttpResponse page(const PageCall& call, std::string_view name, const std::string& title, Data data);
http::HttpResponse not_found(const PageCall& call);
/// After a post: 303 to a page of the console, such as "/gifts/17", which shows the text notice_KEY with
/// {count} once (CON-38). `query`: further fields of the page's URL.
http::HttpResponse redirect_with_notice(const PageCall& call, const std::string& page, const std::string& key,
                                        std::int64_t count = 0,
                                        const std::map<std::string, std::string>& query = {});
/// The response with a cookie that takes a sign-in by link in this browser to the page at `url` (SIGN-12).
http::HttpResponse with_return_to(const ConsoleUrl& console, http::HttpResponse response,
                                  const std::string& url);
/// Whether the user proved lately who they are, as routes with needs_new_proof ask for (CON-45).
bool has_new_proof(const PageCall& call);
/// How to give a new proof and come back to the page at `path` with that query: {start}, the URL of a sign-in
/// through the session's connection or of the page that mails a link, or {email} for the command that prints
/// one.
Data new_proof_data(const PageCall& call, const std::string& path,
                    const std::map<std::string, std::string>& query = {});
/// 403 for a post without a new proof, with the way back to its page, by link too.
http::HttpResponse new_proof_needed(const PageCall& call);
/// The user as the frame shows it, {name, email, token, groups: [{group, links}], link_ends, foot, ...};
/// nothing without a session. `section`: the first segment of the page's path, "overview" for the first page;
/// `is_sub_page`: below the section's own page.
std::optional<Data> frame_user(const PageCall& call, std::string_view section = {}, bool is_sub_page = false);
/// An audit event of this request about an object, such as "gift" "17": when, who, from where (CON-8). Of the
/// user's organization, until the caller sets that of the object.
store::AuditEvent event_of(const PageCall& call, const std::string& action, const std::string& kind,
                           const std::string& id = {});
/// The token of a form that posts to `path`, such as "/gifts/17/cancel" (CON-11).
std::string token_of(const PageCall& call, const std::string& path);
/// {url, token} of a form that posts to the console's page at `path`.
Data form_data(const PageCall& call, const std::string& path);
/// The same for the end of a pause, with {paused_at}: the form ends the pause that was shown, and no later
/// one.
Data release_form(const PageCall& call, const std::string& path, UtcMillis since);
/// Whether it is the pause of the post's form.
bool is_pause_of_form(const PageCall& call, std::optional<UtcMillis> since);
/// The URL of the console's page at `path`, which is not encoded.
std::string url_of(const PageCall& call, const std::string& path);
/// The classes by when their first gift began to fail (CON-25).
std::vector<store::CrmFailureClass> newest_first(std::vector<store::CrmFailureClass> classes);
/// {error, number, count, id, list, first, last, is_new} of a class of failures and its
/// failure_class_number(): `list` is the URL of its gifts, unless what would be searched is masked; `first`
/// and `last`: since when they fail, if that is known.
Data failure_data(const PageCall& call, const store::CrmFailureClass& failures, const std::string& number);
/// The URL of the audit log's events about an object, such as "gift" "17" (CON-37); empty for users who see
/// their own events alone.
std::string history_url(const PageCall& call, const std::string& kind, const std::string& id);
/// `catalogue.currency` of the settings in force; may be empty.
std::string currency_of(const PageCall& call);
/// The amount with that currency, as every page shows amounts; empty for an unknown one.
std::string amount_on_page(const PageCall& call, std::optional<Money> amount);
/// The page of a record in the CRM: record_url() of the settings in force; empty where there is none.
std::string record_url(const PageCall& call, std::string_view object, const std::string& id);
/// The same as add_line() with an id of the CRM, which becomes a link to its record.
void add_record_line(const PageCall& call, Data& lines, std::string_view object, const std::string& id);
/// `sending.allowed_domains` of the settings in force; empty: all.
std::vector<std::string> allowed_domains(const PageCall& call);
/// Reads with all organizations: what is not of one organization is theirs alone (CON-27).
bool sees_installation(const store::Viewer& viewer);
/// The field of a map of fields; empty when it is missing.
std::string field(const std::map<std::string, std::string>& fields, const std::string& name);

}  // namespace giftsync::console
