#include "daemon/http/request_record_body.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/http/body_fields.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

using Parent = BodyFields::Parent;
using F = schema::RequestField;

constexpr std::size_t kLookupCodePoints = 255;
constexpr std::size_t kCommentCodePoints = 1000;

/// A member of a text field: text; a number is taken for ids, which automation tools write so.
void read_text(BodyFields& fields, const Parent& root, F field, schema::RequestRecord& record) {
  const schema::RecordField& described = field_of(field);
  const JsonValue* value = BodyFields::optional_member(root, described.name);
  if (value == nullptr) return;
  std::string text;
  if (const auto number = value->integer(); number && described.type == schema::FieldType::text) {
    text = std::to_string(*number);
  } else if (const auto given = fields.text_of(*value, root, described.name)) {
    text = *given;
  }
  const std::size_t limit =
      described.length > 0 ? static_cast<std::size_t>(described.length) : kLookupCodePoints;
  if (!fields.check_length(text, limit, root, described.name) || text.empty()) return;
  record.set(field, std::move(text));
}

void read_checkbox(BodyFields& fields, const Parent& root, F field, schema::RequestRecord& record) {
  const schema::RecordField& described = field_of(field);
  const JsonValue* value = BodyFields::optional_member(root, described.name);
  if (value == nullptr) return;
  if (const auto yes = value->boolean()) {
    record.set(field, *yes);
    return;
  }
  fields.fault(std::string(described.name), "wrong_type",
               fmt::format("{} must be true or false; found {}.", described.name, value->kind_in_words()));
}

bool is_given(std::string_view name) {
  const auto given = schema::given_fields();
  return std::any_of(given.begin(), given.end(), [&](F field) { return field_of(field).name == name; });
}

template <class Read>
auto read_object(std::string_view body, Read&& read)
    -> decltype(read(std::declval<BodyFields&>(), JsonValue())) {
  auto document = read_strict_json(body);
  if (auto* fault = std::get_if<JsonFault>(&document)) return std::move(*fault);
  const JsonValue& root = std::get<JsonDocument>(document).root();
  BodyFields fields;
  if (!root.is_object()) {
    fields.fault("", "wrong_type",
                 fmt::format("The body must be an object; found {}.", root.kind_in_words()));
    return fields.take_faults();
  }
  return read(fields, root);
}

}  // namespace

std::variant<RequestRecordBody, JsonFault, FieldNotes> read_request_record_body(std::string_view body) {
  using Result = std::variant<RequestRecordBody, JsonFault, FieldNotes>;
  return read_object(body, [](BodyFields& fields, const JsonValue& object) -> Result {
    const Parent root{object, ""};
    RequestRecordBody read;
    read.record.set(F::auto_approved, false);
    for (const F field : schema::given_fields()) {
      if (field_of(field).type == schema::FieldType::checkbox)
        read_checkbox(fields, root, field, read.record);
      else
        read_text(fields, root, field, read.record);
    }
    for (const JsonMember& member : object.members()) {
      if (!is_given(member.name)) {
        fields.warn(std::string(schema::truncated(member.name, 60)), "unknown_member",
                    fmt::format("{} is not a member of this request and was ignored.", quoted(member.name)));
      }
    }
    if (FieldNotes faults = fields.take_faults(); !faults.empty()) return faults;
    read.warnings = fields.take_warnings();
    return read;
  });
}

std::variant<VerdictBody, JsonFault, FieldNotes> read_verdict_body(std::string_view body) {
  using Result = std::variant<VerdictBody, JsonFault, FieldNotes>;
  if (schema::trimmed(body).empty()) return VerdictBody{};
  return read_object(body, [](BodyFields& fields, const JsonValue& object) -> Result {
    VerdictBody read{fields.optional_line({object, ""}, "comment", kCommentCodePoints)};
    if (FieldNotes faults = fields.take_faults(); !faults.empty()) return faults;
    return read;
  });
}

}  // namespace giftsync::daemon
