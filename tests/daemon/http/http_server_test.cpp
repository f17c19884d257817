// The server over real sockets: responses, reuse of connections, deadlines, bodies that are too large, stop.
#include "daemon/http/http_server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/json.h"
#include "tests/support/raw_http_client.h"

namespace giftsync::http {
namespace {

using std::chrono::milliseconds;
using tests::eventually;
using tests::RawHttpClient;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

HttpServerOptions loopback_options() {
  HttpServerOptions options;
  options.listen = "127.0.0.1:0";
  options.tls = tests::tls_of_tests();
  return options;
}

HttpResponse echo(const HttpRequest& request) {
  return {request.body_too_large ? 413 : 200, {{"X-Path", request.path}}, request.body};
}

class RunningServer {
 public:
  explicit RunningServer(HttpServerOptions options, HttpHandler handler = echo)
      : server_(std::move(options), std::move(handler)) {
    server_.start();
  }
  HttpServer& operator*() { return server_; }
  HttpServer* operator->() { return &server_; }
  tests::RawHttpClient connect() { return tests::RawHttpClient(server_.listen_address()); }

 private:
  HttpServer server_;
};

// HTTP-38
TEST(HttpServer, EveryResponseHasTheServerHeaders) {
  RunningServer server(loopback_options());
  tests::RawHttpClient client = server.connect();
  client.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "hi");
  EXPECT_EQ(response->header("Content-Length"), "2");
  EXPECT_EQ(response->header("Connection"), "keep-alive");
  EXPECT_EQ(response->header("X-Path"), "/a");
  EXPECT_EQ(response->header("Request-Id").find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(response->header("Request-Id").size(), 32u);
  EXPECT_EQ(response->header("Date").size(), std::string("Sun, 06 Nov 1994 08:49:37 GMT").size());
  EXPECT_TRUE(response->header("Date").ends_with(" GMT"));
}

// OPS-40
TEST(HttpServer, ReportsEachResponseWithTheGroupOfItsRoute) {
  std::mutex mutex;
  std::vector<ServedResponse> reported;
  HttpServerOptions options = loopback_options();
  options.pool_meters = std::make_shared<PoolMeters>();
  options.on_response = [&](const ServedResponse& response) {
    const std::lock_guard lock(mutex);
    reported.push_back(response);
  };
  const auto planner = [](const HttpRequest& head) {
    return RequestPlan{.group = head.path == "/g" ? RouteGroup::gift_pages : RouteGroup::console};
  };
  {
    RunningServer server(options, HttpHandler(echo, planner));
    RawHttpClient client = server.connect();
    client.send("GET /g HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(client.read_response());
    client.send(kGet);
    ASSERT_TRUE(client.read_response());
    client.send("GET / HTTP/1.1\r\n\r\n");  // without Host: it is never handled
    ASSERT_TRUE(client.read_response());
    EXPECT_EQ(options.pool_meters->endpoints.queued, 0);
    EXPECT_EQ(options.pool_meters->endpoints.refused, 0u);
  }
  ASSERT_EQ(reported.size(), 3u);
  EXPECT_EQ(reported[0].group, RouteGroup::gift_pages);
  EXPECT_EQ(reported[0].status, 200);
  EXPECT_TRUE(reported[0].took);
  EXPECT_EQ(reported[1].group, RouteGroup::console);
  EXPECT_EQ(reported[2].status, 400);
  EXPECT_FALSE(reported[2].took);
}

TEST(HttpServer, TheHandlerSeesTheRequestIdThatTheClientSees) {
  std::string seen;
  RunningServer server(loopback_options(), [&](const HttpRequest& request) {
    seen = request.request_id + " " + request.client;
    return HttpResponse{};
  });
  tests::RawHttpClient client = server.connect();
  client.send(kGet);
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(seen, response->header("Request-Id") + " 127.0.0.1");
}

TEST(HttpServer, PipelinedRequestsAreServedInOrder) {
  RunningServer server(loopback_options());
  tests::RawHttpClient client = server.connect();
  std::string requests;
  for (int i = 0; i < 100; ++i) requests += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  client.send(requests);
  for (int i = 0; i < 100; ++i) {
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->header("X-Path"), "/" + std::to_string(i));
  }
  EXPECT_EQ(server->open_connections(), 1u);
}

TEST(HttpServer, ClosesWhenTheClientAsksTo) {
  RunningServer server(loopback_options());
  for (const std::string request :
       {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    tests::RawHttpClient client = server.connect();
    client.send(request);
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->header("Connection"), "close");
    EXPECT_TRUE(client.is_closed());
  }
}

TEST(HttpServer, ClosesWhenTheHandlerAsksTo) {
  RunningServer server(loopback_options(), [](const HttpRequest&) {
    return HttpResponse{200, {}, "", true};
  });
  tests::RawHttpClient client = server.connect();
  client.send(std::string(kGet) + std::string(kGet));
  ASSERT_TRUE(client.read_response());
  EXPECT_TRUE(client.is_closed());
}

TEST(HttpServer, HeadAnd204ResponsesHaveNoBody) {
  RunningServer server(loopback_options(), [](const HttpRequest& request) {
    return HttpResponse{request.path == "/none" ? 204 : 200, {}, "body"};
  });
  tests::RawHttpClient client = server.connect();
  client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET /none HTTP/1.1\r\nHost: a\r\n\r\n" + std::string(kGet));
  const auto head = client.read_response(true);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->header("Content-Length"), "4");
  const auto none = client.read_response();
  ASSERT_TRUE(none);
  EXPECT_EQ(none->status, 204);
  EXPECT_EQ(none->headers.count("Content-Length"), 0u);
  const auto last = client.read_response();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->body, "body");
}

TEST(HttpServer, AHeaderValueCannotAddALine) {
  RunningServer server(loopback_options(), [](const HttpRequest&) {
    return HttpResponse{302, {{"Location", "/a\r\nX-Evil: 1"}, {"Content-Length", "77"}}, ""};
  });
  tests::RawHttpClient client = server.connect();
  client.send(kGet);
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->headers.count("X-Evil"), 0u);
  EXPECT_EQ(response->headers.count("Content-Length"), 1u);
}

TEST(HttpServer, Sends100ContinueWhenExpected) {
  RunningServer server(loopback_options());
  tests::RawHttpClient client = server.connect();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  const auto interim = client.read_response();
  ASSERT_TRUE(interim);
  EXPECT_EQ(interim->status, 100);
  client.send("hi");
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "hi");
}

TEST(HttpServer, ALargeResponseIsSentCompletely) {
  const std::string large(5'000'000, 'x');
  RunningServer server(loopback_options(), [&](const HttpRequest&) { return HttpResponse{200, {}, large}; });
  tests::RawHttpClient client = server.connect();
  client.send(kGet);
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, large);
}

TEST(HttpServer, ATooLargeBodyReachesTheHandlerAtOnceAndClosesTheConnection) {
  HttpServerOptions options = loopback_options();
  options.max_body_bytes = 10;
  std::atomic<int> handled = 0;
  RunningServer server(options, [&](const HttpRequest& request) {
    ++handled;
    EXPECT_TRUE(request.body_too_large);
    EXPECT_TRUE(request.body.empty());
    EXPECT_EQ(request.header("Authorization"), "key");
    return HttpResponse{401, {}, "no"};
  });
  for (const std::string rest :
       {"Content-Length: 11\r\n\r\n", "Content-Length: 11\r\nExpect: 100-continue\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\nB\r\n", "Transfer-Encoding: chunked\r\n\r\n8\r\n01234567\r\n3\r\n",
        "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n"}) {
    tests::RawHttpClient client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nAuthorization: key\r\n" + rest);
    const auto response = client.read_response();
    ASSERT_TRUE(response) << rest;
    EXPECT_EQ(response->status, 401) << rest;
    EXPECT_EQ(response->header("Connection"), "close");
    // The rest of the body is drained, not parsed as a request.
    client.send(std::string(kGet) + std::string(kGet));
    EXPECT_TRUE(client.is_closed());
  }
  EXPECT_EQ(handled, 5);
}

TEST(HttpServer, AClientThatSendsALargeBodyFirstStillReadsTheResponse) {
  HttpServerOptions options = loopback_options();
  options.max_body_bytes = 1000;
  RunningServer server(options);
  tests::RawHttpClient client = server.connect();
  const std::string body(20'000'000, 'x');
  EXPECT_TRUE(client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000000\r\n\r\n" + body));
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 413);
}

TEST(HttpServer, ABodyOfTheMaximumSizeIsAccepted) {
  RunningServer server(loopback_options());
  tests::RawHttpClient client = server.connect();
  const std::string body(1 << 20, 'x');
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n" + body);
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, body);
}

/// Sends one byte after the other, with a pause, until the server responds; false when it never does.
bool drip_until_response(tests::RawHttpClient& client, std::string_view byte) {
  const auto deadline = std::chrono::steady_clock::now() + tests::RawHttpClient::kTimeout;
  while (client.is_silent_for(milliseconds(20))) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    client.send(byte);
  }
  return true;
}

// HTTP-16
TEST(HttpServer, ASlowHeaderTimesOut) {
  HttpServerOptions options = loopback_options();
  options.head_deadline_millis = 200;
  RunningServer server(options);
  tests::RawHttpClient client = server.connect();
  client.send("GET / HTTP/1.1\r\nX: ");
  ASSERT_TRUE(drip_until_response(client, "x"));
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 408);
  EXPECT_EQ(tests::parse_json(response->body).at("title"), "Request Timeout");
  EXPECT_TRUE(client.is_closed());
}

TEST(HttpServer, ASlowBodyTimesOut) {
  HttpServerOptions options = loopback_options();
  options.body_deadline_millis = 200;
  RunningServer server(options, [](const HttpRequest&) {
    ADD_FAILURE() << "half a body was handled";
    return HttpResponse{};
  });
  for (const std::string start :
       {"Content-Length: 100000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nFFFF\r\n"}) {
    tests::RawHttpClient client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\n" + start);
    ASSERT_TRUE(drip_until_response(client, "x"));
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 408);
    EXPECT_TRUE(client.is_closed());
  }
}

TEST(HttpServer, AnIdleConnectionIsClosedSilently) {
  HttpServerOptions options = loopback_options();
  options.idle_deadline_millis = 100;
  RunningServer server(options);
  tests::RawHttpClient silent = server.connect();
  EXPECT_TRUE(silent.is_closed());
  tests::RawHttpClient used = server.connect();
  used.send(kGet);
  ASSERT_TRUE(used.read_response());
  EXPECT_TRUE(used.is_closed());
  EXPECT_TRUE(tests::eventually([&] { return server->open_connections() == 0; }));
}

TEST(HttpServer, AClientThatDoesNotReadItsResponseTimesOut) {
  HttpServerOptions options = loopback_options();
  options.write_deadline_millis = 200;
  const std::string large(50'000'000, 'x');
  RunningServer server(options, [&](const HttpRequest&) { return HttpResponse{200, {}, large}; });
  tests::RawHttpClient client = server.connect();
  client.send(kGet);
  EXPECT_TRUE(tests::eventually([&] { return server->open_connections() == 1; }));
  EXPECT_TRUE(tests::eventually([&] { return server->open_connections() == 0; }));
  EXPECT_FALSE(client.read_response());
}

TEST(HttpServer, ASecondServerOnThePortFailsWithAdvice) {
  RunningServer server(loopback_options());
  HttpServerOptions options;
  options.listen = server->listen_address();
  try {
    HttpServer second(options, echo);
    FAIL() << "two servers on one port";
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(options.listen), std::string::npos) << text;
    EXPECT_NE(text.find("already in use"), std::string::npos) << text;
    EXPECT_NE(text.find("choose another port in server.listen"), std::string::npos) << text;
  }
}

TEST(HttpServer, InvalidListenAddressesAreReported) {
  for (const std::string listen :
       {"nonsense", "127.0.0.1", "127.0.0.1:99999", "192.0.2.1:0", "300.1.1.1:80"}) {
    HttpServerOptions options;
    options.listen = listen;
    try {
      HttpServer server(options, echo);
      FAIL() << listen;
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find(listen), std::string::npos) << error.what();
    }
  }
}

TEST(HttpServer, ListensOnIpv6) {
  HttpServerOptions options;
  options.listen = "[::1]:0";
  HttpServer server(options, echo);
  EXPECT_TRUE(server.listen_address().starts_with("[::1]:")) << server.listen_address();
}

/// A handler that blocks until the test releases it.
class BlockingHandler {
 public:
  HttpResponse operator()(const HttpRequest&) {
    inside_.store(true);
    open_.get_future().wait();
    return {200, {}, "late"};
  }
  bool inside() const { return inside_.load(); }
  void open() { open_.set_value(); }

 private:
  std::atomic<bool> inside_{false};
  std::promise<void> open_;
};

// OPS-3
TEST(HttpServer, ExchangesHandlerAndLimitsOfOpenConnections) {
  RunningServer server(loopback_options());
  RawHttpClient client = server.connect();
  const auto post_eleven_bytes = [&] {
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n01234567890");
    const auto response = client.read_response();
    return response ? response->status : 0;
  };
  EXPECT_EQ(post_eleven_bytes(), 200);
  HttpServerOptions options = loopback_options();
  options.max_body_bytes = 10;
  server->exchange(options, [](const HttpRequest& request) {
    return HttpResponse{request.body_too_large ? 413 : 201, {}, ""};
  });
  client.send(kGet);
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 201) << "by the new handler, on the same connection";
  EXPECT_EQ(post_eleven_bytes(), 413);
}

// OPS-3
TEST(HttpServer, ARequestInProgressEndsWithTheFormerHandler) {
  BlockingHandler former;
  const auto use = std::make_shared<int>();
  RunningServer server(loopback_options(),
                       [&former, use](const HttpRequest& request) { return former(request); });
  RawHttpClient busy = server.connect();
  busy.send(kGet);
  ASSERT_TRUE(eventually([&] { return former.inside(); }));
  server->exchange(loopback_options(), echo);
  EXPECT_EQ(use.use_count(), 2) << "its handler lives on";
  RawHttpClient next = server.connect();
  next.send(kGet);
  EXPECT_TRUE(next.read_response()) << "others do not wait for it";
  former.open();
  const auto response = busy.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "late");
  EXPECT_TRUE(eventually([&] { return use.use_count() == 1; })) << "an idle connection keeps no handler";
  busy.send(kGet);
  ASSERT_TRUE(busy.read_response());
}

TEST(HttpServer, StopFinishesRequestsInFlightAndClosesIdleConnections) {
  BlockingHandler handler;
  RunningServer server(loopback_options(), std::ref(handler));
  tests::RawHttpClient idle = server.connect();
  tests::RawHttpClient half = server.connect();
  half.send("GET / HT");
  tests::RawHttpClient busy = server.connect();
  busy.send(kGet);
  ASSERT_TRUE(tests::eventually([&] { return handler.inside() && server->open_connections() == 3; }));
  std::thread stopper([&] { server->stop(20'000); });
  EXPECT_TRUE(idle.is_closed());
  EXPECT_TRUE(half.is_closed());
  EXPECT_THROW(server.connect(), std::runtime_error);
  EXPECT_EQ(server->open_connections(), 1u);
  handler.open();
  const auto response = busy.read_response();
  stopper.join();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "late");
  EXPECT_EQ(response->header("Connection"), "close");
  EXPECT_TRUE(busy.is_closed());
  server->stop(0);
}

TEST(HttpServer, StopClosesRequestsThatExceedTheGracePeriod) {
  BlockingHandler handler;
  RunningServer server(loopback_options(), std::ref(handler));
  tests::RawHttpClient busy = server.connect();
  busy.send(kGet);
  ASSERT_TRUE(tests::eventually([&] { return handler.inside(); }));
  std::thread stopper([&] { server->stop(50); });
  EXPECT_TRUE(busy.is_closed());
  handler.open();
  stopper.join();
  EXPECT_EQ(server->open_connections(), 0u);
}

TEST(HttpServer, StopIsPromptWithIdleClients) {
  RunningServer server(loopback_options());
  std::vector<tests::RawHttpClient> idle;
  for (int i = 0; i < 100; ++i) idle.push_back(server.connect());
  ASSERT_TRUE(tests::eventually([&] { return server->open_connections() == 100; }));
  const auto begin = std::chrono::steady_clock::now();
  server->stop(20'000);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(HttpServer, AServerThatWasNeverStartedStops) {
  HttpServer server(loopback_options(), echo);
  server.stop(1000);
  EXPECT_EQ(server.open_connections(), 0u);
}

}  // namespace
}  // namespace giftsync::http
