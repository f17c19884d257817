// Held gift requests over HTTP with a real store: the 202, decisions by keys, and what a repeat gets.
#include "daemon/handlers/held_request_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "daemon/group_commit_writer.h"
#include "daemon/handlers/gift_request_handler.h"
#include "sync/access/credential.h"
#include "tests/support/api_key.h"
#include "tests/support/json.h"
#include "tests/support/temporary_store.h"

namespace giftsync::handlers {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HeldRequestHandlerTest : public ::testing::Test {
 protected:
  HeldRequestHandlerTest() {
    std::array<store::GiftItem, 1> items;
    items[0].id = {7};
    items[0].name = "Coffee";
    items[0].costs.item = Money{500};
    store_->catalogue.import(items);
    ana_ = new_key("ana@example.com", {Scope::send, Scope::read});
    rose_ = new_key("rose@example.com", {Scope::approve});
  }

  std::string new_key(const std::string& address, std::set<Scope> scopes) {
    return tests::make_api_key(*store_, tests::make_account(*store_, address), std::move(scopes));
  }

  http::HttpRequest request(const std::string& key, const std::string& method = "GET") {
    http::HttpRequest made;
    made.method = method;
    made.headers.emplace("Authorization", key);
    return made;
  }
  /// A call for two gifts, which the rule holds.
  http::HttpResponse ask(SendMode mode, const std::string& idempotency_key = {}) {
    json recipients = json::array();
    for (const char* email : {"ada@example.org", "bea@example.org"}) {
      json one{{"email", email}, {"message", "Hi"}};
      if (mode == SendMode::email) one["gift_redeem_type"] = "email";
      recipients.push_back(one);
    }
    recipients[1]["reference"] = "line 2";
    http::HttpRequest made = request(ana_, "POST");
    made.body = json{{"gift_id", 7},
                     {"recipients", recipients},
                     {"utm_campaign_id", "autumn"},
                     {"reference", "order 17"}}
                    .dump();
    if (!idempotency_key.empty()) made.headers.emplace("Idempotency-Key", idempotency_key);
    return (mode == SendMode::email ? gifts_.send_by_email(made, {}) : gifts_.create_urls(made, {})).wait();
  }
  std::string held_id(SendMode mode = SendMode::email, const std::string& idempotency_key = {}) {
    const http::HttpResponse response = ask(mode, idempotency_key);
    EXPECT_EQ(response.status, 202) << response.body;
    return tests::parse_json(response.body)["data"]["id"].dump();
  }
  http::HttpResponse decide(const std::string& id, bool approves, const std::string& key,
                            const std::string& if_match = {}) {
    http::HttpRequest made = request(key, "POST");
    made.body = R"({"comment":"as agreed"})";
    if (!if_match.empty()) made.headers.emplace("If-Match", if_match);
    return (approves ? held_.approve(made, id) : held_.reject(made, id)).wait();
  }
  json state(const std::string& id) {
    const http::HttpResponse response = gifts_.read(request(ana_), id).wait();
    EXPECT_EQ(response.status, 200) << response.body;
    return tests::parse_json(response.body)["data"];
  }
  static std::string header(const http::HttpResponse& response, std::string_view name) {
    for (const auto& [one, value] : response.headers)
      if (one == name) return value;
    return {};
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
                            {.limits = {},
                             .clock = clock_,
                             .base_url = "https://gifts.example.com",
                             .approval_rules = {{.name = "several", .recipients_above = 1}}},
                            [](const auto&, const auto&) {}};
  int approved_ = 0;
  HeldRequestHandler held_{
      *store_, authenticator_, {.clock = clock_, .on_approved = [this](const auto&, const auto&) {
                                  ++approved_;
                                }}};
  std::string ana_;
  std::string rose_;
};

// covers: HTTP-52
TEST_F(HeldRequestHandlerTest, ASecondEqualCallWithoutAKeyIsHeldWithAWarning) {
  held_id();
  const json second = tests::parse_json(ask(SendMode::email).body);
  ASSERT_EQ(second["warnings"].size(), 2u) << second;
  EXPECT_EQ(second["warnings"][0]["code"], "possible_duplicate");
  EXPECT_THAT(second["warnings"][0]["message"].get<std::string>(), HasSubstr("waits for approval too"));
  EXPECT_EQ(tests::parse_json(ask(SendMode::email, "k").body)["warnings"].size(), 0u) << "a key prevents it";
}

// covers: GUARD-25
TEST_F(HeldRequestHandlerTest, ARequestThatARuleHoldsIs202WithTheReasons) {
  const http::HttpResponse response = ask(SendMode::email);
  ASSERT_EQ(response.status, 202) << response.body;
  const json body = tests::parse_json(response.body);
  EXPECT_EQ(body["data"]["state"], "held");
  EXPECT_EQ(body["data"]["expires_at"], "2026-11-28T12:31:07.000Z");
  ASSERT_THAT(body["data"]["reasons"], SizeIs(1));
  EXPECT_EQ(body["data"]["reasons"][0]["code"], "recipients_above");
  EXPECT_THAT(body["warnings"], IsEmpty());
  const std::string id = body["data"]["id"].dump();
  EXPECT_EQ(header(response, "Location"), "https://gifts.example.com/api/v1/gift_requests/" + id);
  EXPECT_EQ(state(id)["state"], "held");
  EXPECT_THAT(state(id)["recipients"], IsEmpty());
  const json list = tests::parse_json(held_.list(request(rose_), {}).wait().body);
  ASSERT_THAT(list["data"], SizeIs(1));
  EXPECT_EQ(list["data"][0]["amount"], "10.00");
  EXPECT_EQ(list["next"], nullptr);
}

// covers: GUARD-25, HTTP-58
TEST_F(HeldRequestHandlerTest, WhatTheCallerGaveIsShownWhileItIsHeldAndOnceItIsSent) {
  const std::string id = held_id();
  const json held = state(id);
  EXPECT_EQ(held["utm_campaign_id"], "autumn");
  EXPECT_EQ(held["reference"], "order 17");
  EXPECT_EQ(held["requested_recipients"],
            tests::parse_json(R"([{"email": "ada@example.org", "reference": null},
                                                          {"email": "bea@example.org", "reference": "line 2"}])"));
  const json review = tests::parse_json(held_.read(request(rose_), id).wait().body)["data"];
  EXPECT_EQ(review["reference"], "order 17");
  EXPECT_EQ(review["recipients"][1]["reference"], "line 2");
  EXPECT_EQ(decide(id, true, rose_).status, 200);
  const json sent = state(id);
  // All that the request had, and what came with the approval.
  for (const auto& [name, value] : held.items())
    EXPECT_TRUE(sent.contains(name) || name == "expires_at" || name == "reasons" ||
                name == "requested_recipients")
        << name;
  EXPECT_EQ(sent["utm_campaign_id"], "autumn");
  EXPECT_EQ(sent["reference"], "order 17") << "an approval keeps it";
  EXPECT_EQ(sent["recipients"][0]["reference"], nullptr);
  EXPECT_EQ(sent["recipients"][1]["reference"], "line 2");
}

// covers: GUARD-26, GUARD-28
TEST_F(HeldRequestHandlerTest, AnApprovedOneIsSentAndARepeatGetsItsCreation) {
  const std::string id = held_id(SendMode::urls, "key");
  EXPECT_EQ(held_id(SendMode::urls, "key"), id) << "a repeat while it is held";
  const http::HttpResponse shown = held_.read(request(rose_), id).wait();
  ASSERT_EQ(shown.status, 200) << shown.body;
  EXPECT_THAT(tests::parse_json(shown.body)["data"]["recipients"], SizeIs(2));
  const http::HttpResponse approved = decide(id, true, rose_, header(shown, "ETag"));
  EXPECT_EQ(approved.status, 200) << approved.body;
  EXPECT_EQ(approved_, 1);
  const http::HttpResponse again = ask(SendMode::urls, "key");
  ASSERT_EQ(again.status, 200) << again.body;
  const json created = tests::parse_json(again.body)["data"];
  EXPECT_EQ(created["id"].dump(), id);
  ASSERT_THAT(created["recipients"], SizeIs(2));
  const json now = state(id);
  EXPECT_EQ(now["state"], "sent");
  EXPECT_EQ(now["recipients"][0]["gift_redemption_url"], created["recipients"][0]["gift_redemption_url"]);
  EXPECT_EQ(decide(id, true, rose_).status, 409);
  EXPECT_EQ(decide(id, false, rose_).status, 409);
}

// covers: GUARD-27, GUARD-28
TEST_F(HeldRequestHandlerTest, ARejectedOrExpiredOneIsNotSentAndARepeatSaysSo) {
  const std::string rejected = held_id(SendMode::email, "first");
  EXPECT_EQ(decide(rejected, false, rose_).status, 200);
  const http::HttpResponse first = ask(SendMode::email, "first");
  EXPECT_EQ(first.status, 403);
  EXPECT_THAT(first.body, HasSubstr("held_request_rejected"));
  EXPECT_THAT(first.body, HasSubstr("rose@example.com"));
  const std::string expired = held_id(SendMode::email, "second");
  store_->held.expire(now_ + 7 * kDayMillis);
  const http::HttpResponse second = ask(SendMode::email, "second");
  EXPECT_EQ(second.status, 403);
  EXPECT_THAT(second.body, HasSubstr("held_request_expired"));
  EXPECT_EQ(state(expired)["state"], "expired");
  EXPECT_EQ(approved_, 0);
}

// covers: GUARD-32
TEST_F(HeldRequestHandlerTest, WhatAnApprovalOverridesIsNotedAndIsNoPartOfTheVersion) {
  const std::string id = held_id();
  const http::HttpResponse before = held_.read(request(rose_), id).wait();
  EXPECT_THAT(tests::parse_json(before.body)["data"]["notes"], IsEmpty());
  const store::Credential key = store_->credentials.list(CredentialKind::api_key).front();
  ASSERT_EQ(key.prefix, sync::public_prefix(ana_));
  store_->credentials.pause(key, "odd calls", now_);
  const UtcMillis now = now_;
  store_->gifts.set_sending_charge([now](const store::GiftRequest& asked) {
    return store::SendingCharge{"2026-11-21",
                                {{"2026-11",
                                  store::usage_scope(store::BudgetKind::account, asked.account.value),
                                  store::BudgetKind::account,
                                  {{}, Money{900}},
                                  now,
                                  now + kDayMillis},
                                 {"burst:1795263600000:10", asked.credential_prefix, {}, {1, {}}, now, now}}};
  });
  const http::HttpResponse shown = held_.read(request(rose_), id).wait();
  const json notes = tests::parse_json(shown.body)["data"]["notes"];
  ASSERT_THAT(notes, SizeIs(2)) << "a burst counts calls, and an approval is none";
  EXPECT_EQ(notes[0]["code"], "key_paused");
  EXPECT_EQ(notes[0]["message"],
            "The API key " + key.prefix + " is paused since " + minute_text(now_) + " UTC (odd calls).");
  EXPECT_EQ(notes[1]["code"], "budget_exceeded");
  EXPECT_EQ(notes[1]["message"],
            "The account's budget of 9.00 for November 2026 has 9.00 left; this request costs 10.00. An "
            "approval sends it all the same.");
  EXPECT_EQ(header(shown, "ETag"), header(before, "ETag"));
  store_->credentials.revoke(key, now_);
  const json revoked = tests::parse_json(held_.read(request(rose_), id).wait().body)["data"]["notes"];
  ASSERT_THAT(revoked, SizeIs(2));
  EXPECT_EQ(revoked[0]["code"], "key_revoked");
  EXPECT_EQ(decide(id, true, rose_, header(before, "ETag")).status, 200);
  EXPECT_THAT(tests::parse_json(held_.read(request(rose_), id).wait().body)["data"]["notes"], IsEmpty());
}

// covers: GUARD-26
TEST_F(HeldRequestHandlerTest, WhatNoApprovalOverridesKeepsItHeld) {
  const std::string id = held_id();
  const std::string before = header(held_.read(request(rose_), id).wait(), "ETag");
  const store::DoNotSendEntry entry{"bea@example.org", DoNotSendReason::blocked, "", {}, {}, "root", {}};
  store_->do_not_send.add(std::span(&entry, 1), {});
  EXPECT_EQ(decide(id, true, rose_, before).status, 412) << "the page showed no fault";
  const http::HttpResponse refused = decide(id, true, rose_);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(tests::parse_json(refused.body)["errors"][0]["field"], "recipients[1].email");
  EXPECT_EQ(state(id)["state"], "held");
  store_->do_not_send.remove("bea@example.org", DoNotSendReason::blocked, {});
  store_->accounts.set_active("ana@example.com", false);
  EXPECT_EQ(decide(id, true, rose_).status, 403);
  store_->accounts.set_active("ana@example.com", true);
  EXPECT_EQ(decide(id, true, rose_).status, 200);
}

// covers: GUARD-26
TEST_F(HeldRequestHandlerTest, PlanAndOrganizationOfTheAccountAreLookedAtAgainForEachCredential) {
  store::NewGiftRequest asked;
  asked.request.account = store_->accounts.find_by_email("ana@example.com")->id;
  asked.request.gift = {7};
  asked.request.created_at = now_;
  asked.recipients = {{"ada@example.org", "", "", "Hi"}};
  asked.hold_reasons = {{"rule", "", "A rule."}};
  for (const char* prefix : {"gsk_live_abcdefg", "got_live_abcdefg"}) {
    asked.request.credential_prefix = prefix;
    const std::string id = std::to_string(store_->gifts.create(std::span(&asked, 1)).front().request.value);
    store_->accounts.set_plan("ana@example.com", Plan::individual);
    EXPECT_EQ(decide(id, true, rose_).status, 403) << prefix;
    store_->accounts.set_plan("ana@example.com", Plan::team);
    const OrganizationId other =
        *store_->organizations.create(prefix, sync::make_credential(CredentialKind::organization_token));
    store_->accounts.set_organization("ana@example.com", other);
    const http::HttpResponse moved = decide(id, true, rose_);
    EXPECT_EQ(moved.status, 403) << prefix;
    EXPECT_THAT(moved.body, HasSubstr("another organization"));
    EXPECT_EQ(state(id)["state"], "held");
    store_->accounts.set_organization("ana@example.com", std::nullopt);
    EXPECT_EQ(decide(id, true, rose_).status, 200) << prefix;
  }
}

// covers: GUARD-27
TEST_F(HeldRequestHandlerTest, TheAuditLogHasTheKeyOfADecisionAndWhatWasRefused) {
  const std::string id = held_id();
  const std::string own = new_key("ana@example.com", {Scope::approve});
  const auto newest = [&] {
    const auto events = store_->audit.list(store::Viewer::of_command_line(), {.action = "held."}, 1);
    return events.empty() ? store::AuditEvent() : events.front();
  };
  decide(id, true, own);
  EXPECT_TRUE(newest().refused);
  EXPECT_EQ(newest().actor, "ana@example.com");
  EXPECT_EQ(newest().session, sync::public_prefix(own));
  decide(id, true, rose_, "\"0\"");
  EXPECT_TRUE(newest().refused) << "another version";
  EXPECT_EQ(newest().actor, "rose@example.com");
  decide(id, true, rose_);
  EXPECT_FALSE(newest().refused);
  EXPECT_EQ(newest().action, "held.approve");
  EXPECT_EQ(newest().session, sync::public_prefix(rose_));
  EXPECT_EQ(newest().object_id, id);
  decide(id, false, rose_);
  EXPECT_TRUE(newest().refused) << "it does not wait any more";
}

// covers: GUARD-27
TEST_F(HeldRequestHandlerTest, OnlyOthersOfTheOrganizationWithTheScopeDecide) {
  const std::string id = held_id();
  EXPECT_EQ(decide(id, true, ana_).status, 403) << "without the scope";
  const std::string own = new_key("ana@example.com", {Scope::approve});
  const http::HttpResponse refused = decide(id, true, own);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("own_request"));
  const OrganizationId edge =
      *store_->organizations.create("Edge", sync::make_credential(CredentialKind::organization_token));
  const std::string other = new_key("kim@example.com", {Scope::approve});
  store_->accounts.set_organization("kim@example.com", edge);
  EXPECT_EQ(decide(id, true, other).status, 404);
  EXPECT_EQ(held_.read(request(other), id).wait().status, 404);
  EXPECT_THAT(tests::parse_json(held_.list(request(other), {}).wait().body)["data"], IsEmpty());
  EXPECT_EQ(decide("7777", true, rose_).status, 404);
  EXPECT_EQ(decide("x", true, rose_).status, 404);
  EXPECT_EQ(decide(id, true, rose_).status, 200);
}

}  // namespace
}  // namespace giftsync::handlers
