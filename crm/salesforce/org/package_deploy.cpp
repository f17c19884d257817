#include "crm/salesforce/org/package_deploy.h"

#include <fmt/format.h>

#include <utility>

#include "crm/salesforce/calls/answers.h"
#include "crm/salesforce/calls/composite.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::salesforce {
namespace {

constexpr std::size_t kShownCharacters = 500;
/// No text of the package has it.
constexpr std::string_view kBoundary = "giftsync-metadata-4f1c7a90d2";

std::string shown(std::string_view text) {
  return visible_text(truncated(text, kShownCharacters));
}

/// Without a level of tests: the org decides, and a production org refuses to run none.
std::string form(const std::string& zip, bool is_check_only) {
  const std::string options = fmt::format(
      R"({{"deployOptions":{{"allowMissingFiles":false,"autoUpdatePackage":false,"checkOnly":{},)"
      R"("ignoreWarnings":true,"performRetrieve":false,"purgeOnDelete":false,"rollbackOnError":true,)"
      R"("singlePackage":true}}}})",
      is_check_only);
  return fmt::format(
      "--{0}\r\nContent-Disposition: form-data; name=\"json\"\r\nContent-Type: "
      "application/json\r\n\r\n{1}\r\n"
      "--{0}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"deploy.zip\"\r\n"
      "Content-Type: application/zip\r\n\r\n{2}\r\n--{0}--\r\n",
      kBoundary, options, zip);
}

std::size_t count_at(const JsonValue& object, std::string_view name) {
  const std::int64_t count = number_at(object, name);
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

ComponentFailure failure_of(const JsonValue& json) {
  return {text_at(json, "fileName"), static_cast<int>(count_at(json, "lineNumber")),
          text_at(json, "componentType"), text_at(json, "fullName"), text_at(json, "problem")};
}

/// A list; a single element may come without it.
std::vector<const JsonValue*> components_at(const JsonValue* object, std::string_view name) {
  const JsonValue* list = object == nullptr ? nullptr : object->find(name);
  std::vector<const JsonValue*> found;
  if (list == nullptr) return found;
  if (list->is_object()) found.push_back(list);
  for (const JsonValue& element : list->elements()) found.push_back(&element);
  return found;
}

/// There already, with other contents. The entry of package.xml itself has no type.
bool is_replaced(const JsonValue& component) {
  return flag_at(component, "changed") && !flag_at(component, "created") &&
         !text_at(component, "componentType").empty();
}

Deployment deployment_of(const JsonValue& json) {
  Deployment made;
  made.id = text_at(json, "id");
  const JsonValue* result = json.find("deployResult");
  if (result == nullptr) return made;
  made.status = text_at(*result, "status");
  made.is_done = flag_at(*result, "done");
  made.is_success = flag_at(*result, "success");
  made.total = count_at(*result, "numberComponentsTotal");
  made.deployed = count_at(*result, "numberComponentsDeployed");
  made.errors = count_at(*result, "numberComponentErrors");
  made.message = text_at(*result, "errorMessage");
  const JsonValue* details = result->find("details");
  for (const JsonValue* failure : components_at(details, "componentFailures"))
    made.failures.push_back(failure_of(*failure));
  for (const JsonValue* component : components_at(details, "componentSuccesses")) {
    if (is_replaced(*component))
      made.replaced.push_back(
          shown(text_at(*component, "componentType") + " " + text_at(*component, "fullName")));
  }
  return made;
}

DeployFault fault_of(const AnswerBody& body) {
  const std::vector<ApiError> errors = body.json() ? request_errors(*body.json()) : std::vector<ApiError>();
  const std::string words =
      errors.empty() ? describe(body) : errors.front().code + ": " + errors.front().message;
  std::string_view next;
  if (body.status == 401) next = "; get a new access token of an admin (they end after hours)";
  if (body.status == 403)
    next =
        "; the token's user needs the permissions Modify Metadata Through Metadata API Functions and API "
        "Enabled";
  return {fmt::format("Salesforce refuses the deployment ({}){}", shown(words), next), body.status >= 500};
}

}  // namespace

std::string to_text(const ComponentFailure& failure) {
  return fmt::format("{}:{}: {} ({} {})", failure.file, failure.line, shown(failure.problem), failure.type,
                     failure.name);
}

PackageDeploy::PackageDeploy(HttpClient& http, DeployTarget target)
    : http_(http), target_(std::move(target)) {}

tl::expected<Deployment, DeployFault> PackageDeploy::begin(const std::string& zip, bool is_check_only) {
  return send({.method = "POST",
               .url = "/metadata/deployRequest",
               .headers = {fmt::format("Content-Type: multipart/form-data; boundary={}", kBoundary)},
               .body = form(zip, is_check_only)});
}

tl::expected<Deployment, DeployFault> PackageDeploy::look(const std::string& id) {
  return send({.url = "/metadata/deployRequest/" + percent_encoded(id) + "?includeDetails=true"});
}

tl::expected<Deployment, DeployFault> PackageDeploy::send(HttpRequest request) {
  request.url = target_.instance_url + data_path(target_.api_version) + request.url;
  request.headers.emplace_back("Authorization: Bearer " + target_.access_token);
  request.headers.emplace_back("Accept: application/json");
  const HttpResponse response = http_.send(request);
  if (response.status == 0)
    return tl::unexpected(DeployFault{"Salesforce did not answer: " + response.error, true});
  const AnswerBody body = read_body(response.status, response.body);
  if (!is_success(body.status) || !body.json()) return tl::unexpected(fault_of(body));
  Deployment deployment = deployment_of(*body.json());
  if (deployment.id.empty())
    return tl::unexpected(DeployFault{"Salesforce names no deployment: " + describe(body), false});
  return deployment;
}

}  // namespace giftsync::salesforce
