#include "tests/salesforce/fake_org/composite.h"

#include <set>

#include "platform/text.h"
#include "tests/salesforce/fake_org/api_error.h"

namespace giftsync::tests::fake_org {
namespace {

constexpr std::size_t kParts = 25;
constexpr std::size_t kExpensiveParts = 5;

bool is_expensive(const std::string& url) {
  return url.find("/query") != std::string::npos || url.find("/composite/sobjects") != std::string::npos;
}

const Json& parts_of(const Json& body) {
  if (!body.contains("compositeRequest") || !body["compositeRequest"].is_array() ||
      body["compositeRequest"].empty())
    throw ApiError(400, "JSON_PARSER_ERROR", "The request body must have a compositeRequest");
  const Json& parts = body["compositeRequest"];
  if (parts.size() > kParts) throw ApiError(400, "LIMIT_EXCEEDED", "Limit of 25 reached for Operation");
  std::size_t expensive = 0;
  std::set<std::string> names;
  for (const Json& part : parts) {
    for (const char* member : {"method", "url", "referenceId"}) {
      if (!part.contains(member) || !part[member].is_string())
        throw ApiError(400, "JSON_PARSER_ERROR", std::string("Each part must have ") + member);
    }
    if (is_expensive(part["url"].get<std::string>())) ++expensive;
    if (!names.insert(part["referenceId"].get<std::string>()).second)
      throw ApiError(400, "INVALID_INPUT", "Duplicate referenceId");
  }
  if (expensive > kExpensiveParts)
    throw ApiError(400, "LIMIT_EXCEEDED", "Limit of 5 reached for Query and Collections operations");
  return parts;
}

/// The answers of the parts before, by their names.
struct Before {
  const Org& org;
  std::map<std::string, Json> bodies = {};
};

/// The value of "@{contact.records[0].Id}" in the answers so far.
std::string referred(const std::string& path, const Before& before) {
  std::string pointer;
  for (const char c : path) {
    if (c == '.' || c == '[')
      pointer += '/';
    else if (c == '~')
      pointer += "~0";
    else if (c != ']')
      pointer += c;
  }
  const std::size_t end = std::min(pointer.find('/'), pointer.size());
  const std::string name = pointer.substr(0, end);
  const auto found = before.bodies.find(name);
  const nlohmann::ordered_json::json_pointer rest(pointer.substr(end));
  const bool has_value = found != before.bodies.end() && found->second.contains(rest);
  if (!has_value && before.org.is_on("empty_references")) return {};
  if (!has_value || before.org.is_on("refuses_references"))
    throw ApiError(400, "PROCESSING_HALTED",
                   "Invalid reference specified. No value for " + path + " found in " + name);
  const Json& value = found->second[rest];
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

std::string with_references(std::string text, const Before& before) {
  for (std::size_t begin = 0; (begin = text.find("@{", begin)) != std::string::npos;) {
    const std::size_t end = text.find('}', begin);
    if (end == std::string::npos) break;
    const std::string value = referred(text.substr(begin + 2, end - begin - 2), before);
    text.replace(begin, end - begin + 1, value);
    begin += value.size();
  }
  return text;
}

/// References are read in the address as it is meant, not as it is escaped.
std::string with_plain_references(std::string url) {
  for (std::size_t begin = 0; (begin = url.find("%40%7B", begin)) != std::string::npos; ++begin) {
    const std::size_t end = url.find("%7D", begin);
    if (end == std::string::npos) break;
    url.replace(end, 3, "}");
    url.replace(begin, 6, "@{");
  }
  return url;
}

/// A part has its own headers; it shares nothing else with the call.
ApiRequest request_of(const Json& part, const Before& before) {
  ApiRequest request;
  request.method = part["method"].get<std::string>();
  set_address(request, with_references(with_plain_references(part["url"].get<std::string>()), before));
  if (part.contains("body") && !part["body"].is_null())
    request.body = with_references(part["body"].dump(), before);
  if (part.contains("httpHeaders")) {
    for (const auto& [name, value] : part["httpHeaders"].items())
      request.headers[name] = value.get<std::string>();
  }
  return request;
}

Json answer_json(const ApiAnswer& answer, const Json& part) {
  Json headers = Json::object();
  for (const auto& [name, value] : answer.headers) headers[name] = value;
  return {{"body", answer.body},
          {"httpHeaders", headers},
          {"httpStatusCode", answer.status},
          {"referenceId", part["referenceId"]}};
}

ApiAnswer run_part(Api& api, const Json& part, const Before& before, const std::string& user) {
  try {
    const ApiRequest request = request_of(part, before);
    if (request.path.ends_with("/composite"))
      throw ApiError(400, "INVALID_INPUT", "A composite cannot be part of a composite");
    return api.resource(request, user);
  } catch (const ApiError& error) {
    return {.status = error.status, .body = error.body};
  }
}

/// Calls of other writers between two parts, by script.
void run_interleaved(Api& api, Org& org, std::size_t part, const std::string& user) {
  for (const Fault& fault : org.faults().take_for_part(part)) {
    const std::string other = fault.text("user").empty() ? user : org.user_id(fault.text("user"));
    const ApiAnswer answer = run_part(api, fault.members, {org}, other);
    if (answer.status >= 300) throw std::runtime_error("interleaved call: " + json_text(answer.body));
  }
}

}  // namespace

Json run_composite(Api& api, Org& org, const ApiRequest& request, const std::string& user) {
  const Json body = request.json();
  const Json& parts = parts_of(body);
  const bool all_or_none = body.value("allOrNone", false);
  Savepoint savepoint(org.database());
  Before before{org};
  Json answers = Json::array();
  bool has_failed = false;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    run_interleaved(api, org, at, user);
    const ApiAnswer answer = run_part(api, parts[at], before, user);
    has_failed |= answer.status >= 400;
    before.bodies[parts[at]["referenceId"].get<std::string>()] = answer.body;
    answers.push_back(answer_json(answer, parts[at]));
  }
  if (!all_or_none || !has_failed) savepoint.commit();
  if (all_or_none && has_failed) {
    for (Json& answer : answers) {
      if (answer["httpStatusCode"].get<int>() >= 400) continue;
      answer["httpStatusCode"] = 400;
      answer["body"] = Json::array({{{"errorCode", "PROCESSING_HALTED"},
                                     {"message",
                                      "The transaction was rolled back since another operation in the "
                                      "same transaction failed."}}});
    }
  }
  return {{"compositeResponse", answers}};
}

}  // namespace giftsync::tests::fake_org
