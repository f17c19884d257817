#include "daemon/http/json_object_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/json_error_locator.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::daemon::http {
namespace {

constexpr std::size_t kMaxQuotedCodePoints = 60;

/// "giftId", "gift_id" and "GIFT-ID" are all "giftid".
std::string normalized_name(std::string_view name) {
  std::string normalized = platform::ascii_lower(name);
  normalized.erase(std::remove_if(normalized.begin(), normalized.end(),
                                  [](char c) { return c == '_' || c == '-' || c == ' '; }),
                   normalized.end());
  return normalized;
}

}  // namespace

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", platform::excerpt(text, kMaxQuotedCodePoints));
}

std::string JsonObjectReader::LocatedObject::field(std::string_view name) const {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

void JsonObjectReader::add_error(std::string field, std::string code, std::string message) {
  errors_.push_back({std::move(field), std::move(code), std::move(message)});
}

void JsonObjectReader::add_warning(std::string field, std::string code, std::string message) {
  if (warnings_.size() + 1 >= kMaxWarnings) {
    ++omitted_warnings_;
    return;
  }
  warnings_.push_back({std::move(field), std::move(code), std::move(message)});
}

void JsonObjectReader::add_wrong_type(std::string field, std::string_view subject, std::string_view wanted,
                                      const platform::JsonValue& found) {
  add_error(std::move(field), "wrong_type",
            fmt::format("{} must be {}; found {}.", subject, wanted, found.kind_name()));
}

FieldIssues JsonObjectReader::take_warnings() {
  if (omitted_warnings_ > 0) {
    warnings_.push_back(
        {"", "more_warnings", fmt::format("{} more warnings are not listed.", omitted_warnings_)});
  }
  return std::move(warnings_);
}

const platform::JsonValue* JsonObjectReader::optional_member(const LocatedObject& parent,
                                                             std::string_view name) {
  const platform::JsonValue* value = parent.object.find(name);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

std::string JsonObjectReader::similar_member_hint(const LocatedObject& parent, std::string_view name) {
  const std::string wanted = normalized_name(name);
  for (const platform::JsonMember& member : parent.object.members()) {
    const bool comparable = member.name != name && member.name.size() <= 2 * name.size();
    if (comparable && normalized_name(member.name) == wanted)
      return fmt::format(" Found {}: write it \"{}\".", quoted(member.name), name);
  }
  return {};
}

const platform::JsonValue* JsonObjectReader::required_member(const LocatedObject& parent,
                                                             std::string_view name) {
  const platform::JsonValue* value = optional_member(parent, name);
  if (value == nullptr) {
    add_error(parent.field(name), "missing",
              fmt::format("{} is required.{}", name, similar_member_hint(parent, name)));
  }
  return value;
}

std::optional<std::string_view> JsonObjectReader::read_string(const platform::JsonValue& value,
                                                              const LocatedObject& parent,
                                                              std::string_view name) {
  const auto text = value.text();
  if (!text) add_wrong_type(parent.field(name), name, "text", value);
  return text;
}

std::optional<std::string_view> JsonObjectReader::required_string(const LocatedObject& parent,
                                                                  std::string_view name) {
  const platform::JsonValue* value = required_member(parent, name);
  return value ? read_string(*value, parent, name) : std::nullopt;
}

std::string JsonObjectReader::read_optional_line(const LocatedObject& parent, std::string_view name,
                                                 std::size_t limit) {
  const platform::JsonValue* value = optional_member(parent, name);
  if (value == nullptr) return {};
  const auto text = read_string(*value, parent, name);
  if (!text) return {};
  const std::string_view line = platform::trimmed(*text);
  if (!platform::is_plain_line(line)) {
    add_error(
        parent.field(name), "control_character",
        fmt::format("{} must be one line without control characters and bidirectional overrides.", name));
    return {};
  }
  return check_length(line, limit, parent, name) ? std::string(line) : std::string();
}

bool JsonObjectReader::check_length(std::string_view text, std::size_t limit, const LocatedObject& parent,
                                    std::string_view name) {
  if (text.size() <= limit) return true;  // no more bytes, hence no more code points
  const std::size_t length = platform::count_code_points(text);
  if (length <= limit) return true;
  add_error(parent.field(name), "too_long",
            fmt::format("{} has {} characters; at most {} are allowed.", name, length, limit));
  return false;
}

void JsonObjectReader::warn_unknown_members(const LocatedObject& parent,
                                            std::initializer_list<std::string_view> known) {
  for (const platform::JsonMember& member : parent.object.members()) {
    if (std::find(known.begin(), known.end(), member.name) != known.end()) continue;
    add_warning(parent.field(platform::excerpt(member.name, kMaxQuotedCodePoints)), "unknown_member",
                fmt::format("{} is not a member of this request and was ignored.", quoted(member.name)));
  }
}

}  // namespace giftsync::daemon::http
