#include "daemon/salesforce/object_description.h"

#include <algorithm>
#include <span>
#include <utility>

#include "daemon/salesforce/composite.h"
#include "daemon/salesforce/org_description.h"
#include "daemon/salesforce/soql_text.h"
#include "platform/dependency_error.h"
#include "platform/text.h"

namespace giftsync::daemon::salesforce {
namespace {

constexpr int kNotFound = 404;

}  // namespace

std::optional<std::vector<FieldFacts>> describe_fields(OrgCalls& calls, const std::string& object,
                                                       Spending spending) {
  if (!is_identifier(object)) return std::nullopt;
  // As a part, because there a missing object is an answer and no failed call.
  const PartRequest request{.method = "GET",
                            .url = data_path(calls.api_version()) + "/sobjects/" + object + "/describe",
                            .reference = "object",
                            .is_heavy = false};
  const CompositeAnswer answer = calls.read(std::span(&request, 1), 0, spending);
  const CompositePart* part = find_part(answer.parts, request.reference);
  if (!part) throw platform::DependencyError(true, "Salesforce did not answer a part of a call", true);
  if (part->status == kNotFound) return std::nullopt;
  if (!is_success(part->status)) {
    const std::vector<ApiError> errors = request_errors(*part->body);
    const ApiError error = errors.empty() ? ApiError{} : errors.front();
    calls.stop(error, classify(error, {Operation::query, false, part->status, {}}));
  }
  std::vector<FieldFacts> fields;
  if (const platform::JsonValue* list = part->body->find("fields")) {
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
