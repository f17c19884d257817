// daemon/handlers: what the calls that only validate read of their HTTP request (VALID-1). Their answer is
// that of daemon/validation/gift_request_verdict.h. Pure.
#pragma once

#include "daemon/http/http_message.h"
#include "daemon/http/json_request.h"
#include "daemon/validation/gift_request_verdict.h"

namespace giftsync::handlers {

using validation::RecipientVerdict;
using validation::validated_request_json;
using validation::ValidatedRequest;

/// What is done with a call that passes all checks. Both read and check it by the same code.
enum class CallAim {
  create,
  validate,  ///< nothing is written
};

/// The Idempotency-Key of a call that is validated is ignored: nothing is stored under it (VALID-3). False
/// without one.
bool warn_of_ignored_key(const http::HttpRequest& request, http::WarningList& warnings);

/// Whether the query has match=true.
bool asks_for_match(const http::HttpRequest& request);

}  // namespace giftsync::handlers
