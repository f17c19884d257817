// daemon/http: every error that the API returns, as RFC 9457 application/problem+json with the members type
// ("/problems/<code>"), title, status, detail, message (the same text as detail), code, and errors [{field,
// code, message}] where fields are invalid (HTTP-36). Codes and titles are those of the catalogue. Pure:
// nothing here logs, and no response reveals what the caller may not know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/http_message.h"
#include "daemon/validation/json_body.h"
#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "sync/access/send_authorization.h"

namespace giftsync::http {

using validation::BodyError;
using validation::FieldCode;
using validation::FieldIssue;
using validation::FieldIssues;
using validation::json_text;
using validation::ProblemCode;

/// Status and title are those of the catalogue (HTTP-37): problem("not_found", message). `message`: what
/// happened here and what to do next. `errors`: empty: the member is left out. Invalid UTF-8 is replaced.
HttpResponse problem(ProblemCode problem_code, std::string_view message, const FieldIssues& errors = {},
                     std::optional<UtcMillis> available_at = std::nullopt);

/// What a refused call would have done. Its refusal says what is true of it: nothing_done().
enum class CallKind {
  creates,  ///< its Idempotency-Key identifies it: "Nothing was created"
  changes,  ///< a repeat has no further effect, so the header is ignored: "Nothing was changed"
  any       ///< of an error that every call may have: "Nothing was done"
};
std::string_view nothing_done(CallKind kind);

// 400
/// `next_step`: the second part of the message, after the error.
HttpResponse malformed_json(const JsonError& error, std::string_view next_step);
/// `errors` is not empty.
HttpResponse invalid_request(const FieldIssues& errors, CallKind kind);
/// The catalogue has no such active gift: an error of gift_id.
HttpResponse unknown_gift(GiftId gift);
HttpResponse invalid_idempotency_key(std::string_view reason);

// 401. Unknown, revoked and expired keys and deactivated accounts get the same response (HTTP-25).
/// `other`: other_credential(); a credential of another kind is called so.
HttpResponse missing_api_key(std::string_view other = {});
HttpResponse refused_api_key(std::string_view other = {});

// 403
HttpResponse plan_without_api_access(giftsync::Plan plan);
HttpResponse missing_scope(Scope needed);
/// Recipients to whom nothing is sent (GUARD-1). `errors` is not empty. Nothing was created.
/// `available_at`: when the same request may be made.
HttpResponse sending_refused(const FieldIssues& errors, std::optional<UtcMillis> available_at = std::nullopt);
/// A repeat of a call that was held and then rejected or expired (GUARD-28). `what`: a sentence that says so.
HttpResponse held_request_ended(HeldState state, const std::string& what);
/// A call that would send, with a credential that an admin has paused (HTTP-51).
HttpResponse key_paused(CredentialKind kind, UtcMillis since);
/// Test keys are not in use here (test.enabled).
HttpResponse tests_disabled();
/// What a test key cannot do.
HttpResponse live_only(std::string_view message);
/// 400: a live key asks for what a test key may ask for (TEST-6).
HttpResponse test_only();

/// 401 or 403: the missing preconditions for a gift from the CRM (REQ-36). `missing` is not empty; the first
/// message is the response's, `errors` has all of them.
HttpResponse refused_crm_sender(const std::vector<sync::MissingPrecondition>& missing);

// 404
HttpResponse not_found(std::string_view message);
HttpResponse unknown_path();
/// Also for a gift request of another sender (HTTP-7).
HttpResponse unknown_gift_request();

/// 405 + Allow. `allowed` in the order of the header, e.g. {"GET", "HEAD"}.
HttpResponse method_not_allowed(const std::vector<std::string_view>& allowed);

/// 409 + Retry-After: the first request with this Idempotency-Key is still running.
HttpResponse idempotency_key_in_use();
/// 422: the Idempotency-Key was used for another body.
HttpResponse idempotency_mismatch();

/// 413; closes the connection.
HttpResponse body_too_large(std::size_t max_bytes, CallKind kind);

/// 415; `reason` from json_content_type_error().
HttpResponse unsupported_media_type(std::string_view reason);
/// 415 + Accept-Encoding; `reason` from content_encoding_error().
HttpResponse unsupported_content_encoding(std::string_view reason);

/// The rate limit of an API key and how much of it is left.
struct RateLimitStatus {
  std::int64_t limit = 0;          ///< requests in a window
  std::int64_t remaining = 0;      ///< requests left in this window
  std::int64_t reset_seconds = 0;  ///< until the window ends
};
/// Adds RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset, for every response of a key with a limit
/// (HTTP-10).
void add_rate_limit_headers(HttpResponse& response, const RateLimitStatus& rate);
/// 429 + Retry-After (at least 1 s) + the RateLimit headers.
HttpResponse rate_limited(const RateLimitStatus& rate);

/// 500: a permanent error of this server; a retry does not help.
HttpResponse internal_error(std::string_view request_id);
/// 503 + Retry-After: the same request may be repeated under its Idempotency-Key (HTTP-39). `what`: the
/// service does, as it follows "The service".
HttpResponse unavailable(std::int64_t retry_after_seconds,
                         std::string_view what = "cannot store anything for the moment");

// Successful responses with a JSON body, which no cache keeps. Pure.

/// `body` is the text of a JSON document.
HttpResponse json_response(int status, std::string body);

}  // namespace giftsync::http
