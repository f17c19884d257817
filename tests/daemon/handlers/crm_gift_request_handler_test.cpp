// The CRM's sending interface with a real store and CRM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crm/sql/managed/csv_import.h"
#include "crm/sql/managed/managed_crm.h"
#include "daemon/group_commit_writer.h"
#include "daemon/handlers/gift_request_handler.h"
#include "sync/access/credential.h"
#include "sync/gift/gift_links.h"
#include "tests/support/json.h"
#include "tests/support/temporary_database.h"
#include "tests/support/temporary_store.h"

namespace giftsync::handlers {
namespace {

using crm::ImportObject;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr UtcMillis kNow{1'795'264'267'000};

class CrmGiftRequestHandlerTest : public ::testing::Test {
 protected:
  CrmGiftRequestHandlerTest() {
    crm::managed::migrate_managed_crm(store_.address());
    const crm::PersonMatchFields person{{"Email"}, {"Phone"}, {"LastModifiedDate", true}};
    crm_ = crm::managed::make_managed_crm({store_.address(), "giftsync", {person, person, "US"}});
    const sync::NewCredential token = sync::make_credential(CredentialKind::organization_token);
    token_ = token.text;
    organization_ = *store_->organizations.create("Edge", token);
    store::Account account;
    account.email = "ana@example.com";
    account.name = "Ana";
    account.organization = organization_;
    store_->accounts.create(account);
    store::GiftItem item;
    item.id = {7};
    item.name = "Coffee";
    store_->catalogue.import(std::span(&item, 1));
    import_rows(crm::ImportObject::user, {{"Id", "Name", "Email", "IsActive"},
                                          {"u1", "Ana", "Ana@example.com", "true"},
                                          {"u2", "Bob", "bob@example.com", "true"}});
    import_rows(
        crm::ImportObject::permission_set_assignment,
        {{"Id", "AssigneeId", "PermissionSetName", "IsActive"}, {"p1", "u1", "Standard_User", "true"}});
    gift_request_handler_ =
        std::make_unique<GiftRequestHandler>(*store_, writer_, authenticator_, links_, policy_, options_,
                                             [this](const auto&, const auto&) { ++created_; });
    handler_ = std::make_unique<CrmGiftRequestHandler>(*store_, crm_->directory(), *gift_request_handler_,
                                                       options_, 0);
  }
  void import_rows(crm::ImportObject object, const std::vector<std::vector<std::string>>& rows) {
    const auto managed_import = crm::managed::make_csv_import(store_.address(), object, rows.front());
    for (std::size_t i = 1; i < rows.size(); ++i) managed_import->detect_types(i + 1, rows[i]);
    for (std::size_t i = 1; i < rows.size(); ++i) managed_import->add(i + 1, rows[i]);
    managed_import->finish();
  }
  static json body(const json& sender = {{"user_id", "u1"}}) {
    return {
        {"sender", sender},
        {"gift_id", 7},
        {"recipients", {{{"email", "rose@example.com"}, {"message", "Hi"}, {"gift_redeem_type", "email"}}}}};
  }
  http::HttpResponse call(const json& body, const std::string& token, const std::string& key = {}) {
    http::HttpRequest request;
    request.method = "POST";
    request.body = body.dump();
    if (!token.empty()) request.headers.emplace("Organization-Token", token);
    if (!key.empty()) request.headers.emplace("Idempotency-Key", key);
    return handler_->handle(request, {}).wait();
  }
  http::HttpResponse call(const json& sent_body) { return call(sent_body, token_); }
  static std::vector<std::string> codes(const http::HttpResponse& response) {
    std::vector<std::string> all;
    for (const json& one : tests::parse_json(response.body).value("errors", json::array()))
      all.push_back(one["code"]);
    return all;
  }

  tests::TemporaryStore store_;
  const Clock clock_ = [] { return kNow; };
  const GiftRequestHandlerOptions options_{{}, 1 << 20, clock_};
  const sync::LinkSigner signer_{std::string(32, 's')};
  const sync::GiftLinks links_{"http://127.0.0.1", signer_};
  daemon::GroupCommitWriter writer_{store_->urgent_writes};
  http::Authenticator authenticator_{store_->credentials, clock_, 0};
  UtcMillis policy_now_ = kNow;  // when it moves, the policy reads the list again
  sync::SendingPolicy policy_{store_->do_not_send, {}, [this] { return policy_now_; }};
  std::unique_ptr<crm::Crm> crm_;
  std::unique_ptr<GiftRequestHandler> gift_request_handler_;
  std::unique_ptr<CrmGiftRequestHandler> handler_;
  std::string token_;
  OrganizationId organization_;
  int created_ = 0;
};

// HTTP-8
TEST_F(CrmGiftRequestHandlerTest, SendsOnBehalfOfTheNamedUser) {
  for (const json& sender : {json{{"user_id", "u1"}}, json{{"email", " ANA@example.com "}}}) {
    const http::HttpResponse response = call(body(sender));
    ASSERT_EQ(response.status, 201) << response.body;
    const std::int64_t id = tests::parse_json(response.body)["data"]["id"];
    const auto request = store_->gifts.find_gift_request({id});
    ASSERT_TRUE(request.has_value()) << "durable before the response";
    EXPECT_EQ(request->sender_email, "ana@example.com");
    EXPECT_EQ(request->mode, SendMode::email);
  }
  EXPECT_EQ(created_, 2);
}

// HTTP-8, HTTP-9, HTTP-58
TEST_F(CrmGiftRequestHandlerTest, ACampaignIsKeptAndARepeatFromBeforeItWasTakenGetsItsFirstAnswer) {
  json asked = body();
  asked["utm_campaign_id"] = "autumn";
  const http::HttpResponse first = call(asked, token_, "k1");
  ASSERT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(tests::parse_json(first.body)["warnings"], json::array());
  EXPECT_THAT(first.body, Not(HasSubstr("autumn"))) << "the answer has no member more";
  const auto request = store_->gifts.find_gift_request({tests::parse_json(first.body)["data"]["id"]});
  EXPECT_EQ(request->utm_campaign_id, "autumn");
  EXPECT_EQ(call(body(), token_, "k1").status, 422) << "another body";
  const http::HttpResponse former = call(body(), token_, "k2");
  tests::run_sql(store_.address(), "UPDATE gift_request_idempotency SET is_former = 1");
  const http::HttpResponse again = call(asked, token_, "k2");
  EXPECT_EQ(again.status, 201) << again.body;
  EXPECT_EQ(tests::parse_json(again.body)["data"], tests::parse_json(former.body)["data"]);
  EXPECT_EQ(created_, 2);
}

// covers: GUARD-1
// covers: GUARD-7
TEST_F(CrmGiftRequestHandlerTest, AListedRecipientIsRefusedButARepeatOfACallGetsItsResponse) {
  EXPECT_EQ(call(body(), token_, "k1").status, 201);
  const store::DoNotSendEntry entry{
      "rose@example.com", DoNotSendReason::opted_out, "", {}, {}, "recipient", {}};
  store_->do_not_send.add(std::span(&entry, 1), {});
  policy_now_ = kNow + kMinuteMillis;
  EXPECT_EQ(call(body(), token_, "k1").status, 201) << "it made its gift before";
  for (const std::string& key : {std::string(), std::string("k2")}) {
    const http::HttpResponse refused = call(body(), token_, key);
    EXPECT_EQ(refused.status, 403) << refused.body;
    EXPECT_EQ(tests::parse_json(refused.body)["code"], "sending_refused");
    EXPECT_THAT(codes(refused), ElementsAre("do_not_send"));
    EXPECT_THAT(refused.body, HasSubstr("recipients[0].email"));
    EXPECT_THAT(refused.body,
                AllOf(HasSubstr("The recipient asked on 20"), HasSubstr(" to get no more gifts.")));
    EXPECT_THAT(refused.body, Not(HasSubstr("rose@")));
  }
  EXPECT_EQ(created_, 1);
  store_->do_not_send.remove("rose@example.com", DoNotSendReason::opted_out, {});
  EXPECT_EQ(call(body(), token_, "k2").status, 201) << "a refused call leaves no key";
}

// covers: VALID-1
// covers: VALID-2
TEST_F(CrmGiftRequestHandlerTest, ValidatingSaysWhatTheCallWouldDoAndCreatesNothing) {
  const auto validate = [&](const json& asked, const std::string& token) {
    http::HttpRequest request;
    request.method = "POST";
    request.body = asked.dump();
    request.headers.emplace("Organization-Token", token);
    return handler_->validate(request, {}).wait();
  };
  const auto verdict = [&] {
    const http::HttpResponse response = validate(body(), token_);
    EXPECT_EQ(response.status, 200) << response.body;
    return tests::parse_json(response.body)["data"]["verdict"].get<std::string>();
  };
  EXPECT_EQ(verdict(), "send");
  EXPECT_EQ(created_, 0);
  EXPECT_EQ(call(body()).status, 201);
  const store::DoNotSendEntry entry{"rose@example.com", DoNotSendReason::blocked, "", {}, {}, "ana", {}};
  store_->do_not_send.add(std::span(&entry, 1), {});
  policy_now_ = kNow + kMinuteMillis;
  EXPECT_EQ(verdict(), "refuse");
  EXPECT_EQ(call(body()).status, 403);
  json unknown_gift = body();
  unknown_gift["gift_id"] = 4711;
  for (const json& faulty : {json("no object"), body({{"user_id", "u2"}}), body({{"user_id", "u9"}}),
                             json{{"sender", {{"user_id", "u1"}}}}, unknown_gift}) {
    const http::HttpResponse done = call(faulty);
    const http::HttpResponse said = validate(faulty, token_);
    EXPECT_GE(done.status, 400) << faulty;
    EXPECT_EQ(said.status, done.status) << faulty;
    EXPECT_EQ(said.body, done.body);
  }
  EXPECT_EQ(validate(body(), "x").body, call(body(), "x").body);
  EXPECT_EQ(created_, 1);
}

// HTTP-8
TEST_F(CrmGiftRequestHandlerTest, MissingOrInactiveTokenIs401AndRevealsNothingElse) {
  for (const std::string& token :
       {std::string(), std::string("x"), sync::make_credential(CredentialKind::organization_token).text}) {
    const http::HttpResponse response = call(json("no object"), token);
    EXPECT_EQ(response.status, 401) << token;
    EXPECT_THAT(codes(response), ElementsAre("organization_token"));
    EXPECT_THAT(response.body, Not(HasSubstr("Edge")));
  }
  store_->credentials.revoke(store_->credentials.list(CredentialKind::organization_token).front(), kNow);
  EXPECT_EQ(call(body()).status, 401) << "a revoke takes effect at once";
}

// covers: HTTP-25
TEST_F(CrmGiftRequestHandlerTest, AnApiKeyIsCalledSo) {
  http::HttpRequest request;
  request.method = "POST";
  request.body = body().dump();
  request.headers.emplace("Authorization", sync::make_credential(CredentialKind::api_key).text);
  for (const bool validates : {false, true}) {
    const http::HttpResponse response =
        (validates ? handler_->validate(request, {}) : handler_->handle(request, {})).wait();
    EXPECT_EQ(response.status, 401);
    const json problem = tests::parse_json(response.body);
    EXPECT_EQ(problem["code"], "refused_organization_token");
    EXPECT_EQ(problem["message"],
              "Found an API key (gsk_live_...) in Authorization; this address takes an organization token "
              "(got_live_...) in Organization-Token. Ask your giftsync administrator for one.");
    EXPECT_EQ(problem["errors"][0]["message"], problem["message"]);
  }
  request.headers.emplace("Organization-Token", token_);
  EXPECT_EQ(handler_->handle(request, {}).wait().status, 201) << "Authorization is not looked at";
}

// HTTP-51
TEST_F(CrmGiftRequestHandlerTest, APausedTokenSendsNothingAlsoNoRepeat) {
  ASSERT_EQ(call(body(), token_, "key-1").status, 201);
  const store::Credential token = store_->credentials.list(CredentialKind::organization_token).front();
  ASSERT_TRUE(store_->credentials.pause(token, "wrong campaign", kNow));
  for (const std::string& key : {std::string(), std::string("key-1")}) {
    const http::HttpResponse refused = call(body(), token_, key);
    EXPECT_EQ(refused.status, 403) << key;
    EXPECT_EQ(tests::parse_json(refused.body).at("code"), "key_paused");
    EXPECT_THAT(refused.body, HasSubstr("This organization token is paused since"));
    EXPECT_THAT(refused.body, Not(HasSubstr("wrong campaign")));
  }
  EXPECT_EQ(created_, 1);
  ASSERT_TRUE(store_->credentials.release(token));
  EXPECT_EQ(call(body(), token_, "key-1").status, 201) << "the repeat";
  EXPECT_EQ(call(body()).status, 201);
}

// covers: TEST-6
TEST_F(CrmGiftRequestHandlerTest, ATokenIsLiveAndMayAskForNoFailure) {
  http::HttpRequest request;
  request.method = "POST";
  request.body = body().dump();
  request.headers.emplace("Organization-Token", token_);
  request.headers.emplace("Giftsync-Test-Response", "503");
  const auto expect_refused = [](const http::HttpResponse& response) {
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_EQ(tests::parse_json(response.body)["code"], "test_only");
    EXPECT_THAT(response.body, HasSubstr("this key or token is live"));
  };
  expect_refused(handler_->handle(request, {}).wait());
  expect_refused(handler_->validate(request, {}).wait());
  EXPECT_EQ(created_, 0);
  EXPECT_THAT(store_->gifts.list({}, {}, 10).gifts, testing::IsEmpty());
}

TEST_F(CrmGiftRequestHandlerTest, TwoTokenHeadersAreRejected) {
  http::HttpRequest request;
  request.body = body().dump();
  request.headers.emplace("Organization-Token", token_);
  request.headers.emplace("Organization-Token", token_);
  EXPECT_EQ(handler_->handle(request, {}).wait().status, 401);
}

// HTTP-8
TEST_F(CrmGiftRequestHandlerTest, MissingSenderPreconditionsAre403AndAllListed) {
  store::Account bob;
  bob.email = "bob@example.com";
  bob.organization = organization_;
  bob.plan = Plan::individual;
  store_->accounts.create(bob);
  store_->accounts.set_active("bob@example.com", false);
  const http::HttpResponse refused = call(body({{"email", "bob@example.com"}}));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(codes(refused), ElementsAre("active_account", "plan", "permission_set"));
  EXPECT_THAT(tests::parse_json(refused.body)["message"].get<std::string>(),
              HasSubstr("Ask your giftsync administrator to activate it"));
  EXPECT_EQ(created_, 0);
}

// SEC-7
TEST_F(CrmGiftRequestHandlerTest, OneAnswerForAllThatAreNotOfTheOrganization) {
  const auto refusal_of = [&](const std::string& id) {
    const http::HttpResponse response = call(body({{"user_id", id}}));
    EXPECT_EQ(response.status, 403);
    std::string text = response.body;
    for (std::size_t at = 0; (at = text.find(id, at)) != std::string::npos;)
      text.replace(at, id.size(), "ID");
    return std::pair(text, response.reason);
  };
  const auto unknown = refusal_of("u9");
  EXPECT_THAT(unknown.second, HasSubstr("lacks sender_in_crm (no CRM user, no account)"));
  const auto without_account = refusal_of("u2");
  EXPECT_EQ(without_account.first, unknown.first);
  EXPECT_THAT(without_account.second, HasSubstr("lacks account, permission_set (CRM user u2, no account)"));
  store_->accounts.set_organization("ana@example.com", std::nullopt);
  EXPECT_EQ(refusal_of("u1").first, unknown.first);
  const sync::NewCredential row = sync::make_credential(CredentialKind::organization_token);
  store_->accounts.set_organization("ana@example.com", store_->organizations.create("Evil", row));
  store_->accounts.set_active("ana@example.com", false);
  const auto foreign = refusal_of("u1");
  EXPECT_EQ(foreign.first, unknown.first);
  EXPECT_THAT(foreign.second,
              HasSubstr("lacks active_account, account_organization (CRM user u1, account 1)"));
  EXPECT_EQ(created_, 0);
}

// HTTP-10
TEST_F(CrmGiftRequestHandlerTest, RequestsPerMinuteAreLimitedForEachOrganization) {
  handler_ = std::make_unique<CrmGiftRequestHandler>(*store_, crm_->directory(), *gift_request_handler_,
                                                     options_, 1);
  EXPECT_EQ(call(body()).status, 201);
  const http::HttpResponse refused = call(body());
  EXPECT_EQ(refused.status, 429);
  EXPECT_THAT(refused.headers, testing::Contains(testing::Pair("Retry-After", "60")));
  EXPECT_THAT(refused.headers, testing::Contains(testing::Pair("RateLimit-Remaining", "0")));
  EXPECT_EQ(created_, 1);
}

TEST_F(CrmGiftRequestHandlerTest, CrmWithoutUserTableIsReportedInsteadOfAMissingUser) {
  handler_ = std::make_unique<CrmGiftRequestHandler>(*store_, crm_->directory(), *gift_request_handler_,
                                                     options_, 0, false);
  const http::HttpResponse response = call(body({{"email", "unknown@example.com"}}));
  EXPECT_EQ(response.status, 403);
  EXPECT_THAT(codes(response), ElementsAre("sender_in_crm"));
  EXPECT_THAT(tests::parse_json(response.body)["message"].get<std::string>(), HasSubstr("crm.tables.user"));
}

TEST_F(CrmGiftRequestHandlerTest, BodyErrorsAreListedAsAtEndpointA) {
  json invalid = body({{"user_id", "u1"}, {"email", "ana@example.com"}});
  invalid["recipients"][0].erase("message");
  const http::HttpResponse response = call(invalid);
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(codes(response), testing::UnorderedElementsAre("invalid_sender", "missing"));
  for (const json& sender : {json(7), json::object(), json{{"user_id", ""}}, json{{"user_id", 5}}})
    EXPECT_EQ(call(body(sender)).status, 400) << sender;
  json unknown = body();
  unknown["gift_id"] = 8;
  EXPECT_EQ(call(unknown).status, 400);
}

// HTTP-24
TEST_F(CrmGiftRequestHandlerTest, PlaceholdersAreRefusedByDefaultAndAllListed) {
  json unfilled = body();
  unfilled["recipients"][0]["first_name"] = "{!Contact.FirstName}";
  unfilled["recipients"][0]["message"] = "Dear \u00abName\u00bb";
  const http::HttpResponse response = call(unfilled);
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(codes(response), ElementsAre("placeholder", "placeholder"));
  EXPECT_EQ(created_, 0);
}

// HTTP-52
TEST_F(CrmGiftRequestHandlerTest, ASecondRequestForTheSameGiftWarns) {
  const json first = tests::parse_json(call(body()).body);
  EXPECT_THAT(first["warnings"], testing::IsEmpty());
  EXPECT_THAT(tests::parse_json(call(body(), token_, "k1").body)["warnings"], testing::IsEmpty());
  const json warnings = tests::parse_json(call(body()).body)["warnings"];
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0]["field"], "recipients[0].email");
  EXPECT_EQ(warnings[0]["code"], "possible_duplicate");
  EXPECT_THAT(warnings[0]["message"].get<std::string>(),
              HasSubstr("Gift request " + first["data"]["id"].dump() + " "));
}

// HTTP-8
TEST_F(CrmGiftRequestHandlerTest, IdempotencyKeysAreSeparateFromEndpointA) {
  const http::HttpResponse first = call(body(), token_, "k1");
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(call(body(), token_, "k1").body, first.body);
  EXPECT_EQ(call(body({{"email", "ana@example.com"}}), token_, "k1").status, 422);
  EXPECT_EQ(created_, 1);
  const auto account = store_->accounts.find_by_email("ana@example.com");
  EXPECT_FALSE(store_->gifts.find_idempotent(account->id, SendMode::email, {"k1", "any"}).has_value());
}

}  // namespace
}  // namespace giftsync::handlers
