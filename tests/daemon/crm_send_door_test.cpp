// The CRM's sending interface with a real store and CRM behind it.
#include "daemon/http/crm_send_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/crypto/api_key.h"
#include "daemon/crypto/link_token.h"
#include "schema/sql_crm/managed_import.h"
#include "schema/sql_crm/sql_crm.h"
#include "tests/daemon/temporary_store.h"

namespace giftsync::daemon {
namespace {

using nlohmann::json;
using schema::ImportObject;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr schema::UtcMillis kNow{1'795'264'267'000};

class CrmSendDoorTest : public ::testing::Test {
 protected:
  CrmSendDoorTest() {
    schema::migrate_managed_crm(store_.address());
    const schema::PersonMatchFields person{{"Email"}, {"Phone"}, {"LastModifiedDate", true}};
    crm_ = schema::make_sql_crm({store_.address(), "giftsync", {person, person, "US"}});
    const NewKey token = make_organization_token();
    token_ = token.text;
    schema::OrganizationToken row;
    row.hash = token.hash;
    row.prefix = token.prefix;
    organization_ = *store_->organizations.create("Edge", row);
    schema::Account account;
    account.email = "ana@example.com";
    account.name = "Ana";
    account.organization = organization_;
    store_->accounts.create(account);
    schema::GiftItem item;
    item.id = {7};
    item.name = "Coffee";
    store_->catalogue.import(std::span(&item, 1));
    load(ImportObject::user, {{"Id", "Name", "Email", "IsActive"},
                              {"u1", "Ana", "Ana@example.com", "true"},
                              {"u2", "Bob", "bob@example.com", "true"}});
    load(ImportObject::permission_set_assignment,
         {{"Id", "AssigneeId", "PermissionSetName", "IsActive"}, {"p1", "u1", "Standard_User", "true"}});
    api_ = std::make_unique<GiftApi>(*store_, writer_, gate_, links_, GiftApiOptions{}, clock_,
                                     [this] { ++created_; });
    door_ = std::make_unique<CrmSendDoor>(*store_, *crm_, *api_, GiftApiOptions{}, 0, clock_);
  }
  void load(ImportObject object, const std::vector<std::vector<std::string>>& rows) {
    schema::ManagedImport loading(store_.address(), object, rows.front());
    for (std::size_t i = 1; i < rows.size(); ++i) loading.survey(rows[i]);
    for (std::size_t i = 1; i < rows.size(); ++i) loading.add(i + 1, rows[i]);
    loading.finish();
  }
  static json body(const json& sender = {{"user_id", "u1"}}) {
    return {
        {"sender", sender},
        {"gift_id", 7},
        {"recipients", {{{"email", "rose@example.com"}, {"message", "Hi"}, {"gift_redeem_type", "email"}}}}};
  }
  HttpResponse call(const json& body, const std::string& token, const std::string& key = {}) {
    HttpRequest request;
    request.method = "POST";
    request.body = body.dump();
    if (!token.empty()) request.headers.emplace("Organization-Token", token);
    if (!key.empty()) request.headers.emplace("Idempotency-Key", key);
    return door_->answer(request);
  }
  HttpResponse call(const json& asked) { return call(asked, token_); }
  static std::vector<std::string> codes(const HttpResponse& answer) {
    std::vector<std::string> all;
    for (const json& one : json::parse(answer.body).value("errors", json::array()))
      all.push_back(one["code"]);
    return all;
  }

  TemporaryStore store_;
  const Clock clock_ = [] { return kNow; };
  const LinkSigner signer_{std::string(32, 's')};
  const GiftLinks links_{"http://127.0.0.1", signer_};
  GiftWriter writer_{store_->gifts};
  KeyGate gate_{store_->accounts, clock_, 0};
  std::unique_ptr<schema::Crm> crm_;
  std::unique_ptr<GiftApi> api_;
  std::unique_ptr<CrmSendDoor> door_;
  std::string token_;
  schema::OrganizationId organization_;
  int created_ = 0;
};

TEST_F(CrmSendDoorTest, SendsOnBehalfOfTheNamedUser) {
  for (const json& sender : {json{{"user_id", "u1"}}, json{{"email", " ANA@example.com "}}}) {
    const HttpResponse answer = call(body(sender));
    ASSERT_EQ(answer.status, 201) << answer.body;
    const std::int64_t id = json::parse(answer.body)["data"]["id"];
    const auto request = store_->gifts.request({id});
    ASSERT_TRUE(request.has_value()) << "durable before the answer";
    EXPECT_EQ(request->sender_email, "ana@example.com");
    EXPECT_EQ(request->mode, schema::SendMode::email);
  }
  EXPECT_EQ(created_, 2);
}

TEST_F(CrmSendDoorTest, AMissingOrDeadTokenIs401AndTellsNothingElse) {
  for (const std::string& token : {std::string(), std::string("x"), make_organization_token().text}) {
    const HttpResponse answer = call(json("no object"), token);
    EXPECT_EQ(answer.status, 401) << token;
    EXPECT_THAT(codes(answer), ElementsAre("organization_token"));
    EXPECT_THAT(answer.body, Not(HasSubstr("Edge")));
  }
  store_->organizations.revoke(store_->organizations.tokens().front().id, kNow);
  EXPECT_EQ(call(body()).status, 401) << "a revoke is in force at once";
}

TEST_F(CrmSendDoorTest, TwoTokensAreNone) {
  HttpRequest request;
  request.body = body().dump();
  request.headers.emplace("Organization-Token", token_);
  request.headers.emplace("Organization-Token", token_);
  EXPECT_EQ(door_->answer(request).status, 401);
}

TEST_F(CrmSendDoorTest, WhatTheSenderLacksIs403WithAllOfItInWords) {
  EXPECT_THAT(codes(call(body({{"user_id", "nobody"}}))), ElementsAre("sender_in_crm"));
  const HttpResponse bob = call(body({{"email", "bob@example.com"}}));
  EXPECT_EQ(bob.status, 403);
  EXPECT_THAT(codes(bob), ElementsAre("account", "permission_set"));
  EXPECT_THAT(json::parse(bob.body)["message"].get<std::string>(), HasSubstr("giftsyncctl account create"));
  store_->accounts.set_active("ana@example.com", false);
  store_->accounts.set_organization("ana@example.com", std::nullopt);
  EXPECT_THAT(codes(call(body())), ElementsAre("active_account", "account_organization"));
  EXPECT_EQ(created_, 0);
}

TEST_F(CrmSendDoorTest, ACrmWithoutATableOfUsersIsToldInPlaceOfAMissingUser) {
  door_ = std::make_unique<CrmSendDoor>(*store_, *crm_, *api_, GiftApiOptions{}, 0, clock_, false);
  const HttpResponse answer = call(body({{"email", "nobody@example.com"}}));
  EXPECT_EQ(answer.status, 403);
  EXPECT_THAT(codes(answer), ElementsAre("sender_in_crm"));
  EXPECT_THAT(json::parse(answer.body)["message"].get<std::string>(), HasSubstr("crm.tables.user"));
}

TEST_F(CrmSendDoorTest, FaultsOfTheBodyAreListedAsAtEndpointA) {
  json faulty = body({{"user_id", "u1"}, {"email", "ana@example.com"}});
  faulty["recipients"][0].erase("message");
  const HttpResponse answer = call(faulty);
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(codes(answer), testing::UnorderedElementsAre("invalid_sender", "missing"));
  for (const json& sender : {json(7), json::object(), json{{"user_id", ""}}, json{{"user_id", 5}}})
    EXPECT_EQ(call(body(sender)).status, 400) << sender;
  json unknown = body();
  unknown["gift_id"] = 8;
  EXPECT_EQ(call(unknown).status, 400);
}

TEST_F(CrmSendDoorTest, OneKeyOneGiftWhateverItMeansAtEndpointA) {
  const HttpResponse first = call(body(), token_, "k1");
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(call(body(), token_, "k1").body, first.body);
  EXPECT_EQ(call(body({{"email", "ana@example.com"}}), token_, "k1").status, 422);
  EXPECT_EQ(created_, 1);
  const auto account = store_->accounts.account_by_email("ana@example.com");
  EXPECT_FALSE(store_->gifts.first_use(account->id, schema::SendMode::email, {"k1", "any"}).has_value());
}

}  // namespace
}  // namespace giftsync::daemon
