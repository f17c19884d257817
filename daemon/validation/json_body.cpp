#include "daemon/validation/json_body.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/json.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::validation {

std::string describe(const FieldIssue& issue) {
  if (issue.field.empty() || issue.message.starts_with(issue.field)) return issue.message;
  return fmt::format("{}: {}", issue.field, issue.message);
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

namespace {

constexpr std::size_t kMaxQuotedCodePoints = 60;

/// "giftId", "gift_id" and "GIFT-ID" are all "giftid".
std::string normalized_name(std::string_view name) {
  std::string normalized = ascii_lower(name);
  normalized.erase(std::remove_if(normalized.begin(), normalized.end(),
                                  [](char c) { return c == '_' || c == '-' || c == ' '; }),
                   normalized.end());
  return normalized;
}

}  // namespace

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", excerpt(text, kMaxQuotedCodePoints));
}

void WarningList::add_warning(std::string field, FieldCodeIn<kInWarnings> code, std::string message) {
  if (listed_.size() + 1 >= kMaxWarnings) {
    ++omitted_;
    return;
  }
  listed_.push_back({std::move(field), code, std::move(message)});
}

FieldIssues WarningList::list() const {
  FieldIssues warnings = listed_;
  if (omitted_ > 0)
    warnings.push_back({"", "more_warnings", fmt::format("{} more warnings are not listed.", omitted_)});
  return warnings;
}

std::string JsonObjectReader::LocatedObject::field(std::string_view name) const {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

void JsonObjectReader::add_error(std::string field, FieldCodeIn<kInErrors> code, std::string message) {
  errors_.push_back({std::move(field), code, std::move(message)});
}

void JsonObjectReader::add_warning(std::string field, FieldCodeIn<kInWarnings> code, std::string message) {
  warnings_.add_warning(std::move(field), code, std::move(message));
}

void JsonObjectReader::add_wrong_type(std::string field, std::string_view subject, std::string_view wanted,
                                      const JsonValue& found) {
  add_error(std::move(field), "wrong_type",
            fmt::format("{} must be {}; found {}.", subject, wanted, found.kind_name()));
}

const JsonValue* JsonObjectReader::optional_member(const LocatedObject& parent, std::string_view name) {
  const JsonValue* value = parent.object.find(name);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

std::string JsonObjectReader::similar_member_hint(const LocatedObject& parent, std::string_view name) {
  const std::string wanted = normalized_name(name);
  for (const JsonMember& member : parent.object.members()) {
    const bool comparable = member.name != name && member.name.size() <= 2 * name.size();
    if (comparable && normalized_name(member.name) == wanted)
      return fmt::format(" Found {}: write it \"{}\".", quoted(member.name), name);
  }
  return {};
}

const JsonValue* JsonObjectReader::required_member(const LocatedObject& parent, std::string_view name) {
  const JsonValue* value = optional_member(parent, name);
  if (value == nullptr) {
    add_error(parent.field(name), "missing",
              fmt::format("{} is required.{}", name, similar_member_hint(parent, name)));
  }
  return value;
}

std::optional<std::string_view> JsonObjectReader::read_string(const JsonValue& value,
                                                              const LocatedObject& parent,
                                                              std::string_view name) {
  const auto text = value.text();
  if (!text) add_wrong_type(parent.field(name), name, "text", value);
  return text;
}

std::optional<std::string_view> JsonObjectReader::required_string(const LocatedObject& parent,
                                                                  std::string_view name) {
  const JsonValue* value = required_member(parent, name);
  return value ? read_string(*value, parent, name) : std::nullopt;
}

std::string JsonObjectReader::read_optional_line(const LocatedObject& parent, std::string_view name,
                                                 std::size_t limit) {
  const JsonValue* value = optional_member(parent, name);
  if (value == nullptr) return {};
  const auto text = read_string(*value, parent, name);
  if (!text) return {};
  const std::string_view line = trimmed(*text);
  if (!is_plain_line(line)) {
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
  const std::size_t length = count_code_points(text);
  if (length <= limit) return true;
  add_error(parent.field(name), "too_long",
            fmt::format("{} has {} characters; at most {} are allowed.", name, length, limit));
  return false;
}

void JsonObjectReader::warn_unknown_members(const LocatedObject& parent,
                                            std::span<const std::string_view> known) {
  for (const JsonMember& member : parent.object.members()) {
    if (std::find(known.begin(), known.end(), member.name) != known.end()) continue;
    add_warning(parent.field(excerpt(member.name, kMaxQuotedCodePoints)), "unknown_member",
                fmt::format("{} is not a member of this request and was ignored.", quoted(member.name)));
  }
}

}  // namespace giftsync::validation
