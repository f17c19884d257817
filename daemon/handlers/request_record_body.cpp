#include "daemon/handlers/request_record_body.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/http/json_object_reader.h"
#include "platform/text.h"

namespace giftsync::daemon::handlers {
namespace {

using LocatedObject = http::JsonObjectReader::LocatedObject;
using F = schema::RequestRecordField;

constexpr std::size_t kLookupCodePoints = 255;
constexpr std::size_t kCommentCodePoints = 1000;

/// Reads a text field: text, or a number for ids, because automation tools send ids as numbers.
void read_text(http::JsonObjectReader& fields, const LocatedObject& root, F field,
               schema::RequestRecord& record) {
  const schema::FieldDescriptor& descriptor = schema::descriptor_of(field);
  const platform::JsonValue* value = http::JsonObjectReader::optional_member(root, descriptor.name);
  if (value == nullptr) return;
  std::string text;
  if (const auto number = value->integer(); number && descriptor.type == schema::FieldType::text) {
    text = std::to_string(*number);
  } else if (const auto given = fields.read_string(*value, root, descriptor.name)) {
    text = *given;
  }
  const std::size_t limit =
      descriptor.length > 0 ? static_cast<std::size_t>(descriptor.length) : kLookupCodePoints;
  if (!fields.check_length(text, limit, root, descriptor.name) || text.empty()) return;
  record.set(field, std::move(text));
}

void read_checkbox(http::JsonObjectReader& fields, const LocatedObject& root, F field,
                   schema::RequestRecord& record) {
  const schema::FieldDescriptor& descriptor = schema::descriptor_of(field);
  const platform::JsonValue* value = http::JsonObjectReader::optional_member(root, descriptor.name);
  if (value == nullptr) return;
  if (const auto checked_value = value->boolean()) {
    record.set(field, *checked_value);
    return;
  }
  fields.add_error(std::string(descriptor.name), "wrong_type",
                   fmt::format("{} must be true or false; found {}.", descriptor.name, value->kind_name()));
}

bool is_request_field(std::string_view name) {
  const auto given = schema::creatable_fields();
  return std::any_of(given.begin(), given.end(),
                     [&](F field) { return schema::descriptor_of(field).name == name; });
}

template <class Read>
auto read_object(std::string_view body, Read&& read)
    -> decltype(read(std::declval<http::JsonObjectReader&>(), platform::JsonValue())) {
  const auto document = platform::parse_json(body);
  if (!document) return document.error();
  const platform::JsonValue& root = document->root();
  http::JsonObjectReader fields;
  if (!root.is_object()) {
    fields.add_error("", "wrong_type",
                     fmt::format("The body must be an object; found {}.", root.kind_name()));
    return fields.take_errors();
  }
  return read(fields, root);
}

}  // namespace

std::variant<RequestRecordBody, platform::JsonError, http::FieldIssues> parse_request_record_body(
    std::string_view body) {
  using Result = std::variant<RequestRecordBody, platform::JsonError, http::FieldIssues>;
  return read_object(body, [](http::JsonObjectReader& fields, const platform::JsonValue& object) -> Result {
    const LocatedObject root{object, ""};
    RequestRecordBody read;
    read.record.set(F::auto_approved, false);
    for (const F field : schema::creatable_fields()) {
      if (schema::descriptor_of(field).type == schema::FieldType::checkbox)
        read_checkbox(fields, root, field, read.record);
      else
        read_text(fields, root, field, read.record);
    }
    for (const platform::JsonMember& member : object.members()) {
      if (!is_request_field(member.name)) {
        fields.add_warning(
            std::string(platform::truncated(member.name, 60)), "unknown_member",
            fmt::format("{} is not a member of this request and was ignored.", http::quoted(member.name)));
      }
    }
    if (http::FieldIssues errors = fields.take_errors(); !errors.empty()) return errors;
    read.warnings = fields.take_warnings();
    return read;
  });
}

std::variant<ApprovalDecisionBody, platform::JsonError, http::FieldIssues> parse_approval_decision_body(
    std::string_view body) {
  using Result = std::variant<ApprovalDecisionBody, platform::JsonError, http::FieldIssues>;
  if (platform::trimmed(body).empty()) return ApprovalDecisionBody{};
  return read_object(body, [](http::JsonObjectReader& fields, const platform::JsonValue& object) -> Result {
    ApprovalDecisionBody read{fields.read_optional_line({object, ""}, "comment", kCommentCodePoints)};
    if (http::FieldIssues errors = fields.take_errors(); !errors.empty()) return errors;
    return read;
  });
}

}  // namespace giftsync::daemon::handlers
