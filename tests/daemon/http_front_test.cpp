// The front over real sockets: answers, reuse of connections, deadlines, bodies that are too large, stop.
#include "daemon/http/http_front.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/daemon/http_wire.h"

namespace giftsync::daemon {
namespace {

using std::chrono::milliseconds;
using tests::eventually;
using tests::Wire;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

FrontOptions on_loopback() {
  FrontOptions options;
  options.listen = "127.0.0.1:0";
  return options;
}

HttpResponse echo(const HttpRequest& request) {
  return {request.body_too_large ? 413 : 200, {{"X-Path", request.path}}, request.body};
}

class RunningFront {
 public:
  explicit RunningFront(FrontOptions options, HttpHandler handler = echo)
      : front_(std::move(options), std::move(handler)) {
    front_.start();
  }
  HttpFront& operator*() { return front_; }
  HttpFront* operator->() { return &front_; }
  Wire connect() { return Wire(front_.listens_on()); }

 private:
  HttpFront front_;
};

TEST(HttpFront, EveryAnswerCarriesTheFieldsOfTheFront) {
  RunningFront front(on_loopback());
  Wire wire = front.connect();
  wire.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
  const auto answer = wire.read_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "hi");
  EXPECT_EQ(answer->header("Content-Length"), "2");
  EXPECT_EQ(answer->header("Connection"), "keep-alive");
  EXPECT_EQ(answer->header("X-Path"), "/a");
  EXPECT_EQ(answer->header("Request-Id").find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(answer->header("Request-Id").size(), 32u);
  EXPECT_EQ(answer->header("Date").size(), std::string("Sun, 06 Nov 1994 08:49:37 GMT").size());
  EXPECT_TRUE(answer->header("Date").ends_with(" GMT"));
}

TEST(HttpFront, TheHandlerSeesTheRequestIdThatTheClientSees) {
  std::string seen;
  RunningFront front(on_loopback(), [&](const HttpRequest& request) {
    seen = request.request_id + " " + request.client;
    return HttpResponse{};
  });
  Wire wire = front.connect();
  wire.send(kGet);
  const auto answer = wire.read_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(seen, answer->header("Request-Id") + " 127.0.0.1");
}

TEST(HttpFront, PipelinedRequestsAreAnsweredInOrder) {
  RunningFront front(on_loopback());
  Wire wire = front.connect();
  std::string requests;
  for (int i = 0; i < 100; ++i) requests += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  wire.send(requests);
  for (int i = 0; i < 100; ++i) {
    const auto answer = wire.read_answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->header("X-Path"), "/" + std::to_string(i));
  }
  EXPECT_EQ(front->open_connections(), 1u);
}

TEST(HttpFront, ClosesWhenTheClientAsksTo) {
  RunningFront front(on_loopback());
  for (const std::string request :
       {"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"}) {
    Wire wire = front.connect();
    wire.send(request);
    const auto answer = wire.read_answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->header("Connection"), "close");
    EXPECT_TRUE(wire.is_closed());
  }
}

TEST(HttpFront, ClosesWhenTheHandlerAsksTo) {
  RunningFront front(on_loopback(), [](const HttpRequest&) { return HttpResponse{200, {}, "", true}; });
  Wire wire = front.connect();
  wire.send(std::string(kGet) + std::string(kGet));
  ASSERT_TRUE(wire.read_answer());
  EXPECT_TRUE(wire.is_closed());
}

TEST(HttpFront, AnswersToHeadAndOfStatus204HaveNoBody) {
  RunningFront front(on_loopback(), [](const HttpRequest& request) {
    return HttpResponse{request.path == "/none" ? 204 : 200, {}, "body"};
  });
  Wire wire = front.connect();
  wire.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET /none HTTP/1.1\r\nHost: a\r\n\r\n" + std::string(kGet));
  const auto head = wire.read_answer(true);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->header("Content-Length"), "4");
  const auto none = wire.read_answer();
  ASSERT_TRUE(none);
  EXPECT_EQ(none->status, 204);
  EXPECT_EQ(none->headers.count("Content-Length"), 0u);
  const auto last = wire.read_answer();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->body, "body");
}

TEST(HttpFront, AHeaderValueCannotAddALine) {
  RunningFront front(on_loopback(), [](const HttpRequest&) {
    return HttpResponse{302, {{"Location", "/a\r\nX-Evil: 1"}, {"Content-Length", "77"}}, ""};
  });
  Wire wire = front.connect();
  wire.send(kGet);
  const auto answer = wire.read_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->headers.count("X-Evil"), 0u);
  EXPECT_EQ(answer->headers.count("Content-Length"), 1u);
}

TEST(HttpFront, SaysContinueToAClientThatWaits) {
  RunningFront front(on_loopback());
  Wire wire = front.connect();
  wire.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  const auto interim = wire.read_answer();
  ASSERT_TRUE(interim);
  EXPECT_EQ(interim->status, 100);
  wire.send("hi");
  const auto answer = wire.read_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "hi");
}

TEST(HttpFront, ALargeAnswerArrivesWhole) {
  const std::string large(5'000'000, 'x');
  RunningFront front(on_loopback(), [&](const HttpRequest&) { return HttpResponse{200, {}, large}; });
  Wire wire = front.connect();
  wire.send(kGet);
  const auto answer = wire.read_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, large);
}

TEST(HttpFront, ATooLargeBodyReachesTheHandlerAtOnceAndEndsTheConnection) {
  FrontOptions options = on_loopback();
  options.max_body_bytes = 10;
  std::atomic<int> handled = 0;
  RunningFront front(options, [&](const HttpRequest& request) {
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
    Wire wire = front.connect();
    wire.send("POST / HTTP/1.1\r\nHost: a\r\nAuthorization: key\r\n" + rest);
    const auto answer = wire.read_answer();
    ASSERT_TRUE(answer) << rest;
    EXPECT_EQ(answer->status, 401) << rest;
    EXPECT_EQ(answer->header("Connection"), "close");
    // What would have been the body is drained, not served.
    wire.send(std::string(kGet) + std::string(kGet));
    EXPECT_TRUE(wire.is_closed());
  }
  EXPECT_EQ(handled, 5);
}

TEST(HttpFront, AClientThatSendsAllOfALargeBodyFirstStillReadsItsAnswer) {
  FrontOptions options = on_loopback();
  options.max_body_bytes = 1000;
  RunningFront front(options);
  Wire wire = front.connect();
  const std::string body(20'000'000, 'x');
  EXPECT_TRUE(wire.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000000\r\n\r\n" + body));
  const auto answer = wire.read_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 413);
}

TEST(HttpFront, ABodyOfTheFullSizePasses) {
  RunningFront front(on_loopback());
  Wire wire = front.connect();
  const std::string body(1 << 20, 'x');
  wire.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n" + body);
  const auto answer = wire.read_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, body);
}

/// Sends one byte after the other, with a pause, until the other end answers; false when it never does.
bool drip_until_answered(Wire& wire, std::string_view byte) {
  const auto deadline = std::chrono::steady_clock::now() + Wire::kPatience;
  while (wire.is_silent_for(milliseconds(20))) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    wire.send(byte);
  }
  return true;
}

TEST(HttpFront, ADrippedHeaderIsCutOffAtItsDeadline) {
  FrontOptions options = on_loopback();
  options.head_deadline_millis = 200;
  RunningFront front(options);
  Wire wire = front.connect();
  wire.send("GET / HTTP/1.1\r\nX: ");
  ASSERT_TRUE(drip_until_answered(wire, "x"));
  const auto answer = wire.read_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 408);
  EXPECT_EQ(nlohmann::json::parse(answer->body).at("title"), "Request Timeout");
  EXPECT_TRUE(wire.is_closed());
}

TEST(HttpFront, ADrippedBodyIsCutOffAtItsDeadline) {
  FrontOptions options = on_loopback();
  options.body_deadline_millis = 200;
  RunningFront front(options, [](const HttpRequest&) {
    ADD_FAILURE() << "half a body was handled";
    return HttpResponse{};
  });
  for (const std::string start :
       {"Content-Length: 100000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nFFFF\r\n"}) {
    Wire wire = front.connect();
    wire.send("POST / HTTP/1.1\r\nHost: a\r\n" + start);
    ASSERT_TRUE(drip_until_answered(wire, "x"));
    const auto answer = wire.read_answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 408);
    EXPECT_TRUE(wire.is_closed());
  }
}

TEST(HttpFront, AnIdleConnectionIsClosedSilently) {
  FrontOptions options = on_loopback();
  options.idle_deadline_millis = 100;
  RunningFront front(options);
  Wire silent = front.connect();
  EXPECT_TRUE(silent.is_closed());
  Wire used = front.connect();
  used.send(kGet);
  ASSERT_TRUE(used.read_answer());
  EXPECT_TRUE(used.is_closed());
  EXPECT_TRUE(eventually([&] { return front->open_connections() == 0; }));
}

TEST(HttpFront, AClientThatDoesNotTakeItsAnswerIsCutOff) {
  FrontOptions options = on_loopback();
  options.write_deadline_millis = 200;
  const std::string large(50'000'000, 'x');
  RunningFront front(options, [&](const HttpRequest&) { return HttpResponse{200, {}, large}; });
  Wire wire = front.connect();
  wire.send(kGet);
  EXPECT_TRUE(eventually([&] { return front->open_connections() == 1; }));
  EXPECT_TRUE(eventually([&] { return front->open_connections() == 0; }));
  EXPECT_FALSE(wire.read_answer());
}

TEST(HttpFront, ASecondFrontOnThePortFailsWithAdvice) {
  RunningFront front(on_loopback());
  FrontOptions options;
  options.listen = front->listens_on();
  try {
    HttpFront second(options, echo);
    FAIL() << "two fronts on one port";
  } catch (const std::runtime_error& fault) {
    const std::string text = fault.what();
    EXPECT_NE(text.find(options.listen), std::string::npos) << text;
    EXPECT_NE(text.find("already in use"), std::string::npos) << text;
    EXPECT_NE(text.find("choose another port in server.listen"), std::string::npos) << text;
  }
}

TEST(HttpFront, FaultyOptionsAreNamed) {
  for (const std::string listen :
       {"nonsense", "127.0.0.1", "127.0.0.1:99999", "192.0.2.1:0", "300.1.1.1:80"}) {
    FrontOptions options;
    options.listen = listen;
    try {
      HttpFront front(options, echo);
      FAIL() << listen;
    } catch (const std::runtime_error& fault) {
      EXPECT_NE(std::string(fault.what()).find(listen), std::string::npos) << fault.what();
    }
  }
}

TEST(HttpFront, ListensOnIpv6) {
  FrontOptions options;
  options.listen = "[::1]:0";
  HttpFront front(options, echo);
  EXPECT_TRUE(front.listens_on().starts_with("[::1]:")) << front.listens_on();
}

/// A handler that waits until it is let go.
class Gate {
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

TEST(HttpFront, StopAnswersWhatIsInFlightAndClosesWhatIsIdle) {
  Gate gate;
  RunningFront front(on_loopback(), std::ref(gate));
  Wire idle = front.connect();
  Wire half = front.connect();
  half.send("GET / HT");
  Wire busy = front.connect();
  busy.send(kGet);
  ASSERT_TRUE(eventually([&] { return gate.inside() && front->open_connections() == 3; }));
  std::thread stopper([&] { front->stop(20'000); });
  EXPECT_TRUE(idle.is_closed());
  EXPECT_TRUE(half.is_closed());
  EXPECT_THROW(front.connect(), std::runtime_error);
  EXPECT_EQ(front->open_connections(), 1u);
  gate.open();
  const auto answer = busy.read_answer();
  stopper.join();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "late");
  EXPECT_EQ(answer->header("Connection"), "close");
  EXPECT_TRUE(busy.is_closed());
  front->stop(0);
}

TEST(HttpFront, StopCutsOffWhatOutlivesItsGrace) {
  Gate gate;
  RunningFront front(on_loopback(), std::ref(gate));
  Wire busy = front.connect();
  busy.send(kGet);
  ASSERT_TRUE(eventually([&] { return gate.inside(); }));
  std::thread stopper([&] { front->stop(50); });
  EXPECT_TRUE(busy.is_closed());
  gate.open();
  stopper.join();
  EXPECT_EQ(front->open_connections(), 0u);
}

TEST(HttpFront, StopIsPromptWithIdleClients) {
  RunningFront front(on_loopback());
  std::vector<Wire> idle;
  for (int i = 0; i < 100; ++i) idle.push_back(front.connect());
  ASSERT_TRUE(eventually([&] { return front->open_connections() == 100; }));
  const auto begin = std::chrono::steady_clock::now();
  front->stop(20'000);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(HttpFront, AFrontThatWasNeverStartedStops) {
  HttpFront front(on_loopback(), echo);
  front.stop(1000);
  EXPECT_EQ(front.open_connections(), 0u);
}

}  // namespace
}  // namespace giftsync::daemon
