// daemon/handlers: what a call asks for beside its path: the parameters of lists, of the feed and of acting
// calls, each named when it is unknown (API-1, HTTP-59), the cursor with which a list goes on (API-2), and
// the headers about the form and the version of the answer (API-8, API-9). Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "daemon/handlers/event_handler.h"
#include "daemon/http/http_message.h"
#include "daemon/http/json_request.h"
#include "daemon/http/problem.h"
#include "schema/store/console_gifts.h"

namespace giftsync::handlers {

inline constexpr std::size_t kDefaultPageRows = 50;
inline constexpr std::size_t kMaxPageRows = 500;

struct ListParameters {
  store::ConsoleGiftFilter filter = {};
  std::optional<std::string> external_id = {};
  // Of updated_since, one of both.
  std::optional<FeedCursor> updated_after = {};
  std::optional<UtcMillis> updated_since = {};
  std::optional<std::size_t> limit = {};  ///< none: kDefaultPageRows
  std::string cursor = {};                ///< as sent; may be empty
  std::string filter_text = {};           ///< the same for equal filters; cursors are sealed with it
  http::FieldIssues issues = {};
};

/// The parameters of GET /gifts and of GET /gift_requests. Each that is unknown, repeated or has a value that
/// cannot be applied is an issue: all rows would look like the answer.
std::span<const std::string_view> gift_list_parameters();
std::span<const std::string_view> request_list_parameters();

/// `allowed`: of which the list has some; none for an address without parameters.
ListParameters parse_list_parameters(std::string_view query, std::span<const std::string_view> allowed);

/// Calls `read` with name and value of each parameter that is among `known`, once; each that is unknown or
/// repeated is an issue. `of`: what has the parameters, such as "this list".
void read_parameters(std::string_view query, std::string_view of, std::span<const std::string_view> known,
                     http::FieldIssues& issues,
                     const std::function<void(const std::string&, const std::string&)>& read);

/// The refusal of a call that has another parameter than those, or one twice (HTTP-59); of one with a body
/// also where its head is that of no JSON body. Nothing: it may go on.
std::optional<http::HttpResponse> refused_call(const http::HttpRequest& request, bool has_body,
                                               std::initializer_list<std::string_view> parameters = {});

/// Each member that is not among `known` is an error: a misspelt one would have the call do something else
/// than its caller means (HTTP-59).
void refuse_unknown_members(http::JsonObjectReader& fields, const http::JsonObjectReader::LocatedObject& root,
                            std::initializer_list<std::string_view> known);

/// 400 with every issue. `issues` is not empty.
http::HttpResponse refused_query(const http::FieldIssues& issues);

/// Makes cursors: a place in an order, readable by this daemon's secret alone. Immutable, any thread.
class ListCursors {
 public:
  /// `secret`: the server secret's bytes; its rotation ends all cursors.
  explicit ListCursors(std::string_view secret);

  /// `of`: what the place is valid for, such as list, caller and filter.
  std::string seal(std::string_view of, std::string_view place) const;
  /// Nothing for a text that seal() did not make for that list.
  std::optional<std::string> open(std::string_view of, std::string_view cursor) const;

 private:
  std::string mac_of(std::string_view of, std::string_view place) const;
  std::string key_;
};

/// The URL of the next page: the same address with another cursor.
std::string next_page_url(std::string_view base_url, const http::HttpRequest& request,
                          std::string_view cursor);

/// Whether the header Accept names NDJSON (API-9).
bool accepts_ndjson(const http::HttpRequest& request);

/// `response` with that ETag, or 304 without a body when If-None-Match names it (API-8).
http::HttpResponse tagged(const http::HttpRequest& request, http::HttpResponse response,
                          const std::string& tag);
/// The same with a tag over the body.
http::HttpResponse tagged_by_body(const http::HttpRequest& request, http::HttpResponse response);

}  // namespace giftsync::handlers
