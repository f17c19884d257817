#include "crm/salesforce/org/org_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <span>
#include <utility>

#include "crm/salesforce/calls/answers.h"
#include "crm/salesforce/calls/composite.h"
#include "crm/salesforce/calls/soql.h"
#include "platform/dependency_error.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::salesforce {
namespace {

constexpr std::size_t kShownCharacters = 300;
constexpr auto kObjects =
    std::to_array<std::string_view>({"gift_record", "request_record", "task", "contact", "lead", "account",
                                     "opportunity", "opportunity_contact_role", "user"});
/// Those whose rows the user may not see all of.
constexpr auto kSharedObjects = std::to_array<std::string_view>(
    {"contact", "lead", "account", "opportunity", "gift_record", "request_record"});

[[noreturn]] void refuse(const AnswerBody& body, std::string_view what) {
  const std::vector<ApiError> errors = body.json() ? request_errors(*body.json()) : std::vector<ApiError>();
  const std::string words =
      errors.empty() ? describe(body) : errors.front().code + ": " + errors.front().message;
  const std::string step = step_after_rest(words);
  throw giftsync::DependencyError(
      body.status >= 500,
      fmt::format("Salesforce refuses {} ({}){}{}", what, visible_text(truncated(words, kShownCharacters)),
                  step.empty() ? "" : "; ", step),
      true);
}

Select select_of(std::vector<std::string> fields, std::string from,
                 std::vector<std::string> conditions = {}) {
  Select select;
  select.fields = std::move(fields);
  select.from = std::move(from);
  select.conditions = std::move(conditions);
  return select;
}

/// Calls of one description, each with its answer or an exception.
class Reader {
 public:
  Reader(ApiClient& client, std::string api_version)
      : client_(client), api_version_(std::move(api_version)) {}

  AnswerBody get(const std::string& path, const std::string& query = {}) {
    return send({.path = path, .query = query});
  }
  std::string path(std::string_view rest) const { return data_path(api_version_) + std::string(rest); }

  /// The answers of the parts, which live as long as this object. One call, or several where the answer is
  /// too large, as with the descriptions of objects that have many fields with long picklists.
  std::vector<CompositePart> composite(std::span<const PartRequest> parts) {
    const tl::expected<ApiResponse, ApiFault> response = client_.call(
        {.method = "POST", .path = path("/composite"), .body = composite_body(parts), .rows = parts.size()});
    if (!response && response.error().is_too_large && parts.size() > 1) {
      std::vector<CompositePart> answers = composite(parts.first(parts.size() / 2));
      std::ranges::move(composite(parts.subspan(parts.size() / 2)), std::back_inserter(answers));
      return answers;
    }
    if (!response) throw_fault(response.error());
    const AnswerBody& body = bodies_.emplace_back(read_body(response->http.status, response->http.body));
    if (!is_success(body.status) || !body.json()) refuse(body, "the description");
    auto answers = composite_parts(*body.json());
    if (!answers) throw giftsync::DependencyError(true, "Salesforce: " + answers.error(), true);
    return std::move(*answers);
  }
  PartRequest query(const Select& select, std::string reference) const {
    return query_part(api_version_, to_soql(select), std::move(reference));
  }

 private:
  AnswerBody send(const ApiRequest& request) {
    const tl::expected<ApiResponse, ApiFault> response = client_.call(request);
    if (!response) throw_fault(response.error());
    return read_body(response->http.status, response->http.body);
  }

  ApiClient& client_;
  const std::string api_version_;
  std::deque<AnswerBody> bodies_;
};

/// References have letters and digits only.
std::string reference_of(std::string_view object) {
  std::string reference(object);
  std::erase(reference, '_');
  return reference;
}

/// The records of a part; nullopt where the user may not ask.
std::optional<std::span<const JsonValue>> records_of(std::span<const CompositePart> parts,
                                                     std::string_view reference) {
  const CompositePart* part = find_part(parts, reference);
  if (part == nullptr || !is_success(part->status)) return std::nullopt;
  const auto page = query_page(*part->body);
  return page ? std::optional(page->records) : std::nullopt;
}

std::vector<std::string> read_versions(Reader& reader) {
  const AnswerBody body = reader.get("/services/data");
  if (!is_success(body.status) || !body.json()) refuse(body, "the list of API versions");
  std::vector<std::string> versions;
  for (const JsonValue& element : body.json()->elements()) versions.push_back(text_at(element, "version"));
  return versions;
}

std::vector<std::string> read_object_names(Reader& reader) {
  const AnswerBody body = reader.get(reader.path("/sobjects"));
  if (!is_success(body.status) || !body.json()) refuse(body, "the list of objects");
  std::vector<std::string> names;
  for (const JsonValue& json_value : list_at(*body.json(), "sobjects"))
    names.push_back(text_at(json_value, "name"));
  return names;
}

void read_organization(const JsonValue& row, OrgFacts& facts) {
  facts.organization_id = text_at(row, "Id");
  facts.organization_name = text_at(row, "Name");
  facts.edition = text_at(row, "OrganizationType");
  facts.is_sandbox = flag_at(row, "IsSandbox");
}

/// Objects, organization and user, in one call where the answer is not too large. Returns the Ids of the
/// user's permission sets, that of its profile among them.
std::optional<std::vector<std::string>> read_objects(Reader& reader, const DescriptionRequest& request,
                                                     OrgFacts& facts) {
  std::vector<PartRequest> parts;
  for (const std::string_view object : kObjects) {
    const std::string name = request.names.object(object);
    if (!name.empty() && is_identifier(name))
      parts.push_back(describe_part(request.api_version, name, reference_of(object)));
  }
  const std::string user = id_literal(request.user_id).value_or("''");
  parts.push_back(reader.query(select_of({"Id", "Name", "OrganizationType", "IsSandbox"}, "Organization"),
                               "organization"));
  parts.push_back(reader.query(
      select_of({"Id", "Username", "LocaleSidKey", "LanguageLocaleKey"}, "User", {"Id = " + user}), "me"));
  parts.push_back(reader.query(
      select_of({"PermissionSetId"}, "PermissionSetAssignment", {"AssigneeId = " + user}), "sets"));
  const std::vector<CompositePart> answers = reader.composite(parts);
  for (const std::string_view object : kObjects) {
    const CompositePart* part = find_part(answers, reference_of(object));
    if (part != nullptr && is_success(part->status))
      facts.objects[std::string(object)] = object_facts(*part->body);
  }
  if (const auto rows = records_of(answers, "organization"); rows && !rows->empty())
    read_organization(rows->front(), facts);
  facts.user.id = request.user_id;
  if (const auto rows = records_of(answers, "me"); rows && !rows->empty()) {
    const JsonValue& me = rows->front();
    facts.user = {text_at(me, "Id"), text_at(me, "Username"), text_at(me, "LocaleSidKey"),
                  text_at(me, "LanguageLocaleKey")};
  }
  const auto rows = records_of(answers, "sets");
  if (!rows || rows->empty()) return std::nullopt;
  std::vector<std::string> sets;
  for (const JsonValue& row : *rows) sets.push_back(text_at(row, "PermissionSetId"));
  return sets;
}

std::string in_list(const std::vector<std::string>& literals) {
  return fmt::format("({})", fmt::join(literals, ", "));
}

std::vector<std::string> shared_names(const ApiNames& names) {
  std::vector<std::string> found;
  for (const std::string_view object : kSharedObjects) {
    if (const std::string name = names.object(object); !name.empty()) found.push_back(name);
  }
  return found;
}

std::optional<std::set<std::string>> read_view_all(Reader& reader, const ApiNames& names,
                                                   const std::vector<std::string>& sets) {
  std::vector<std::string> ids;
  for (const std::string& set : sets) {
    if (auto literal = id_literal(set)) ids.push_back(std::move(*literal));
  }
  if (ids.empty()) return std::nullopt;
  const std::vector<std::string> objects = shared_names(names);
  std::vector<std::string> literals;
  for (const std::string& name : objects) literals.push_back(text_literal(name).value_or("''"));
  const std::array<PartRequest, 2> parts{
      reader.query(select_of({"SobjectType"}, "ObjectPermissions",
                             {"ParentId IN " + in_list(ids), "SobjectType IN " + in_list(literals),
                              "PermissionsViewAllRecords = true"}),
                   "objects"),
      reader.query(
          select_of({"Id"}, "PermissionSet", {"Id IN " + in_list(ids), "PermissionsViewAllData = true"}),
          "all")};
  const std::vector<CompositePart> answers = reader.composite(parts);
  const auto rows = records_of(answers, "objects");
  const auto all = records_of(answers, "all");
  if (!rows || !all) return std::nullopt;
  std::set<std::string> seen;
  if (!all->empty()) seen.insert(objects.begin(), objects.end());
  for (const JsonValue& row : *rows) seen.insert(text_at(row, "SobjectType"));
  return seen;
}

/// The Tooling API, which needs the permission View Setup and Configuration.
std::optional<std::vector<RuleFacts>> read_rules(Reader& reader, const ApiNames& names) {
  const AnswerBody body =
      reader.get(reader.path("/tooling/query"), "q=" + percent_encoded(rules_statement(names)));
  if (!is_success(body.status) || !body.json()) return std::nullopt;
  return rule_facts(*body.json());
}

std::optional<CallFacts> read_calls(Reader& reader) {
  const AnswerBody body = reader.get(reader.path("/limits"));
  if (!is_success(body.status) || !body.json()) return std::nullopt;
  const JsonValue* daily = body.json()->find("DailyApiRequests");
  if (daily == nullptr) return std::nullopt;
  return CallFacts{number_at(*daily, "Max"), number_at(*daily, "Remaining")};
}

}  // namespace

const FieldFacts* ObjectFacts::find(std::string_view field) const {
  const auto found = fields.find(ascii_lower(field));
  return found == fields.end() ? nullptr : &found->second;
}

const ObjectFacts* OrgFacts::find(std::string_view object) const {
  const auto found = objects.find(std::string(object));
  return found == objects.end() ? nullptr : &found->second;
}

std::string rules_statement(const ApiNames& names) {
  std::vector<std::string> literals;
  for (const std::string_view object : {"gift_record", "request_record"})
    literals.push_back(text_literal(names.object(object)).value_or("''"));
  return to_soql(select_of({"ValidationName", "Active", "ErrorMessage", "EntityDefinition.QualifiedApiName"},
                           "ValidationRule", {"EntityDefinition.QualifiedApiName IN " + in_list(literals)}));
}

std::optional<std::vector<RuleFacts>> rule_facts(const JsonValue& json) {
  const auto page = query_page(json);
  if (!page) return std::nullopt;
  std::vector<RuleFacts> rules;
  for (const JsonValue& row : page->records) {
    const JsonValue* entity = row.find("EntityDefinition");
    rules.push_back({entity == nullptr ? "" : text_at(*entity, "QualifiedApiName"),
                     text_at(row, "ValidationName"), flag_at(row, "Active"), text_at(row, "ErrorMessage")});
  }
  return rules;
}

ObjectFacts object_facts(const JsonValue& json) {
  ObjectFacts object{.name = text_at(json, "name"),
                     .is_createable = flag_at(json, "createable"),
                     .is_updateable = flag_at(json, "updateable"),
                     .key_prefix = text_at(json, "keyPrefix")};
  for (const JsonValue& field : list_at(json, "fields")) {
    FieldFacts facts = field_facts(field);
    object.fields[ascii_lower(facts.name)] = std::move(facts);
  }
  return object;
}

FieldFacts field_facts(const JsonValue& json) {
  FieldFacts field{.name = text_at(json, "name"),
                   .type = text_at(json, "type"),
                   .length = static_cast<int>(number_at(json, "length")),
                   .precision = static_cast<int>(number_at(json, "precision")),
                   .scale = static_cast<int>(number_at(json, "scale")),
                   .is_createable = flag_at(json, "createable"),
                   .is_updateable = flag_at(json, "updateable"),
                   .is_unique = flag_at(json, "unique"),
                   .is_external_id = flag_at(json, "externalId"),
                   .is_filterable = flag_at(json, "filterable"),
                   .is_sortable = flag_at(json, "sortable"),
                   .is_restricted = flag_at(json, "restrictedPicklist"),
                   .is_checked_by_default = flag_at(json, "defaultValue")};
  for (const JsonValue& word : list_at(json, "picklistValues")) {
    if (flag_at(word, "active")) field.words.push_back(text_at(word, "value"));
  }
  for (const JsonValue& target : list_at(json, "referenceTo"))
    field.targets.emplace_back(target.text().value_or(""));
  return field;
}

OrgFacts describe_org(ApiClient& client, const DescriptionRequest& request) {
  Reader reader(client, request.api_version);
  OrgFacts facts{.versions = read_versions(reader)};
  if (std::ranges::count(facts.versions, request.api_version) == 0) return facts;
  facts.object_names = read_object_names(reader);
  const auto sets = read_objects(reader, request, facts);
  if (sets) facts.view_all = read_view_all(reader, request.names, *sets);
  facts.rules = read_rules(reader, request.names);
  facts.calls = read_calls(reader);
  return facts;
}

std::optional<std::vector<FieldFacts>> describe_fields(OrgCalls& calls, const std::string& object,
                                                       CallPurpose purpose) {
  if (!is_identifier(object)) return std::nullopt;
  const PartRequest request = describe_part(calls.api_version(), object, "object");
  const CompositeAnswer answer = calls.read(std::span(&request, 1), 0, purpose);
  const CompositePart& part = require_part(answer.parts, request.reference);
  if (part.status == kNotFound) return std::nullopt;
  if (!is_success(part.status)) calls.stop(part, purpose);
  std::vector<FieldFacts> fields;
  if (const JsonValue* list = part.body->find("fields")) {
    for (const JsonValue& field : list->elements()) fields.push_back(field_facts(field));
  }
  return fields;
}

const FieldFacts* find_field(const std::vector<FieldFacts>& fields, std::string_view name) {
  const std::string wanted = ascii_lower(name);
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const FieldFacts& field) { return ascii_lower(field.name) == wanted; });
  return found == fields.end() ? nullptr : &*found;
}

}  // namespace giftsync::salesforce
