// What a test key may ask for, and what a live one may not, with a real store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "daemon/group_commit_writer.h"
#include "daemon/handlers/gift_request_handler.h"
#include "daemon/handlers/held_request_handler.h"
#include "tests/support/api_key.h"
#include "tests/support/json.h"
#include "tests/support/temporary_store.h"

namespace giftsync::handlers {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class TestKeysTest : public ::testing::Test {
 protected:
  TestKeysTest() {
    std::array<store::GiftItem, 1> items;
    items[0].id = {7};
    items[0].name = "Coffee";
    store_->catalogue.import(items);
    store::Account account;
    account.email = "ana@example.com";
    account.name = "Ana";
    account_ = *store_->accounts.create(account);
    live_ = new_key(false);
    test_ = new_key(true);
  }

  std::string new_key(bool is_test) {
    return tests::make_api_key(*store_, account_, {Scope::send, Scope::read, Scope::approve}, is_test);
  }

  http::HttpRequest request(const std::string& key) {
    http::HttpRequest made;
    made.method = "GET";
    made.headers.emplace("Authorization", key);
    return made;
  }
  http::HttpRequest call(const std::string& key, const std::string& email,
                         const std::string& idempotency = {}) {
    http::HttpRequest made = request(key);
    made.method = "POST";
    made.body = json{{"gift_id", 7},
                     {"recipients", {{{"email", email}, {"message", "Hi"}, {"gift_redeem_type", "email"}}}}}
                    .dump();
    if (!idempotency.empty()) made.headers.emplace("Idempotency-Key", idempotency);
    return made;
  }
  http::HttpResponse ask(const std::string& key, const std::string& email,
                         const std::string& idempotency = {}) {
    return gifts_.send_by_email(call(key, email, idempotency), {}).wait();
  }
  std::string id_of(const http::HttpResponse& response) {
    return tests::parse_json(response.body)["data"]["id"].dump();
  }
  int status_of(const std::string& key, const std::string& id) {
    return gifts_.read(request(key), id).wait().status;
  }
  static std::vector<std::string> codes_of(const json& issues) {
    std::vector<std::string> codes;
    for (const json& issue : issues) codes.push_back(issue["code"]);
    return codes;
  }
  std::size_t test_gifts() {
    store::GiftFilter filter;
    filter.test = true;
    return store_->gifts.list(filter, {}, 100).gifts.size();
  }

  tests::TemporaryStore store_;
  UtcMillis now_{1'795'264'267'000};
  const Clock clock_ = [this] { return now_; };
  const sync::LinkSigner signer_{std::string(32, 's')};
  const sync::GiftLinks links_{"http://127.0.0.1", signer_};
  daemon::GroupCommitWriter writer_{store_->urgent_writes};
  http::Authenticator authenticator_{store_->credentials, clock_, 0};
  sync::SendingPolicy policy_{store_->do_not_send, {}, clock_};
  GiftRequestHandler gifts_{*store_,
                            writer_,
                            authenticator_,
                            links_,
                            policy_,
                            {{}, 1 << 20, clock_},
                            [](const auto&, const auto&) {}};
  AccountId account_;
  std::string live_;
  std::string test_;
};

// covers: TEST-1
TEST_F(TestKeysTest, AKeyHasAPrefixAndAChecksum) {
  EXPECT_TRUE(test_.starts_with("gsk_test_"));
  EXPECT_EQ(test_.size(), live_.size());
  EXPECT_TRUE(sync::is_credential(CredentialKind::api_key, test_));
  EXPECT_FALSE(sync::is_credential(CredentialKind::organization_token, test_));
  std::string changed = test_;
  changed.back() = changed.back() == 'a' ? 'b' : 'a';
  EXPECT_FALSE(sync::is_credential(CredentialKind::api_key, changed));
  EXPECT_FALSE(sync::is_credential(CredentialKind::api_key, "gsk_test_" + live_.substr(9)));
  EXPECT_EQ(ask(changed, "kim@example.com").status, 401);
}

// covers: TEST-1
TEST_F(TestKeysTest, NeitherKeySeesTheRequestsOfTheOther) {
  const http::HttpResponse test = ask(test_, "kim@example.com", "k");
  const http::HttpResponse live = ask(live_, "kim@example.com", "k");
  ASSERT_EQ(test.status, 201) << test.body;
  ASSERT_EQ(live.status, 201) << live.body;
  EXPECT_NE(id_of(test), id_of(live));
  EXPECT_THAT(codes_of(tests::parse_json(test.body)["warnings"]), ElementsAre("test"));
  EXPECT_THAT(tests::parse_json(live.body)["warnings"], IsEmpty());
  EXPECT_EQ(ask(test_, "kim@example.com", "k").body, test.body) << "a replay";
  EXPECT_EQ(status_of(test_, id_of(test)), 200);
  EXPECT_EQ(status_of(live_, id_of(test)), 404);
  EXPECT_EQ(status_of(test_, id_of(live)), 404);
  const json state = tests::parse_json(gifts_.read(request(test_), id_of(test)).wait().body)["data"];
  EXPECT_TRUE(state["recipients"][0].at("crm_record_dry").is_null()) << "no worker runs here";
  EXPECT_FALSE(
      tests::parse_json(gifts_.read(request(live_), id_of(live)).wait().body)["data"]["recipients"][0]
          .contains("crm_record_dry"));
}

// covers: TEST-7
TEST_F(TestKeysTest, ATestGiftIsNoDuplicateOfALiveOne) {
  ask(live_, "kim@example.com");
  EXPECT_THAT(codes_of(tests::parse_json(ask(test_, "kim@example.com").body)["warnings"]),
              ElementsAre("test"));
  EXPECT_THAT(codes_of(tests::parse_json(ask(test_, "kim@example.com").body)["warnings"]),
              ElementsAre("test", "possible_duplicate"));
}

// covers: TEST-4
TEST_F(TestKeysTest, AddressesOfTheTestDomainAreForTestKeysAndNameOutcomes) {
  const auto codes = [](const http::HttpResponse& response) {
    EXPECT_EQ(response.status, 400) << response.body;
    return codes_of(tests::parse_json(response.body)["errors"]);
  };
  EXPECT_THAT(codes(ask(live_, "redeemed@giftsync.test")), ElementsAre("test_recipient"));
  EXPECT_THAT(codes(ask(test_, "redeemd@giftsync.test")), ElementsAre("unknown_test_recipient"));
  EXPECT_EQ(ask(test_, "Redeemed+1@GiftSync.test").status, 201);
  const http::HttpResponse refused = ask(test_, "do-not-send@giftsync.test");
  EXPECT_EQ(refused.status, 403) << refused.body;
  EXPECT_THAT(codes_of(tests::parse_json(refused.body)["errors"]), ElementsAre("do_not_send"));
  EXPECT_EQ(test_gifts(), 1u);
  const http::HttpResponse valid =
      gifts_.validate_by_email(call(test_, "do-not-send@giftsync.test"), {}).wait();
  EXPECT_EQ(tests::parse_json(valid.body)["data"]["verdict"], "refuse") << valid.body;
}

// covers: TEST-4, TEST-7
TEST_F(TestKeysTest, AHeldTestRequestIsForTestKeysToApprove) {
  const http::HttpResponse held = ask(test_, "held@giftsync.test");
  ASSERT_EQ(held.status, 202) << held.body;
  const std::string id = id_of(held);
  EXPECT_EQ(status_of(live_, id), 404);
  EXPECT_EQ(test_gifts(), 0u);
  HeldRequestHandler requests(*store_, authenticator_, {.allow_self_approval = true, .clock = clock_});
  const auto rows = [&](const std::string& key) {
    return tests::parse_json(requests.list(request(key), {}).wait().body)["data"];
  };
  EXPECT_THAT(rows(live_), IsEmpty());
  EXPECT_THAT(rows(test_), SizeIs(1));
  const auto approve = [&](const std::string& key) {
    http::HttpRequest made = request(key);
    made.method = "POST";
    made.body = "{}";
    return requests.approve(made, id).wait().status;
  };
  EXPECT_EQ(approve(live_), 404);
  EXPECT_EQ(approve(test_), 200);
  EXPECT_EQ(test_gifts(), 1u);
}

// covers: TEST-4
TEST_F(TestKeysTest, NeitherAllowedDomainsNorARuleOnNewOnesChangeAnOutcome) {
  const std::vector<std::string> allowed{"example.com"};
  sync::SendingPolicy policy(store_->do_not_send, allowed, clock_);
  GiftRequestHandler gifts(
      *store_, writer_, authenticator_, links_, policy,
      {.limits = {}, .clock = clock_, .approval_rules = {{.name = "new", .first_gift_to_domain = true}}},
      [](const auto&, const auto&) {});
  const auto answer_to = [&](const std::string& email) {
    return gifts.send_by_email(call(test_, email), {}).wait();
  };
  const http::HttpResponse opened = answer_to("opened@giftsync.test");
  EXPECT_EQ(opened.status, 201) << opened.body;
  EXPECT_EQ(answer_to("kim@example.net").status, 403) << "another domain";
  EXPECT_EQ(answer_to("kim@example.com").status, 202) << "a new domain";
  const http::HttpResponse held = answer_to("held@giftsync.test");
  ASSERT_EQ(held.status, 202) << held.body;
  const std::int64_t id = tests::parse_json(held.body)["data"]["id"];
  const auto waiting = store_->held.find({id});
  ASSERT_TRUE(waiting);
  const auto reasons = store::reasons_of(*waiting);
  ASSERT_THAT(reasons, SizeIs(1));
  EXPECT_EQ(reasons.front().code, "test");
  HeldRequestHandler requests(*store_, authenticator_,
                              {.allowed_domains = allowed, .allow_self_approval = true, .clock = clock_});
  http::HttpRequest approval = request(test_);
  approval.method = "POST";
  approval.body = "{}";
  const http::HttpResponse approved = requests.approve(approval, std::to_string(id)).wait();
  EXPECT_EQ(approved.status, 200) << approved.body;
  EXPECT_EQ(test_gifts(), 2u);
}

// covers: TEST-6
TEST_F(TestKeysTest, ATestKeyMayAskForAFailure) {
  const auto ask_for = [&](const std::string& key, const std::string& response, const std::string& email) {
    http::HttpRequest made = call(key, email, "k " + email);
    made.headers.emplace("Giftsync-Test-Response", response);
    return gifts_.send_by_email(made, {}).wait();
  };
  for (const auto& [word, status] : {std::pair("429", 429), std::pair("500", 500), std::pair("503", 503)})
    EXPECT_EQ(ask_for(test_, word, "kim@example.com").status, status);
  const http::HttpResponse unknown = ask_for(test_, "418", "kim@example.com");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_THAT(unknown.body, HasSubstr("unsupported_value"));
  EXPECT_EQ(test_gifts(), 0u);
  EXPECT_TRUE(ask_for(test_, "lost", "rose@example.com").is_lost);
  EXPECT_EQ(test_gifts(), 1u);
  EXPECT_EQ(ask(test_, "rose@example.com", "k rose@example.com").status, 201) << "its answer, by a repeat";
  EXPECT_EQ(test_gifts(), 1u);
  const http::HttpResponse live = ask_for(live_, "503", "kim@example.com");
  EXPECT_EQ(live.status, 400);
  EXPECT_EQ(tests::parse_json(live.body)["code"], "test_only");
}

// covers: TEST-9
TEST_F(TestKeysTest, TestKeysMayBeDisabled) {
  http::Authenticator authenticator(store_->credentials, clock_, 0, false);
  const auto handler = [](const store::ApiKeyOwner&) -> http::Reply { return http::HttpResponse{}; };
  const http::HttpResponse refused =
      authenticator.handle_authenticated(request(test_), Scope::read, handler).wait();
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(tests::parse_json(refused.body)["code"], "tests_disabled");
  EXPECT_EQ(authenticator.handle_authenticated(request(live_), Scope::read, handler).wait().status, 200);
}

}  // namespace
}  // namespace giftsync::handlers
