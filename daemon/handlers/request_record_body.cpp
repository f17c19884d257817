#include "daemon/handlers/request_record_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "daemon/config/suggestion.h"
#include "daemon/http/json_object_reader.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"

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

std::string name_of(F field) {
  return std::string(schema::descriptor_of(field).name);
}

bool is_blank(const LocatedObject& root, F field) {
  const platform::JsonValue* value = http::JsonObjectReader::optional_member(root, name_of(field));
  return value == nullptr || (value->text() && platform::trimmed(*value->text()).empty());
}

/// A record without gift or recipient can never be sent.
void require_gift_and_recipient(http::JsonObjectReader& fields, const LocatedObject& root) {
  const auto hint = [&](F field) {
    return http::JsonObjectReader::similar_member_hint(root, name_of(field));
  };
  if (is_blank(root, F::gift_id))
    fields.add_error(name_of(F::gift_id), "missing",
                     name_of(F::gift_id) + " is required." + hint(F::gift_id));
  const bool has_recipient = !is_blank(root, F::recipient_email) || !is_blank(root, F::recipient_contact) ||
                             !is_blank(root, F::recipient_lead);
  if (!has_recipient)
    fields.add_error(name_of(F::recipient_email), "missing",
                     "Recipient_Email, Recipient_Contact or Recipient_Lead is required." +
                         hint(F::recipient_email) + hint(F::recipient_contact) + hint(F::recipient_lead));
}

void warn_of_address(http::JsonObjectReader& fields, const schema::RequestRecord& record) {
  const std::string& address = record.text(F::recipient_email);
  const auto reason = address.empty() ? std::nullopt : schema::email_error(platform::trimmed(address));
  if (reason)
    fields.add_warning(
        name_of(F::recipient_email), "invalid_email",
        fmt::format("Recipient_Email {} {}: no gift can be sent to it.", http::quoted(address), *reason));
}

void warn_of_unknown_members(http::JsonObjectReader& fields, const LocatedObject& root) {
  std::vector<std::string> known;
  for (const F field : schema::creatable_fields()) known.push_back(name_of(field));
  for (const platform::JsonMember& member : root.object.members()) {
    if (std::find(known.begin(), known.end(), member.name) != known.end()) continue;
    const std::string nearest = config::suggestion_for(member.name, known);
    fields.add_warning(
        std::string(platform::truncated(member.name, 60)), "unknown_member",
        fmt::format("{} is not a member of this request and was ignored{}", http::quoted(member.name),
                    nearest.empty() ? "." : "; did you mean " + nearest + "?"));
  }
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
    require_gift_and_recipient(fields, root);
    warn_of_address(fields, read.record);
    warn_of_unknown_members(fields, root);
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
