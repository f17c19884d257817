#include "daemon/console/page_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "daemon/config/text_checks.h"
#include "daemon/http/json_request.h"
#include "embedded/giftsync_daemon_console.h"
#include "platform/digest.h"
#include "platform/http_client.h"
#include "platform/text.h"
#include "sync/gift/lifecycle.h"

namespace giftsync::console {

namespace {

std::string cookie_text(const ConsoleUrl& url, const std::string& name, const std::string& value) {
  // __Host- demands the path "/".
  const std::string path = url.base == "/console" ? "/" : url.base + "/";
  return name + "=" + value + "; Path=" + path + "; HttpOnly; SameSite=Lax" +
         (url.is_secure ? "; Secure" : "");
}

}  // namespace

ConsoleUrl::ConsoleUrl(const std::string& admin_url)
    : host(config::host_of_url(admin_url)), is_secure(ascii_lower(admin_url).starts_with("https:")) {
  const std::size_t path = admin_url.find('/', admin_url.find("://") + 3);
  origin = config::origin_of_url(admin_url);
  const std::string prefix = path == std::string::npos ? "" : admin_url.substr(path);
  base = prefix + "/console";
  cookie_name = std::string(!is_secure ? "" : prefix.empty() ? "__Host-" : "__Secure-") + "giftsync_session";
}

bool has_right_host(const http::HttpRequest& request, const ConsoleUrl& url) {
  const auto host = request.header("Host");
  return host && config::host_of_url("http://" + *host) == url.host;
}

std::string set_cookie(const ConsoleUrl& url, const std::string& value) {
  return cookie_text(url, url.cookie_name, value) + (value.empty() ? "; Max-Age=0" : "");
}

std::string short_cookie_name(const ConsoleUrl& url, std::string_view purpose) {
  return url.cookie_name + "_" + std::string(purpose);
}

std::string set_short_cookie(const ConsoleUrl& url, std::string_view purpose, const std::string& value,
                             std::int64_t seconds) {
  return cookie_text(url, short_cookie_name(url, purpose), value) + "; Max-Age=" + std::to_string(seconds);
}

std::string origin_fault(const http::HttpRequest& request, const ConsoleUrl& url) {
  if (!http::is_form(request)) return "the content is not a form";
  const auto fetch_site = request.header("Sec-Fetch-Site");
  const auto origin = request.header("Origin");
  if (fetch_site && *fetch_site != "same-origin") return "another site posted the form";
  if (origin && *origin != "null" && ascii_lower(*origin) != url.origin) return "the form has another origin";
  if (!fetch_site && (!origin || *origin == "null")) return "the browser does not say where the form is from";
  return {};
}

std::string form_token(std::string_view form_secret, std::string_view path) {
  return to_base64url(hmac_sha256(form_secret, path));
}

std::string query_of(const std::map<std::string, std::string>& parameters) {
  std::string query;
  for (const auto& [name, value] : parameters) {
    if (value.empty()) continue;
    query += (query.empty() ? "" : "&") + percent_encoded(name) + "=" + percent_encoded(value);
  }
  return query;
}

namespace {

constexpr std::string_view kFolder = "assets/";
constexpr std::size_t kHashDigits = 12;

std::string path_of(std::string_view content, std::string_view name) {
  return std::string(kFolder) + sha256_hex(content).substr(0, kHashDigits) + "/" + std::string(name);
}

http::HttpResponse file(std::string type, std::string_view content) {
  return {200,
          {{"Content-Type", std::move(type)},
           {"Cache-Control", "public, max-age=31536000, immutable"},
           {"X-Content-Type-Options", "nosniff"},
           {"Cross-Origin-Resource-Policy", "same-origin"}},
          std::string(content)};
}

}  // namespace

const std::string& style_path() {
  static const std::string path = path_of(embedded::web_console_console_css, "console.css");
  return path;
}
const std::string& script_path() {
  static const std::string path = path_of(embedded::web_console_console_js, "console.js");
  return path;
}
const std::string& icon_path() {
  static const std::string path = path_of(embedded::web_console_icon_svg, "icon.svg");
  return path;
}

std::optional<http::HttpResponse> asset(std::string_view rest) {
  if (rest == std::string_view(style_path()).substr(kFolder.size()))
    return file("text/css; charset=utf-8", embedded::web_console_console_css);
  if (rest == std::string_view(script_path()).substr(kFolder.size()))
    return file("text/javascript; charset=utf-8", embedded::web_console_console_js);
  if (rest == std::string_view(icon_path()).substr(kFolder.size()))
    return file("image/svg+xml", embedded::web_console_icon_svg);
  return std::nullopt;
}

namespace {

using Template = kainjow::mustache::mustache;

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action "
    "'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types "
    "'none'";

constexpr std::pair<const char*, const char*> kHeaders[] = {
    {"Cache-Control", "no-store"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()"},
    {"Referrer-Policy", "same-origin"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"X-Robots-Tag", "noindex, nofollow"}};

std::string_view embedded_file(const std::string& name) {
  for (const auto& [file, content] : embedded::giftsync_daemon_console_files)
    if (file == name) return content;
  throw std::logic_error("there is no " + name);
}

/// The template with each {{>part}} replaced by the part's file.
std::string with_parts(std::string text) {
  constexpr std::string_view kBegin = "{{>";
  for (std::size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at)) {
    const std::size_t end = text.find("}}", at);
    const std::string part = text.substr(at + kBegin.size(), end - at - kBegin.size());
    text.replace(at, end + 2 - at, embedded_file("web/console/parts/" + part + ".html.mustache"));
  }
  return text;
}

struct PageTemplate {
  Template parsed;
  bool has_title = false;  ///< an <h1> of its own
  bool has_card = false;   ///< a card of its own, so without a session the frame writes none
};

/// Parsed once on each thread: rendering uses members of a kainjow template, so threads cannot share one.
PageTemplate& template_of(std::string_view page) {
  thread_local std::map<std::string, PageTemplate, std::less<>> parsed;
  const auto known = parsed.find(page);
  if (known != parsed.end()) return known->second;
  const std::string name = "web/console/" + std::string(page) + ".html.mustache";
  const std::string text = with_parts(std::string(embedded_file(name)));
  PageTemplate made{.parsed = Template{text},
                    .has_title = text.find("<h1") != std::string::npos,
                    .has_card = text.find("<section class=\"card\"") != std::string::npos};
  if (!made.parsed.is_valid()) throw std::logic_error(name + ": " + made.parsed.error_message());
  made.parsed.set_custom_escape([](const std::string& value) { return content::html_escaped(value); });
  return parsed.emplace(page, std::move(made)).first->second;
}

/// The symbols of web/console/icons.svg by their ids: "i-eye".
const std::map<std::string_view, std::string_view>& symbols() {
  static const std::map<std::string_view, std::string_view> all = [] {
    constexpr std::string_view kBegin = "<symbol id=\"";
    constexpr std::string_view kEnd = "</symbol>";
    std::map<std::string_view, std::string_view> found;
    const std::string_view text = embedded_file("web/console/icons.svg");
    for (std::size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at + 1)) {
      const std::size_t id = at + kBegin.size();
      found[text.substr(id, text.find('"', id) - id)] =
          text.substr(at, text.find(kEnd, at) + kEnd.size() - at);
    }
    return found;
  }();
  return all;
}

/// The drawings that the page uses, each once, in front of its end. Texts of others cannot name one: their
/// "<" is escaped.
void add_symbols(std::string& body) {
  constexpr std::string_view kUse = "<use href=\"#";
  std::map<std::string_view, std::string_view> used;
  for (std::size_t at = body.find(kUse); at != std::string::npos; at = body.find(kUse, at + 1)) {
    const std::size_t id = at + kUse.size();
    const auto symbol = symbols().find(std::string_view(body).substr(id, body.find('"', id) - id));
    if (symbol != symbols().end()) used.insert(*symbol);
  }
  std::string drawn = "<svg hidden>";
  for (const auto& [id, symbol] : used) drawn += symbol;
  body.insert(body.rfind("</body>"), drawn + "</svg>\n");
}

const Data& text_data() {
  thread_local const Data data = [] {
    Data all;
    for (const auto& [key, text] : texts().all()) all.set(key, text);
    return all;
  }();
  return data;
}

}  // namespace

const content::Messages& texts() {
  static const content::Messages messages("en", embedded::web_console_messages_en_yaml);
  return messages;
}

void add_page_headers(http::HttpResponse& response) {
  for (const auto& [name, value] : kHeaders) response.headers.emplace_back(name, value);
  response.headers.emplace_back("Content-Security-Policy", kPolicy);
}

http::HttpResponse render(const ConsoleUrl& url, const PageFrame& frame, Data data) {
  data.set("t", text_data());
  data.set("base", url.base);
  data.set("title", frame.title);
  set_text(data, "notice", frame.notice);
  data.set("is_done", frame.is_done);
  PageTemplate& page = template_of(frame.page);
  const std::string content = page.parsed.render(data);
  Data outer;
  outer.set("t", text_data());
  outer.set("base", url.base);
  outer.set("title", frame.title);
  outer.set("style", style_path());
  outer.set("script", script_path());
  outer.set("icon", icon_path());
  outer.set("content", content);
  outer.set("has_title", page.has_title);
  outer.set("has_card", page.has_card);
  outer.set("find", frame.find);
  outer.set("has_bar", content.find("bar-bottom") != std::string::npos);
  if (frame.user) outer.set("user", *frame.user);
  set_text(outer, "notice", frame.notice);
  outer.set("is_done", frame.is_done);
  http::HttpResponse response;
  response.status = frame.status;
  response.body = template_of("frame").parsed.render(outer);
  add_symbols(response.body);
  response.headers = {{"Content-Type", "text/html; charset=utf-8"}, {"Content-Language", texts().language()}};
  add_page_headers(response);
  return response;
}

http::HttpResponse notice(const ConsoleUrl& url, int status, std::string_view title_key,
                          std::string_view text_key, const std::optional<Data>& user) {
  Data data;
  data.set("text", texts().text(text_key));
  return render(url, {"notice", texts().text(title_key), user, status}, std::move(data));
}

void add_line(Data& lines, std::string_view key, const std::string& value) {
  add_titled_line(lines, texts().text(key), value);
}

void add_titled_line(Data& lines, const std::string& title, const std::string& value) {
  if (value.empty()) return;
  Data made;
  made.set("label", title);
  made.set("value", value);
  lines << made;
}

void add_time(Data& lines, std::string_view key, std::optional<UtcMillis> time) {
  if (!time) return;
  Data made;
  made.set("label", texts().text(key));
  made.set("time", time_data(*time));
  lines << made;
}

void set_text(Data& data, const std::string& name, const std::string& value) {
  if (!value.empty()) data.set(name, value);
}

void set_list(Data& data, const std::string& name, const Data& list) {
  data.set(name, list);
  data.set("has_" + name, list.is_non_empty_list());
}

void set_address(Data& data, const std::string& name, const std::string& address) {
  if (address.empty()) return;
  Data parts(Data::type::list);
  for (std::size_t begin = 0; begin < address.size();) {
    const std::size_t end = std::min(address.find_first_of("@.", begin), address.size() - 1) + 1;
    parts << Data(address.substr(begin, end - begin));
    begin = end;
  }
  Data made;
  made.set("parts", parts);
  data.set(name, made);
}

http::HttpResponse redirect(const std::string& path) {
  http::HttpResponse response{303, {{"Location", path}}, {}};
  add_page_headers(response);
  return response;
}

std::string masked_text(bool is_masked, const std::string& text) {
  return is_masked && !text.empty() ? "***" : text;
}

std::string masked_address(bool is_masked, const std::string& address) {
  constexpr std::string_view kOfHost = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
  const std::size_t at = address.find('@');
  const bool is_address = at != std::string::npos && at > 0 && at + 1 < address.size() &&
                          address.find_first_not_of(kOfHost, at + 1) == std::string::npos;
  return is_masked && is_address ? "***" + address.substr(at) : masked_text(is_masked, address);
}

std::string failure_class_number(const std::string& error) {
  std::istringstream words(error);
  std::string kept;
  for (std::string word; words >> word;)
    if (word.find('@') == std::string::npos) kept += word + " ";
  return sha256_hex(kept).substr(0, 6);
}

namespace {

/// How a state looks; `key` is that of its text.
struct StateLook {
  std::string_view key;
  const char* tint;
  const char* icon;
};

constexpr StateLook kStateLooks[] = {
    {"status_sent", "neutral", "plane"},
    {"status_delivered", "info", "tray"},
    {"status_opened", "opened", "eye"},
    {"status_redeemed", "good", "done"},
    {"status_donated", "gift", "heart"},
    {"status_expired", "warn", "clock"},
    {"status_undelivered", "bad", "cross"},
    {"status_refunded", "off", "undo"},
    {"crm_written", "plain", "check"},
    {"crm_waiting", "plain", "clock"},
    {"crm_none", "plain", "none"},
    {"crm_failing", "warn", "again"},
    {"crm_rejected", "bad", "tri"},
    {"crm_unmatched", "off", "none"},
    {"crm_needs_relink", "warn", "broken"},
    {"crm_skipped", "off", "minus"},
    {"crm_deleted", "off", "bin"},
    {"request_pending", "warn", "clock"},
    {"request_approved", "good", "check"},
    {"request_claimed", "info", "plane"},
    {"request_sent", "good", "done"},
    {"request_not_sent", "bad", "tri"},
    {"request_withdrawn", "warn", "pencil"},
    {"request_rejected", "bad", "cross"},
    {"mail_is_queued", "neutral", "clock"},
    {"mail_is_sending", "info", "plane"},
    {"mail_is_accepted", "plain", "check"},
    {"mail_is_deferred", "warn", "again"},
    {"mail_is_uncertain", "warn", "ask"},
    {"mail_is_held", "warn", "pause"},
    {"mail_is_undelivered", "bad", "cross"},
    {"mail_is_withdrawn", "off", "minus"},
    {"mail_queued", "plain", "clock"},
    {"mail_sending", "plain", "plane"},
    {"mail_accepted", "plain", "mail"},
    {"mail_uncertain", "warn", "ask"},
    {"mail_held", "warn", "pause"},
    {"mail_undelivered", "bad", "cross"},
    {"mail_withdrawn", "off", "minus"},
    {"action_resent", "neutral", "plane"},
    {"action_reminded", "plain", "bell"},
    {"action_cancelled", "off", "undo"},
    {"action_extended", "neutral", "clock"},
    {"action_linked", "neutral", "link"},
    {"action_mail_released", "neutral", "plane"},
    {"action_mail_withdrawn", "off", "minus"},
    {"action_mail_retried", "neutral", "again"},
    {"action_mail_accepted", "plain", "mail"},
    {"action_mail_undelivered", "bad", "cross"},
    {"action_mail_uncertain", "warn", "ask"},
    {"action_mail_held", "warn", "pause"},
    {"action_mail_deferred", "warn", "again"},
    {"request_edited", "neutral", "pencil"},
    {"request_failed", "bad", "tri"},
    {"source_is_ok", "plain", "check"},
    {"source_is_new", "plain", "clock"},
    {"source_is_failing", "bad", "tri"},
    {"source_is_over_limit", "warn", "pause"},
    {"source_is_invalid", "bad", "cross"},
    {"key_is_active", "plain", "check"},
    {"key_is_expiring", "warn", "clock"},
    {"key_is_expired", "off", "clock"},
    {"key_is_revoked", "off", "cross"},
    {"key_is_paused", "warn", "pause"},
    {"webhook_is_active", "plain", "check"},
    {"webhook_is_failing", "bad", "tri"},
    {"webhook_is_disabled", "off", "minus"},
    {"webhook_taken", "plain", "check"},
    {"webhook_not_taken", "bad", "cross"},
    {"health_good", "good", "check"},
    {"health_bad", "bad", "tri"},
    {"health_to_look_at", "warn", "tri"},
    {"health_no_limit", "warn", "gauge"},
    {"active", "plain", "check"},
    {"deactivated", "off", "minus"},
    {"done", "plain", "check"},
    {"refused", "bad", "cross"},
};

}  // namespace

Data badge_data(std::string_view key, const std::string& word) {
  const auto* const look = std::find_if(std::begin(kStateLooks), std::end(kStateLooks),
                                        [&](const StateLook& one) { return one.key == key; });
  Data badge;
  badge.set("word", word);
  badge.set("tint", look == std::end(kStateLooks) ? "neutral" : look->tint);
  badge.set("icon", look == std::end(kStateLooks) ? "none" : look->icon);
  return badge;
}

Data badge_data(std::string_view key) {
  return badge_data(key, texts().text(key));
}

Data empty_data(std::string_view icon, const std::string& title, const std::string& why,
                const std::string& next, const std::string& next_url) {
  Data empty;
  empty.set("icon", std::string(icon));
  empty.set("tint", icon == "check" ? "good" : "neutral");
  empty.set("title", title);
  set_text(empty, "why", why);
  set_text(empty, "next", next);
  set_text(empty, "next_url", next_url);
  return empty;
}

Data option_data(const std::string& value, const std::string& text, bool selected) {
  Data option;
  option.set("value", value);
  option.set("text", text);
  option.set("selected", selected);
  return option;
}

namespace {

constexpr int kMailStep = 2;
constexpr int kDeliveryStep = 3;

/// Whether `one` cannot have happened before `other`, although its time says so.
bool must_follow(const TimelineEntry& entry, const TimelineEntry& other) {
  if (entry.step < kDeliveryStep || other.step >= entry.step || other.at <= entry.at) return false;
  const std::int64_t millis = other.at.value - entry.at.value;
  if (other.step == kMailStep && entry.step == kDeliveryStep) return millis <= kMinuteMillis;
  // A source that tells whole seconds has left out the rest.
  return (other.step == 0 || other.step >= kDeliveryStep) && entry.at.value % 1000 == 0 && millis < 1000;
}

}  // namespace

Data timeline_data(std::vector<TimelineEntry> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const TimelineEntry& timeline_entry, const TimelineEntry& other) {
                     return timeline_entry.step < other.step;
                   });
  std::vector<std::pair<UtcMillis, const TimelineEntry*>> order;
  for (const TimelineEntry& one : entries) {
    UtcMillis at = one.at;
    for (const auto& [other_at, other] : order)
      if (must_follow(one, *other)) at = std::max(at, other_at);
    order.emplace_back(at, &one);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  std::reverse(order.begin(), order.end());
  std::string day;
  return list_of(order, [&](const auto& placed) {
    const TimelineEntry& one = *placed.second;
    Data entry;
    if (const std::string text = day_text(one.at); text != day) {
      entry.set("day", text);
      day = text;
    }
    entry.set("at", clock_data(one.at));
    entry.set("text", one.text);
    entry.set("detail", one.detail);
    entry.set("voided", one.voided);
    const Data look = badge_data(one.look, one.text);
    const bool is_own = look.get("tint")->string_value() == "plain";  // giftsync did it by itself
    entry.set("class", std::string(one.voided ? "voided" : is_own ? "own" : "event"));
    entry.set("icon", *look.get("icon"));
    entry.set("tint", *look.get("tint"));
    set_text(entry, "object", one.object);
    set_text(entry, "object_url", one.object_url);
    return entry;
  });
}

namespace {

struct ShownTimes {
  std::string zone = "UTC";
  std::optional<UtcMillis> now = {};
};

ShownTimes& shown_times() {
  thread_local ShownTimes shown;
  return shown;
}

constexpr const char* kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                   "July",    "August",   "September", "October", "November", "December"};
constexpr std::size_t kShortMonth = 3;

const char* month_of(const sync::LocalTime& at) {
  return kMonths[static_cast<std::size_t>(at.month - 1)];
}

}  // namespace

TimeView::TimeView(const std::string& zone, UtcMillis now) {
  shown_times() = {zone, now};
}
TimeView::~TimeView() {
  shown_times() = {};
}

const std::string& shown_zone() {
  return shown_times().zone;
}

std::string minute(UtcMillis time) {
  const ShownTimes& shown = shown_times();
  if (!shown.now) return minute_text(time);
  const sync::LocalTime at = sync::local_time(shown.zone, time);
  const sync::LocalTime today = sync::local_time(shown.zone, *shown.now);
  const std::string clock = fmt::format("{:02}:{:02}", at.hour, at.minute);
  if (at.year == today.year && at.month == today.month && at.day == today.day) return clock;
  const std::string day = fmt::format("{} {}", at.day, std::string_view(month_of(at)).substr(0, kShortMonth));
  return at.year == today.year ? day + " " + clock : fmt::format("{} {}", day, at.year);
}

std::string clock_text(UtcMillis time) {
  const sync::LocalTime at = sync::local_time(shown_zone(), time);
  return fmt::format("{:02}:{:02}:{:02}", at.hour, at.minute, at.second);
}

std::string day_text(UtcMillis time) {
  const sync::LocalTime at = sync::local_time(shown_zone(), time);
  return fmt::format("{} {} {}", at.day, month_of(at), at.year);
}

Data time_data(UtcMillis time) {
  Data data;
  data.set("text", minute(time));
  data.set("datetime", to_rfc3339(time));
  return data;
}

Data clock_data(UtcMillis time) {
  Data data;
  data.set("text", clock_text(time));
  data.set("datetime", to_rfc3339(time));
  return data;
}

std::string with_readable_times(const std::string& text) {
  constexpr std::size_t kDate = 10;      // "2026-11-21", before the T
  constexpr std::size_t kMaxClock = 20;  // "T12:31:07.123456789Z" at most; a message may be 10,000 times "T"
  std::string made;
  std::size_t copied = 0;
  for (std::size_t t = text.find('T'); t != std::string::npos; t = text.find('T', t + 1)) {
    const std::size_t length = std::string_view(text).substr(t, kMaxClock + 1).find('Z');
    if (length == std::string::npos || t < copied + kDate) continue;
    const std::size_t end = t + length;
    const std::size_t begin = t - kDate;
    if (!from_rfc3339(text.substr(begin, end - begin + 1))) continue;
    std::string clock = text.substr(t + 1, end - t - 1);
    if (clock.ends_with(".000")) clock.resize(clock.size() - 4);
    made += text.substr(copied, begin - copied) + text.substr(begin, kDate) + " " + clock + " UTC";
    copied = end + 1;
  }
  return made + text.substr(copied);
}

}  // namespace giftsync::console
