// GET /api/v1/events with a real store: whose events a key sees, what a cursor means, and what is refused.
#include "daemon/handlers/event_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "schema/store/store.h"
#include "sync/access/credential.h"
#include "sync/feed_step.h"
#include "tests/support/api_key.h"
#include "tests/support/json.h"
#include "tests/support/temporary_store.h"

namespace giftsync::handlers {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class EventHandlerTest : public ::testing::Test {
 protected:
  EventHandlerTest() {
    store_->keep_feed(true);
    store_->feed.switch_to(true);
  }
  ~EventHandlerTest() override { store_->keep_feed(false); }

  AccountId new_account(const std::string& address, std::optional<OrganizationId> organization = {}) {
    store::Account account;
    account.email = address;
    account.name = address;
    const AccountId id = *store_->accounts.create(account);
    if (organization) store_->accounts.set_organization(address, organization);
    return id;
  }
  std::string new_key(AccountId account, const std::set<Scope>& scopes = {Scope::read}) {
    return tests::make_api_key(*store_, account, scopes);
  }
  TransactionId make_gift(AccountId account, std::optional<OrganizationId> organization = {},
                          bool is_test = false) {
    store::NewGiftRequest request;
    request.request.account = account;
    request.request.organization = organization;
    request.request.gift = {7};
    request.request.item_name = "Coffee";
    request.request.is_test = is_test;
    request.request.created_at = now_;
    request.recipients.push_back({"kim@example.com", "", "", "Hi"});
    return store_->gifts.create(std::span(&request, 1)).front().recipients.front().id;
  }
  void accept(TransactionId gift, Status status) {
    const store::StatusChange change{{}, "test", gift, status, now_, now_, {}};
    store_->changes.accept(std::span(&change, 1));
  }
  void publish() {
    sync::FeedPlace place;
    while (sync::feed_step(*store_, place).more) {
    }
  }
  http::HttpResponse call(const std::string& key, const std::string& query = {}, bool enabled = true) {
    EventHandler handler(store_->feed, authenticator_, {enabled, 30, [this] { return now_; }});
    http::HttpRequest request;
    request.method = "GET";
    request.query = query;
    request.headers.emplace("Authorization", key);
    return handler.list(request, {}).wait();
  }
  json page(const std::string& key, const std::string& query = {}) {
    const http::HttpResponse response = call(key, query);
    EXPECT_EQ(response.status, 200) << response.body;
    return tests::parse_json(response.body);
  }
  std::vector<std::string> types(const std::string& key, const std::string& query = {}) {
    std::vector<std::string> found;
    const json shown = page(key, query);
    for (const json& event : shown["data"]) found.push_back(event["type"]);
    return found;
  }

  tests::TemporaryStore store_;
  UtcMillis now_ = system_now();
  const Clock clock_ = [this] { return now_; };
  http::Authenticator authenticator_{store_->credentials, clock_, 0};
};

// API-12
TEST_F(EventHandlerTest, EventsAscendAndNextContinues) {
  const AccountId account = new_account("ana@example.com");
  const std::string key = new_key(account);
  const TransactionId gift = make_gift(account);
  accept(gift, Status::delivered);
  publish();
  const json first = page(key, "limit=1");
  EXPECT_EQ(first["data"][0]["type"], "gift.sent");
  EXPECT_EQ(first["data"][0]["recipient_transaction_id"], gift.value);
  EXPECT_EQ(first["data"][0]["change"]["from"], nullptr);
  EXPECT_TRUE(first["has_more"]);
  const json second = page(key, "after=" + first["next"].get<std::string>());
  ASSERT_THAT(second["data"], SizeIs(1));
  const json& event = second["data"][0];
  EXPECT_EQ(event["type"], "gift.delivered");
  EXPECT_EQ(event["change"],
            (json{{"from", "sent"}, {"to", "delivered"}, {"version", 2}, {"occurred_at", to_rfc3339(now_)}}));
  EXPECT_THAT(event["event_id"].get<std::string>(), HasSubstr("_2"));
  EXPECT_FALSE(second["has_more"]);
  const json end = page(key, "after=" + second["next"].get<std::string>());
  EXPECT_THAT(end["data"], IsEmpty());
  EXPECT_EQ(end["next"], second["next"]) << "next is always there";
}

// API-12
TEST_F(EventHandlerTest, AKeySeesTheEventsOfItsAccountOrOrganization) {
  const OrganizationId organization =
      *store_->organizations.create("Acme", sync::make_credential(CredentialKind::organization_token));
  const AccountId ana = new_account("ana@example.com", organization);
  const AccountId ben = new_account("ben@example.com", organization);
  const AccountId eve = new_account("eve@example.com");
  make_gift(ana, organization);
  make_gift(ben, organization);
  make_gift(eve);
  make_gift(ana, organization, true);
  publish();
  EXPECT_THAT(types(new_key(ana)), SizeIs(1));
  EXPECT_THAT(types(new_key(ana, {Scope::read, Scope::report})), SizeIs(2));
  EXPECT_THAT(types(new_key(eve)), SizeIs(1));
  EXPECT_THAT(types(new_key(eve, {Scope::read, Scope::report})), SizeIs(3));
  EXPECT_EQ(call(new_key(ana, {Scope::send})).status, 403);
}

// API-12
TEST_F(EventHandlerTest, ATestKeySeesTestEventsAlone) {
  store::ApiKeyOwner caller;
  caller.account.id = {3};
  caller.key.prefix = "gsk_test_abc";
  EXPECT_TRUE(feed_filter_of(caller).is_test);
  EXPECT_EQ(feed_filter_of(caller).account, AccountId{3});
  caller.key.prefix = "gsk_live_abc";
  EXPECT_FALSE(feed_filter_of(caller).is_test);
}

// API-12
TEST_F(EventHandlerTest, TypesAreChosenByNameOrKind) {
  const AccountId account = new_account("ana@example.com");
  const std::string key = new_key(account);
  const TransactionId gift = make_gift(account);
  accept(gift, Status::opened);
  accept(gift, Status::delivered);
  publish();
  EXPECT_THAT(types(key, "types=gift.opened"), ElementsAre("gift.opened"));
  EXPECT_THAT(types(key, "types=gift.sent,gift.opened"), ElementsAre("gift.sent", "gift.opened"));
  EXPECT_THAT(types(key, "types=gift.*"), SizeIs(3));
  EXPECT_THAT(types(key, "types=request_record.*"), IsEmpty());
}

// API-12
TEST_F(EventHandlerTest, EachFaultyParameterIsNamed) {
  const std::string key = new_key(new_account("ana@example.com"));
  const http::HttpResponse response =
      call(key, "after=17&types=gift.lost&limit=501&colour=red&limit=5&since=yesterday");
  EXPECT_EQ(response.status, 400);
  std::vector<std::string> fields;
  const json body = tests::parse_json(response.body);
  for (const json& error : body["errors"]) fields.push_back(error["field"]);
  EXPECT_THAT(fields,
              testing::UnorderedElementsAre("after", "types", "limit", "colour", "limit", "since", "since"));
  for (const char* wrong : {"after=", "after=1.2.3", "after=-1.2", "after=1.", "types=", "types=gift.opened,",
                            "limit=0", "limit=x", "since=", "%"})
    EXPECT_EQ(call(key, wrong).status, 400) << wrong;
}

// API-12
TEST_F(EventHandlerTest, WhatIsNotKeptIs410) {
  const AccountId account = new_account("ana@example.com");
  const std::string key = new_key(account);
  make_gift(account);
  publish();
  const std::string place = page(key)["next"];
  EXPECT_EQ(call(key, "after=" + place).status, 200);
  EXPECT_EQ(call(key, "after=" + place + "0").status, 410) << "no event has this number";
  EXPECT_EQ(call(key, "after=1.0").status, 410) << "of another epoch";
  EXPECT_EQ(call(key, "since=2020-01-01T00:00:00Z").status, 410) << "before the feed began";
  store_->feed.begin_epoch();
  const http::HttpResponse expired = call(key, "after=" + place);
  EXPECT_EQ(expired.status, 410);
  EXPECT_EQ(tests::parse_json(expired.body)["code"], "cursor_expired");
}

// API-12
TEST_F(EventHandlerTest, AnEventThatIsDeletedMeanwhileIsNotPassed) {
  const AccountId account = new_account("ana@example.com");
  const std::string key = new_key(account);
  const std::string place = page(key)["next"];
  make_gift(account);
  publish();
  const auto delete_events = [this] {
    store_->feed.prune(system_now() + kDayMillis);
    return now_;
  };
  EventHandler handler(store_->feed, authenticator_, {true, 30, delete_events});
  http::HttpRequest request;
  request.method = "GET";
  request.query = "after=" + place;
  request.headers.emplace("Authorization", key);
  EXPECT_EQ(handler.list(request, {}).wait().status, 410);
}

// API-13
TEST_F(EventHandlerTest, WithTheFeedOffItSaysSo) {
  const std::string key = new_key(new_account("ana@example.com"));
  const http::HttpResponse response = call(key, "", false);
  EXPECT_EQ(response.status, 409);
  EXPECT_EQ(tests::parse_json(response.body)["code"], "feed_off");
}

// API-12
TEST(FeedCursors, AreReadAsTheyWereWritten) {
  EXPECT_EQ(to_text({1'796'043'483, 17}), "1796043483.17");
  EXPECT_EQ(feed_cursor_from("1796043483.17"), (FeedCursor{1'796'043'483, 17}));
  EXPECT_EQ(feed_cursor_from("99999999999999999999.1"), std::nullopt);
}

}  // namespace
}  // namespace giftsync::handlers
