#include "daemon/http/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "daemon/validation/gift_request_body.h"
#include "platform/json.h"

namespace giftsync::http {
namespace {

/// Retry-After of a request whose first copy is still running.
constexpr std::int64_t kInFlightRetrySeconds = 1;

}  // namespace

HttpResponse problem(ProblemCode problem_code, std::string_view message, const FieldIssues& errors,
                     std::optional<UtcMillis> available_at) {
  const validation::ProblemKind& kind = problem_code.kind();
  nlohmann::ordered_json body{{"type", fmt::format("/problems/{}", kind.code)},
                              {"title", kind.title},
                              {"status", kind.status},
                              {"detail", message},
                              {"message", message},
                              {"code", kind.code}};
  for (const FieldIssue& error : errors) {
    body["errors"].push_back({{"field", error.field}, {"code", error.code}, {"message", error.message}});
  }
  if (available_at) body["available_at"] = to_rfc3339(*available_at);
  HttpResponse response = text_response(kind.status, "application/problem+json", json_text(body));
  response.code = kind.code;
  // Not the messages: they quote the caller's text, including addresses.
  if (!errors.empty() && !errors.front().code.empty()) {
    const FieldIssue& first = errors.front();
    response.code += fmt::format(": {}{}{}", first.field, first.field.empty() ? "" : " ", first.code);
  }
  return response;
}

HttpResponse malformed_json(const JsonError& error, std::string_view next_step) {
  return problem("malformed_json", fmt::format("{} {}", error.message, next_step),
                 {{"", FieldCode::of_finding(error.code), error.message}});
}

std::string_view nothing_done(CallKind kind) {
  switch (kind) {
    case CallKind::creates:
      return "Nothing was created";
    case CallKind::changes:
      return "Nothing was changed";
    case CallKind::any:
      break;
  }
  return "Nothing was done";
}

HttpResponse invalid_request(const FieldIssues& errors, CallKind kind) {
  std::string message = errors.empty() ? std::string() : validation::describe(errors.front());
  if (errors.size() == 2) message += " One more error is listed in \"errors\".";
  if (errors.size() > 2)
    message += fmt::format(" {} more errors are listed in \"errors\".", errors.size() - 1);
  return problem("invalid",
                 fmt::format("{} {}; correct the request and send it again.", message, nothing_done(kind)),
                 errors);
}

HttpResponse unknown_gift(GiftId gift) {
  return invalid_request({validation::unknown_gift_issue(gift)}, CallKind::creates);
}

HttpResponse invalid_idempotency_key(std::string_view reason) {
  return problem("invalid_idempotency_key", fmt::format("{} Nothing was created.", reason));
}

HttpResponse missing_api_key(std::string_view other) {
  return with_header(
      problem("missing_api_key",
              fmt::format("{} Send it in one Authorization header, as \"Authorization: YOUR_KEY\" or "
                          "\"Authorization: Bearer YOUR_KEY\".",
                          other.empty() ? "No API key was found." : other)),
      "WWW-Authenticate", R"(Bearer realm="giftsync")");
}

HttpResponse refused_api_key(std::string_view other) {
  const std::string message = other.empty() ? "The API key is wrong or not active. Check that it was copied "
                                              "completely; if it was revoked or its "
                                              "account deactivated, ask your administrator for a new one."
                                            : std::string(other) + " Ask your administrator for one.";
  return with_header(problem("refused_api_key", message), "WWW-Authenticate",
                     R"(Bearer realm="giftsync", error="invalid_token")");
}

HttpResponse plan_without_api_access(giftsync::Plan plan) {
  return problem(
      "plan_without_api_access",
      fmt::format("The key is valid, but its account's plan ({}) has no API access. API access needs "
                  "the plan team, enterprise or enterprise_plus.",
                  to_word(plan)));
}

HttpResponse refused_crm_sender(const std::vector<sync::MissingPrecondition>& missing) {
  const bool is_token = missing.front().precondition == sync::Precondition::organization_token;
  FieldIssues errors;
  for (const sync::MissingPrecondition& missing_precondition : missing)
    errors.push_back({is_token ? "" : "sender",
                      FieldCode::of_finding(to_word(missing_precondition.precondition)),
                      missing_precondition.message});
  const std::string& message = missing.front().message;
  if (is_token) return problem("refused_organization_token", message, errors);
  return problem("sender_may_not_send", message, errors);
}

HttpResponse missing_scope(Scope needed) {
  return problem(
      "missing_scope",
      fmt::format("The API key lacks the scope \"{}\". Use a key that has it; your administrator can "
                  "make one.",
                  to_word(needed)));
}

HttpResponse sending_refused(const FieldIssues& errors, std::optional<UtcMillis> available_at) {
  std::string message = validation::describe(errors.front()) + " Nothing was created.";
  if (available_at) message += fmt::format(" It may fit from {} UTC on.", minute_text(*available_at));
  return problem("sending_refused", message, errors, available_at);
}

HttpResponse held_request_ended(HeldState state, const std::string& what) {
  return problem(state == HeldState::expired ? ProblemCode("held_request_expired")
                                             : ProblemCode("held_request_rejected"),
                 what + " Nothing was created; use a new Idempotency-Key to ask again.");
}

HttpResponse key_paused(CredentialKind kind, UtcMillis since) {
  return problem(
      "key_paused",
      fmt::format("This {} is paused since {} UTC, so nothing was done. Ask your administrator to "
                  "release it, then send the request again.",
                  kind == CredentialKind::api_key ? "API key" : "organization token", minute_text(since)));
}

HttpResponse tests_disabled() {
  return problem(
      "tests_disabled",
      "This is a test key, and test.enabled in the settings is false. Nothing was done; use a live "
      "key, or ask your administrator.");
}

HttpResponse live_only(std::string_view message) {
  return problem("live_only", message);
}

HttpResponse test_only() {
  return problem(
      "test_only",
      "The header Giftsync-Test-Response is for test keys (gsk_test_...), and this key or token is live. "
      "Nothing was done; leave the header out.");
}

HttpResponse not_found(std::string_view message) {
  return problem("not_found", message);
}

HttpResponse unknown_path() {
  return not_found(
      "There is nothing at this address. Gift requests are sent to POST /api/v1/gift_requests (by e-mail) "
      "and "
      "POST /api/v1/webhooks/gift_requests (redemption URLs).");
}

HttpResponse unknown_gift_request() {
  return not_found("The account of this API key has sent no gift request with this id.");
}

HttpResponse method_not_allowed(const std::vector<std::string_view>& allowed) {
  const std::string methods = fmt::format("{}", fmt::join(allowed, ", "));
  return with_header(problem("method_not_allowed", fmt::format("This address only accepts {}.", methods)),
                     "Allow", methods);
}

HttpResponse idempotency_key_in_use() {
  return with_retry_after(
      problem("idempotency_key_in_use",
              "A request with this Idempotency-Key is still being worked on. Send the same request again "
              "shortly to get its response."),
      kInFlightRetrySeconds);
}

HttpResponse idempotency_mismatch() {
  return problem(
      "idempotency_mismatch",
      "This Idempotency-Key was already used for a request with another body. Nothing was created; "
      "use a new key for a new request, and the same body to repeat one.");
}

HttpResponse body_too_large(std::size_t max_bytes, CallKind kind) {
  HttpResponse response = problem(
      "body_too_large",
      fmt::format("The body is larger than {} bytes. {}{}", max_bytes, nothing_done(kind),
                  kind == CallKind::creates ? "; divide the recipients among several requests." : "."));
  response.close = true;
  return response;
}

HttpResponse unsupported_media_type(std::string_view reason) {
  return with_header(problem("unsupported_media_type",
                             fmt::format("{} Send the body as \"Content-Type: application/json\".", reason)),
                     "Accept", "application/json");
}

HttpResponse unsupported_content_encoding(std::string_view reason) {
  HttpResponse response =
      problem("unsupported_content_encoding",
              fmt::format("{} Send the body as it is, without a Content-Encoding.", reason));
  return with_header(with_header(std::move(response), "Accept", "application/json"), "Accept-Encoding",
                     "identity");
}

void add_rate_limit_headers(HttpResponse& response, const RateLimitStatus& rate) {
  for (const auto& [name, value] :
       {std::pair("RateLimit-Limit", rate.limit),
        std::pair("RateLimit-Remaining", std::max<std::int64_t>(rate.remaining, 0)),
        std::pair("RateLimit-Reset", std::max<std::int64_t>(rate.reset_seconds, 0))})
    response.headers.emplace_back(name, std::to_string(value));
}

HttpResponse rate_limited(const RateLimitStatus& rate) {
  HttpResponse response = with_retry_after(
      problem(
          "rate_limited",
          fmt::format("The API key has reached its limit of {} requests a minute. Nothing was done; send it "
                      "again after {} s.",
                      rate.limit, std::max<std::int64_t>(rate.reset_seconds, 1))),
      rate.reset_seconds);
  add_rate_limit_headers(response, rate);
  return response;
}

HttpResponse internal_error(std::string_view request_id) {
  return problem("internal_error",
                 fmt::format("The server could not finish this request. Give its operator the request id {}; "
                             "with an Idempotency-Key the request can be repeated without sending anything "
                             "twice.",
                             request_id));
}

HttpResponse unavailable(std::int64_t retry_after_seconds, std::string_view what) {
  return with_retry_after(
      problem("unavailable", fmt::format("The service {}. Send the same request again after "
                                         "{} s, with an Idempotency-Key so that nothing is sent twice.",
                                         what, std::max<std::int64_t>(retry_after_seconds, 1))),
      retry_after_seconds);
}

HttpResponse json_response(int status, std::string body) {
  return text_response(status, "application/json", std::move(body));
}

}  // namespace giftsync::http
