#include "daemon/salesforce/object_description.h"

#include <algorithm>
#include <span>
#include <utility>

#include "daemon/salesforce/composite.h"
#include "daemon/salesforce/org_description.h"
#include "daemon/salesforce/soql_text.h"
#include "platform/text.h"

namespace giftsync::daemon::salesforce {
std::optional<std::vector<FieldFacts>> describe_fields(OrgCalls& calls, const std::string& object,
                                                       Spending spending) {
  if (!is_identifier(object)) return std::nullopt;
  const PartRequest request = describe_part(calls.api_version(), object, "object");
  const CompositeAnswer answer = calls.read(std::span(&request, 1), 0, spending);
  const CompositePart& part = require_part(answer.parts, request.reference);
  if (part.status == kNotFound) return std::nullopt;
  if (!is_success(part.status)) calls.stop(part, spending);
  std::vector<FieldFacts> fields;
  if (const platform::JsonValue* list = part.body->find("fields")) {
    for (const platform::JsonValue& field : list->elements()) fields.push_back(field_facts(field));
  }
  return fields;
}

const FieldFacts* find_field(const std::vector<FieldFacts>& fields, std::string_view name) {
  const std::string wanted = platform::ascii_lower(name);
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const FieldFacts& field) {
    return platform::ascii_lower(field.name) == wanted;
  });
  return found == fields.end() ? nullptr : &*found;
}

}  // namespace giftsync::daemon::salesforce
