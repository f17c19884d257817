#include "tests/salesforce/fake_org/api.h"

#include <algorithm>
#include <sstream>

#include "platform/text.h"
#include "tests/salesforce/fake_org/api_error.h"
#include "tests/salesforce/fake_org/collections.h"
#include "tests/salesforce/fake_org/composite.h"
#include "tests/salesforce/fake_org/deploy.h"
#include "tests/salesforce/fake_org/describe.h"
#include "tests/salesforce/fake_org/record_ids.h"
#include "tests/salesforce/fake_org/token.h"

namespace giftsync::tests::fake_org {
namespace {

constexpr int kOldestVersion = 31;
constexpr int kNewestVersion = 67;
constexpr std::string_view kData = "/services/data";

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream text(path.substr(kData.size()));
  for (std::string part; std::getline(text, part, '/');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

[[noreturn]] void not_found() {
  throw ApiError(404, "NOT_FOUND", "The requested resource does not exist");
}

Json versions_json() {
  Json versions = Json::array();
  for (int version = kOldestVersion; version <= kNewestVersion; ++version) {
    const std::string number = std::to_string(version) + ".0";
    const int year = 2014 + (version - 31) / 3;
    constexpr const char* kSeasons[] = {"Summer '", "Winter '", "Spring '"};
    const int season = (version - 31) % 3;
    versions.push_back({{"label", kSeasons[season] + std::to_string((year + (season > 0 ? 1 : 0)) % 100)},
                        {"url", "/services/data/v" + number},
                        {"version", number}});
  }
  return versions;
}

/// "v62.0" between the oldest and the newest.
void check_version(const std::string& version) {
  const auto number = version.starts_with("v") && version.ends_with(".0")
                          ? parse_number<int>(std::string_view(version).substr(1, version.size() - 3))
                          : std::nullopt;
  if (!number || *number > kNewestVersion) not_found();
  if (*number < kOldestVersion)
    throw ApiError(410, "UNSUPPORTED_API_VERSION",
                   "The requested API version " + version + " is not supported");
}

/// 304 for a description that has not changed since.
ApiAnswer described(const Org& org, const ApiRequest& request, Json body) {
  const std::int64_t changed = org.deployed_at().value / 1000 * 1000;
  ApiAnswer answer{.body = std::move(body)};
  answer.headers["Last-Modified"] = http_date(changed);
  answer.headers["ETag"] = "\"" + std::to_string(changed / 1000) + "\"";
  if (const std::string since = request.header("If-Modified-Since");
      !since.empty() && millis_of_http_date(since) >= changed) {
    answer.status = 304;
    answer.body = nullptr;
  }
  return answer;
}

ApiAnswer of_single(SingleAnswer single) {
  return {.status = single.status, .body = std::move(single.body)};
}

/// 412 where the record was changed after the header's second.
void check_unmodified(Org& org, const ApiRequest& request, const Object& object, const std::string& id) {
  const std::string since = request.header("If-Unmodified-Since");
  const std::optional<StoredRecord> record = since.empty() ? std::nullopt : org.find(object, id);
  if (!record) return;
  const auto* text = std::get_if<std::string>(&record->values.at("LastModifiedDate"));
  const auto changed = text == nullptr ? std::nullopt : from_rfc3339(*text);
  if (changed && changed->value > millis_of_http_date(since))
    throw ApiError(412, "PRECONDITION_FAILED", "The resource was modified after the given time");
}

/// "Id,Name" -> Id, Name.
std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream list(text);
  for (std::string name; std::getline(list, name, ',');) names.emplace_back(trimmed(name));
  return names;
}

/// The fields that the user sees, or those of them that are named, and the Id.
std::vector<const Field*> fields_of(Org& org, const std::string& user, const Object& object,
                                    const std::vector<std::string>& names) {
  std::vector<const Field*> fields;
  for (const std::string& name : names) {
    const Field* field = object.find(name);
    if (field == nullptr || !org.access(user, object, *field).is_readable)
      throw ApiError(400, "INVALID_FIELD", "No such column '" + name + "' on sobject of type " + object.name);
    fields.push_back(field);
  }
  if (!names.empty()) {
    if (std::ranges::count(fields, object.find("Id")) == 0) fields.push_back(object.find("Id"));
    return fields;
  }
  for (const Field& field : object.fields) {
    if (org.access(user, object, field).is_readable) fields.push_back(&field);
  }
  return fields;
}

Json record_json(const Object& object, const std::vector<const Field*>& fields, const StoredRecord& record,
                 const std::string& version) {
  Json made{{"attributes",
             {{"type", object.name},
              {"url", std::string(kData) + "/" + version + "/sobjects/" + object.name + "/" + record.id}}}};
  for (const Field* field : fields) made[field->name] = json_of(*field, record.values.at(field->name));
  return made;
}

/// Null in place of a record that is not there.
Json records_json(Org& org, const std::string& user, const Object* object, const Json& ids,
                  const std::vector<std::string>& names, const std::string& version) {
  if (object == nullptr || !org.access(user, *object).can_read) not_found();
  if (names.empty()) throw ApiError(400, "MISSING_ARGUMENT", "The fields parameter is required");
  const std::vector<const Field*> fields = fields_of(org, user, *object, names);
  Json records = Json::array();
  for (const Json& id : ids) {
    const auto record = org.find(*object, id.get<std::string>());
    records.push_back(record && !record->is_deleted ? record_json(*object, fields, *record, version)
                                                    : Json());
  }
  return records;
}

/// Collections read many records by their Ids; a long list of them is in the body of a POST.
Json retrieve(Org& org, const std::string& user, const ApiRequest& request,
              const std::vector<std::string>& parts) {
  const Object* object = org.schema().find(parts[3]);
  if (request.method == "GET")
    return records_json(org, user, object, Json(names_in(request.parameter("ids"))),
                        names_in(request.parameter("fields")), parts[0]);
  const Json body = request.json();
  return records_json(org, user, object, body.value("ids", Json::array()),
                      body.value("fields", std::vector<std::string>()), parts[0]);
}

}  // namespace

ApiAnswer Api::answer(const ApiRequest& request) {
  try {
    if (request.path.starts_with("/__org/")) return script_answer(org_, request);
    if (request.path == "/services/oauth2/token" && request.method == "POST")
      return token_answer(org_, request);
    if (!request.path.starts_with(kData)) not_found();
    if (request.path == kData) return {.body = versions_json()};
    return counted(request);
  } catch (const ApiError& error) {
    return {.status = error.status, .body = error.body};
  }
}

ApiAnswer Api::counted(const ApiRequest& request) {
  const std::string user = session_user(org_, request);
  if (org_.is_on("api_disabled")) {
    org_.count_call();
    throw ApiError(403, "API_DISABLED_FOR_ORG", "API is not enabled for this Organization or Partner");
  }
  const auto per_hour = parse_number<int>(org_.setting("api_limit_per_hour"));
  if (org_.calls() >= org_.api_limit() || (per_hour && org_.calls_of_hour() >= *per_hour))
    throw ApiError(403, "REQUEST_LIMIT_EXCEEDED", "TotalRequests Limit exceeded.");
  const int calls = org_.count_call();
  ApiAnswer answer = with_faults(request, user);
  answer.headers["Sforce-Limit-Info"] =
      "api-usage=" + std::to_string(calls) + "/" + std::to_string(org_.api_limit());
  return answer;
}

ApiAnswer Api::with_faults(const ApiRequest& request, const std::string& user) {
  if (const auto fault = org_.faults().take("answer", request.path)) {
    ApiAnswer answer{.status = fault->members.value("status", 503)};
    answer.text = fault->text("body");
    answer.content_type = fault->members.value("content_type", "text/html");
    const Json headers = fault->members.value("headers", Json::object());
    for (const auto& [name, value] : headers.items()) answer.headers[name] = value.get<std::string>();
    return answer;
  }
  const auto cut = org_.faults().take("cut", request.path);
  Savepoint savepoint(org_.database());
  ApiAnswer answer;
  try {
    answer = resource(request, user);
  } catch (const ApiError& error) {
    answer = {.status = error.status, .body = error.body};
  }
  if (!cut || cut->text("when") == "after_commit") savepoint.commit();
  answer.is_cut = cut.has_value();
  return answer;
}

ApiAnswer Api::resource(const ApiRequest& request, const std::string& user) {
  if (!request.path.starts_with(kData)) not_found();
  if (const auto fault = org_.faults().take("refusal", request.path))
    throw ApiError(fault->members.value("status", 400), fault->text("code"), fault->text("message"));
  return route(request, user);
}

ApiAnswer Api::route(const ApiRequest& request, const std::string& user) {
  const std::vector<std::string> parts = parts_of(request.path);
  if (parts.empty()) return {.body = versions_json()};
  check_version(parts[0]);
  const std::string kind = parts.size() > 1 ? parts[1] : "";
  if (kind == "query" || kind == "queryAll") return query(request, user, parts);
  if (kind == "sobjects") return sobjects(request, user, parts);
  if (kind == "limits") return limits(request, user, parts);
  if (kind == "tooling") return tooling(request, user, parts);
  if (kind == "metadata") return deployments(org_, user, request, parts);
  if (kind == "composite" && parts.size() == 2 && request.method == "POST")
    return {.body = run_composite(*this, org_, request, user)};
  if (kind == "composite" && parts.size() > 2 && parts[2] == "sobjects")
    return collections(request, user, parts);
  not_found();
}

ApiAnswer Api::query(const ApiRequest& request, const std::string& user,
                     const std::vector<std::string>& parts) {
  if (parts.size() > 2) return {.body = queries_.more(parts[2], parts[0])};
  const std::string options = request.header("Sforce-Query-Options");
  const std::size_t equals = options.find("batchSize=");
  const auto page = equals == std::string::npos
                        ? std::nullopt
                        : parse_number<std::size_t>(std::string_view(options).substr(equals + 10));
  return {.body = queries_.query(user, request.parameter("q"), parts[1] == "queryAll", parts[0],
                                 page.value_or(Queries::kPage))};
}

ApiAnswer Api::sobjects(const ApiRequest& request, const std::string& user, std::vector<std::string> parts) {
  if (parts.size() == 2) return described(org_, request, describe_org(org_, user, parts[0]));
  const Object* object = org_.schema().find(parts[2]);
  if (object == nullptr || !org_.access(user, *object).can_read) not_found();
  if (parts.size() == 3 && request.method == "POST")
    return of_single(create_record(org_, user, *object, request.json()));
  if (parts.size() == 3) return {.body = basic_information(org_, user, *object, parts[0])};
  if (parts.size() == 4 && parts[3] == "describe")
    return described(org_, request, describe_object(org_, user, *object, parts[0]));
  return record(request, user, *object, parts);
}

ApiAnswer Api::record(const ApiRequest& request, const std::string& user, const Object& object,
                      const std::vector<std::string>& parts) {
  const std::string& version = parts[0];
  const bool is_by_key = parts.size() == 5;
  // What cannot be an Id is taken for the name of a key.
  if (!is_by_key && !is_record_id(parts[3]) && org_.is_on("strict_ids")) key_field(object, parts[3]);
  if (request.method == "PATCH" && is_by_key)
    return of_single(upsert_record(org_, user, object, parts[3], parts[4], request.json(), version));
  if (request.method == "PATCH") {
    check_unmodified(org_, request, object, parts[3]);
    return of_single(update_record(org_, user, object, parts[3], request.json()));
  }
  std::vector<std::string> ids{parts[3]};
  if (is_by_key) ids = ids_with_key(org_, object, key_field(object, parts[3]), parts[4]);
  if (request.method == "DELETE" && ids.size() == 1) return of_single(delete_record(org_, user, ids[0]));
  const std::optional<StoredRecord> found = ids.size() == 1 ? org_.find(object, ids[0]) : std::nullopt;
  if (!found || found->is_deleted) not_found();
  const std::vector<std::string> names = names_in(request.parameter("fields"));
  return {.body = record_json(object, fields_of(org_, user, object, names), *found, version)};
}

ApiAnswer Api::collections(const ApiRequest& request, const std::string& user,
                           const std::vector<std::string>& parts) {
  if (request.method == "POST" && parts.size() == 3)
    return {.body = create_records(org_, user, request.json())};
  if (request.method == "PATCH" && parts.size() == 3)
    return {.body = update_records(org_, user, request.json())};
  if ((request.method == "GET" || request.method == "POST") && parts.size() == 4)
    return {.body = retrieve(org_, user, request, parts)};
  if (request.method == "PATCH" && parts.size() == 5)
    return {.body = upsert_records(org_, user, parts[3], parts[4], request.json())};
  if (request.method == "DELETE" && parts.size() == 3)
    return {.body = delete_records(org_, user, request.parameter("ids"),
                                   request.parameter("allOrNone") == "true")};
  throw ApiError(405, "METHOD_NOT_ALLOWED", "HTTP Method '" + request.method + "' not allowed");
}

/// Metadata as records, for users who may see the setup.
ApiAnswer Api::tooling(const ApiRequest& request, const std::string& user,
                       const std::vector<std::string>& parts) {
  if (parts.size() != 3 || parts[2] != "query") not_found();
  if (!org_.has_permission(user, "ViewSetup"))
    throw ApiError(400, "INVALID_TYPE", "sObject type 'ValidationRule' is not supported.");
  return {.body = queries_.query(user, request.parameter("q"), false, parts[0])};
}

ApiAnswer Api::limits(const ApiRequest& request, const std::string& user,
                      const std::vector<std::string>& parts) {
  if (parts.size() == 2 && !org_.has_permission(user, "ViewSetup"))
    throw ApiError(403, "INSUFFICIENT_ACCESS", "insufficient access rights on cross-reference id");
  if (parts.size() == 2)
    return {.body = {{"DailyApiRequests",
                      {{"Max", org_.api_limit()}, {"Remaining", org_.api_limit() - org_.calls()}}},
                     {"DataStorageMB", {{"Max", 5}, {"Remaining", 5}}},
                     {"FileStorageMB", {{"Max", 20}, {"Remaining", 20}}}}};
  if (parts[2] != "recordCount") not_found();
  // An object without records is missing from the list.
  Json counts = Json::array();
  std::istringstream names(request.parameter("sObjects"));
  for (std::string name; std::getline(names, name, ',');) {
    const Object* object = org_.schema().find(name);
    if (object == nullptr) continue;
    const auto rows = org_.database().run("SELECT count(*) FROM " + object->table + " WHERE isdeleted = 0");
    const auto count = parse_number<std::int64_t>(*rows[0][0]).value();
    if (count > 0) counts.push_back({{"count", count}, {"name", object->name}});
  }
  return {.body = {{"sObjects", counts}}};
}

}  // namespace giftsync::tests::fake_org
