#include "daemon/console/page_call.h"

#include <algorithm>

#include "daemon/config/connection_urls.h"
#include "daemon/console/access.h"
#include "daemon/console/console.h"
#include "daemon/http/json_request.h"
#include "daemon/identity/sign_in_pages.h"
#include "platform/digest.h"
#include "platform/http_client.h"
#include "platform/ip_address.h"
#include "platform/text.h"
#include "sync/gift/lifecycle.h"

namespace giftsync::console {
namespace {

/// Carries the count of a notice, and that it is true, from a post to its page (CON-38).
constexpr std::string_view kNotice = "notice";
constexpr std::int64_t kNoticeSeconds = 60;
constexpr std::int64_t kReturnSeconds = 600;

/// The cookie of the switch between gifts and test gifts.
constexpr const char* kTests = "tests";
constexpr const char* kOn = "on";
constexpr std::int64_t kTestsSeconds = 8 * 3600;

/// The cookie with the zone in which pages show times.
constexpr const char* kZone = "zone";
constexpr const char* kUtc = "UTC";
constexpr std::int64_t kZoneSeconds = 365 * 24 * 3600;

/// The notices that say what was done; the others warn.
constexpr std::string_view kDone[] = {
    "resent",           "resent_to_other",  "cancelled",        "retried",           "rematched",
    "class_retried",    "request_approved", "request_rejected", "mail_done_release", "mail_done_withdraw",
    "mail_done_retry",  "mail_done_all",    "events_released",  "events_purged",     "entry_added",
    "entry_removed",    "key_paused",       "key_released",     "key_revoked",       "token_released",
    "mail_paused",      "mail_resumed",     "cancelled_many",   "cancelled_part",    "person_erased",
    "held_approved",    "webhook_updated",  "webhook_tested",   "webhook_retried",   "webhook_woken",
    "webhook_replayed", "webhook_enabled",  "webhook_disabled", "webhook_deleted"};

/// "2.PROOF" for the notice `key` with the count "2" on the page at `path`.
std::string notice_cookie(const PageCall& call, const std::string& path, const std::string& key,
                          const std::string& count) {
  // No form posts to a path with a space in front.
  return count + "." + token_of(call, " " + key + " " + count + " " + path);
}

/// Whether people sign in through the connection now.
bool is_offered(const ConsoleOptions& options, const std::string& connection) {
  if (options.provider_sign_in == nullptr || options.sso == nullptr) return false;
  const auto& all = options.sso->connections;
  return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == connection; });
}

/// The text that a redirect_with_notice() to this page has named; empty without the cookie that it set.
std::string notice_text(const PageCall& call) {
  const std::string key = field(call.query, "notice");
  if (!call.by || !texts().all().contains("notice_" + key)) return {};
  const auto cookie = http::cookie_of(call.request, short_cookie_name(call.url(), kNotice));
  if (!cookie) return {};
  const std::string count = cookie->substr(0, cookie->find('.'));
  const std::string path = call.request.path.substr(kConsolePath.size());
  if (!equal_in_constant_time(*cookie, notice_cookie(call, path, key, count))) return {};
  return texts().text("notice_" + key, {{"count", count}});
}

}  // namespace

bool shows_test_gifts(const PageCall& call) {
  const auto cookie = http::cookie_of(call.request, short_cookie_name(call.url(), kTests));
  return cookie && *cookie == kOn;
}

http::HttpResponse switch_test_gifts(const PageCall& call) {
  const bool shows = field(call.form, "shows") == kOn;
  return http::with_header(redirect(url_of(call, "/gifts")), "Set-Cookie",
                           set_short_cookie(call.url(), kTests, shows ? kOn : "", shows ? kTestsSeconds : 0));
}

std::string zone_of(const http::HttpRequest& request, const ConsoleUrl& url) {
  const auto cookie = http::cookie_of(request, short_cookie_name(url, kZone));
  return cookie && sync::is_time_zone(*cookie) ? *cookie : kUtc;
}

http::HttpResponse switch_zone(const PageCall& call) {
  const std::string zone(trimmed(field(call.form, "zone")));
  // The page is in no field of the form: every page would repeat its URL.
  const std::string from = call.request.header("Referer").value_or("");
  const std::size_t path = from.find('/', std::min(from.find("://"), from.size()) + 3);
  std::string page =
      identity::safe_return_path(call.url().base, path == std::string::npos ? "" : from.substr(path));
  // A refused form is shown at the address that it posts to, which no browser can get.
  const std::string below = page.substr(call.url().base.size() + 1);
  const std::string section = below.substr(0, below.find('?'));
  if (const std::string shown = page_of_form(section); shown != section) page = call.url().base + "/" + shown;
  if (!sync::is_time_zone(zone)) return redirect_with_notice(call, "/", "zone_unknown");
  return http::with_header(
      redirect(page), "Set-Cookie",
      set_short_cookie(call.url(), kZone, zone == kUtc ? "" : zone, zone == kUtc ? 0 : kZoneSeconds));
}

std::string token_of(const PageCall& call, const std::string& path) {
  return form_token(call.by->session.form_secret, path);
}

namespace {

/// A page in the navigation.
struct NavigationLink {
  std::string_view group;  ///< the key of its heading; empty: none
  std::string_view path;   ///< below the console's root, which is the section of PageFrame
  std::string_view text;   ///< the key of its text
  std::string_view icon;
  bool (*is_seen)(const store::Viewer& viewer);
};

bool always(const store::Viewer&) {
  return true;
}
template <Permission permission>
bool permits(const store::Viewer& viewer) {
  return may(viewer.roles, permission);
}
template <Permission permission>
bool permits_installation(const store::Viewer& viewer) {
  return may(viewer.roles, permission) && sees_installation(viewer);
}
bool sees_matching(const store::Viewer& viewer) {
  return may(viewer.roles, Permission::see_crm) && !viewer.organization && !viewer.is_masked();
}

using P = Permission;

// A further page is one line here. A group without a page for the viewer is left out.
constexpr NavigationLink kNavigation[] = {
    {"", "", "overview", "home", always},
    {"nav_gifting", "gifts", "gifts", "gift", always},
    {"nav_gifting", "requests", "requests", "stamp", always},
    {"nav_gifting", "held", "held", "pause", permits<P::see_held>},
    {"nav_gifting", "reports", "reports", "chart", always},
    {"nav_delivery", "mail", "mail", "mail", permits<P::see_operations>},
    {"nav_delivery", "sources", "part_sources", "pulse", permits_installation<P::see_operations>},
    {"nav_delivery", "sending", "sending", "gauge", permits<P::see_operations>},
    {"nav_delivery", "do-not-send", "do_not_send", "ban", permits_installation<P::see_operations>},
    {"nav_delivery", "webhooks", "part_webhooks", "out", permits<P::see_webhooks>},
    {"nav_crm", "crm", "nav_sync", "cloud", permits<P::see_crm>},
    {"nav_crm", "match", "nav_matching", "link", sees_matching},
    {"nav_administration", "users", "users", "users", permits<P::see_users>},
    {"nav_administration", "keys", "keys", "key", permits<P::see_keys>},
    {"nav_administration", "person", "person", "person", permits_installation<P::manage_people>},
    {"nav_administration", "connections", "nav_sign_in", "lock", permits_installation<P::see_settings>},
    {"nav_administration", "settings", "settings", "sliders", permits_installation<P::see_settings>},
    {"nav_administration", "audit", "audit", "list", always},
};

/// [{group, links: [{url, text, icon, current}]}]
Data navigation(const PageCall& call, std::string_view section, bool is_sub_page) {
  Data groups(Data::type::list);
  for (const NavigationLink* link = std::begin(kNavigation); link != std::end(kNavigation);) {
    const std::string_view group = link->group;
    Data links(Data::type::list);
    for (; link != std::end(kNavigation) && link->group == group; ++link) {
      if (!link->is_seen(call.viewer())) continue;
      Data one;
      one.set("url", call.url().base + "/" + std::string(link->path));
      one.set("text", texts().text(link->text));
      one.set("icon", std::string(link->icon));
      if (section == (link->path.empty() ? "overview" : link->path))
        one.set("current", is_sub_page ? "true" : "page");
      links << one;
    }
    if (!links.is_non_empty_list()) continue;
    Data made;
    if (!group.empty()) made.set("group", texts().text(group));
    made.set("links", links);
    groups << made;
  }
  return groups;
}

}  // namespace

std::optional<Data> frame_user(const PageCall& call, std::string_view section, bool is_sub_page) {
  if (!call.by) return std::nullopt;
  const store::ConsoleUser& user = call.by->user;
  const store::ConsoleSession& session = call.by->session;
  const std::int64_t idle_seconds = call.console.options.settings.idle_minutes * 60;
  const UtcMillis end = std::min(session.expires_at, call.now + idle_seconds * kSecondMillis);
  Data shown;
  shown.set("name", user.name.empty() ? user.email : user.name);
  shown.set("email", user.email);
  shown.set("groups", navigation(call, section, is_sub_page));
  shown.set("find_what", texts().text(call.viewer().is_masked() ? "find_masked" : "find_all"));
  shown.set("token", token_of(call, "/sign-out"));
  if (session.is_break_glass()) shown.set("link_ends", time_data(session.expires_at));
  shown.set("shows_tests", call.viewer().test);
  shown.set("test_token", token_of(call, "/test-gifts"));
  shown.set("zone_token", token_of(call, "/time-zone"));
  shown.set("is_utc", shown_zone() == kUtc);
  shown.set("idle_seconds", std::to_string(idle_seconds));
  shown.set("session_ends", texts().text("session_ends", {{"time", minute(end)}}));
  shown.set("foot", texts().text("foot", {{"zone", shown_zone()}, {"time", clock_text(call.now)}}));
  return shown;
}

http::HttpResponse page(const PageCall& call, std::string_view name, const std::string& title, Data data) {
  const std::string notice = notice_text(call);
  const std::string path = call.request.path.substr(kConsolePath.size() + 1);
  const std::size_t end = path.find('/');
  const std::string section = path.empty() ? "overview" : path.substr(0, end);
  const bool is_sub_page = end != std::string::npos;
  const bool is_done =
      std::find(std::begin(kDone), std::end(kDone), field(call.query, "notice")) != std::end(kDone);
  http::HttpResponse made = render(call.url(),
                                   {.page = name,
                                    .title = title,
                                    .user = frame_user(call, section, is_sub_page),
                                    .notice = notice,
                                    .is_done = is_done,
                                    .find = section == "gifts" ? field(call.query, "find") : ""},
                                   std::move(data));
  if (!notice.empty()) made.headers.emplace_back("Set-Cookie", set_short_cookie(call.url(), kNotice, "", 0));
  return made;
}

http::HttpResponse not_found(const PageCall& call) {
  return notice(call.url(), 404, "not_found", "not_found_text", frame_user(call));
}

http::HttpResponse redirect_with_notice(const PageCall& call, const std::string& page, const std::string& key,
                                        std::int64_t count, const std::map<std::string, std::string>& query) {
  const std::string more = query_of(query);
  http::HttpResponse response =
      redirect(url_of(call, page) + "?notice=" + key + (more.empty() ? "" : "&") + more);
  response.headers.emplace_back(
      "Set-Cookie", set_short_cookie(call.url(), kNotice,
                                     notice_cookie(call, page, key, std::to_string(count)), kNoticeSeconds));
  return response;
}

store::AuditEvent event_of(const PageCall& call, const std::string& action, const std::string& kind,
                           const std::string& id) {
  store::AuditEvent event;
  event.occurred_at = call.now;
  event.request_id = call.request.request_id;
  event.network = rate_limit_prefix(call.request.client);
  event.action = action;
  event.object_kind = kind;
  event.object_id = id;
  if (call.by) {
    event.actor = call.by->user.email;
    event.user = call.by->user.id;
    event.session = store::public_session_id(call.by->session.id_hash);
    event.organization = call.by->user.organization;
  }
  return event;
}

http::HttpResponse with_return_to(const ConsoleUrl& console, http::HttpResponse response,
                                  const std::string& url) {
  return http::with_header(std::move(response), "Set-Cookie",
                           set_short_cookie(console, kReturnCookie, to_base64url(url), kReturnSeconds));
}

bool has_new_proof(const PageCall& call) {
  return call.by->session.authenticated_at + kProofMillis >= call.now;
}

Data new_proof_data(const PageCall& call, const std::string& path,
                    const std::map<std::string, std::string>& query) {
  Data data;
  const std::string fields = query_of(query);
  const std::string page_url = url_of(call, path) + (fields.empty() ? "" : "?" + fields);
  const std::string& connection = call.by->session.connection;
  if (is_offered(call.console.options, connection))
    data.set("start", call.url().base + "/sign-in/start?" +
                          query_of({{"connection", connection}, {"return", page_url}, {"again", "1"}}));
  else if (call.console.options.link_token)
    data.set("start", call.url().base + "/sign-in?" + query_of({{"return", page_url}, {"again", "1"}}));
  else
    data.set("email", call.by->user.email);
  return data;
}

http::HttpResponse new_proof_needed(const PageCall& call) {
  const std::string page_path = "/" + page_of_form(call.request.path.substr(kConsolePath.size() + 1));
  Data data;
  data.set("text", texts().text("old_proof_text"));
  data.set("proof", new_proof_data(call, page_path));
  data.set("back", url_of(call, page_path));
  return with_return_to(
      call.url(),
      render(call.url(), {"notice", texts().text("old_proof"), frame_user(call), 403}, std::move(data)),
      url_of(call, page_path));
}

std::string url_of(const PageCall& call, const std::string& path) {
  std::string url = call.url().base;
  std::size_t begin = 1;
  for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = path.find('/', begin);
    url += "/" + percent_encoded(std::string_view(path).substr(begin, end - begin));
  }
  return url;
}

Data form_data(const PageCall& call, const std::string& path) {
  Data form;
  form.set("url", url_of(call, path));
  form.set("token", token_of(call, path));
  return form;
}

Data release_form(const PageCall& call, const std::string& path, UtcMillis since) {
  Data form = form_data(call, path);
  form.set("paused_at", std::to_string(since.value));
  return form;
}

bool is_pause_of_form(const PageCall& call, std::optional<UtcMillis> since) {
  return since && field(call.form, "paused_at") == std::to_string(since->value);
}

std::vector<store::CrmFailureClass> newest_first(std::vector<store::CrmFailureClass> classes) {
  std::stable_sort(classes.begin(), classes.end(), [](const auto& one, const auto& other) {
    return one.first_failing_since > other.first_failing_since;
  });
  return classes;
}

Data failure_data(const PageCall& call, const store::CrmFailureClass& failures, const std::string& number) {
  Data row;
  row.set("error", shown_error(call.viewer(), failures.error));
  row.set("number", number);
  row.set("count", std::to_string(failures.gifts));
  row.set("id", std::to_string(failures.last.value));
  const bool is_dated = failures.first_failing_since > UtcMillis();
  if (is_dated) row.set("first", time_data(failures.first_failing_since));
  if (is_dated) row.set("last", time_data(failures.last_failing_since));
  row.set("is_new", is_dated && failures.first_failing_since >= call.now - kDayMillis);
  if (!call.viewer().is_masked())
    row.set("list",
            call.url().base + "/gifts?" +
                query_of({{"error", failures.error}, {"before", std::to_string(failures.last.value + 1)}}));
  return row;
}

std::string history_url(const PageCall& call, const std::string& kind, const std::string& id) {
  if (!call.viewer().sees_all_senders()) return {};
  return call.url().base + "/audit?" + query_of({{"object", kind + ":" + id}});
}

std::vector<std::string> allowed_domains(const PageCall& call) {
  const config::Settings* settings = call.console.options.in_force;
  return settings ? settings->sending.allowed_domains : std::vector<std::string>();
}

std::string currency_of(const PageCall& call) {
  const config::Settings* settings = call.console.options.in_force;
  return settings ? settings->catalogue.currency : std::string();
}

std::string amount_on_page(const PageCall& call, std::optional<Money> amount) {
  return amount_text(amount, currency_of(call));
}

std::string record_url(const PageCall& call, std::string_view object, const std::string& id) {
  const config::Settings* settings = call.console.options.in_force;
  return settings ? config::record_url(settings->crm, object, id) : std::string();
}

void add_record_line(const PageCall& call, Data& lines, std::string_view object, const std::string& id) {
  if (id.empty()) return;
  Data line;
  line.set("label", texts().text(object == "gift_record" ? "record_id" : std::string(object) + "_id"));
  line.set("value", id);
  set_text(line, "record_url", record_url(call, object, id));
  lines << line;
}

bool sees_installation(const store::Viewer& viewer) {
  return viewer.sees_all_senders() && !viewer.organization;
}

std::string field(const std::map<std::string, std::string>& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

}  // namespace giftsync::console
