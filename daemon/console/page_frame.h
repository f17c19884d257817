// daemon/console: the frame of every page: head, navigation, search, the page's own template and the headers
// of the response (CON-10); and the parts that pages are made of. Text is escaped by the template; nothing on
// a page is inline. Any thread.
//
// A page is web/console/NAME.html.mustache and its data. `{{>part}}` in it is
// web/console/parts/part.html.mustache,
// `<svg class="i" aria-hidden="true"><use href="#i-NAME"/></svg>` a drawing of web/console/icons.svg. A
// template with an <h1> has its own title, with {{>said}} for the notice below it; else the frame writes
// both.
#pragma once

#include <cstdint>
#include <kainjow/mustache.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/content/messages.h"
#include "daemon/http/http_message.h"
#include "platform/time.h"

namespace giftsync::console {

// What a request must have before a page sees it: the right host, a session's cookie, and of
// a post the right origin and form token (CON-10 to CON-12). Pure.

/// The console's address as browsers see it.
struct ConsoleUrl {
  explicit ConsoleUrl(const std::string& admin_url);

  std::string origin;     ///< "https://admin.example.com:8443", in lower case
  std::string host;       ///< "admin.example.com", without a port
  std::string base;       ///< "/console", or "/gifts/console" below a path of admin_url
  bool is_secure = true;  ///< https
  /// The name of the session's cookie: with the prefix __Host-, below a path __Secure-, and plain without TLS
  /// on this host.
  std::string cookie_name;
};

/// Whether the request names the console's host. The port is not compared: proxies drop it.
bool has_right_host(const http::HttpRequest& request, const ConsoleUrl& url);

/// The value of Set-Cookie of the session. An empty `value` deletes the cookie.
std::string set_cookie(const ConsoleUrl& url, const std::string& value);

/// What the browser carries for a moment beside the session, such as "return". 0 seconds delete it.
std::string short_cookie_name(const ConsoleUrl& url, std::string_view purpose);
std::string set_short_cookie(const ConsoleUrl& url, std::string_view purpose, const std::string& value,
                             std::int64_t seconds);

/// Why the post is refused; empty when it comes from a page of the console. Absent headers refuse.
std::string origin_fault(const http::HttpRequest& request, const ConsoleUrl& url);

/// The token of the forms that post to this path of the console, such as "/sign-out".
std::string form_token(std::string_view form_secret, std::string_view path);

/// "a=1&b=x%20y", in the order of the names, without empty values.
std::string query_of(const std::map<std::string, std::string>& parameters);

// The files that pages load. A URL has the hash of its file, so that browsers keep it for a
// year and load another one after an upgrade.

/// "assets/3f9a1c02b77d/console.css" below the console's address.
const std::string& style_path();
const std::string& script_path();
const std::string& icon_path();

/// `rest` follows "assets/". Nothing for a path of no file.
std::optional<http::HttpResponse> asset(std::string_view rest);

using Data = kainjow::mustache::data;

/// The texts of web/console/messages/en.yaml.
const content::Messages& texts();
/// The text of a value with a word of its own: "status_sent" of the prefix "status_".
template <class Value>
std::string word_text(std::string_view prefix, Value value) {
  return texts().text(std::string(prefix).append(to_word(value)));
}

struct PageFrame {
  std::string_view page;          ///< the template's name: "gifts"
  std::string title;              ///< of the window and the heading
  std::optional<Data> user = {};  ///< who is signed in, of frame_user(); absent: no navigation
  int status = 200;
  std::string notice = {};  ///< above the page's content; may be empty
  bool is_done = false;     ///< the notice says that something was done; else it warns
  std::string find = {};    ///< what was searched for, in the search field of every page
};

/// The page's template rendered with `data`, in the frame. `data` gets `base` and the texts as `t`.
http::HttpResponse render(const ConsoleUrl& url, const PageFrame& frame, Data data);

/// A page with a heading, a sentence and, unless empty, a link to `back`.
http::HttpResponse notice(const ConsoleUrl& url, int status, std::string_view title_key,
                          std::string_view text_key, const std::optional<Data>& user = {});

/// Adds {label, value} to a list of facts, unless the value is empty. `key`: of the label's text.
void add_line(Data& lines, std::string_view key, const std::string& value);
/// The same under a label of its own.
void add_titled_line(Data& lines, const std::string& title, const std::string& value);
/// Adds {label, time} to a list of facts, unless there is none.
void add_time(Data& lines, std::string_view key, std::optional<UtcMillis> time);
/// Sets the value, unless it is empty: an empty text would still show its section.
void set_text(Data& data, const std::string& name, const std::string& value);

/// The list of what `data_of` makes of each one.
template <class Range, class DataOf>
Data list_of(const Range& range, const DataOf& data_of) {
  Data list(Data::type::list);
  for (const auto& one : range) list << data_of(one);
  return list;
}
/// Sets the list, and has_NAME by whether there is something in it.
void set_list(Data& data, const std::string& name, const Data& list);

/// An address for a narrow column: {parts}, which begin a new line after "@" and "." alone (CON-52).
/// Unless it is empty.
void set_address(Data& data, const std::string& name, const std::string& address);

/// 303 to a path of this host.
http::HttpResponse redirect(const std::string& path);

/// The security headers of every page.
void add_page_headers(http::HttpResponse& response);

/// "***" in place of a text that the viewer does not see; what is empty stays so.
std::string masked_text(bool is_masked, const std::string& text);
/// The same of an address, whose domain stays: "***@example.com" (CON-59). Of a text that is not one address
/// with a plain host name nothing does, as by the store's masked_address_column().
std::string masked_address(bool is_masked, const std::string& address);
/// Tells classes of failures apart where their texts look the same: "a3f09c", from the text without words
/// that are addresses, so that no one can try out addresses by it (CON-25).
std::string failure_class_number(const std::string& error);
/// {word, icon, tint} of a state for the part "badge": `key` is that of its text, as "status_sent",
/// "crm_written", "request_pending", "mail_is_held" or "source_is_failing". A state without a look of its own
/// is grey.
Data badge_data(std::string_view key);
/// The same with another text.
Data badge_data(std::string_view key, const std::string& word);
/// {icon, tint, title, why, next, next_url} for the part "empty": what is not there, why, and one next step.
/// `why` and `next` may be empty.
Data empty_data(std::string_view icon, const std::string& title, const std::string& why = {},
                const std::string& next = {}, const std::string& next_url = {});
/// {value, text, selected} of a select.
Data option_data(const std::string& value, const std::string& text, bool selected);

/// What happened to a gift or to a request.
struct TimelineEntry {
  UtcMillis at;
  std::string text;
  std::string detail = {};
  bool voided = false;
  std::string object = {};  ///< what came of it, behind the detail: "Gift 17"; may be empty
  std::string object_url = {};
  /// The place of what a gift goes through one after the other: 0 its sending, 1 what people and the mail
  /// did, 2 the relay's answer, from 3 on its statuses (CON-42).
  int step = 0;
  std::string look = "status_sent";  ///< the key of badge_data() whose drawing and colour it has
};
/// {day, at, text, detail, class, icon, tint, voided, object, object_url} of each, the newest first, `day` of
/// the first of each day; of one moment the last of their steps, then of their order, first. A status whose
/// time has whole seconds follows what came before it within its second, and a delivery the relay's
/// acceptance of its mail.
Data timeline_data(std::vector<TimelineEntry> entries);

/// How this thread's pages show times while it lives: in `zone`, is_time_zone() or shown as UTC, and as short
/// as `now` allows. Without one: in UTC, whole.
class TimeView {
 public:
  TimeView(const std::string& zone, UtcMillis now);
  ~TimeView();
  TimeView(const TimeView&) = delete;
  TimeView& operator=(const TimeView&) = delete;
};
/// The zone of this thread's TimeView.
const std::string& shown_zone();

/// Today "12:31", this year "21 Nov 12:31", else "21 Nov 2025", in the zone shown (CON-42); without a
/// TimeView "2026-11-21 12:31".
std::string minute(UtcMillis time);
/// "12:31:07", and "21 November 2026", in the zone shown.
std::string clock_text(UtcMillis time);
std::string day_text(UtcMillis time);
/// The time as data for templates: {text, datetime}; `datetime` is whole, in UTC.
Data time_data(UtcMillis time);
/// The same with clock_text().
Data clock_data(UtcMillis time);
/// The text with each "2026-11-21T12:31:07Z" as "2026-11-21 12:31:07 UTC" (CON-42).
std::string with_readable_times(const std::string& text);

}  // namespace giftsync::console
