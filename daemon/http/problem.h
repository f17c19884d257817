// daemon/http: every error that the API answers (Spec 7, design 3.4), as RFC 9457 application/problem+json
// with the members type ("/problems/<code>"), title, status, detail, message (the same text as detail, for
// tools that look there), code, and errors [{field, code, message}] where fields are at fault.
// docs/openapi.yaml lists the same. Pure: nothing here logs, and no answer tells a caller more than the
// caller may know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/field_note.h"
#include "daemon/http/http_message.h"
#include "daemon/http/strict_json.h"
#include "schema/ids.h"
#include "schema/words.h"
#include "sync/send_permission.h"

namespace giftsync::daemon {

struct Problem {
  int status = 500;
  std::string_view code;   ///< stable word for programs
  std::string_view title;  ///< the same for each occurrence
  std::string message;     ///< what happened here and what to do next
  FieldNotes errors;       ///< empty: the member is left out
};

/// The answer for a problem. Bytes that are no UTF-8 are replaced.
HttpResponse problem(const Problem& problem);

// 400
/// `next_step`: the rest of the answer, after the fault.
HttpResponse malformed_json(
    const JsonFault& fault,
    std::string_view next_step = "Nothing was created; send one JSON object, encoded as UTF-8.");
/// `faults` is not empty. Nothing was created.
HttpResponse invalid_request(const FieldNotes& faults);
/// The catalogue has no such gift, or it is not active: a fault of gift_id.
HttpResponse unknown_gift(schema::GiftId gift);
HttpResponse invalid_idempotency_key(std::string_view why);

// 401; unknown, revoked, expired keys and deactivated accounts are one and the same answer.
HttpResponse missing_api_key();
HttpResponse refused_api_key();

// 403
HttpResponse plan_without_api_access(schema::Plan plan);
HttpResponse missing_scope(schema::Scope needed);

/// 401 or 403: what is missing before a gift may be sent from the CRM (Spec 5.6). `missing` is not empty; the
/// first message is the answer's, all of them are in `errors`.
HttpResponse refused_crm_sender(const std::vector<sync::MissingPrecondition>& missing);

// 404
HttpResponse unknown_path();
/// Also for a gift request of another sender.
HttpResponse unknown_gift_request();

/// 405 + Allow. `allowed` in the order of the header, e.g. {"GET", "HEAD"}.
HttpResponse method_not_allowed(const std::vector<std::string_view>& allowed);

/// 409 + Retry-After: the first request with this Idempotency-Key is still being worked on.
HttpResponse idempotency_key_in_use();
/// 422: the Idempotency-Key was used for another body.
HttpResponse idempotency_mismatch();

/// 413; closes the connection.
HttpResponse body_too_large(std::size_t max_bytes);

/// 415; `why` from json_content_fault().
HttpResponse unsupported_media_type(std::string_view why);
/// 415 + Accept-Encoding; `why` from content_encoding_fault().
HttpResponse unsupported_content_encoding(std::string_view why);

/// How much of its rate an API key has used.
struct RateLimit {
  std::int64_t limit = 0;          ///< requests in a window
  std::int64_t remaining = 0;      ///< requests left in this window
  std::int64_t reset_seconds = 0;  ///< until the window ends
};
/// Adds RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset; for every answer of a key with a limit.
void add_rate_limit(HttpResponse& response, const RateLimit& rate);
/// 429 + Retry-After (at least 1 s) + the RateLimit headers.
HttpResponse rate_limited(const RateLimit& rate);

/// 500: a fault of this server that trying again does not mend.
HttpResponse internal_error(std::string_view request_id);
/// 503 + Retry-After: under an Idempotency-Key the same request may safely be sent again.
HttpResponse unavailable(std::int64_t retry_after_seconds);

}  // namespace giftsync::daemon
