// An org's HTTP server on loopback that records requests and answers as the test says. Any thread.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/http/http_server.h"

namespace giftsync::salesforce {

class LoopbackOrg {
 public:
  using Respond = std::function<http::HttpResponse(const http::HttpRequest&)>;

  explicit LoopbackOrg(Respond respond)
      : server_(on_loopback(), [this, respond = std::move(respond)](const http::HttpRequest& request) {
          {
            const std::lock_guard lock(mutex_);
            requests_.push_back(request);
          }
          return respond(request);
        }) {
    server_.start();
  }

  std::string url() const { return "http://" + server_.listen_address(); }
  std::vector<http::HttpRequest> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::size_t count(std::string_view path) {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (const http::HttpRequest& request : requests_) count += request.path == path ? 1 : 0;
    return count;
  }

 private:
  static http::HttpServerOptions on_loopback() {
    http::HttpServerOptions options;
    options.listen = "127.0.0.1:0";
    return options;
  }
  std::mutex mutex_;
  std::vector<http::HttpRequest> requests_;  // guarded by mutex_
  http::HttpServer server_;
};

inline http::HttpResponse json_response(int status, std::string body) {
  return http::text_response(status, "application/json;charset=UTF-8", std::move(body));
}

}  // namespace giftsync::salesforce
