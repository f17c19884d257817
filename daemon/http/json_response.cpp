#include "daemon/http/json_response.h"

#include <nlohmann/json.hpp>

namespace giftsync::daemon::http {

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

HttpResponse json_response(int status, std::string body) {
  return text_response(status, "application/json", std::move(body));
}

}  // namespace giftsync::daemon::http
