#include "daemon/handlers/call_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "daemon/handlers/gift_request_json.h"
#include "daemon/http/routes.h"
#include "platform/digest.h"
#include "platform/text.h"
#include "platform/url_parameters.h"
#include "schema/contact_normalization.h"

namespace giftsync::handlers {
namespace {

constexpr std::array<std::string_view, 16> kGiftParameters{
    "status",    "reached_since", "reached_until", "sent_since",  "sent_until", "campaign",
    "item",      "sender",        "email",         "external_id", "request_id", "source",
    "reference", "updated_since", "limit",         "cursor"};
constexpr std::array<std::string_view, 8> kRequestParameters{
    "sent_since", "sent_until", "campaign", "item", "sender", "reference", "limit", "cursor"};
/// What the filter's parameters have at most.
constexpr std::size_t kMaxValueCodePoints = 255;
/// No source has this name (settings: sources).
constexpr std::string_view kOwnSource = "giftsync";
constexpr std::string_view kThisList = "this list";
constexpr std::size_t kMacBytes = 16;
constexpr std::size_t kTagDigits = 32;

/// A day is its first moment in UTC.
std::optional<UtcMillis> day_or_time(const std::string& text) {
  constexpr std::size_t kDayLength = 10;
  return from_rfc3339(text.size() == kDayLength ? text + "T00:00:00Z" : text);
}

/// One query while it is read.
struct ListReading {
  ListParameters& query;

  void add_error(const std::string& field, http::FieldCode code, const std::string& message) {
    query.issues.push_back({field, code, message});
  }
  void refuse(const std::string& name, const std::string& value, std::string_view wanted) {
    add_error(name, "invalid", fmt::format("{} must be {}; found {}.", name, wanted, http::quoted(value)));
  }
  template <class Value>
  void set(const std::string& name, const std::string& value, std::optional<Value> read,
           std::optional<Value>& member, std::string_view wanted) {
    if (!read) return refuse(name, value, wanted);
    member = read;
  }
  void set_time(const std::string& name, const std::string& value, std::optional<UtcMillis>& member) {
    set(name, value, day_or_time(value), member,
        "a time as 2026-11-28T10:00:00Z (write + as %2B), or a day, whose first moment in UTC counts");
  }
  void set_address(const std::string& name, const std::string& value, std::string& member) {
    if (email_error(value)) return refuse(name, value, "an e-mail address");
    member = value;
  }
  void read(const std::string& name, const std::string& value) {
    store::ConsoleGiftFilter& filter = query.filter;
    if (name == "status")
      set(name, value, status_from_word(value), filter.status,
          "sent, delivered, undelivered, opened, redeemed, donated, expired or refunded");
    else if (name == "reached_since")
      set_time(name, value, filter.reached_since);
    else if (name == "reached_until")
      set_time(name, value, filter.reached_until);
    else if (name == "sent_since")
      set_time(name, value, filter.sent_since);
    else if (name == "sent_until")
      set_time(name, value, filter.sent_until);
    else if (name == "updated_since")
      read_updated_since(name, value);
    else if (name == "campaign")
      filter.campaign = value;
    else if (name == "item")
      filter.item = value;
    else if (name == "sender")
      set_address(name, value, filter.sender);
    else if (name == "email")
      set_address(name, value, filter.recipient);
    else if (name == "external_id")
      query.external_id = value;
    else if (name == "request_id")
      set(name, value, parse_gift_request_id(value), filter.request, "the id of a gift request");
    else if (name == "source")
      filter.source = value == kOwnSource ? std::string() : value;
    else if (name == "reference")
      filter.reference = value;
    else if (name == "limit")
      read_limit(name, value);
    else
      query.cursor = value;
  }
  void read_updated_since(const std::string& name, const std::string& value) {
    query.updated_after = feed_cursor_from(value);
    if (query.updated_after) return;
    set(name, value, day_or_time(value), query.updated_since,
        "a feed_cursor of an earlier answer, or a time as 2026-11-28T10:00:00Z (write + as %2B)");
  }
  void read_limit(const std::string& name, const std::string& value) {
    const auto number = parse_number<std::size_t>(value);
    if (!number || *number < 1 || *number > kMaxPageRows)
      return refuse(name, value, fmt::format("a number from 1 to {}", kMaxPageRows));
    query.limit = *number;
  }
};

bool is_member(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::span<const std::string_view> gift_list_parameters() {
  return kGiftParameters;
}

std::span<const std::string_view> request_list_parameters() {
  return kRequestParameters;
}

void read_parameters(std::string_view query, std::string_view of, std::span<const std::string_view> known,
                     http::FieldIssues& issues,
                     const std::function<void(const std::string&, const std::string&)>& read) {
  const auto parameters = parse_url_parameters(query);
  if (!parameters) issues.push_back({"", "invalid", "The query is not percent-encoded text."});
  std::set<std::string> seen;
  for (const auto& [name, value] : parameters.value_or(std::vector<std::pair<std::string, std::string>>())) {
    if (!is_member(known, name))
      issues.push_back(
          {name, "unknown_parameter",
           known.empty() ? fmt::format("{} is unknown: this address has no parameters.", http::quoted(name))
                         : fmt::format("{} is no parameter of {}, which has {}.", http::quoted(name), of,
                                       fmt::join(known, ", "))});
    else if (!seen.insert(name).second)
      issues.push_back({name, "repeated_parameter", fmt::format("{} may be given once.", name)});
    else
      read(name, value);
  }
}

ListParameters parse_list_parameters(std::string_view text, std::span<const std::string_view> allowed) {
  ListParameters query;
  ListReading reading{query};
  bool has_status = false;
  std::map<std::string, std::string> kept;
  read_parameters(text, kThisList, allowed, query.issues,
                  [&](const std::string& name, const std::string& value) {
                    has_status = has_status || name == "status";
                    if (value.empty() || !is_storable_text(value) ||
                        (name != "cursor" && count_code_points(value) > kMaxValueCodePoints))
                      return reading.refuse(name, value,
                                            fmt::format("a text of 1 to {} characters", kMaxValueCodePoints));
                    reading.read(name, value);
                    if (name != "cursor" && name != "limit") kept[name] = value;
                  });
  const bool has_reached = query.filter.reached_since || query.filter.reached_until;
  if (has_reached && !has_status)
    reading.add_error(query.filter.reached_since ? "reached_since" : "reached_until", "invalid",
                      "reached_since and reached_until are times of a status: add status.");
  for (const auto& [name, value] : kept)
    query.filter_text += fmt::format("{}:{}:{},", name, value.size(), value);
  return query;
}

std::optional<http::HttpResponse> refused_call(const http::HttpRequest& request, bool has_body,
                                               std::initializer_list<std::string_view> parameters) {
  if (has_body) {
    auto head = http::check_json_head(request, http::kMaxSmallBodyBytes, http::CallKind::changes);
    if (!head) return std::move(head.error());
  }
  http::FieldIssues issues;
  read_parameters(request.query, kThisList, {parameters.begin(), parameters.size()}, issues,
                  [](const std::string&, const std::string&) {});
  if (issues.empty()) return std::nullopt;
  const bool reads = request.method == "GET" || request.method == "HEAD";
  return reads ? refused_query(issues) : http::invalid_request(issues, http::CallKind::changes);
}

void refuse_unknown_members(http::JsonObjectReader& fields, const http::JsonObjectReader::LocatedObject& root,
                            std::initializer_list<std::string_view> known) {
  for (const JsonMember& member : root.object.members()) {
    if (std::find(known.begin(), known.end(), member.name) != known.end()) continue;
    fields.add_error(root.field(member.name), "unknown_parameter",
                     known.size() == 0
                         ? fmt::format("{} is unknown: this call has no members.", http::quoted(member.name))
                         : fmt::format("{} is no member of this call, which has {}.",
                                       http::quoted(member.name), fmt::join(known, ", ")));
  }
}

http::HttpResponse refused_query(const http::FieldIssues& issues) {
  std::string message = issues.front().message;
  if (issues.size() > 1)
    message += fmt::format(" {} more faults are listed in \"errors\".", issues.size() - 1);
  return http::problem("invalid", message + " Correct the parameters and ask again.", issues);
}

ListCursors::ListCursors(std::string_view secret) : key_(hmac_sha256(secret, "list cursors")) {}

std::string ListCursors::mac_of(std::string_view of, std::string_view place) const {
  return hmac_sha256(key_, fmt::format("{}:{}{}", of.size(), of, place)).substr(0, kMacBytes);
}

std::string ListCursors::seal(std::string_view of, std::string_view place) const {
  return to_base64url(mac_of(of, place) + std::string(place));
}

std::optional<std::string> ListCursors::open(std::string_view of, std::string_view cursor) const {
  const auto bytes = from_base64url(cursor);
  if (!bytes || bytes->size() < kMacBytes) return std::nullopt;
  std::string place = bytes->substr(kMacBytes);
  if (!equal_in_constant_time(bytes->substr(0, kMacBytes), mac_of(of, place))) return std::nullopt;
  return place;
}

std::string next_page_url(std::string_view base_url, const http::HttpRequest& request,
                          std::string_view cursor) {
  std::string query;
  for (std::string_view rest = request.query; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const auto named = parse_url_parameters(part);  // its name may be percent-encoded
    const bool is_cursor = named && !named->empty() && named->front().first == "cursor";
    if (!part.empty() && !is_cursor) query.append(part).append("&");
  }
  // It stands between < and > in the header Link.
  for (std::size_t at = 0; (at = query.find_first_of("<>\"", at)) != std::string::npos;)
    query.replace(at, 1, fmt::format("%{:02X}", static_cast<unsigned char>(query[at])));
  return fmt::format("{}{}?{}cursor={}", base_url, request.path, query, cursor);
}

namespace {

/// Whether a list in one of those headers has such an element.
template <class Matches>
bool has_element(const http::HttpRequest& request, std::string_view header, const Matches& matches) {
  const auto [first, last] = request.headers.equal_range(header);
  for (auto one = first; one != last; ++one) {
    for (std::string_view rest = one->second; !rest.empty();) {
      const std::string_view part = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(part.size() + 1, rest.size()));
      if (matches(trimmed(part))) return true;
    }
  }
  return false;
}

}  // namespace

bool accepts_ndjson(const http::HttpRequest& request) {
  return has_element(request, "Accept", [](std::string_view type) {
    return ascii_lower(trimmed(type.substr(0, type.find(';')))) == "application/x-ndjson";
  });
}

http::HttpResponse tagged(const http::HttpRequest& request, http::HttpResponse response,
                          const std::string& tag) {
  const std::string quoted_tag = '"' + tag + '"';
  // Weak comparison: RFC 9110, section 13.1.2.
  const bool is_known = has_element(request, "If-None-Match", [&](std::string_view one) {
    return one == "*" || (one.starts_with("W/") ? one.substr(2) : one) == quoted_tag;
  });
  if (is_known) {
    response.status = 304;
    response.body.clear();
    std::erase_if(response.headers, [](const auto& header) { return header.first == "Content-Type"; });
  }
  return http::with_header(std::move(response), "ETag", quoted_tag);
}

http::HttpResponse tagged_by_body(const http::HttpRequest& request, http::HttpResponse response) {
  const std::string tag = sha256_hex(response.body).substr(0, kTagDigits);
  return tagged(request, std::move(response), tag);
}

}  // namespace giftsync::handlers
