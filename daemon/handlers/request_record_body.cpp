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
  if (const auto checked = value->boolean())
    record.set(field, *checked);
  else
    fields.add_wrong_type(std::string(descriptor.name), descriptor.name, "true or false", *value);
}

bool is_request_field(std::string_view name) {
  const auto given = schema::creatable_fields();
  return std::any_of(given.begin(), given.end(),
                     [&](F field) { return schema::descriptor_of(field).name == name; });
}

}  // namespace

tl::expected<RequestRecordBody, http::BodyError> parse_request_record_body(std::string_view body) {
  return http::read_json_body(body, [](http::JsonObjectReader& fields, const LocatedObject& root) {
    RequestRecordBody read;
    read.record.set(F::auto_approved, false);
    for (const F field : schema::creatable_fields()) {
      if (schema::descriptor_of(field).type == schema::FieldType::checkbox)
        read_checkbox(fields, root, field, read.record);
      else
        read_text(fields, root, field, read.record);
    }
    for (const platform::JsonMember& member : root.object.members()) {
      if (is_request_field(member.name)) continue;
      fields.add_warning(
          std::string(platform::truncated(member.name, 60)), "unknown_member",
          fmt::format("{} is not a member of this request and was ignored.", http::quoted(member.name)));
    }
    read.warnings = fields.take_warnings();
    return read;
  });
}

tl::expected<ApprovalDecisionBody, http::BodyError> parse_approval_decision_body(std::string_view body) {
  if (platform::trimmed(body).empty()) return ApprovalDecisionBody{};
  return http::read_json_body(body, [](http::JsonObjectReader& fields, const LocatedObject& root) {
    return ApprovalDecisionBody{fields.read_optional_line(root, "comment", kCommentCodePoints)};
  });
}

}  // namespace giftsync::daemon::handlers
