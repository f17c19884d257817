// One GET over a real socket: the Content-Encoding of a response and what happens to its body.
#include "platform/http_client.h"

#include <gtest/gtest.h>

#include <atomic>

#include "daemon/http/http_server.h"

namespace giftsync::platform {
namespace {

/// A server that gives every response the same encoding, and counts requests.
class Server {
 public:
  Server(std::string encoding, std::string body)
      : server_(on_loopback(), [this, encoding = std::move(encoding), body = std::move(body)](const auto&) {
          ++request_count_;
          daemon::http::HttpResponse response;
          if (!encoding.empty()) response.headers = {{"Content-Encoding", encoding}, {"ETag", "\"1\""}};
          response.body = body;
          return response;
        }) {
    server_.start();
  }
  HttpGetResponse fetch() {
    HttpGetRequest request;
    request.url = "http://" + server_.listen_address() + "/events";
    request.bypass_proxy = true;
    return http_get(request, [] { return true; });
  }
  int request_count() const { return request_count_; }

 private:
  static daemon::http::HttpServerOptions on_loopback() {
    daemon::http::HttpServerOptions options;
    options.listen = "127.0.0.1:0";
    return options;
  }
  std::atomic<int> request_count_ = 0;
  daemon::http::HttpServer server_;
};

TEST(HttpClient, AResponseWithoutContentEncodingIsRequestedOnce) {
  Server server("", "[1]");
  const HttpGetResponse response = server.fetch();
  EXPECT_EQ(response.status, 200) << response.error;
  EXPECT_EQ(response.body, "[1]");
  EXPECT_EQ(server.request_count(), 1);
}

TEST(HttpClient, AnUnknownContentEncodingLeavesTheBodyUndecoded) {
  Server server("utf-8", "[1]");
  const HttpGetResponse response = server.fetch();
  EXPECT_EQ(response.status, 200) << response.error;
  EXPECT_EQ(response.error, "");
  EXPECT_EQ(response.body, "[1]");
  EXPECT_EQ(response.etag, "\"1\"");
  EXPECT_EQ(server.request_count(), 2);
}

}  // namespace
}  // namespace giftsync::platform
