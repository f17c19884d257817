#include "daemon/handlers/gift_request_validation.h"

#include "platform/url_parameters.h"

namespace giftsync::handlers {

bool warn_of_ignored_key(const http::HttpRequest& request, http::WarningList& warnings) {
  if (request.headers.count("Idempotency-Key") == 0) return false;
  warnings.add_warning(
      "", "idempotency_key_ignored",
      "The Idempotency-Key was ignored: validating stores nothing under it, so the real call "
      "can use it.");
  return true;
}

bool asks_for_match(const http::HttpRequest& request) {
  const auto parameters = first_url_parameters(request.query);
  const auto match = parameters.find("match");
  return match != parameters.end() && match->second == "true";
}

}  // namespace giftsync::handlers
