// daemon/salesforce: describes a response that is not what the API returns, such as a maintenance page or the
// page of a proxy. Pure.
#pragma once

#include <string>

#include "platform/http_client.h"

namespace giftsync::daemon::salesforce {

/// The status, the kind of the body and its first 200 characters, as one visible line: "HTTP 503, text/html:
/// <html>...".
std::string describe_unexpected(const platform::HttpResponse& response);

}  // namespace giftsync::daemon::salesforce
