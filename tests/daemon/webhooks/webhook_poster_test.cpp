// Posting to a receiver that does what a test has chosen, with a clock that the test steps (HOOK-1 to
// HOOK-11).
#include "daemon/webhooks/webhook_poster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "daemon/webhooks/webhook_changes.h"
#include "platform/dependency_error.h"
#include "platform/digest.h"
#include "sync/feed_step.h"
#include "tests/support/json.h"
#include "tests/support/scripted_server.h"
#include "tests/support/store_fixture.h"

namespace giftsync::webhooks {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const std::string kOk = "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n";

std::string answer(const std::string& status, const std::string& headers = "") {
  return "HTTP/1.1 " + status + "\r\n" + headers + "Content-Length: 2\r\n\r\nno";
}

/// The value of a request's header, as sent; empty when it has none.
std::string header_of(const std::string& request, const std::string& name) {
  const std::size_t at = request.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 4;
  return request.substr(begin, request.find("\r\n", begin) - begin);
}

std::string body_of(const std::string& request) {
  return request.substr(request.find("\r\n\r\n") + 4);
}

/// The number of the event; 0 for a test.
std::int64_t seq_of(const std::string& request) {
  const std::string id = header_of(request, "webhook-id");
  return std::atoll(id.substr(id.rfind('_') + 1).c_str());
}

class Poster : public tests::StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    if (IsSkipped()) return;
    store_->feed.switch_to(true);
  }

  /// A receiver whose answer depends on the event's number.
  tests::ScriptedServer& receive(std::function<std::string(std::int64_t seq)> respond) {
    respond_ = std::move(respond);
    server_ = std::make_unique<tests::ScriptedServer>(
        [this](std::size_t, const std::string& request) { return respond_(seq_of(request)); });
    return *server_;
  }
  store::WebhookEndpoint create(const std::string& types = "") {
    store::WebhookEndpoint endpoint;
    endpoint.name = "crm";
    endpoint.url = server_->url() + "/hook";
    endpoint.types = types;
    const auto created = create_webhook(
        *store_, endpoint, [](std::string_view) { return kSecret; }, {}, now_);
    EXPECT_TRUE(created.has_value());
    make_poster(created->endpoint.id);
    return created->endpoint;
  }
  void make_poster(std::int64_t id, bool may_post = true) {
    PosterOptions options;
    options.post = post_options({"127.0.0.0/8"}, "");
    options.post.timeout_millis = timeout_millis_;
    options.unseal = [](const std::string& sealed) { return std::optional(sealed); };
    options.clock = [this] { return now_; };
    options.random = [] { return 500; };
    options.may_post = [may_post] { return may_post; };
    options.refresh_millis = refresh_millis_;
    options.fast_millis = fast_millis_;
    poster_ = std::make_unique<WebhookPoster>(*store_, id, std::move(options));
  }
  /// One more event; returns its number.
  std::int64_t event(std::int64_t gift = 1, const std::string& type = "gift.opened") {
    const std::string seq = scalar("SELECT cast(next_id AS TEXT) FROM id_block WHERE name = 'feed_event'");
    sql("UPDATE id_block SET next_id = next_id + 1 WHERE name = 'feed_event'");
    sql("INSERT INTO feed_event (seq, type, object_id, record, account_id, organization_id, status_before, "
        "status_after, version, recorded_at, is_test, occurred_at) VALUES (" +
        seq + ", '" + type + "', " + std::to_string(gift) + ", '', 1, NULL, 'sent', 'opened', 2, " +
        std::to_string(now_.value) + ", 0, " + std::to_string(now_.value - 5) + ")");
    return std::stoll(seq);
  }
  void events(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) event(static_cast<std::int64_t>(i + 1));
  }
  void step_all() {
    while (poster_->step([] { return true; })) {
    }
  }
  std::vector<std::size_t> received_after_each_step() {
    std::vector<std::size_t> counts;
    bool has_more = true;
    while (has_more) {
      has_more = poster_->step([] { return true; });
      counts.push_back(received().size());
    }
    return counts;
  }
  store::WebhookEndpoint endpoint() { return store_->webhooks.find("crm").value(); }
  std::vector<std::int64_t> received() {
    std::vector<std::int64_t> seqs;
    for (const std::string& request : server_->requests()) seqs.push_back(seq_of(request));
    return seqs;
  }
  std::vector<std::string> log_lines() {
    std::vector<std::string> lines;
    for (const LogLine& line : poster_->take_lines()) lines.push_back(line.message);
    return lines;
  }

  UtcMillis now_ = kSentAt;
  std::int64_t timeout_millis_ = 15'000;
  std::int64_t refresh_millis_ = 600'000;
  std::int64_t fast_millis_ = 250;
  std::function<std::string(std::int64_t)> respond_;
  std::unique_ptr<tests::ScriptedServer> server_;
  std::unique_ptr<WebhookPoster> poster_;
};
INSTANTIATE_TEST_SUITE_P(BackEnds, Poster, testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// HOOK-1, HOOK-2, HOOK-3
TEST_P(Poster, PostsASignedEventWithTheGiftAsItIsNow) {
  receive([](std::int64_t) { return kOk; });
  const TransactionId gift = one_gift();
  create();
  const std::int64_t seq = event(gift.value);
  step_all();
  ASSERT_THAT(received(), ElementsAre(seq));
  const std::string request = server_->requests().front();
  EXPECT_THAT(request, HasSubstr("POST /hook HTTP/1.1\r\n"));
  EXPECT_EQ(header_of(request, "Content-Type"), "application/json");
  EXPECT_THAT(header_of(request, "User-Agent"), HasSubstr("giftsync/"));
  EXPECT_EQ(header_of(request, "Accept-Encoding"), "");
  const std::string id = header_of(request, "webhook-id");
  EXPECT_EQ(id, sync::feed_event_id(store_->feed.state().epoch, seq));
  const std::string signed_text = id + "." + header_of(request, "webhook-timestamp") + "." + body_of(request);
  EXPECT_EQ(header_of(request, "webhook-timestamp"), std::to_string(now_.value / 1000));
  EXPECT_EQ(header_of(request, "webhook-signature"),
            "v1," + to_base64_text(hmac_sha256(standard_webhook_key(kSecret).value(), signed_text)));
  const auto body = tests::parse_json(body_of(request));
  EXPECT_EQ(body["type"], "gift.opened");
  EXPECT_EQ(body["test"], false);
  EXPECT_EQ(body["data"]["event_id"], id);
  EXPECT_EQ(body["data"]["change"]["from"], "sent");
  EXPECT_EQ(body["data"]["change"]["version"], 2);
  EXPECT_EQ(body["data"]["change"]["occurred_at"], to_rfc3339(now_ - 5));
  EXPECT_EQ(body["data"]["gift"]["recipient_transaction_id"], gift.value);
  EXPECT_EQ(body["data"]["gift"]["email"], "ada@example.com");
  EXPECT_EQ(body["data"]["gift"]["status"], "sent");
  EXPECT_THAT(body_of(request), Not(HasSubstr("Thanks"))) << "the gift's message is left out";
  step_all();
  EXPECT_THAT(received(), SizeIs(1)) << "nothing is posted twice";
  EXPECT_EQ(endpoint().position, seq);
}

// HOOK-3
TEST_P(Poster, OnlySubscribedTypesArePosted) {
  receive([](std::int64_t) { return kOk; });
  create("gift.redeemed,gift_request.*");
  event();
  const std::int64_t redeemed = event(2, "gift.redeemed");
  const std::int64_t held = event(3, "gift_request.held");
  const std::int64_t last = event(4);
  step_all();
  EXPECT_THAT(received(), testing::UnorderedElementsAre(redeemed, held));
  EXPECT_EQ(endpoint().position, last);
}

// HOOK-1, HOOK-5
TEST_P(Poster, FirstAttemptsOfOneGiftAreInOrder) {
  receive([](std::int64_t) { return kOk; });
  create();
  std::map<std::int64_t, std::vector<std::int64_t>> expected;
  for (std::int64_t i = 0; i < 450; ++i) expected[i % 7].push_back(event(i % 7));
  step_all();
  EXPECT_THAT(received(), SizeIs(450));
  std::map<std::int64_t, std::vector<std::int64_t>> seen;
  for (const std::string& request : server_->requests()) {
    const auto data = tests::parse_json(body_of(request))["data"];
    seen[data["recipient_transaction_id"]].push_back(seq_of(request));
  }
  EXPECT_EQ(seen, expected);
  EXPECT_LE(server_->connection_count(), WebhookPoster::kConnections);
  EXPECT_EQ(endpoint().attempts, 450);
}

// HOOK-6
TEST_P(Poster, AnEventThatFailsAloneIsTriedByItselfAndThenGivenUp) {
  std::atomic<std::int64_t> bad = 0;
  receive([&](std::int64_t seq) { return seq == bad ? answer("400 Bad Request") : kOk; });
  create();
  event(1);
  bad = event(2);
  const std::int64_t last = event(3);
  step_all();
  EXPECT_EQ(endpoint().state, WebhookState::active);
  EXPECT_EQ(endpoint().position, last);
  const UtcMillis begun = now_;
  std::vector<std::int64_t> minutes;
  while (const auto retry = store_->webhooks.next_retry(endpoint().id)) {
    now_ = *retry->next_attempt_at;
    minutes.push_back((now_.value - begun.value) / kMinuteMillis);
    step_all();
  }
  EXPECT_THAT(minutes, ElementsAre(0, 5, 35, 155, 455, 1055, 1895, 3095, 4535));
  const auto seqs = received();
  EXPECT_EQ(std::count(seqs.begin(), seqs.end(), bad.load()), 10);
  EXPECT_EQ(store_->webhooks.count_retries(endpoint().id).given_up, 1);
  EXPECT_EQ(endpoint().state, WebhookState::active) << "an event's fault is not the endpoint's";
  EXPECT_THAT(log_lines(), testing::Contains(HasSubstr("given up")));
  bad = 0;  // the receiver is corrected
  EXPECT_EQ(store_->webhooks.retry_now(endpoint().id, std::nullopt, now_, {}), 1);
  step_all();
  EXPECT_EQ(store_->webhooks.count_retries(endpoint().id).given_up, 0);
}

// HOOK-7
TEST_P(Poster, AnOutageStopsAtFiveAndLosesNothing) {
  std::atomic<bool> is_down = true;
  receive([&](std::int64_t) { return is_down ? answer("503 Service Unavailable") : kOk; });
  create();
  events(40);
  step_all();
  EXPECT_EQ(endpoint().state, WebhookState::failing);
  EXPECT_THAT(endpoint().reason, HasSubstr("503"));
  const std::size_t before = received().size();
  EXPECT_LE(before, 4 + WebhookPoster::kConnections) << "those that were under way";
  step_all();
  EXPECT_THAT(received(), SizeIs(before)) << "it waits";
  EXPECT_LE(store_->webhooks.count_retries(endpoint().id).waiting, 4);
  for (const std::int64_t seconds : {5, 10, 20, 40}) {
    const std::size_t tests = received().size();
    now_ = now_ + (seconds - 1) * kSecondMillis;
    step_all();
    EXPECT_THAT(received(), SizeIs(tests)) << seconds;
    now_ = now_ + kSecondMillis;
    step_all();
    EXPECT_THAT(received(), SizeIs(tests + 1)) << seconds;
  }
  is_down = false;
  now_ = now_ + kHourMillis;
  for (int i = 0; i < 9; ++i) step_all();
  EXPECT_EQ(endpoint().position, 40);
  EXPECT_EQ(endpoint().state, WebhookState::active);
  EXPECT_EQ(endpoint().reason, "");
  now_ = now_ + kDayMillis;
  step_all();
  const auto seqs = received();
  EXPECT_THAT(std::set<std::int64_t>(seqs.begin(), seqs.end()), SizeIs(40));
  EXPECT_THAT(log_lines(), AllOf(testing::Contains(HasSubstr("takes no events")),
                                 testing::Contains(HasSubstr("takes events again"))));
}

// HOOK-9
TEST_P(Poster, ARetryOrASuccessfulTestEndsTheWaitOfOneThatIsFailing) {
  std::atomic<bool> is_down = true;
  receive([&](std::int64_t) { return is_down ? answer("503 Service Unavailable") : kOk; });
  create();
  events(40);
  step_all();
  ASSERT_EQ(endpoint().state, WebhookState::failing);
  const auto test = [&] {
    PostOptions post = post_options({"127.0.0.0/8"}, "");
    post.timeout_millis = timeout_millis_;
    return test_webhook(
        *store_, endpoint(), post, [](const std::string& sealed) { return std::optional(sealed); }, now_);
  };
  const std::int64_t failures = endpoint().failures;
  ASSERT_TRUE(test().has_value());
  step_all();
  EXPECT_EQ(endpoint().failures, failures) << "a test that fails ends no wait";
  store_->webhooks.retry_now(endpoint().id, std::nullopt, now_, {});
  step_all();
  EXPECT_EQ(endpoint().failures, failures + 1) << "tested at once, and it waits again";
  EXPECT_GT(endpoint().next_attempt_at, now_);
  is_down = false;
  ASSERT_TRUE(test().has_value());
  for (int i = 0; i < 9; ++i) step_all();
  EXPECT_EQ(endpoint().state, WebhookState::active);
  EXPECT_EQ(endpoint().position, 40);
}

// HOOK-8
TEST_P(Poster, ThreeDaysOfFailuresDisableAndEnableGoesOnAtThePlace) {
  std::atomic<bool> is_down = true;
  receive([&](std::int64_t) { return is_down ? answer("500 Internal Server Error") : kOk; });
  create();
  events(6);
  step_all();
  while (endpoint().state == WebhookState::failing) {
    now_ = endpoint().next_attempt_at;
    step_all();
  }
  EXPECT_EQ(endpoint().state, WebhookState::disabled);
  EXPECT_GE(now_, kSentAt + 3 * kDayMillis);
  EXPECT_LE(now_, kSentAt + 3 * kDayMillis + kHourMillis);
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM audit_event WHERE action = 'webhook.disable'"), "1");
  is_down = false;
  now_ = now_ + kDayMillis;
  step_all();
  EXPECT_EQ(endpoint().state, WebhookState::disabled);
  const std::int64_t position = endpoint().position;
  EXPECT_EQ(enable_webhook(*store_, endpoint(), std::nullopt, {}, now_).waiting, 6 - position);
  step_all();
  EXPECT_EQ(endpoint().position, 6);
  EXPECT_EQ(endpoint().state, WebhookState::active);
}

// HOOK-4
TEST_P(Poster, GoneDisablesAtOnce) {
  receive([](std::int64_t) { return answer("410 Gone"); });
  create();
  event();
  step_all();
  EXPECT_EQ(endpoint().state, WebhookState::disabled);
  EXPECT_EQ(endpoint().position, 0);
  EXPECT_THAT(endpoint().reason, HasSubstr("410"));
}

struct Fault {
  const char* name;
  std::string response;  ///< empty: the connection is closed
  std::int64_t status;
  const char* error;  ///< a part of it
};

// HOOK-4
TEST_P(Poster, WhatIsNoSuccessIsTriedAgain) {
  timeout_millis_ = 300;
  const std::vector<Fault> faults = {
      {"redirect", answer("302 Found", "Location: /other\r\n"), 302, ""},
      {"server error", answer("500 Internal Server Error"), 500, ""},
      {"closed", "", 0, ""},
      {"half a body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\nhalf", 0, ""},
      {"no HTTP", "SSH-2.0-OpenSSH\r\n\r\n", 0, ""},
  };
  std::atomic<std::size_t> at = 0;
  receive([&](std::int64_t) { return at < faults.size() ? faults[at].response : kOk; });
  const store::WebhookEndpoint made = create();
  for (at = 0; at < faults.size(); ++at) {
    const Fault& fault = faults[at];
    event(1);
    step_all();
    const auto attempt = store_->webhooks.list_attempts(made.id, false, 999, 1).at(0);
    EXPECT_TRUE(attempt.failed) << fault.name;
    EXPECT_EQ(attempt.status, fault.status) << fault.name;
    EXPECT_EQ(attempt.error.empty(), fault.status != 0) << fault.name << ": " << attempt.error;
    EXPECT_EQ(endpoint().failures, static_cast<std::int64_t>(at) + 1) << fault.name;
  }
  for (const std::string& request : server_->requests())
    EXPECT_TRUE(request.starts_with("POST /hook ")) << "redirects are not followed: " << request;
}

// HOOK-4
TEST_P(Poster, RetryAfterAndLongBodiesAreBounded) {
  const std::string long_body(2'000'000, 'x');
  std::atomic<int> number = 0;
  receive([&](std::int64_t) {
    return ++number == 1 ? answer("429 Too Many Requests", "Retry-After: 7200\r\n")
                         : "HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n" + long_body;
  });
  const store::WebhookEndpoint made = create();
  const std::int64_t seq = event();
  step_all();
  EXPECT_EQ(store_->webhooks.next_retry(made.id).value().next_attempt_at, now_ + 2 * kHourMillis);
  now_ = now_ + 2 * kHourMillis;
  step_all();
  const auto attempt = store_->webhooks.list_attempts(made.id, false, 999, 1).at(0);
  EXPECT_EQ(attempt.seq, seq);
  EXPECT_EQ(attempt.attempt, 2);
  EXPECT_EQ(attempt.status, 200);
  EXPECT_EQ(attempt.response.size(), 1'024u);
  EXPECT_FALSE(store_->webhooks.next_retry(made.id).has_value());
}

// HOOK-11
TEST_P(Poster, AnAddressThatIsNotAllowedIsNotReached) {
  receive([](std::int64_t) { return kOk; });
  const store::WebhookEndpoint made = create();
  PosterOptions options;
  options.unseal = [](const std::string& sealed) { return std::optional(sealed); };
  options.clock = [this] { return now_; };
  options.random = [] { return 500; };
  options.may_post = [] { return true; };
  poster_ = std::make_unique<WebhookPoster>(*store_, made.id, std::move(options));
  event();
  step_all();
  EXPECT_EQ(server_->connection_count(), 0u);
  EXPECT_THAT(store_->webhooks.list_attempts(made.id, true, 999, 1).at(0).error,
              HasSubstr("127.0.0.1 is a loopback address"));
  EXPECT_FALSE(checked_url(made.url, {}).has_value());
  EXPECT_TRUE(checked_url(made.url, post_options({"127.0.0.0/8"}, "")).has_value());
  EXPECT_FALSE(checked_url("https://localhost/", {}).has_value());
}

// HOOK-5
TEST_P(Poster, WithoutTheLeaseNothingIsPosted) {
  receive([](std::int64_t) { return kOk; });
  make_poster(create().id, false);
  event();
  step_all();
  EXPECT_THAT(received(), IsEmpty());
  EXPECT_EQ(endpoint().position, 0);
}

// HOOK-5
TEST_P(Poster, AStopLeavesWhatWasNotTried) {
  receive([](std::int64_t) { return kOk; });
  create();
  for (int i = 0; i < 9; ++i) event(1);
  std::atomic<int> asked = 0;
  poster_->step([&] { return ++asked < 4; });
  EXPECT_LT(endpoint().position, 9);
  EXPECT_EQ(endpoint().state, WebhookState::active);
  step_all();
  EXPECT_EQ(endpoint().position, 9);
  const auto seqs = received();
  EXPECT_TRUE(std::is_sorted(seqs.begin(), seqs.end()));
}

// HOOK-5
TEST_P(Poster, ABatchOfAFastReceiverIsFollowedByOneOfTwiceAsManyEvents) {
  fast_millis_ = 600'000;
  receive([](std::int64_t) { return kOk; });
  create();
  events(450);
  EXPECT_THAT(received_after_each_step(), ElementsAre(200, 450));
  EXPECT_EQ(endpoint().position, 450);
  const std::vector<std::int64_t> seqs = received();
  EXPECT_THAT(std::set<std::int64_t>(seqs.begin(), seqs.end()), SizeIs(450)) << "each once";
}

// HOOK-5
TEST_P(Poster, ABatchOfASlowReceiverIsFollowedByOneOfAsMany) {
  fast_millis_ = 0;
  receive([](std::int64_t) { return kOk; });
  create();
  events(450);
  EXPECT_THAT(received_after_each_step(), ElementsAre(200, 400, 450));
  EXPECT_EQ(endpoint().position, 450);
}

// HOOK-5, HOOK-12
TEST_P(Poster, AnotherUrlHoldsFromTheNextAttemptOn) {
  refresh_millis_ = 0;
  tests::ScriptedServer other([](std::size_t, const std::string&) { return kOk; });
  store::WebhookEndpoint made;
  receive([&](std::int64_t) {
    made.url = other.url();
    store_->webhooks.update(made, {});
    return kOk;
  });
  made = create();
  for (int i = 0; i < 9; ++i) event(1);
  step_all();
  EXPECT_THAT(received(), SizeIs(1));
  EXPECT_THAT(other.requests(), SizeIs(8)) << "the first one arrived, so it is not repeated";
  EXPECT_EQ(endpoint().position, 9);
}

// HOOK-12
TEST_P(Poster, ADeletedEndpointGetsNoFurtherEvent) {
  refresh_millis_ = 0;
  store::WebhookEndpoint made;
  receive([&](std::int64_t) {
    store_->webhooks.remove(made.id, {});
    return kOk;
  });
  made = create();
  for (int i = 0; i < 9; ++i) event(1);
  step_all();
  EXPECT_THAT(received(), SizeIs(1));
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM webhook_attempt"), "0");
}

// HOOK-1
TEST_P(Poster, TheGiftIsAsItIsAtTheAttempt) {
  refresh_millis_ = 0;
  receive([&](std::int64_t) {
    sql("UPDATE recipient_transaction SET email = 'eve@example.com'");
    return kOk;
  });
  const TransactionId gift = one_gift();
  create();
  event(gift.value);
  event(gift.value);
  step_all();
  std::vector<std::string> emails;
  for (const std::string& request : server_->requests())
    emails.push_back(tests::parse_json(body_of(request))["data"]["gift"]["email"]);
  EXPECT_THAT(emails, ElementsAre("ada@example.com", "eve@example.com"));
}

// HOOK-7
TEST_P(Poster, AFailingEndpointKeepsReasonAndTimeWhileNoEventIsForIt) {
  std::atomic<bool> is_down = true;
  receive([&](std::int64_t) { return is_down ? answer("503 Service Unavailable") : kOk; });
  store::WebhookEndpoint made = create();
  events(6);
  step_all();
  ASSERT_EQ(endpoint().state, WebhookState::failing);
  made.types = "gift_request.*";
  store_->webhooks.update(made, {});
  sql("DELETE FROM webhook_retry");
  const store::WebhookEndpoint before = endpoint();
  const std::size_t posted = received().size();
  now_ = now_ + kHourMillis;
  step_all();
  EXPECT_THAT(received(), SizeIs(posted));
  EXPECT_EQ(endpoint().position, 6);
  EXPECT_EQ(endpoint().reason, before.reason);
  EXPECT_THAT(endpoint().reason, HasSubstr("503"));
  EXPECT_EQ(endpoint().next_attempt_at, before.next_attempt_at);
  is_down = false;
  event(1, "gift_request.held");
  step_all();
  EXPECT_EQ(endpoint().state, WebhookState::active) << "the first event that is for it tests it at once";
  EXPECT_EQ(endpoint().position, 7);
}

// HOOK-5
TEST_P(Poster, AStoreThatIsAwayForAMomentRepeatsNothing) {
  receive([](std::int64_t) { return kOk; });
  const store::WebhookEndpoint made = create();
  for (int i = 0; i < 9; ++i) event(1);
  std::atomic<int> asked = 0;
  PosterOptions options;
  options.post = post_options({"127.0.0.0/8"}, "");
  options.unseal = [](const std::string& sealed) { return std::optional(sealed); };
  options.clock = [this] { return now_; };
  options.random = [] { return 500; };
  options.may_post = [&]() -> bool {
    if (++asked == 4) throw DependencyError(true, "the store is away");
    return true;
  };
  poster_ = std::make_unique<WebhookPoster>(*store_, made.id, std::move(options));
  poster_->step([] { return true; });
  EXPECT_EQ(endpoint().position, 2);
  poster_->step([] { return true; });
  EXPECT_EQ(endpoint().position, 9);
  EXPECT_THAT(received(), SizeIs(9));
}

// HOOK-8
TEST_P(Poster, ANewEpochBeginsAtItsBeginning) {
  receive([](std::int64_t) { return kOk; });
  create();
  event();
  step_all();
  EXPECT_TRUE(store_->feed.begin_epoch());
  const std::int64_t seq = event();
  step_all();
  EXPECT_EQ(received().back(), seq);
  EXPECT_EQ(endpoint().epoch, store_->feed.state().epoch);
  EXPECT_EQ(header_of(server_->requests().back(), "webhook-id"), sync::feed_event_id(endpoint().epoch, seq));
}

// HOOK-8
TEST_P(Poster, EventsThatTheFeedDeletedAreCounted) {
  receive([](std::int64_t) { return kOk; });
  create();
  events(5);
  sql("DELETE FROM feed_event WHERE seq <= 3");
  EXPECT_EQ(backlog_of(store_->feed.state(), endpoint()).lost, 3);
  EXPECT_EQ(backlog_of(store_->feed.state(), endpoint()).waiting, 2);
  step_all();
  EXPECT_THAT(received(), testing::UnorderedElementsAre(4, 5));
  EXPECT_THAT(log_lines(), ElementsAre(HasSubstr("3 events were deleted")));
}

// HOOK-9
TEST_P(Poster, AReplayPostsTheSameIdsAgain) {
  receive([](std::int64_t) { return kOk; });
  create();
  events(3);
  now_ = now_ + kHourMillis;
  event();
  step_all();
  EXPECT_EQ(replay_webhook(*store_, endpoint(), now_ - kMinuteMillis, {}).waiting, 1);
  step_all();
  EXPECT_EQ(replay_webhook(*store_, endpoint(), now_ - kDayMillis, {}).waiting, 4);
  step_all();
  const auto seqs = received();
  EXPECT_EQ(std::count(seqs.begin(), seqs.end(), 4), 3);
  EXPECT_EQ(std::count(seqs.begin(), seqs.end(), 1), 2);
  EXPECT_EQ(replay_webhook(*store_, endpoint(), now_ + kDayMillis, {}).waiting, 0) << "never forward";
}

// HOOK-9
TEST_P(Poster, AReplayEndsTheRetriesOfWhatItPosts) {
  std::atomic<std::int64_t> bad = 0;
  receive([&](std::int64_t seq) { return seq == bad ? answer("400 Bad Request") : kOk; });
  create();
  event(1);
  bad = event(2);
  event(3);
  step_all();
  ASSERT_EQ(store_->webhooks.count_retries(endpoint().id).waiting, 1);
  bad = 0;
  replay_webhook(*store_, endpoint(), now_ - kDayMillis, {});
  now_ = now_ + kHourMillis;  // the retry is due, too
  step_all();
  const auto seqs = received();
  EXPECT_EQ(std::count(seqs.begin(), seqs.end(), 2), 2);
  EXPECT_EQ(store_->webhooks.count_retries(endpoint().id).waiting, 0);
  EXPECT_EQ(endpoint().position, 3);
}

// HOOK-9
TEST_P(Poster, ATestIsPostedOutsideOfThePosition) {
  receive([](std::int64_t) { return answer("418 Teapot"); });
  const store::WebhookEndpoint made = create();
  const auto posted = test_webhook(
      *store_, made, post_options({"127.0.0.0/8"}, ""),
      [](const std::string& sealed) { return std::optional(sealed); }, now_);
  ASSERT_TRUE(posted.has_value());
  EXPECT_EQ(posted->describe(), "status 418: no");
  EXPECT_EQ(tests::parse_json(body_of(server_->requests().front()))["type"], "endpoint.test");
  EXPECT_EQ(endpoint().state, WebhookState::active);
  EXPECT_EQ(endpoint().position, 0);
  EXPECT_EQ(endpoint().attempts, 1);
  EXPECT_FALSE(test_webhook(
      *store_, made, {}, [](const std::string&) { return std::nullopt; }, now_));
}

// HOOK-10
TEST_P(Poster, BothSecretsSignDuringARotationTheNewerFirst) {
  receive([](std::int64_t) { return kOk; });
  const store::WebhookEndpoint made = create();
  const auto seal = [](std::string_view text) { return std::string(text); };
  const auto rotated = rotate_webhook_secret(*store_, made, kDayMillis, false, seal, {}, now_);
  ASSERT_TRUE(rotated.has_value());
  EXPECT_EQ(rotate_webhook_secret(*store_, endpoint(), kDayMillis, false, seal, {}, now_).error().code,
            "rotation_in_progress");
  const auto signatures = [&] {
    event();
    step_all();
    return header_of(server_->requests().back(), "webhook-signature");
  };
  const auto signed_by = [&](const std::vector<std::string>& secrets) {
    const std::string request = server_->requests().back();
    return sync::webhook_signatures(secrets, header_of(request, "webhook-id"), now_.value / 1000,
                                    body_of(request));
  };
  const std::string during = signatures();
  EXPECT_EQ(during, signed_by({*rotated, kSecret}));
  now_ = now_ + kDayMillis;
  const std::string afterwards = signatures();
  EXPECT_EQ(afterwards, signed_by({*rotated}));
}

// HOOK-13
TEST_P(Poster, CreationIsRefusedWithoutAFeedAndForAnotherOfTheName) {
  receive([](std::int64_t) { return kOk; });
  const store::WebhookEndpoint made = create();
  const auto seal = [](std::string_view text) { return std::string(text); };
  EXPECT_EQ(create_webhook(*store_, made, seal, {}, now_).error().code, "endpoint_exists");
  store_->feed.switch_to(false);
  EXPECT_EQ(create_webhook(*store_, made, seal, {}, now_).error().code, "feed_disabled");
  EXPECT_EQ(checked_types({"gift.*", "gift.opened", "gift.*"}).value(), "gift.*,gift.opened");
  EXPECT_THAT(checked_types({"gift.eaten"}).error().message, HasSubstr("gift.redeemed"));
  EXPECT_FALSE(checked_name(" crm").has_value());
  EXPECT_FALSE(checked_name("").has_value());
}

// HOOK-1, HOOK-7: whatever the receiver does for three days, each event arrives, and the place never passes
// one that neither arrived nor waits.
TEST_P(Poster, EachEventArrivesHoweverTheReceiverFails) {
  std::mutex mutex;
  std::mt19937 random{42};
  std::set<std::int64_t> taken;
  bool is_healthy = false;
  receive([&](std::int64_t seq) {
    const std::lock_guard lock(mutex);
    if (!is_healthy && random() % 3 == 0) return random() % 4 == 0 ? std::string() : answer("500 No");
    taken.insert(seq);
    return kOk;
  });
  const store::WebhookEndpoint made = create();
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 10; ++i) event(round * 3 + i % 3 + 1);
    now_ = now_ + 2 * kHourMillis;
    step_all();
    const std::int64_t position = endpoint().position;
    std::set<std::int64_t> known;
    for (const store::WebhookRetry& retry : store_->webhooks.list_retries(made.id, 0, 999))
      known.insert(retry.seq);
    const std::lock_guard lock(mutex);
    known.insert(taken.begin(), taken.end());
    for (std::int64_t seq = 1; seq <= position; ++seq) EXPECT_TRUE(known.contains(seq)) << seq;
  }
  {
    const std::lock_guard lock(mutex);
    is_healthy = true;
  }
  for (int i = 0; i < 60; ++i) {
    now_ = now_ + 2 * kHourMillis;
    step_all();
  }
  EXPECT_EQ(endpoint().position, 300);
  EXPECT_THAT(taken, SizeIs(300));
}

}  // namespace
}  // namespace giftsync::webhooks
