// One GET over a real socket: what an answer says of its encoding, and what is made of its body.
#include "daemon/sources/web_fetch.h"

#include <gtest/gtest.h>

#include <atomic>

#include "daemon/http/http_front.h"

namespace giftsync::daemon {
namespace {

/// A server that gives every answer the same encoding, whatever it was asked for.
class Server {
 public:
  Server(std::string encoding, std::string body)
      : front_(on_loopback(), [this, encoding = std::move(encoding), body = std::move(body)](const auto&) {
          ++asked_;
          HttpResponse response;
          if (!encoding.empty()) response.headers = {{"Content-Encoding", encoding}, {"ETag", "\"1\""}};
          response.body = body;
          return response;
        }) {
    front_.start();
  }
  WebAnswer fetch() {
    WebRequest request;
    request.url = "http://" + front_.listens_on() + "/events";
    request.without_proxy = true;
    return fetch_web(request, [] { return true; });
  }
  int asked() const { return asked_; }

 private:
  static FrontOptions on_loopback() {
    FrontOptions options;
    options.listen = "127.0.0.1:0";
    return options;
  }
  std::atomic<int> asked_ = 0;
  HttpFront front_;
};

TEST(WebFetch, AnAnswerWithoutAnEncodingIsAskedForOnce) {
  Server server("", "[1]");
  const WebAnswer answer = server.fetch();
  EXPECT_EQ(answer.status, 200) << answer.fault;
  EXPECT_EQ(answer.body, "[1]");
  EXPECT_EQ(server.asked(), 1);
}

TEST(WebFetch, AnEncodingThatIsNoneLeavesTheBodyAsItIs) {
  Server server("utf-8", "[1]");
  const WebAnswer answer = server.fetch();
  EXPECT_EQ(answer.status, 200) << answer.fault;
  EXPECT_EQ(answer.fault, "");
  EXPECT_EQ(answer.body, "[1]");
  EXPECT_EQ(answer.etag, "\"1\"");
  EXPECT_EQ(server.asked(), 2);
}

}  // namespace
}  // namespace giftsync::daemon
