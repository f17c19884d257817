// One GET over a connection of its own.
#include <string>
#include <string_view>
#include <utility>

#include "platform/http_client.h"

namespace giftsync::platform {
namespace {

constexpr std::int64_t kStalledSeconds = 30;

/// The value of the last header of that name.
std::string last_header(const HttpResponse& response, std::string_view name) {
  std::string last;
  for (const auto& [one, value] : response.headers) {
    if (one == name) last = value;
  }
  return last;
}

}  // namespace

HttpGetResponse http_get(const HttpGetRequest& request, const std::function<bool()>& keep_going) {
  HttpClient client({.ca_file = request.ca_file,
                     .max_bytes = request.max_bytes,
                     .timeout_millis = request.timeout_millis,
                     .stalled_seconds = kStalledSeconds,
                     .plain_http = request.https_only ? PlainHttp::nowhere : PlainHttp::anywhere,
                     .bypass_proxy = request.bypass_proxy});
  HttpResponse response = client.send({.url = request.url, .headers = request.headers}, keep_going);
  HttpGetResponse got;
  got.status = response.status;
  got.error = response.error;
  got.body = std::move(response.body);
  got.etag = last_header(response, "etag");
  got.link = response.header("link");
  got.retry_after = last_header(response, "retry-after");
  got.location = last_header(response, "location");
  return got;
}

}  // namespace giftsync::platform
