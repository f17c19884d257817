// Validating a request record: what would keep it from being sent, without making it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "daemon/handlers/request_record_handler.h"
#include "sync/access/sending_policy.h"
#include "sync/request/request_record_step.h"
#include "tests/support/api_key.h"
#include "tests/support/in_memory_request_crm.h"
#include "tests/support/json.h"
#include "tests/support/temporary_store.h"

namespace giftsync::handlers {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class CreatingCrm : public tests::InMemoryRequestCrm {
 public:
  std::vector<RequestRecord> create(std::span<const crm::NewRequestRecord> made) override {
    std::vector<RequestRecord> all;
    for (const crm::NewRequestRecord& one : made) {
      RequestRecord record = one.record;
      record.id = "a1R" + std::to_string(rows.size());
      record.set(RequestRecordField::number, "R-" + std::to_string(rows.size()));
      all.push_back(rows[record.id] = record);
    }
    return all;
  }
};

class RequestRecordValidation : public ::testing::Test {
 protected:
  RequestRecordValidation() {
    store::GiftItem coffee;
    coffee.id = {7};
    coffee.name = "Coffee";
    coffee.costs = {Money{500}, Money{200}, Money{10}, Money{40}};
    store_->catalogue.import(std::span(&coffee, 1));
    store::Account account;
    account.email = "ana@example.com";
    account.name = "Ana";
    account.id = *store_->accounts.create(account);
    sender_.account = account;
    key_ = new_key({Scope::request});
    settings_.enabled = true;
    rules_.authorize_senders = [this](std::span<const std::string> ids) {
      return std::vector<sync::SenderAuthorization>(ids.size(), sender_);
    };
    rules_.refuse_recipients = [this](std::span<const std::string> emails) {
      std::vector<std::optional<std::string>> refusals;
      for (const auto& finding : policy_.check(emails))
        refusals.push_back(finding ? std::optional(finding->message) : std::nullopt);
      return refusals;
    };
  }
  std::string new_key(const std::set<Scope>& scopes) {
    return tests::make_api_key(*store_, store_->accounts.find_by_email("ana@example.com")->id, scopes);
  }
  http::HttpRequest request(const json& body) const {
    http::HttpRequest request;
    request.method = "POST";
    request.body = body.dump();
    request.headers.emplace("Authorization", key_);
    return request;
  }
  http::HttpResponse validate(const json& body) { return handler_.validate(request(body), {}).wait(); }
  json validated(const json& body) {
    const http::HttpResponse response = validate(body);
    EXPECT_EQ(response.status, 200) << response.body;
    return tests::parse_json(response.body);
  }
  static std::vector<std::string> codes_of(const json& issues) {
    std::vector<std::string> codes;
    for (const json& issue : issues) codes.push_back(issue["code"]);
    return codes;
  }
  std::vector<std::string> findings_of(const json& body) {
    const json data = validated(body)["data"];
    const std::vector<std::string> codes = codes_of(data["recipients"][0]["findings"]);
    EXPECT_EQ(data["verdict"], codes.empty() ? "send" : "refuse");
    return codes;
  }

  static const json& good() {
    static const json body{{"Gift_Id", 7},
                           {"Recipient_Email", "kim@example.com"},
                           {"Message", "Thank you!"},
                           {"Include_Shipping", true},
                           {"Sender", "005A"}};
    return body;
  }
  static json good_with(const char* name, const json& value) {
    json body = good();
    body[name] = value;
    return body;
  }

  tests::TemporaryStore store_;
  UtcMillis now_{1'795'264'267'000};
  const Clock clock_ = [this] { return now_; };
  CreatingCrm crm_;
  sync::SenderAuthorization sender_;
  sync::RequestRecordRules rules_;
  sync::SendingPolicy policy_{store_->do_not_send, {}, clock_};
  config::RequestSettings settings_;
  const sync::LinkSigner signer_{std::string(32, 's')};
  const sync::GiftLinks links_{"http://127.0.0.1", signer_};
  http::Authenticator authenticator_{store_->credentials, clock_, 0};
  std::string key_;
  int changes_ = 0;
  RequestRecordHandler handler_{*store_,
                                crm_,
                                authenticator_,
                                links_,
                                {settings_, 1 << 20, clock_, [this] { ++changes_; },
                                 [this](const auto& record) {
                                   return sync::findings_when_approved(store_->catalogue, record, rules_);
                                 }}};
};

// covers: VALID-5
TEST_F(RequestRecordValidation, SaysWhatTheGiftWouldCostAndMakesNoRecord) {
  const json answer = validated(good());
  EXPECT_EQ(answer["message"], "Valid. Nothing was created.");
  EXPECT_EQ(answer["data"], tests::parse_json(R"({
      "verdict": "send",
      "price": {"gifts": 1, "item_cost": "5.00", "shipping_cost": "2.00", "carbon_neutral_cost": "0.00",
                "transaction_fee": "0.40", "total": "7.40"},
      "recipients": [{"field": "Recipient_Email", "email": "kim@example.com", "verdict": "send",
                      "findings": [], "warnings": []}]})"));
  EXPECT_THAT(answer["warnings"], IsEmpty());
  EXPECT_THAT(crm_.rows, IsEmpty());
  EXPECT_EQ(changes_, 0);
  EXPECT_EQ(handler_.create(request(good()), {}).wait().status, 201);
  EXPECT_EQ(crm_.rows.size(), 1u);
}

// covers: VALID-5
TEST_F(RequestRecordValidation, SaysWhatWouldKeepTheRecordFromBeingSent) {
  EXPECT_THAT(findings_of(good_with("Send_Type", "fax")), ElementsAre("send_type"));
  EXPECT_THAT(findings_of(good_with("Recipient_Contact", "003X")), ElementsAre("recipient"));
  const json unknown = good_with("Gift_Id", 4711);
  EXPECT_THAT(findings_of(unknown), ElementsAre("gift"));
  EXPECT_THAT(codes_of(validated(unknown)["warnings"]), ElementsAre("unknown_gift"));
  EXPECT_TRUE(validated(unknown)["data"]["price"].is_null());
  const store::DoNotSendEntry entry{
      "kim@example.com", DoNotSendReason::opted_out, "", {}, {}, "recipient", {}};
  store_->do_not_send.add(std::span(&entry, 1), {});
  now_ = now_ + kMinuteMillis;
  EXPECT_THAT(findings_of(good()), ElementsAre("sending_policy"));
  sender_ = {std::nullopt, {{sync::Precondition::active_account, "The account is not active."}}};
  EXPECT_THAT(findings_of(good()), ElementsAre("sending_policy", "active_account"));
  EXPECT_THAT(crm_.rows, IsEmpty());
}

// covers: VALID-5
TEST_F(RequestRecordValidation, DoesNotTellTheAddressOfANamedContact) {
  crm_.contacts["003A"] = {"003A", "secret@example.com", "Kim", "Ray", "001K"};
  json body = good_with("Recipient_Contact", "003A");
  body.erase("Recipient_Email");
  EXPECT_THAT(findings_of(body), IsEmpty());
  EXPECT_EQ(validated(body)["data"]["recipients"][0]["email"], "");
  EXPECT_THAT(validate(body).body, Not(HasSubstr("secret")));
}

// covers: VALID-3
TEST_F(RequestRecordValidation, TheIdempotencyKeyIsIgnoredWithAWarningAndStaysFree) {
  http::HttpRequest asked = request(good());
  asked.headers.emplace("Idempotency-Key", "k1");
  const http::HttpResponse said = handler_.validate(asked, {}).wait();
  ASSERT_EQ(said.status, 200) << said.body;
  EXPECT_THAT(codes_of(tests::parse_json(said.body)["warnings"]), ElementsAre("idempotency_key_ignored"));
  asked.body = good_with("Message", "Another").dump();
  EXPECT_EQ(handler_.create(asked, {}).wait().status, 201);
}

// covers: VALID-2
TEST_F(RequestRecordValidation, AFaultIsTheSameToTheByteAtBothPaths) {
  const auto expect_same = [&](const http::HttpRequest& asked, int status) {
    const http::HttpResponse said = handler_.validate(asked, {}).wait();
    const http::HttpResponse done = handler_.create(asked, {}).wait();
    EXPECT_EQ(done.status, status) << done.body;
    EXPECT_EQ(said.status, status);
    EXPECT_EQ(said.body, done.body);
  };
  expect_same(request(json::object()), 400);
  expect_same(request(good_with("Message", json::array())), 400);
  expect_same(request(good_with("Auto_Approved", true)), 403);
  http::HttpRequest other = request(good());
  other.headers.emplace("Content-Type", "text/plain");
  expect_same(other, 415);
  settings_.enabled = false;
  expect_same(request(good()), 403);
  settings_.enabled = true;
  key_ = new_key({Scope::send});
  expect_same(request(good()), 403);
  EXPECT_THAT(crm_.rows, IsEmpty());
}

}  // namespace
}  // namespace giftsync::handlers
