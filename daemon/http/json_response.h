// daemon/http: successful responses with a JSON body, which no cache keeps. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "daemon/http/http_message.h"

namespace giftsync::daemon::http {

/// The text of `json`. An invalid byte is replaced: it must not cost the whole response.
std::string json_text(const nlohmann::ordered_json& json);

/// `body` is the text of a JSON document.
HttpResponse json_response(int status, std::string body);

}  // namespace giftsync::daemon::http
