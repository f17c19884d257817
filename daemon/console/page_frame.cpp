#include "daemon/console/page_frame.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "daemon/config/text_checks.h"
#include "daemon/http/json_request.h"
#include "embedded/giftsync_daemon_console.h"
#include "platform/digest.h"
#include "platform/http_client.h"
#include "platform/text.h"

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

/// Parsed once on each thread: rendering uses members of a kainjow template, so threads cannot share one.
Template& template_of(std::string_view page) {
  thread_local std::map<std::string, Template, std::less<>> parsed;
  const auto known = parsed.find(page);
  if (known != parsed.end()) return known->second;
  const std::string name = "web/console/" + std::string(page) + ".html.mustache";
  for (const auto& [file, content] : embedded::giftsync_daemon_console_files) {
    if (file != name) continue;
    Template& made = parsed.emplace(page, Template{std::string(content)}).first->second;
    if (!made.is_valid()) throw std::logic_error(name + ": " + made.error_message());
    made.set_custom_escape([](const std::string& text) { return content::html_escaped(text); });
    return made;
  }
  throw std::logic_error("there is no " + name);
}

const Data& text_data() {
  thread_local const Data data = [] {
    Data all;
    for (const auto& [key, text] : texts().all()) all.set(key, text);
    return all;
  }();
  return data;
}

/// "2026-11-21 12:31:07"
std::string exact_text(UtcMillis time) {
  return to_rfc3339(time).substr(0, 19).replace(10, 1, " ");
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
  const std::string content = template_of(frame.page).render(data);
  Data outer;
  outer.set("t", text_data());
  outer.set("base", url.base);
  outer.set("title", frame.title);
  outer.set("style", style_path());
  outer.set("script", script_path());
  outer.set("icon", icon_path());
  outer.set("content", content);
  outer.set("on_" + frame.section, std::string(frame.is_sub_page ? "true" : "page"));
  if (frame.user) outer.set("user", *frame.user);
  set_text(outer, "notice", frame.notice);
  outer.set("is_done", frame.is_done);
  http::HttpResponse response;
  response.status = frame.status;
  response.body = template_of("frame").render(outer);
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
  return list_of(order, [](const auto& placed) {
    const TimelineEntry& one = *placed.second;
    Data entry;
    entry.set("at", exact_time_data(one.at));
    entry.set("text", one.text);
    entry.set("detail", one.detail);
    entry.set("voided", one.voided);
    set_text(entry, "object", one.object);
    set_text(entry, "object_url", one.object_url);
    return entry;
  });
}

std::string minute(UtcMillis time) {
  return exact_text(time).substr(0, std::string_view("2026-11-21 12:31").size());
}

Data time_data(UtcMillis time) {
  Data data;
  data.set("text", minute(time));
  data.set("datetime", to_rfc3339(time));
  return data;
}

Data exact_time_data(UtcMillis time) {
  Data data = time_data(time);
  data.set("text", exact_text(time));
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
