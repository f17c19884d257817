// What the server promises when many clients ask for much: callers wait without a thread each, kinds of
// requests do not starve each other, bodies share their memory, and a response in parts waits for its reader.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/http/http_server.h"
#include "daemon/http/router.h"
#include "tests/support/raw_http_client.h"

namespace giftsync::http {
namespace {

using tests::eventually;
using tests::RawHttpClient;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

HttpServerOptions loopback_options() {
  HttpServerOptions options;
  options.listen = "127.0.0.1:0";
  options.tls = tests::tls_of_tests();
  options.max_connections_per_address = 2000;
  return options;
}

std::string get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

std::string post_head(std::size_t length) {
  return "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
}

/// By path: /crm, /page, /console, /sign-in, /ready, /healthy; everything else is an endpoint's.
RequestPlan plan_by_path(const HttpRequest& head) {
  RequestPlan plan;
  if (head.path == "/crm") plan.kind = HandlerKind::crm;
  if (head.path == "/page") plan.kind = HandlerKind::page;
  if (head.path == "/console") plan.kind = HandlerKind::console;
  if (head.path == "/sign-in") plan.kind = HandlerKind::sign_in;
  if (head.path == "/ready") plan.kind = HandlerKind::readiness;
  if (head.path == "/healthy") plan.kind = HandlerKind::liveness;
  plan.reads_body = head.path != "/refused";
  if (head.path == "/small") plan.max_body_bytes = 10;
  return plan;
}

class RunningServer {
 public:
  explicit RunningServer(HttpHandler handler, const HttpServerOptions& options = loopback_options())
      : server_(options, std::move(handler)) {
    server_.start();
  }
  RawHttpClient connect() { return RawHttpClient(server_.listen_address()); }
  /// A client that has sent `bytes`.
  RawHttpClient ask(const std::string& bytes) {
    RawHttpClient client = connect();
    client.send(bytes);
    return client;
  }
  HttpServer* operator->() { return &server_; }

 private:
  HttpServer server_;
};

/// Keeps what its replies are delivered to, until the test releases them.
class LateHandler {
 public:
  Reply operator()(const HttpRequest& request) {
    return Reply::later([this, &request](Reply::Deliver deliver) {
      const std::lock_guard lock(mutex_);
      waiting_.push_back({&request, std::move(deliver)});
    });
  }
  std::size_t waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }
  void release() {
    std::vector<Waiting> released;
    {
      const std::lock_guard lock(mutex_);
      released.swap(waiting_);
    }
    for (Waiting& one : released)
      one.deliver([request = one.request] { return HttpResponse{200, {}, "late " + request->path}; });
  }

 private:
  struct Waiting {
    const HttpRequest* request;
    Reply::Deliver deliver;
  };
  std::mutex mutex_;
  std::vector<Waiting> waiting_;
};

// ARCH-25
TEST(HttpServerLoad, ManyCallersWaitWithoutAThreadEach) {
  LateHandler handler;
  RunningServer server(HttpHandler(std::ref(handler)));
  std::vector<RawHttpClient> clients;
  for (int i = 0; i < 500; ++i) clients.push_back(server.ask(get("/" + std::to_string(i))));
  // Far more than there are threads for handlers.
  ASSERT_TRUE(eventually([&] { return handler.waiting() == 500; }));
  std::thread([&] { handler.release(); }).join();
  for (int i = 0; i < 500; ++i) {
    const auto response = clients[static_cast<std::size_t>(i)].read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, "late /" + std::to_string(i));
  }
}

TEST(HttpServerLoad, AStopWaitsForResponsesThatAreMadeLater) {
  LateHandler handler;
  const auto use = std::make_shared<int>();
  RunningServer server(HttpHandler(std::ref(handler)));
  server->exchange(loopback_options(), HttpHandler(std::ref(handler)), use);
  RawHttpClient client = server.ask(std::string(kGet));
  ASSERT_TRUE(eventually([&] { return handler.waiting() == 1; }));
  std::thread stopper([&] { server->stop(20'000); });
  EXPECT_TRUE(eventually([&] {
    try {
      server.connect();
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  }));
  handler.release();
  const auto response = client.read_response();
  stopper.join();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->header("Connection"), "close");
}

/// Requests of a path and so of a kind, and the threads that the kind has.
struct CrowdCase {
  std::string path;
  int threads;
};

// HTTP-48
TEST(HttpServerLoad, ACrowdOfAKindHoldsUpNoOther) {
  for (const CrowdCase& crowded : std::vector<CrowdCase>{
           {"/", 32}, {"/crm", 8}, {"/page", 16}, {"/console", 4}, {"/sign-in", 16}, {"/ready", 4}}) {
    std::promise<void> open;
    const std::shared_future<void> opened = open.get_future().share();
    std::atomic<int> inside = 0;
    RunningServer server(HttpHandler(
        [&](const HttpRequest& request) -> Reply {
          if (request.path == crowded.path) {
            ++inside;
            opened.wait();
          }
          return HttpResponse{200, {}, request.path};
        },
        plan_by_path));
    std::vector<RawHttpClient> crowd;
    for (int i = 0; i < 60; ++i) crowd.push_back(server.ask(get(crowded.path)));
    EXPECT_TRUE(eventually([&] { return inside == crowded.threads; })) << crowded.path;
    for (const std::string path : {"/", "/crm", "/page", "/console", "/sign-in", "/ready", "/healthy"}) {
      if (path == crowded.path) continue;
      const auto response = server.ask(get(path)).read_response();
      EXPECT_TRUE(response && response->body == path) << path << " beside " << crowded.path;
    }
    open.set_value();
    for (RawHttpClient& client : crowd) EXPECT_TRUE(client.read_response());
  }
}

// HTTP-48
TEST(HttpServerLoad, AResponseThatIsMadeLaterDoesNotWaitForHandlers) {
  std::promise<void> open;
  const std::shared_future<void> opened = open.get_future().share();
  std::atomic<int> inside = 0;
  LateHandler late;
  RunningServer server(HttpHandler(
      [&](const HttpRequest& request) -> Reply {
        if (request.path == "/late") return late(request);
        ++inside;
        opened.wait();
        return HttpResponse{};
      },
      plan_by_path));
  RawHttpClient committed = server.ask(get("/late"));
  EXPECT_TRUE(eventually([&] { return late.waiting() == 1; }));
  std::vector<RawHttpClient> crowd;
  for (int i = 0; i < 40; ++i) crowd.push_back(server.ask(std::string(kGet)));
  EXPECT_TRUE(eventually([&] { return inside == 32; }));
  late.release();
  const auto response = committed.read_response();
  EXPECT_TRUE(response && response->body == "late /late");
  open.set_value();
  for (RawHttpClient& client : crowd) EXPECT_TRUE(client.read_response());
}

/// Holds its requests to the CRM until the test opens it, and counts them.
class BlockedCrm {
 public:
  HttpHandler handler() {
    return HttpHandler(
        [this](const HttpRequest&) -> Reply {
          ++inside_;
          opened_.wait();
          return HttpResponse{};
        },
        plan_by_path);
  }
  int inside() const { return inside_; }
  void open() { open_.set_value(); }

 private:
  std::promise<void> open_;
  const std::shared_future<void> opened_ = open_.get_future().share();
  std::atomic<int> inside_ = 0;
};
constexpr int kCrmThreads = 8;

// HTTP-48
TEST(HttpServerLoad, ARequestThatWaitedTooLongIsRefusedAndNotRun) {
  BlockedCrm crm;
  RunningServer server(crm.handler());
  std::vector<RawHttpClient> first;
  for (int i = 0; i < kCrmThreads; ++i) first.push_back(server.ask(get("/crm")));
  EXPECT_TRUE(eventually([&] { return crm.inside() == kCrmThreads; }));
  HttpServerOptions impatient = loopback_options();
  impatient.queue_deadline_millis = 0;
  server->exchange(impatient, crm.handler());
  RawHttpClient next = server.ask(get("/crm"));
  crm.open();
  const auto refused = next.read_response();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->header("Retry-After"), "1");
  for (RawHttpClient& client : first) EXPECT_TRUE(client.read_response());
  EXPECT_EQ(crm.inside(), kCrmThreads);
}

TEST(HttpServerLoad, AStopDoesNotRunWhatIsQueuedAfterItsGrace) {
  BlockedCrm crm;
  RunningServer server(crm.handler());
  std::vector<RawHttpClient> first;
  for (int i = 0; i < kCrmThreads; ++i) first.push_back(server.ask(get("/crm")));
  EXPECT_TRUE(eventually([&] { return crm.inside() == kCrmThreads; }));
  // An answer after them shows that the requests before it are queued: one thread reads for all.
  RawHttpClient next = server.ask(get("/crm"));
  EXPECT_TRUE(server.ask("broken\r\n\r\n").read_response());
  std::thread stopper([&] { server->stop(0); });
  EXPECT_TRUE(next.is_closed());
  crm.open();
  stopper.join();
  EXPECT_EQ(crm.inside(), kCrmThreads);
}

// HTTP-13
TEST(HttpServerLoad, AStuckReadinessCheckHoldsUpNoProbe) {
  std::promise<void> open;
  const std::shared_future<void> opened = open.get_future().share();
  std::atomic<int> checks = 0;
  std::atomic<std::int64_t> now = 0;
  const giftsync::Clock clock = [&] { return UtcMillis{now}; };
  HttpRefusalLog log(clock);
  const auto is_ready = [&] {
    if (++checks > 1) opened.wait();
    return true;
  };
  Router router({}, is_ready, "3f8a", log, clock);
  RunningServer server(HttpHandler([&](const HttpRequest& request) { return router.handle({}, request); },
                                   [&](const HttpRequest& head) { return router.plan({}, head); }));
  const auto status_of = [&](const std::string& path) {
    const auto response = server.ask(get(path)).read_response();
    return response ? response->status : 0;
  };
  EXPECT_EQ(status_of("/-/ready"), 200);
  RawHttpClient stuck = server.ask(get("/-/ready"));
  EXPECT_TRUE(eventually([&] { return checks == 2; }));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(status_of("/-/ready"), 200) << "the last result";
  now = ReadinessCheck::kMaxCheckMillis;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(status_of("/-/ready"), 503);
  EXPECT_EQ(status_of("/-/healthy"), 200);
  EXPECT_EQ(checks, 2);
  open.set_value();
  EXPECT_TRUE(stuck.read_response());
  EXPECT_EQ(status_of("/-/ready"), 200);
}

TEST(HttpServerLoad, ThreadsThatWaitAreJoinedByOthers) {
  std::promise<void> open;
  const std::shared_future<void> opened = open.get_future().share();
  std::atomic<int> inside = 0;
  RunningServer server([&](const HttpRequest&) {
    ++inside;
    opened.wait();
    return HttpResponse{};
  });
  std::vector<RawHttpClient> clients;
  for (int i = 0; i < 32; ++i) clients.push_back(server.ask(std::string(kGet)));
  EXPECT_TRUE(eventually([&] { return inside == 32; })) << "more threads than processors";
  open.set_value();
  for (RawHttpClient& client : clients) EXPECT_TRUE(client.read_response());
}

// HTTP-48
TEST(HttpServerLoad, AFullQueueIsAnsweredWithRetryAfter) {
  std::promise<void> open;
  const std::shared_future<void> opened = open.get_future().share();
  RunningServer server(HttpHandler(
      [&](const HttpRequest&) -> Reply {
        opened.wait();
        return HttpResponse{};
      },
      plan_by_path));
  std::vector<RawHttpClient> clients;
  // These have four threads and 64 places in the queue. Which of the requests find it full is not defined.
  for (int i = 0; i < 80; ++i) clients.push_back(server.ask(get("/ready")));
  EXPECT_TRUE(eventually([&] {
    return std::ranges::any_of(
        clients, [](RawHttpClient& client) { return !client.is_silent_for(std::chrono::milliseconds(0)); });
  })) << "refused while the others still wait";
  open.set_value();
  int refused = 0;
  for (RawHttpClient& client : clients) {
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    if (response->status == 200) continue;
    EXPECT_EQ(response->status, 503);
    EXPECT_EQ(response->header("Retry-After"), "1");
    ++refused;
  }
  EXPECT_GE(refused, 1);
  EXPECT_LE(refused, 80 - 64);
}

// HTTP-49
TEST(HttpServerLoad, ABodyThatIsRefusedOnItsHeaderIsNotAwaited) {
  RunningServer server(HttpHandler(
      [](const HttpRequest& request) -> Reply {
        EXPECT_EQ(request.body, "");
        return HttpResponse{401, {}, ""};
      },
      plan_by_path));
  for (const std::string rest :
       {"Content-Length: 100000\r\n\r\n", "Content-Length: 100000\r\n\r\nbegun",
        "Content-Length: 9\r\nExpect: 100-continue\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n"}) {
    RawHttpClient client = server.ask("POST /refused HTTP/1.1\r\nHost: a\r\n" + rest);
    const auto response = client.read_response();
    ASSERT_TRUE(response) << rest;
    EXPECT_EQ(response->status, 401) << rest;
    EXPECT_EQ(response->header("Connection"), "close") << rest;
    client.send(std::string(kGet));
    EXPECT_TRUE(client.is_closed()) << "the rest is not a request";
  }
}

// HTTP-49
TEST(HttpServerLoad, ARouteMayAllowLessThanTheServer) {
  RunningServer server(HttpHandler(
      [](const HttpRequest& request) -> Reply {
        return HttpResponse{request.body_too_large ? 413 : 200, {}, ""};
      },
      plan_by_path));
  const std::string post = "POST /small HTTP/1.1\r\nHost: a\r\n";
  for (const auto& [rest, status] : std::vector<std::pair<std::string, int>>{
           {"Content-Length: 10\r\n\r\n0123456789", 200},
           {"Content-Length: 11\r\n\r\n", 413},
           {"Transfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n", 200},
           {"Transfer-Encoding: chunked\r\n\r\n8\r\n01234567\r\n3\r\n", 413}}) {
    const auto response = server.ask(post + rest).read_response();
    ASSERT_TRUE(response) << rest;
    EXPECT_EQ(response->status, status) << rest;
  }
}

/// Large bodies may take 100 KB together.
HttpServerOptions with_small_budget() {
  HttpServerOptions options = loopback_options();
  options.body_budget = std::make_shared<BodyBudget>(100'000);
  return options;
}

HttpResponse size_of_body(const HttpRequest& request) {
  return {200, {}, std::to_string(request.body.size())};
}

// HTTP-50
TEST(HttpServerLoad, BodiesBeyondTheBudgetWaitAndAreThenRefused) {
  const HttpServerOptions options = with_small_budget();
  RunningServer server(size_of_body, options);
  RawHttpClient first = server.ask(post_head(70'000) + std::string(60'000, 'x'));
  ASSERT_TRUE(eventually([&] {  // its bytes have arrived
    const bool was_free = options.body_budget->try_take({}, 60'000);
    if (was_free) static_cast<void>(options.body_budget->give_back({}, 60'000));
    return !was_free;
  }));
  const auto refused = server.ask(post_head(60'000) + std::string(60'000, 'x')).read_response();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->header("Retry-After"), "1");
  const auto ordinary = server.ask(post_head(5000) + std::string(5000, 'x')).read_response();
  ASSERT_TRUE(ordinary) << "small bodies do not count";
  EXPECT_EQ(ordinary->body, "5000");
  first.send(std::string(10'000, 'x'));
  const auto response = first.read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "70000");
}

// HTTP-50
TEST(HttpServerLoad, ABodyThatWaitsIsReadWhenMemoryIsGivenBack) {
  RunningServer server(size_of_body, with_small_budget());
  std::vector<RawHttpClient> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(server.connect());
  std::vector<std::thread> senders;
  for (RawHttpClient& client : clients)
    senders.emplace_back([&client] { client.send(post_head(60'000) + std::string(60'000, 'x')); });
  for (std::thread& sender : senders) sender.join();
  for (RawHttpClient& client : clients) {
    const auto response = client.read_response();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, "60000");
  }
}

// HTTP-50
TEST(BodyBudget, AClientMayTakeAQuarter) {
  const BodyBudget::Client one = parse_ip_address("192.0.2.1");
  const BodyBudget::Client other = parse_ip_address("192.0.2.2");
  BodyBudget budget(100);
  EXPECT_TRUE(budget.try_take({one}, 20));
  EXPECT_TRUE(budget.try_take({one}, 5));
  EXPECT_FALSE(budget.try_take({one}, 1));
  EXPECT_TRUE(budget.try_take({other}, 30)) << "one body may be larger";
  EXPECT_FALSE(budget.try_take({other}, 1));
  EXPECT_TRUE(budget.try_take({}, 45)) << "many clients";
  EXPECT_FALSE(budget.try_take({}, 1)) << "all is taken";
  static_cast<void>(budget.give_back({one}, 5));
  EXPECT_TRUE(budget.try_take({one}, 4));
}

// HTTP-50
TEST(BodyBudget, RequestsWithoutACredentialHaveAPartOfTheirOwn) {
  BodyBudget budget(800);
  const BodyBudget::Account open{{}, false};
  EXPECT_TRUE(budget.try_take(open, 60));
  EXPECT_TRUE(budget.try_take(open, 40));
  EXPECT_FALSE(budget.try_take(open, 1)) << "an eighth is taken";
  EXPECT_TRUE(budget.try_take({}, 800)) << "nothing of the others is";
  static_cast<void>(budget.give_back(open, 40));
  EXPECT_TRUE(budget.try_take(open, 40)) << "and nothing of theirs by the others";
}

// HTTP-50
TEST(HttpServerLoad, AClientDoesNotTakeTheMemoryOfOthers) {
  HttpServerOptions options = with_small_budget();
  options.trusted_proxies = {"127.0.0.1"};
  RunningServer server(size_of_body, options);
  const auto post_from = [](const std::string& client) {
    return "POST /20k HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: " + client +
           "\r\nContent-Length: 20000\r\n\r\n";
  };
  RawHttpClient first = server.ask(post_from("192.0.2.1") + std::string(17'000, 'x'));
  ASSERT_TRUE(eventually([&] {  // its bytes have arrived
    const bool was_free = options.body_budget->try_take({}, 90'000);
    if (was_free) static_cast<void>(options.body_budget->give_back({}, 90'000));
    return !was_free;
  }));
  RawHttpClient second = server.ask(post_from("192.0.2.1") + std::string(20'000, 'x'));
  const auto other = server.ask(post_from("192.0.2.2") + std::string(20'000, 'x')).read_response();
  ASSERT_TRUE(other);
  EXPECT_EQ(other->body, "20000");
  const auto refused = second.read_response();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  first.send(std::string(3'000, 'x'));
  EXPECT_TRUE(first.read_response());
}

/// A response of `count` parts of `size` bytes; counts those that were made.
class Parts {
 public:
  Parts(int count, std::size_t size) : count_(count), size_(size) {}
  HttpResponse response() {
    HttpResponse response;
    response.next_chunk = [this]() -> std::string {
      if (made_ == count_) return {};
      ++made_;
      return std::string(size_, 'x');
    };
    return response;
  }
  int made() const { return made_; }

 private:
  const int count_;
  const std::size_t size_;
  std::atomic<int> made_ = 0;
};

/// Everything until the other end closes.
std::string read_all(RawHttpClient& client) {
  std::string all;
  for (auto part = client.read_some(); !part.empty(); part = client.read_some()) all += part;
  return all;
}

TEST(HttpServerChunks, PartsFollowEachOther) {
  Parts parts(3, 5);
  RunningServer server([&](const HttpRequest&) { return parts.response(); });
  RawHttpClient client = server.ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string text = read_all(client);
  EXPECT_NE(text.find("\r\nTransfer-Encoding: chunked\r\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("Content-Length"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\n\r\n5\r\nxxxxx\r\n5\r\nxxxxx\r\n5\r\nxxxxx\r\n0\r\n\r\n")) << text;
}

TEST(HttpServerChunks, TheConnectionServesTheNextRequest) {
  Parts parts(1, 2);
  RunningServer server([&](const HttpRequest& request) {
    return request.path == "/parts" ? parts.response() : HttpResponse{200, {}, "next"};
  });
  RawHttpClient client = server.ask(get("/parts") + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string text = read_all(client);
  EXPECT_NE(text.find("2\r\nxx\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("next")) << text;
}

TEST(HttpServerChunks, Http10GetsThemUntilTheConnectionEnds) {
  Parts parts(2, 3);
  RunningServer server([&](const HttpRequest&) { return parts.response(); });
  RawHttpClient client = server.ask("GET / HTTP/1.0\r\n\r\n");
  const std::string text = read_all(client);
  EXPECT_EQ(text.find("Transfer-Encoding"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\n\r\nxxxxxx")) << text;
}

TEST(HttpServerChunks, PartsAreMadeNoFasterThanTheClientReads) {
  Parts parts(1000, 1'000'000);
  HttpServerOptions options = loopback_options();
  options.write_deadline_millis = 300;
  RunningServer server([&](const HttpRequest&) { return parts.response(); }, options);
  RawHttpClient client = server.ask(std::string(kGet));
  EXPECT_TRUE(eventually([&] { return server->open_connections() == 1; }));
  EXPECT_TRUE(eventually([&] { return server->open_connections() == 0; })) << "the write deadline";
  EXPECT_GT(parts.made(), 0);
  EXPECT_LT(parts.made(), 100) << "what the sockets' buffers take";
}

TEST(HttpServerChunks, WhatMakesThePartsEndsBeforeWhatItUses) {
  auto use = std::make_shared<int>();
  std::atomic<bool> ended = false;
  std::atomic<bool> ended_in_time = false;
  Parts parts(1000, 1'000'000);
  RunningServer server([](const HttpRequest&) { return HttpResponse{}; });
  const auto answer_in_parts = [&, used = std::weak_ptr<int>(use)](const HttpRequest&) {
    HttpResponse response = parts.response();
    const std::shared_ptr<void> until_end(nullptr, [&, used](void*) {
      ended_in_time = !used.expired();
      ended = true;
    });
    response.next_chunk = [until_end, next = response.next_chunk] { return next(); };
    return response;
  };
  server->exchange(loopback_options(), answer_in_parts, std::exchange(use, nullptr));
  std::optional<RawHttpClient> client(server.ask(std::string(kGet)));
  EXPECT_TRUE(eventually([&] { return parts.made() > 0; }));
  server->exchange(loopback_options(), size_of_body);
  client.reset();
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
  EXPECT_TRUE(ended_in_time);
}

TEST(HttpServerChunks, AFaultEndsTheConnectionBeforeTheLastChunk) {
  RunningServer server([](const HttpRequest&) {
    HttpResponse response;
    response.next_chunk = []() -> std::string { throw std::runtime_error("the store is away"); };
    return response;
  });
  RawHttpClient client = server.ask(std::string(kGet));
  const std::string text = read_all(client);
  EXPECT_TRUE(text.ends_with("\r\n\r\n")) << text;
  EXPECT_FALSE(text.ends_with("0\r\n\r\n")) << text;
}

TEST(HttpServer, SendsSeveralCookies) {
  RunningServer server([](const HttpRequest&) {
    return HttpResponse{200, {{"Set-Cookie", "a=1"}, {"Set-Cookie", "b=2"}}, ""};
  });
  const auto response = server.ask(std::string(kGet)).read_response();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->headers.count("Set-Cookie"), 2u);
}

}  // namespace
}  // namespace giftsync::http
