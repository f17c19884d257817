// A flood of connections: some are evicted, and a normal request is still answered.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "daemon/http/http_server.h"
#include "tests/support/raw_http_client.h"

namespace giftsync::http {
namespace {

using tests::eventually;
using tests::RawHttpClient;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

HttpServerOptions with_limits(std::size_t all, std::size_t per_address) {
  HttpServerOptions options;
  options.listen = "127.0.0.1:0";
  options.tls = tests::tls_of_tests();
  options.max_connections = all;
  options.max_connections_per_address = per_address;
  return options;
}

/// HTTP-17 promises three seconds; a sanitizer slows the whole flood down, as does the machine's own load.
#ifdef __SANITIZE_THREAD__
constexpr std::chrono::seconds kMaxResponseTime{15};
#else
constexpr std::chrono::seconds kMaxResponseTime{3};
#endif

HttpResponse greet_handler(const HttpRequest&) {
  return {200, {}, "hello"};
}

/// connection_registry_test.cpp checks which of them are evicted. Here a thread that becomes idle late is
/// evicted late.
TEST(HttpConnectionLimit, AnAddressOverItsLimitLosesConnectionsAndTheNewestIsServed) {
  HttpServer server(with_limits(1000, 100), greet_handler);
  server.start();
  std::vector<tests::RawHttpClient> clients;
  for (int i = 0; i < 300; ++i) {
    clients.emplace_back(server.listen_address());
    ASSERT_TRUE(clients.back().send(kGet));
    ASSERT_TRUE(clients.back().read_response()) << i;
  }
  ASSERT_TRUE(tests::eventually([&] { return server.open_connections() == 100; }));
  std::size_t open = 0;
  for (tests::RawHttpClient& client : clients) open += client.send(kGet) && client.read_response() ? 1 : 0;
  EXPECT_EQ(open, 100u);
}

TEST(HttpConnectionLimit, TheOldestIdleConnectionIsEvicted) {
  HttpServer server(with_limits(10, 1000), greet_handler);
  server.start();
  std::vector<tests::RawHttpClient> clients;
  for (int i = 0; i < 30; ++i) {
    clients.emplace_back(server.listen_address());
    ASSERT_TRUE(clients.back().send(kGet));
    ASSERT_TRUE(clients.back().read_response()) << i;
    EXPECT_LE(server.open_connections(), 10u);
  }
}

TEST(HttpConnectionLimit, ARequestBeingHandledIsNotEvicted) {
  std::promise<void> open;
  std::atomic<bool> inside = false;
  HttpServer server(with_limits(2, 2), [&](const HttpRequest& request) {
    if (request.path == "/slow") {
      inside = true;
      open.get_future().wait();
    }
    return HttpResponse{};
  });
  server.start();
  tests::RawHttpClient slow(server.listen_address());
  slow.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(tests::eventually([&] { return inside.load(); }));
  for (int i = 0; i < 10; ++i) {
    tests::RawHttpClient other(server.listen_address());
    other.send(kGet);
    EXPECT_TRUE(other.read_response());
  }
  open.set_value();
  EXPECT_TRUE(slow.read_response());
}

TEST(HttpConnectionLimit, AClientThatDoesNotReadItsResponseIsEvicted) {
  const std::string large(50'000'000, 'x');
  HttpServer server(with_limits(2, 2), [&](const HttpRequest& request) {
    return HttpResponse{200, {}, request.path == "/large" ? large : "small"};
  });
  server.start();
  tests::RawHttpClient first(server.listen_address());
  tests::RawHttpClient second(server.listen_address());
  for (tests::RawHttpClient* client : {&first, &second}) {
    client->send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_FALSE(client->is_silent_for(tests::RawHttpClient::kTimeout));
  }
  tests::RawHttpClient third(server.listen_address());
  third.send(kGet);
  ASSERT_TRUE(third.read_response());
  EXPECT_FALSE(first.read_response());
  EXPECT_TRUE(second.read_response());
}

TEST(HttpConnectionLimit, ATrustedProxyIsExemptFromTheAddressLimit) {
  HttpServerOptions options = with_limits(1000, 2);
  options.trusted_proxies = {"127.0.0.0/8"};
  HttpServer server(options, [](const HttpRequest& request) {
    return HttpResponse{200, {}, request.client};
  });
  server.start();
  std::vector<tests::RawHttpClient> clients;
  for (int i = 0; i < 20; ++i) clients.emplace_back(server.listen_address());
  for (tests::RawHttpClient& client : clients) {
    client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.9, 198.51.100.7\r\n\r\n");
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, "198.51.100.7");
  }
}

TEST(HttpConnectionLimit, AnUntrustedPeerCannotSetItsAddress) {
  HttpServer server(with_limits(10, 10), [](const HttpRequest& request) {
    return HttpResponse{200, {}, request.client};
  });
  server.start();
  tests::RawHttpClient client(server.listen_address());
  client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.9\r\n\r\n");
  const auto response = client.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "127.0.0.1");
}

struct FloodClient {
  std::string name;
  std::string sent;  ///< by each of the flood
};

class HttpFloodTest : public testing::TestWithParam<FloodClient> {};

// HTTP-17
TEST_P(HttpFloodTest, ANormalRequestIsServedDuringAFloodFromItsAddress) {
  HttpServerOptions options;
  options.listen = "127.0.0.1:0";
  options.tls = tests::tls_of_tests();
  HttpServer server(options, greet_handler);
  server.start();
  std::vector<tests::RawHttpClient> flood;
  for (int i = 0; i < 1000; ++i) {
    flood.emplace_back(server.listen_address());
    flood.back().send(GetParam().sent);
  }
  for (int i = 0; i < 20; ++i) {
    for (tests::RawHttpClient& one : flood) one.send(GetParam().name == "Dripping" ? "x" : "");
    const auto begin = std::chrono::steady_clock::now();
    tests::RawHttpClient healthy(server.listen_address());
    healthy.send(kGet);
    ASSERT_TRUE(healthy.read_response());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kMaxResponseTime);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, HttpFloodTest,
    testing::Values(FloodClient{"Silent", ""}, FloodClient{"Idle", std::string(kGet)},
                    FloodClient{"Dripping", "GET / HTTP/1.1\r\nX: "},
                    FloodClient{"HalfABody", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1"}),
    [](const auto& flood) { return flood.param.name; });

// Connections are accepted, evicted, served and stopped concurrently: for the sanitizers.
TEST(HttpConnectionLimit, EvictionServingAndStopMayRunConcurrently) {
  HttpServer server(with_limits(8, 8), greet_handler);
  server.start();
  std::atomic<int> answered = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 12; ++i) {
    clients.emplace_back([&] {
      try {
        for (;;) {
          tests::RawHttpClient client(server.listen_address());
          for (int j = 0; j < 5 && client.send(kGet) && client.read_response(); ++j) ++answered;
        }
      } catch (const std::runtime_error&) {
        return;  // the server has stopped
      }
    });
  }
  EXPECT_TRUE(tests::eventually([&] { return answered > 500; }));
  const auto begin = std::chrono::steady_clock::now();
  server.stop(1000);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(server.open_connections(), 0u);
}

}  // namespace
}  // namespace giftsync::http
