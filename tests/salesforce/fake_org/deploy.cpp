#include "tests/salesforce/fake_org/deploy.h"

#include <map>
#include <regex>

#include "tests/salesforce/fake_org/api_error.h"
#include "tests/salesforce/fake_org/metadata_zip.h"
#include "tests/salesforce/fake_org/record_ids.h"

namespace giftsync::tests::fake_org {
namespace {

/// The parts of a form by their names.
std::map<std::string, std::string> form_parts(const ApiRequest& request) {
  const std::string type = request.header("Content-Type");
  const std::size_t at = type.find("boundary=");
  if (!type.starts_with("multipart/form-data") || at == std::string::npos)
    throw ApiError(415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type must be multipart/form-data");
  const std::string line = "--" + type.substr(at + 9);
  std::map<std::string, std::string> parts;
  for (std::size_t begin = request.body.find(line); begin != std::string::npos;) {
    begin += line.size() + 2;
    const std::size_t end = request.body.find("\r\n" + line, begin);
    const std::size_t blank = request.body.find("\r\n\r\n", begin);
    if (end == std::string::npos || blank == std::string::npos || blank > end) break;
    const std::string head = request.body.substr(begin, blank - begin);
    const std::size_t name = head.find("name=\"") + 6;
    parts[head.substr(name, head.find('"', name) - name)] = request.body.substr(blank + 4, end - blank - 4);
    begin = end + 2;
  }
  return parts;
}

Json failure_json(const ZipComponent& component, const std::string& problem) {
  return {{"changed", false},
          {"columnNumber", 1},
          {"componentType", component.type},
          {"created", false},
          {"deleted", false},
          {"fileName", component.file},
          {"fullName", component.name},
          {"lineNumber", component.line},
          {"problem", problem},
          {"problemType", "Error"},
          {"success", false}};
}

/// Whether two files differ only in how they are written: white space between elements, and what is before
/// the root.
bool has_same_contents(const std::string& one, const std::string& other) {
  const auto reduced = [](const std::string& text) {
    static const std::regex kWriting(R"(<\?xml[^>]*>|\s+xmlns(:\w+)?="[^"]*")");
    static const std::regex kSpace(R"(\s*([<>])\s*)");
    return std::regex_replace(std::regex_replace(text, kWriting, ""), kSpace, "$1");
  };
  return reduced(one) == reduced(other);
}

Json success_json(const ZipComponent& component, bool is_created, bool is_changed) {
  return {{"changed", is_changed}, {"componentType", component.type}, {"created", is_created},
          {"deleted", false},      {"fileName", component.file},      {"fullName", component.name},
          {"success", true}};
}

struct Outcome {
  std::size_t total = 0;
  Json failures = Json::array();
  Json successes = Json::array();
};

Outcome deploy(Org& org, const std::string& bytes, bool is_check_only) {
  Outcome outcome;
  MetadataZip zip;
  try {
    zip = read_metadata_zip(bytes);
    outcome.total = zip.components.size();
    for (const Fault& fault : org.faults().take_for_object("component_failure", ""))
      outcome.failures.push_back(failure_json(
          {fault.text("file"), fault.text("type"), fault.text("name"), fault.members.value("line", 1)},
          fault.text("problem")));
    if (!outcome.failures.empty()) return outcome;
    SourceFiles files = org.files();
    outcome.successes.push_back(success_json({"package.xml", "", "package.xml"}, false, true));
    for (const auto& [path, text] : zip.sources) {
      const auto present = files.find(path);
      outcome.successes.push_back(
          success_json(zip.components.at(path), present == files.end(),
                       present == files.end() || !has_same_contents(present->second, text)));
      files[path] = text;
    }
    if (is_check_only)
      org.check(files);
    else
      org.deploy(files);
  } catch (const MetadataError& error) {
    const auto found = zip.components.find(error.path);
    const ZipComponent component =
        found == zip.components.end() ? ZipComponent{error.path, "", error.path} : found->second;
    outcome.failures.push_back(failure_json(component, error.what()));
  }
  return outcome;
}

Json result_json(const std::string& id, const Outcome& outcome, bool is_check_only) {
  const bool is_success = outcome.failures.empty();
  return {{"id", id},
          {"deployResult",
           {{"checkOnly", is_check_only},
            {"done", true},
            {"id", id},
            {"numberComponentErrors", outcome.failures.size()},
            {"numberComponentsDeployed", is_success ? outcome.total : 0},
            {"numberComponentsTotal", outcome.total},
            {"rollbackOnError", true},
            {"status", is_success ? "Succeeded" : "Failed"},
            {"success", is_success},
            {"details",
             {{"componentFailures", outcome.failures},
              {"componentSuccesses", is_success ? outcome.successes : Json::array()}}}}}};
}

ApiAnswer begin(Org& org, const ApiRequest& request) {
  const std::map<std::string, std::string> parts = form_parts(request);
  if (!parts.contains("json") || !parts.contains("file"))
    throw ApiError(400, "INVALID_MULTIPART_REQUEST", "The form must have the parts json and file");
  const Json options = read_json(parts.at("json")).at("deployOptions");
  if (!options.value("rollbackOnError", false))
    throw ApiError(400, "INVALID_OPERATION", "A production org needs rollbackOnError");
  if (org.is_on("production") && options.value("testLevel", "") == "NoTestRun")
    throw ApiError(400, "INVALID_OPERATION",
                   "testLevel of NoTestRun cannot be used in production organizations");
  const bool is_check_only = options.value("checkOnly", false);
  const auto number = org.database().run("SELECT count(*) + 1 FROM org_deployment");
  const std::string id = make_record_id("0Af", std::stoull(*number[0][0]));
  const Json result = result_json(id, deploy(org, parts.at("file"), is_check_only), is_check_only);
  org.database().run("INSERT INTO org_deployment (id, result, looks) VALUES (?, ?, 0)", {id, result.dump()});
  return {.status = 201,
          .body = {{"id", id},
                   {"deployResult", {{"id", id}, {"done", false}, {"status", "Pending"}, {"success", false}}},
                   {"deployOptions", options}}};
}

ApiAnswer look(Org& org, const std::string& id) {
  const auto rows = org.database().run(
      "UPDATE org_deployment SET looks = looks + 1 WHERE id = ? RETURNING result, looks", {id});
  if (rows.empty()) throw ApiError(404, "NOT_FOUND", "The requested resource does not exist");
  Json result = read_json(*rows[0][0]);
  if (*rows[0][1] != "1") return {.body = std::move(result)};
  const Json total = result["deployResult"]["numberComponentsTotal"];
  return {.body = {{"id", id},
                   {"deployResult",
                    {{"id", id},
                     {"done", false},
                     {"status", "InProgress"},
                     {"success", false},
                     {"numberComponentsTotal", total},
                     {"numberComponentsDeployed", 0},
                     {"numberComponentErrors", 0}}}}};
}

}  // namespace

ApiAnswer deployments(Org& org, const std::string& user, const ApiRequest& request,
                      const std::vector<std::string>& parts) {
  if (!org.has_permission(user, "ModifyMetadata"))
    throw ApiError(403, "INSUFFICIENT_ACCESS",
                   "INSUFFICIENT_ACCESS: use of the Metadata API requires a user with the ModifyAllData or "
                   "ModifyMetadata permissions");
  const bool is_known = parts.size() >= 3 && parts[2] == "deployRequest";
  if (is_known && parts.size() == 3 && request.method == "POST") return begin(org, request);
  if (is_known && parts.size() == 4 && request.method == "GET") return look(org, parts[3]);
  throw ApiError(404, "NOT_FOUND", "The requested resource does not exist");
}

}  // namespace giftsync::tests::fake_org
