#include "crm/salesforce/calls/api_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "crm/salesforce/calls/sign_in.h"
#include "platform/clock.h"
#include "platform/dependency_error.h"
#include "platform/logging.h"
#include "platform/strict_json.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::salesforce {
namespace {

using Kind = ApiFault::Kind;

constexpr std::size_t kShownCharacters = 200;

/// A 401 that a new session does not cure: signing in for each would go on without end.
struct LastingRefusal {
  std::string_view words;
  std::string_view next_step;
};
constexpr auto kLastingRefusals = std::to_array<LastingRefusal>({
    {"This session is not valid for use with the REST API",
     "give the integration user the permission API Enabled and the app the scope api"},
    {"Connected app is not attached to Agent",
     "sign in with an External Client App of giftsync's own, not with one of an agent"},
});
constexpr std::string_view kOtherRefusal =
    "check the app's scopes and IP restrictions; Setup, Login History shows its sign-ins";

struct Refused401 {
  bool is_ended_session = false;
  std::string words;
  std::string_view next_step = kOtherRefusal;
};

/// Reads all elements of [{"errorCode": ..., "message": ...}].
Refused401 read_401(const std::string& body) {
  Refused401 refused;
  const auto document = parse_json(body);
  if (!document) return refused;
  for (const JsonValue& error : document->root().elements()) {
    const std::string code = text_at(error, "errorCode");
    const std::string message = text_at(error, "message");
    if (code == "INVALID_SESSION_ID") refused.is_ended_session = true;
    refused.words += (refused.words.empty() ? "" : "; ") + code + " " + message;
  }
  for (const LastingRefusal& lasting : kLastingRefusals) {
    if (refused.words.find(lasting.words) == std::string::npos) continue;
    refused.is_ended_session = false;
    refused.next_step = lasting.next_step;
  }
  return refused;
}

std::optional<std::int64_t> retry_after(const HttpResponse& response) {
  const auto seconds = parse_number<std::int64_t>(response.header("retry-after"));
  return seconds && *seconds >= 0 ? seconds : std::nullopt;
}

/// A path that an answer named must not become a part of the host's name.
std::string rooted(const std::string& path) {
  return path.starts_with('/') ? path : "/" + path;
}

std::optional<LimitInfo> usage_of(const HttpResponse& response) {
  return parse_limit_info(response.header("sforce-limit-info"));
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool is_json_or_empty(const HttpResponse& response) {
  return trimmed(response.body).empty() ||
         ascii_lower(response.header("content-type")).find("json") != std::string::npos;
}

/// The fault of a call that got no token.
ApiFault fault_without_token(const TokenOutcome& outcome) {
  if (const auto* refusal = std::get_if<SignInRefusal>(&outcome)) {
    return {Kind::sign_in_refused,
            fmt::format("Salesforce refuses the sign-in ({}); {}, then reload giftsyncd", refusal->reason,
                        refusal->next_step),
            false};
  }
  if (const auto* other = std::get_if<OtherOrganization>(&outcome)) {
    return {Kind::other_organization,
            fmt::format("crm.salesforce.domain leads to the org {}, and the records in the store are of the "
                        "org {}; correct the domain, or run giftsyncctl crm accept-org {}",
                        other->found, other->accepted, other->found),
            false};
  }
  const auto& failed = std::get<SignInFault>(outcome);
  ApiFault fault{Kind::sign_in_failed, "the sign-in to Salesforce failed: " + failed.reason, true};
  fault.retry_after_seconds = failed.retry_after_seconds;
  fault.status = failed.status;
  fault.is_unreachable = !failed.is_answered && failed.status == 0;
  return fault;
}

ApiFault fault_of_401(const HttpResponse& response, const Refused401& refused) {
  ApiFault fault{Kind::session_refused, "", refused.is_ended_session};
  fault.status = response.status;
  fault.usage = usage_of(response);
  fault.message =
      refused.words.empty()
          ? "Salesforce refuses the session: " + describe_unexpected(response)
          : fmt::format("Salesforce refuses the session ({}); {}",
                        visible_text(truncated(refused.words, kShownCharacters)), refused.next_step);
  return fault;
}

tl::expected<ApiResponse, ApiFault> result_of(HttpResponse response) {
  if (response.status == 0) {
    ApiFault fault{
        Kind::no_response,
        (response.is_too_large ? "Salesforce's answer has " : "Salesforce did not answer: ") + response.error,
        true};
    fault.may_have_arrived = response.may_have_arrived;
    fault.is_unreachable = !response.is_too_large;
    fault.is_too_large = response.is_too_large;
    return tl::unexpected(std::move(fault));
  }
  if (!is_json_or_empty(response) || is_redirect(response.status)) {
    const int status = response.status;
    const bool is_lasting = status >= 400 && status < 500 && status != 408 && status != 420 && status != 429;
    ApiFault fault{Kind::not_json, "Salesforce did not answer with JSON: " + describe_unexpected(response),
                   !is_lasting};
    fault.may_have_arrived = true;
    fault.is_unreachable = is_lasting;  // another server, or a proxy
    fault.status = status;
    fault.retry_after_seconds = retry_after(response);
    fault.usage = usage_of(response);
    return tl::unexpected(std::move(fault));
  }
  const std::optional<LimitInfo> usage = usage_of(response);
  return ApiResponse{std::move(response), usage};
}

void log_call(const ApiRequest& request, const HttpResponse& response, std::int64_t millis) {
  const std::optional<LimitInfo> usage = usage_of(response);
  log_debug("Salesforce was called",
            {{"method", request.method},
             {"path", request.path},
             {"status", std::int64_t{response.status}},
             {"rows", static_cast<std::int64_t>(request.rows)},
             {"sent_bytes", static_cast<std::int64_t>(response.sent_bytes)},
             {"bytes", static_cast<std::int64_t>(response.body.size())},
             {"millis", millis},
             {"api_usage", usage ? fmt::format("{}/{}", usage->org.used, usage->org.limit) : ""}});
}

}  // namespace

void throw_fault(const ApiFault& fault) {
  if (fault.is_unreachable) throw UnreachableError(fault.is_transient, fault.message, true);
  throw giftsync::DependencyError(fault.is_transient, fault.message, true);
}

ApiClient::ApiClient(HttpClient& http, TokenSource tokens, KeepGoing keep_going)
    : http_(http), tokens_(std::move(tokens)), keep_going_(std::move(keep_going)) {}

tl::expected<ApiResponse, ApiFault> ApiClient::call(const ApiRequest& request) {
  AccessTokens& tokens = tokens_();
  TokenOutcome outcome = tokens.current();
  for (bool is_replay = false;; is_replay = true) {
    const auto* token = std::get_if<AccessToken>(&outcome);
    if (token == nullptr) return tl::unexpected(fault_without_token(outcome));
    HttpResponse response = send(request, *token);
    if (response.status != 401) {
      if (response.status != 0) tokens.note_success();
      return result_of(std::move(response));
    }
    const Refused401 refused = read_401(response.body);
    if (is_replay || !refused.is_ended_session) return tl::unexpected(fault_of_401(response, refused));
    outcome = tokens.after(*token);
  }
}

HttpResponse ApiClient::send(const ApiRequest& request, const AccessToken& token) {
  HttpRequest http{.method = request.method,
                   .url = token.session.instance_url + rooted(request.path) +
                          (request.query.empty() ? "" : "?" + request.query),
                   .headers = request.headers,
                   .body = request.body,
                   .compress_body = true};
  http.headers.emplace_back("Authorization: Bearer " + token.session.access_token);
  http.headers.emplace_back("Accept: application/json");
  http.headers.emplace_back("Sforce-Call-Options: client=giftsync");
  if (!request.body.empty()) http.headers.emplace_back("Content-Type: application/json; charset=UTF-8");
  const std::int64_t start = boottime_millis();
  HttpResponse response = http_.send(http, keep_going_);
  log_call(request, response, boottime_millis() - start);
  if (on_answer_ && (response.status != 0 || response.is_too_large))
    on_answer_(request.path, usage_of(response));
  return response;
}

}  // namespace giftsync::salesforce
