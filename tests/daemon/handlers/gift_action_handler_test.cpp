// Actions on gifts over HTTP with a real store: what is done, refused, repeated and audited.
#include "daemon/handlers/gift_action_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "daemon/handlers/gift_read_handler.h"
#include "sync/access/credential.h"
#include "sync/gift/lifecycle.h"
#include "tests/support/api_key.h"
#include "tests/support/json.h"
#include "tests/support/temporary_store.h"

namespace giftsync::handlers {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class GiftActionHandlerTest : public ::testing::Test {
 protected:
  GiftActionHandlerTest() {
    store_->gifts.set_lifecycle_stamp(sync::terms_stamper({}, 30));
    ana_ = account("ana@example.com");
    key_ = new_key(ana_, {Scope::read, Scope::manage});
    gift_ = send(ana_);
  }
  AccountId account(const std::string& email) { return tests::make_account(*store_, email); }
  std::string new_key(AccountId owner, std::set<Scope> scopes) {
    return tests::make_api_key(*store_, owner, std::move(scopes));
  }
  std::string send(AccountId from) {
    store::NewGiftRequest request;
    request.request.account = from;
    request.request.gift = {7};
    request.request.sender_email = "ana@example.com";
    request.request.created_at = now_;
    request.recipients.push_back({"ada@example.com", "", "", "Hi"});
    return std::to_string(store_->gifts.create(std::span(&request, 1)).front().recipients.front().id.value);
  }
  /// Its mail has arrived.
  void deliver() {
    const auto claims = store_->deliveries.claim("w", 60'000, 10, now_);
    for (const store::DeliveryClaim& claim : claims) {
      const store::DeliveryQueue::Sending sending{claim, "message id"};
      store_->deliveries.begin_sending("w", std::span(&sending, 1), 60'000, now_);
      const store::DeliveryOutcome outcome{
          claim.transaction, claim.attempt + 1, DeliveryState::accepted, now_, "250 ok", false, {}};
      store_->deliveries.finish(std::span(&outcome, 1), now_);
    }
  }
  http::HttpRequest request(const std::string& body = {}, const std::string& if_match = {}) {
    http::HttpRequest made;
    made.method = "POST";
    made.body = body;
    made.headers.emplace("Authorization", key_);
    if (!if_match.empty()) made.headers.emplace("If-Match", if_match);
    return made;
  }
  static std::string tag_of(const http::HttpResponse& response) {
    for (const auto& [name, value] : response.headers)
      if (name == "ETag") return value;
    return {};
  }
  http::HttpResponse read() {
    http::HttpRequest made;
    made.method = "GET";
    made.headers.emplace("Authorization", key_);
    return reads_.read_gift(made, gift_).wait();
  }
  std::string tag() { return tag_of(read()); }
  static std::string code(const http::HttpResponse& response) {
    return tests::parse_json(response.body)["code"];
  }
  store::AuditEvent last_event() {
    return store_->audit.list(store::Viewer::of_command_line(), {}, 1).front();
  }

  tests::TemporaryStore store_;
  UtcMillis now_{1'795'264'267'000};  // 2026-11-21T12:31:07Z
  const Clock clock_ = [this] { return now_; };
  http::Authenticator authenticator_{store_->credentials, clock_, 0};
  int changed_ = 0;
  std::int64_t woken_at_version_ = 0;  ///< of the gift, as workers find it
  std::size_t refunded_ = 0;           ///< that answers have saved
  GiftReadHandler reads_{*store_, authenticator_, {"", std::string(32, 's'), clock_}};
  GiftActionHandler actions_{*store_,
                             authenticator_,
                             {.clock = clock_,
                              .on_changed =
                                  [this] {
                                    ++changed_;
                                    const TransactionId id{std::stoll(gift_)};
                                    woken_at_version_ =
                                        store_->gifts.find(std::span(&id, 1)).at(0).transaction.version;
                                  },
                              .on_reached =
                                  [this](const sync::ReachedCounts& reached) {
                                    refunded_ += reached[static_cast<std::size_t>(Status::refunded)];
                                  }}};
  AccountId ana_;
  std::string key_;
  std::string gift_;
};

// API-6
TEST_F(GiftActionHandlerTest, ACancelMayBeRepeatedAndIsAuditedWithTheKey) {
  const http::HttpResponse first = actions_.cancel(request(), gift_).wait();
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(tests::parse_json(first.body)["data"]["status"], "refunded");
  EXPECT_EQ(changed_, 1);
  EXPECT_EQ(last_event().action, "gift.cancel");
  EXPECT_EQ(last_event().actor, "ana@example.com");
  EXPECT_EQ(last_event().session, sync::public_prefix(key_));
  EXPECT_EQ(last_event().object_id, gift_);
  const http::HttpResponse again = actions_.cancel(request(), gift_).wait();
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(tests::parse_json(again.body)["message"], "Already refunded.");
  EXPECT_EQ(changed_, 1);
}

// API-6, API-8
TEST_F(GiftActionHandlerTest, AnAnswerIsTheGiftAsItIsReadWithItsETag) {
  deliver();
  const auto agrees = [&](const http::HttpResponse& answer) {
    ASSERT_EQ(answer.status, 200) << answer.body;
    const http::HttpResponse now = read();
    EXPECT_EQ(tests::parse_json(answer.body)["data"], tests::parse_json(now.body)["data"]);
    EXPECT_EQ(tag_of(answer), tag_of(now));
  };
  const TransactionId id{std::stoll(gift_)};
  agrees(actions_.resend(request(R"({"email":"cleo@example.org"})", tag()), gift_).wait());
  EXPECT_EQ(tag(), "\"" + gift_ + "-2-2\"");
  // Not folded yet: no worker runs here.
  ASSERT_EQ(sync::record_opened(store_->changes, id, now_), store::ConditionalOutcome::accepted);
  agrees(actions_.extend(request(R"({"until":"2028-06-01T00:00:00Z"})"), gift_).wait());
  EXPECT_EQ(tests::parse_json(read().body)["data"]["status"], "opened");
  EXPECT_EQ(tag(), "\"" + gift_ + "-4-2\"") << "extended, and opened";
  now_ = now_ + kSecondMillis;
  const http::HttpResponse cancelled = actions_.cancel(request(), gift_).wait();
  agrees(cancelled);
  EXPECT_EQ(tests::parse_json(cancelled.body)["data"]["version"], 5);
  EXPECT_EQ(woken_at_version_, 5) << "saved before the workers look at it";
  EXPECT_EQ(tests::parse_json(cancelled.body)["data"]["status"], "refunded");
  agrees(actions_.cancel(request(), gift_).wait());
  EXPECT_EQ(tag_of(cancelled), tag()) << "a repeated call changes nothing";
  EXPECT_EQ(refunded_, 1u) << "what is saved here is counted here";
}

// HTTP-36
TEST_F(GiftActionHandlerTest, ARefusedBodyChangesNothingAndSaysSo) {
  const auto says = [&](const http::HttpResponse& response) {
    EXPECT_GE(response.status, 400);
    EXPECT_THAT(response.body, AllOf(HasSubstr("Nothing was changed"), Not(HasSubstr("created"))));
  };
  http::HttpRequest dry = request();
  dry.query = "dry_run=1";
  http::HttpRequest large = request();
  large.body_too_large = true;
  const std::string no_json = "{";
  const std::string no_member = R"({"dry_run": true})";
  for (const http::HttpRequest& faulty : {dry, large, request(no_json), request(no_member)}) {
    says(actions_.cancel(faulty, gift_).wait());
    says(actions_.extend(faulty, gift_).wait());
    says(actions_.resend(faulty, gift_).wait());
  }
}

// HTTP-59
TEST_F(GiftActionHandlerTest, MisspeltMembersAndParametersDoNothing) {
  const auto refused = [&](const http::HttpResponse& response) {
    EXPECT_EQ(response.status, 400) << response.body;
    return tests::parse_json(response.body)["errors"][0]["code"].get<std::string>();
  };
  http::HttpRequest dry = request();
  dry.query = "dry_run=1";
  EXPECT_EQ(refused(actions_.cancel(dry, gift_).wait()), "unknown_parameter");
  EXPECT_EQ(refused(actions_.extend(dry, gift_).wait()), "unknown_parameter");
  EXPECT_EQ(refused(actions_.cancel(request(R"({"dry_run": true})"), gift_).wait()), "unknown_parameter");
  EXPECT_EQ(refused(actions_.resend(request(R"({"emial": "new@example.com"})", tag()), gift_).wait()),
            "unknown_parameter");
  EXPECT_EQ(
      refused(
          actions_.extend(request(R"({"until": "2027-06-01T00:00:00Z", "dry_run": true})"), gift_).wait()),
      "unknown_parameter");
  EXPECT_EQ(changed_, 0);
}

// API-6
TEST_F(GiftActionHandlerTest, WhatTheGiftsStateDoesNotAllowIs409WithTheReason) {
  ASSERT_EQ(sync::redeem_or_donate(store_->changes, {std::stoll(gift_)}, Status::redeemed, now_).outcome,
            store::ConditionalOutcome::accepted);
  const http::HttpResponse response = actions_.cancel(request(), gift_).wait();
  EXPECT_EQ(response.status, 409);
  EXPECT_EQ(code(response), "not_applicable");
  EXPECT_THAT(response.body, HasSubstr("it was redeemed on 2026-11-21"));
  EXPECT_TRUE(last_event().refused);
  EXPECT_EQ(last_event().rule, "API-6");
  EXPECT_EQ(actions_.extend(request(R"({"until":"2027-01-31T00:00:00Z"})"), gift_).wait().status, 409);
  EXPECT_EQ(actions_.resend(request({}, tag()), gift_).wait().status, 409);
}

// API-6
TEST_F(GiftActionHandlerTest, OthersGiftsAre404AndTheScopeManageIsNeeded) {
  const std::string of_eve = send(account("eve@example.com"));
  EXPECT_EQ(actions_.cancel(request(), of_eve).wait().status, 404);
  key_ = new_key(ana_, {Scope::read, Scope::send, Scope::report});
  EXPECT_EQ(actions_.cancel(request(), gift_).wait().status, 403);
}

// API-6, API-8
TEST_F(GiftActionHandlerTest, AResendNeedsTheETagOfBeforeAndARepeatMailsNothing) {
  deliver();
  EXPECT_EQ(actions_.resend(request(), gift_).wait().status, 428);
  EXPECT_EQ(actions_.resend(request({}, "*"), gift_).wait().status, 428);
  const http::HttpResponse wrong = actions_.resend(request({}, "\"" + gift_ + "-9-1\""), gift_).wait();
  EXPECT_EQ(wrong.status, 412);
  EXPECT_EQ(code(wrong), "gift_changed");
  const std::string before = tag();
  EXPECT_EQ(before, "\"" + gift_ + "-1-1\"");
  const http::HttpResponse done = actions_.resend(request({}, before), gift_).wait();
  ASSERT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(tag(), "\"" + gift_ + "-1-2\"") << "each mail changes it";
  EXPECT_EQ(actions_.resend(request({}, before), gift_).wait().status, 412);
  EXPECT_EQ(store_->deliveries.find({std::stoll(gift_)})->number, 2) << "mailed once more, not twice";
  const http::HttpResponse waiting = actions_.resend(request({}, tag()), gift_).wait();
  EXPECT_EQ(waiting.status, 409);
  EXPECT_THAT(waiting.body, HasSubstr("its mail has not left yet"));
}

// API-6
TEST_F(GiftActionHandlerTest, AResendToAnotherAddressObeysTheDoNotSendList) {
  deliver();
  store::DoNotSendEntry entry;
  entry.pattern = "bea@example.org";
  entry.reason = DoNotSendReason::blocked;
  entry.added_at = now_;
  store_->do_not_send.add(std::span(&entry, 1), {});
  EXPECT_EQ(actions_.resend(request(R"({"email":"bea@example.org"})", tag()), gift_).wait().status, 409);
  EXPECT_EQ(actions_.resend(request(R"({"email":"bea"})", tag()), gift_).wait().status, 400);
  const http::HttpResponse done =
      actions_.resend(request(R"({"email":"cleo@example.org"})", tag()), gift_).wait();
  ASSERT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(tests::parse_json(done.body)["data"]["email"], "cleo@example.org");
}

// API-6
TEST_F(GiftActionHandlerTest, APausedKeyMailsNothing) {
  deliver();
  const std::string before = tag();
  store::Credential key = store_->credentials.list(CredentialKind::api_key).front();
  ASSERT_TRUE(store_->credentials.pause(key, "", now_));
  now_ = now_ + 60'000;  // keys are cached for a moment
  EXPECT_EQ(actions_.resend(request({}, before), gift_).wait().status, 403);
  EXPECT_EQ(actions_.cancel(request(), gift_).wait().status, 200);
}

// API-6, LIFE-23
TEST_F(GiftActionHandlerTest, AnExtendMovesTheExpiryAndMayBeRepeated) {
  const std::string until = R"({"until":"2027-01-31T18:00:00Z"})";
  const http::HttpResponse first = actions_.extend(request(until), gift_).wait();
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(tests::parse_json(first.body)["data"]["expires_at"], "2027-01-31T18:00:00.000Z");
  EXPECT_EQ(tag(), "\"" + gift_ + "-2-1\"");
  const http::HttpResponse again = actions_.extend(request(until), gift_).wait();
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(tests::parse_json(again.body)["message"], "Already extended.");
  EXPECT_THAT(store_->lifecycle.find_actions({std::stoll(gift_)}), SizeIs(1));
  for (const char* refused : {R"({"until":"2027-01-30T18:00:00Z"})", R"({"until":"2029-01-30T18:00:00Z"})"})
    EXPECT_EQ(actions_.extend(request(refused), gift_).wait().status, 409) << refused;
  for (const char* faulty : {"", "{}", R"({"until":"tomorrow"})", R"({"until":7})"})
    EXPECT_EQ(actions_.extend(request(faulty), gift_).wait().status, 400) << faulty;
}

}  // namespace
}  // namespace giftsync::handlers
