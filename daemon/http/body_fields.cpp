#include "daemon/http/body_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/http/json_fault.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kQuotedCodePoints = 60;

/// "giftId", "gift_id" and "GIFT-ID" are all "giftid".
std::string without_case_and_separators(std::string_view name) {
  std::string word = schema::ascii_lower(name);
  word.erase(
      std::remove_if(word.begin(), word.end(), [](char c) { return c == '_' || c == '-' || c == ' '; }),
      word.end());
  return word;
}

/// " Found "giftId": write it "gift_id"."; empty when no member is written almost like `name`.
std::string similar_member(const JsonValue& object, std::string_view name) {
  const std::string wanted = without_case_and_separators(name);
  for (const JsonMember& member : object.members()) {
    const bool comparable = member.name != name && member.name.size() <= 2 * name.size();
    if (comparable && without_case_and_separators(member.name) == wanted) {
      return fmt::format(" Found {}: write it \"{}\".", quoted(member.name), name);
    }
  }
  return {};
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

}  // namespace

std::string quoted(std::string_view text) {
  return fmt::format("\"{}\"", excerpt(text, kQuotedCodePoints));
}

std::string BodyFields::Parent::field(std::string_view name) const {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

void BodyFields::fault(std::string field, std::string code, std::string message) {
  faults_.push_back({std::move(field), std::move(code), std::move(message)});
}

void BodyFields::warn(std::string field, std::string code, std::string message) {
  if (warnings_.size() + 1 >= kMaxWarnings) {
    ++unlisted_warnings_;
    return;
  }
  warnings_.push_back({std::move(field), std::move(code), std::move(message)});
}

FieldNotes BodyFields::take_warnings() {
  if (unlisted_warnings_ > 0) {
    warnings_.push_back(
        {"", "more_warnings", fmt::format("{} more warnings are not listed.", unlisted_warnings_)});
  }
  return std::move(warnings_);
}

const JsonValue* BodyFields::optional_member(const Parent& parent, std::string_view name) {
  const JsonValue* value = parent.object.find(name);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

const JsonValue* BodyFields::required_member(const Parent& parent, std::string_view name) {
  const JsonValue* value = optional_member(parent, name);
  if (value == nullptr) {
    fault(parent.field(name), "missing",
          fmt::format("{} is required.{}", name, similar_member(parent.object, name)));
  }
  return value;
}

std::optional<std::string_view> BodyFields::text_of(const JsonValue& value, const Parent& parent,
                                                    std::string_view name) {
  const auto text = value.text();
  if (!text) {
    fault(parent.field(name), "wrong_type",
          fmt::format("{} must be text; found {}.", name, value.kind_in_words()));
  }
  return text;
}

std::string BodyFields::optional_line(const Parent& parent, std::string_view name, std::size_t limit) {
  const JsonValue* value = optional_member(parent, name);
  if (value == nullptr) return {};
  const auto text = text_of(*value, parent, name);
  if (!text) return {};
  const std::string_view line = schema::trimmed(*text);
  if (std::any_of(line.begin(), line.end(), is_control)) {
    fault(parent.field(name), "control_character",
          fmt::format("{} must be one line without control characters.", name));
    return {};
  }
  return check_length(line, limit, parent, name) ? std::string(line) : std::string();
}

bool BodyFields::check_length(std::string_view text, std::size_t limit, const Parent& parent,
                              std::string_view name) {
  if (text.size() <= limit) return true;  // no more bytes, hence no more code points
  const std::size_t length = schema::count_code_points(text);
  if (length <= limit) return true;
  fault(parent.field(name), "too_long",
        fmt::format("{} has {} characters; at most {} are allowed.", name, length, limit));
  return false;
}

void BodyFields::warn_of_unknown(const Parent& parent, std::initializer_list<std::string_view> known) {
  for (const JsonMember& member : parent.object.members()) {
    if (std::find(known.begin(), known.end(), member.name) != known.end()) continue;
    warn(parent.field(excerpt(member.name, kQuotedCodePoints)), "unknown_member",
         fmt::format("{} is not a member of this request and was ignored.", quoted(member.name)));
  }
}

}  // namespace giftsync::daemon
