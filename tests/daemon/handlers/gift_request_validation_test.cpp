// Validating a gift request: what it says is what the real call then does, and it writes nothing.
#include "daemon/handlers/gift_request_validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "daemon/group_commit_writer.h"
#include "daemon/handlers/gift_request_handler.h"
#include "sync/access/sending_budgets.h"
#include "tests/support/api_key.h"
#include "tests/support/in_memory_crm.h"
#include "tests/support/json.h"
#include "tests/support/random_changes.h"
#include "tests/support/row_counts.h"
#include "tests/support/temporary_store.h"

namespace giftsync::handlers {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

/// A CRM that counts its calls, and whose spare ones can be used up.
class CountedCrm : public tests::InMemoryCrm {
 public:
  std::optional<crm::CrmUsage> usage() const override { return crm::CrmUsage{}; }
  void require_spare_calls() override {
    if (is_used_up) throw DependencyPause({0}, "kept for gifts");
  }
  bool is_used_up = false;
};

class GiftRequestValidation : public ::testing::Test {
 protected:
  GiftRequestValidation() {
    std::array<store::GiftItem, 2> items;
    items[0].id = {7};
    items[0].name = "Coffee";
    items[0].costs = {Money{500}, std::nullopt, Money{10}, Money{35}};
    items[1].id = {8};
    items[1].name = "Mug";
    items[1].active = false;
    store_->catalogue.import(items);
    store::Account account;
    account.email = "ana@example.com";
    account.name = "Ana";
    account_ = *store_->accounts.create(account);
    key_ = new_key({Scope::send});
    send_only_to({});
  }

  std::string new_key(const std::set<Scope>& scopes) {
    return tests::make_api_key(*store_, account_, scopes);
  }
  /// The endpoints with these allowed domains.
  void send_only_to(std::vector<std::string> domains, bool refuses_placeholders = true,
                    crm::Crm* crm = nullptr) {
    handler_.reset();
    policy_ = std::make_unique<sync::SendingPolicy>(store_->do_not_send, std::move(domains), clock_);
    GiftRequestHandlerOptions options{{}, 1 << 20, clock_};
    options.limits.refuse_placeholders = refuses_placeholders;
    options.crm = crm;
    options.approval_rules = approval_rules_;
    handler_ =
        std::make_unique<GiftRequestHandler>(*store_, writer_, *authenticator_, links_, *policy_, options,
                                             [this](const auto&, const auto&) { ++created_; });
  }
  void limit_by(const sync::SendingBudgetRules& rules) {
    budgets_ = std::make_unique<sync::SendingBudgets>(store_->sending_usage, rules, clock_, clock_);
    budgets_->start();
    store_->gifts.set_sending_charge(
        [this](const store::GiftRequest& request) { return budgets_->charge_of(request); });
  }
  void list(const std::string& pattern, DoNotSendReason reason = DoNotSendReason::opted_out) {
    const store::DoNotSendEntry entry{pattern, reason, "", {}, {}, "recipient", {}};
    store_->do_not_send.add(std::span(&entry, 1), {});
    now_ = now_ + kMinuteMillis;  // the policy reads the list again
  }

  static json recipient(const std::string& email, const std::string& message = "Hi") {
    return {{"email", email}, {"message", message}, {"gift_redeem_type", "email"}};
  }
  static json body(std::vector<json> recipients) {
    return {{"gift_id", 7}, {"recipients", std::move(recipients)}};
  }
  http::HttpRequest request(const std::string& text) const {
    http::HttpRequest request;
    request.method = "POST";
    request.body = text;
    request.headers.emplace("Authorization", key_);
    return request;
  }
  http::HttpResponse create(const http::HttpRequest& request, SendMode mode = SendMode::email) {
    return (mode == SendMode::email ? handler_->send_by_email(request, {})
                                    : handler_->create_urls(request, {}))
        .wait();
  }
  http::HttpResponse validate(const http::HttpRequest& request, SendMode mode = SendMode::email) {
    return (mode == SendMode::email ? handler_->validate_by_email(request, {})
                                    : handler_->validate_urls(request, {}))
        .wait();
  }
  json validated(const http::HttpRequest& request) {
    const http::HttpResponse response = validate(request);
    EXPECT_EQ(response.status, 200) << response.body;
    return tests::parse_json(response.body);
  }
  json validated(const json& asked) { return validated(request(asked.dump())); }

  /// "field code" of each.
  static std::vector<std::string> codes_of(const json& issues) {
    std::vector<std::string> codes;
    for (const json& issue : issues)
      codes.push_back(issue["field"].get<std::string>() + " " + issue["code"].get<std::string>());
    return codes;
  }
  /// The findings or warnings of all recipients.
  static json of_all(const json& answer, const char* member) {
    json all = json::array();
    for (const json& one : answer["data"]["recipients"])
      for (const json& issue : one[member]) all.push_back(issue);
    return all;
  }
  void expect_same_outcome(const http::HttpResponse& said, const http::HttpResponse& done);
  std::string random_body(std::mt19937& random, SendMode mode);

  tests::TemporaryStore store_;
  UtcMillis now_{1'795'264'267'000};
  const Clock clock_ = [this] { return now_; };
  const sync::LinkSigner signer_{std::string(32, 's')};
  const sync::GiftLinks links_{"http://127.0.0.1", signer_};
  daemon::GroupCommitWriter writer_{store_->urgent_writes};
  std::unique_ptr<http::Authenticator> authenticator_ =
      std::make_unique<http::Authenticator>(store_->credentials, clock_, 0);
  AccountId account_;
  std::string key_;
  int created_ = 0;
  std::unique_ptr<sync::SendingPolicy> policy_;
  std::unique_ptr<sync::SendingBudgets> budgets_;
  std::vector<sync::ApprovalRule> approval_rules_;
  std::unique_ptr<GiftRequestHandler> handler_;
};

// covers: VALID-1
// covers: VALID-2
TEST_F(GiftRequestValidation, SaysWhatEachRecipientWouldGetAndThePriceAndCreatesNothing) {
  list("rose@example.com");
  tests::RowCounts rows(store_.address());
  const std::string before = rows.now();
  const json answer = validated(body({recipient("kim@example.com"), recipient("Rose@example.com")}));
  EXPECT_EQ(answer["message"], "Valid. Nothing was created.");
  const json& data = answer["data"];
  EXPECT_EQ(data["verdict"], "refuse");
  EXPECT_EQ(data["price"], tests::parse_json(R"({"gifts": 2, "item_cost": "10.00", "shipping_cost": null,
                                           "carbon_neutral_cost": "0.20", "transaction_fee": "0.70",
                                           "total": "10.90"})"));
  ASSERT_EQ(data["recipients"].size(), 2u);
  EXPECT_EQ(data["recipients"][0], tests::parse_json(R"({"field": "recipients[0]", "email": "kim@example.com",
                                                   "verdict": "send", "findings": [], "warnings": []})"));
  EXPECT_EQ(data["recipients"][1]["field"], "recipients[1]");
  EXPECT_EQ(data["recipients"][1]["email"], "Rose@example.com");
  EXPECT_EQ(data["recipients"][1]["verdict"], "refuse");
  EXPECT_THAT(codes_of(data["recipients"][1]["findings"]), ElementsAre("recipients[1].email do_not_send"));
  EXPECT_THAT(answer["warnings"], IsEmpty());
  EXPECT_EQ(validated(body({recipient("kim@example.com")}))["data"]["verdict"], "send");
  EXPECT_EQ(rows.now(), before);
  EXPECT_EQ(created_, 0);
}

// covers: VALID-1
// covers: GUARD-19
TEST_F(GiftRequestValidation, SaysWhoGotManyGiftsLately) {
  const json asked = body({recipient("rose@example.com"), recipient("kim@example.com")});
  create(request(body({recipient("kim@example.com")}).dump()));
  store_->gifts.set_frequency_rule({.gifts = 1, .days = 30});
  const json refused = validated(asked);
  EXPECT_EQ(refused["data"]["verdict"], "refuse");
  EXPECT_THAT(codes_of(of_all(refused, "findings")), ElementsAre("recipients[1].email recent_gift"));
  EXPECT_EQ(create(request(asked.dump())).status, 403);
  store_->gifts.set_frequency_rule({.gifts = 1, .days = 30, .refuses = false});
  const json warned = validated(asked);
  EXPECT_EQ(warned["data"]["verdict"], "send");
  EXPECT_THAT(of_all(warned, "findings"), IsEmpty());
  EXPECT_THAT(codes_of(of_all(warned, "warnings")), ::testing::Contains("recipients[1].email recent_gift"));
  store_->gifts.set_frequency_rule({.gifts = 1, .days = 30, .holds = true});
  store_->gifts.set_hold_terms({kDayMillis, sync::limit_reasons});
  const json held = validated(asked);
  EXPECT_EQ(held["data"]["verdict"], "hold");
  EXPECT_THAT(codes_of(held["data"]["reasons"]), ElementsAre("recipients[1].email recent_gift"));
  EXPECT_THAT(of_all(held, "findings"), IsEmpty());
  EXPECT_EQ(create(request(asked.dump())).status, 202);
}

// covers: VALID-1
// covers: GUARD-12
TEST_F(GiftRequestValidation, SaysWhichBudgetsTheCallWouldCountInAndWhetherItFits) {
  sync::SendingBudgetRules rules;
  rules.account.month = {3, std::nullopt};
  rules.installation.day = {std::nullopt, Money{2'000}};
  limit_by(rules);
  ASSERT_EQ(create(request(body({recipient("kim@example.com"), recipient("lee@example.com")}).dump())).status,
            201);
  tests::RowCounts rows(store_.address());
  const std::string before = rows.now();
  const json fits = validated(body({recipient("rose@example.com")}))["data"];
  EXPECT_EQ(fits["verdict"], "send");
  EXPECT_THAT(fits["findings"], IsEmpty());
  ASSERT_EQ(fits["budgets"].size(), 2u);
  EXPECT_EQ(fits["budgets"][0]["scope"], "account");
  EXPECT_EQ(fits["budgets"][0]["left_gifts"], 1);
  EXPECT_EQ(fits["budgets"][0]["fits"], true);
  EXPECT_FALSE(fits["budgets"][1].contains("used_amount")) << "the installation's";

  const json asked = body({recipient("rose@example.com"), recipient("max@example.com")});
  const json refused = validated(asked);
  EXPECT_EQ(refused["data"]["verdict"], "refuse");
  EXPECT_THAT(codes_of(refused["data"]["findings"]), ElementsAre(" budget_exceeded", " budget_exceeded"));
  EXPECT_EQ(refused["data"]["budgets"][0]["fits"], false);
  EXPECT_EQ(refused["data"]["recipients"][0]["verdict"], "send") << "it is not the recipients' fault";
  EXPECT_EQ(rows.now(), before);
  const json real = tests::parse_json(create(request(asked.dump())).body);
  EXPECT_EQ(refused["data"]["findings"], real["errors"]);
}

// covers: VALID-1
// covers: GUARD-15
TEST_F(GiftRequestValidation, SaysThatABurstWouldPauseTheKeyAndPausesNothing) {
  sync::SendingBudgetRules rules;
  rules.burst_gifts = 1;
  limit_by(rules);
  const json asked = body({recipient("kim@example.com"), recipient("lee@example.com")});
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(codes_of(validated(asked)["data"]["findings"]), ElementsAre(" key_paused"));
  EXPECT_EQ(create(request(asked.dump())).status, 403);
  EXPECT_FALSE(store_->credentials.list(CredentialKind::api_key).front().paused_at == std::nullopt);
}

// covers: VALID-2
TEST_F(GiftRequestValidation, SaysWhatHoldsTheCallAndThatABurstPausesAllTheSame) {
  store_->gifts.set_hold_terms({kDayMillis, sync::limit_reasons});
  sync::SendingBudgetRules rules;
  rules.account.month = {1, std::nullopt};
  rules.budgets_hold = true;
  limit_by(rules);
  const json asked = body({recipient("kim@example.com"), recipient("lee@example.com")});
  const json held = validated(asked)["data"];
  EXPECT_EQ(held["verdict"], "hold");
  EXPECT_THAT(codes_of(held["reasons"]), ElementsAre(" budget_exceeded"));
  EXPECT_THAT(held["findings"], IsEmpty());
  EXPECT_EQ(create(request(asked.dump())).status, 202);
  approval_rules_ = {{.name = "several", .recipients_above = 1}};
  send_only_to({});
  EXPECT_THAT(codes_of(validated(asked)["data"]["reasons"]), ElementsAre(" recipients_above"))
      << "budgets are not looked at";
  rules.burst_gifts = 1;
  limit_by(rules);
  const json paused = validated(asked)["data"];
  EXPECT_EQ(paused["verdict"], "refuse");
  EXPECT_THAT(codes_of(paused["findings"]), ElementsAre(" key_paused"));
  EXPECT_EQ(create(request(asked.dump())).status, 403);
}

// covers: VALID-1
TEST_F(GiftRequestValidation, SaysWhichDomainsAreNotAllowed) {
  send_only_to({"example.com"});
  const json answer = validated(body({recipient("kim@example.com"), recipient("kim@example.org")}));
  EXPECT_EQ(answer["data"]["verdict"], "refuse");
  EXPECT_THAT(codes_of(of_all(answer, "findings")), ElementsAre("recipients[1].email recipient_not_allowed"));
}

// covers: VALID-3
TEST_F(GiftRequestValidation, TheIdempotencyKeyIsIgnoredWithAWarningAndStaysFree) {
  http::HttpRequest asked = request(body({recipient("kim@example.com")}).dump());
  asked.headers.emplace("Idempotency-Key", "k1");
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(codes_of(validated(asked)["warnings"]), ElementsAre(" idempotency_key_ignored"));
  http::HttpRequest other = asked;
  other.body = body({recipient("lee@example.com")}).dump();
  EXPECT_EQ(create(other).status, 201) << "the key had no body";
  EXPECT_EQ(validated(asked)["data"]["verdict"], "send") << "no 422: the key is not looked at";
}

// covers: VALID-1
TEST_F(GiftRequestValidation, RepeatsTheWarningsOfTheRealCallAndRemembersNothing) {
  send_only_to({}, false);
  json asked = body({recipient("kim@example.com", "Dear {{name}}"), recipient("KIM@example.com")});
  asked["colour"] = "red";
  for (int i = 0; i < 2; ++i) {
    const json answer = validated(asked);
    EXPECT_THAT(codes_of(answer["data"]["recipients"][0]["warnings"]),
                ElementsAre("recipients[0].message placeholder"));
    EXPECT_THAT(codes_of(answer["data"]["recipients"][1]["warnings"]),
                ElementsAre("recipients[1].email duplicate_email"));
    EXPECT_THAT(codes_of(answer["warnings"]), ElementsAre("colour unknown_member"));
  }
  const http::HttpResponse made = create(request(asked.dump()));
  ASSERT_EQ(made.status, 201);
  EXPECT_THAT(codes_of(tests::parse_json(made.body)["warnings"]),
              ElementsAre("recipients[0].message placeholder", "recipients[1].email duplicate_email",
                          "colour unknown_member"))
      << "no possible_duplicate: validating was not remembered";
  now_ = now_ + 12'000;
  const json again = validated(asked)["data"]["recipients"][0]["warnings"];
  ASSERT_THAT(codes_of(again),
              ElementsAre("recipients[0].message placeholder", "recipients[0].email possible_duplicate"));
  EXPECT_THAT(again[1]["message"].get<std::string>(), HasSubstr("12 s ago; this one would be made too"));
}

// covers: VALID-2
TEST_F(GiftRequestValidation, AFaultIsTheSameToTheByteAtBothPaths) {
  const std::string good = body({recipient("kim@example.com")}).dump();
  std::vector<http::HttpRequest> faulty;
  for (const std::string& text : {std::string(), std::string("{"), std::string("[]"), std::string("{}"),
                                  body({recipient("no-at-sign"), recipient("a@b.c", " ")}).dump(),
                                  body({recipient("kim@example.com", "Dear {{name}}")}).dump(),
                                  std::string(R"({"gift_id": 8, "recipients": [{"email": "a@example.com",)"
                                              R"( "message": "Hi", "gift_redeem_type": "email"}]})")})
    faulty.push_back(request(text));
  faulty.push_back(request(good));
  faulty.back().body_too_large = true;
  faulty.push_back(request(good));
  faulty.back().headers.emplace("Content-Type", "text/plain");
  faulty.push_back(request(good));
  faulty.back().headers.emplace("Content-Encoding", "gzip");
  faulty.push_back(request(good));
  faulty.back().headers.emplace("Idempotency-Key", "\x01");
  for (const std::string& key : {std::string("no key"), new_key({Scope::read})}) {
    faulty.push_back(request(good));
    faulty.back().headers.clear();
    faulty.back().headers.emplace("Authorization", key);
  }
  faulty.push_back(request(good));
  faulty.back().headers.clear();
  for (const SendMode mode : {SendMode::email, SendMode::urls}) {
    for (const http::HttpRequest& one : faulty) {
      const http::HttpResponse done = create(one, mode);
      const http::HttpResponse said = validate(one, mode);
      EXPECT_GE(done.status, 400) << one.body;
      EXPECT_EQ(said.status, done.status) << one.body;
      EXPECT_EQ(said.body, done.body);
      EXPECT_EQ(said.headers, done.headers);
    }
  }
  for (const store::Credential& key : store_->credentials.list(CredentialKind::api_key))
    ASSERT_TRUE(store_->credentials.pause(key, "wrong campaign", now_));
  now_ = now_ + kMinuteMillis;
  EXPECT_EQ(validate(request(good)).status, 403);
  EXPECT_EQ(validate(request(good)).body, create(request(good)).body);
  EXPECT_EQ(created_, 0);
}

// covers: VALID-3
TEST_F(GiftRequestValidation, CountsInTheRateLimit) {
  handler_.reset();
  authenticator_ = std::make_unique<http::Authenticator>(store_->credentials, clock_, 2);
  send_only_to({});
  const http::HttpRequest asked = request(body({recipient("kim@example.com")}).dump());
  EXPECT_EQ(validate(asked).status, 200);
  EXPECT_EQ(create(asked).status, 201);
  EXPECT_EQ(validate(asked).status, 429);
  EXPECT_EQ(create(asked).status, 429);
}

// covers: VALID-4
TEST_F(GiftRequestValidation, SaysToWhomTheGiftsWouldBeMatched) {
  tests::InMemoryCrm crm;
  crm::Candidate kim;
  kim.id = "003A";
  kim.name = "Kim Secret";
  kim.account_id = "001A";
  kim.matched_field = "Email";
  crm.contacts_by_email["kim@example.com"] = kim;
  crm::Candidate lee;
  lee.id = "00QA";
  crm.leads_by_email["lee@example.com"] = lee;
  send_only_to({}, true, &crm);
  const json answer = validated(
      body({recipient("Kim@example.com"), recipient("lee@example.com"), recipient("rose@example.com")}));
  const json& all = answer["data"]["recipients"];
  EXPECT_EQ(all[0]["match"],
            tests::parse_json(R"({"kind": "contact", "contact_id": "003A", "account_id": "001A",
                                             "lead_id": null, "opportunity_id": null})"));
  EXPECT_EQ(all[1]["match"]["kind"], "lead");
  EXPECT_EQ(all[1]["match"]["lead_id"], "00QA");
  EXPECT_EQ(all[2]["match"]["kind"], "none");
  EXPECT_FALSE(answer["data"].contains("match_missing"));
  EXPECT_EQ(answer.dump().find("Secret"), std::string::npos) << "no name of a candidate";

  std::vector<json> many;
  for (int i = 0; i < 51; ++i) many.push_back(recipient("p" + std::to_string(i) + "@example.com"));
  crm.candidate_calls = 0;
  const json of_many = validated(body(many))["data"];
  EXPECT_LE(crm.candidate_calls, 2) << "one lookup of contacts, one of leads";
  EXPECT_TRUE(of_many["recipients"][49].contains("match"));
  EXPECT_FALSE(of_many["recipients"][50].contains("match"));
  EXPECT_EQ(of_many["match_missing"], "Only the first 50 recipients are matched.");

  crm.down = true;
  const json without = validated(body({recipient("kim@example.com")}))["data"];
  EXPECT_EQ(without["verdict"], "send") << "gifts are taken without the CRM";
  EXPECT_EQ(without["match_missing"], "The CRM does not respond now.");
}

// covers: VALID-4
TEST_F(GiftRequestValidation, ACrmThatCountsItsCallsIsAskedOnRequestAlone) {
  CountedCrm crm;
  send_only_to({}, true, &crm);
  http::HttpRequest asked = request(body({recipient("kim@example.com")}).dump());
  EXPECT_THAT(validated(asked)["data"]["match_missing"].get<std::string>(), HasSubstr("?match=true"));
  EXPECT_EQ(crm.candidate_calls, 0);
  asked.query = "match=true";
  EXPECT_EQ(validated(asked)["data"]["recipients"][0]["match"]["kind"], "none");
  const int calls = crm.candidate_calls;
  EXPECT_GT(calls, 0);
  crm.is_used_up = true;
  EXPECT_THAT(validated(asked)["data"]["match_missing"].get<std::string>(), HasSubstr("kept for gifts"));
  EXPECT_EQ(crm.candidate_calls, calls);
}

TEST_F(GiftRequestValidation, APriceBeyondWhatAnAmountHoldsIsNull) {
  store::GiftItem item;
  item.id = {9};
  item.name = "Island";
  item.costs = {kMaxMoney, std::nullopt, Money{0}, Money{0}};
  store_->catalogue.import(std::span(&item, 1));
  std::vector<json> many;
  for (int i = 0; i < 1000; ++i) many.push_back(recipient("p" + std::to_string(i) + "@example.com"));
  json asked = body(many);
  asked["gift_id"] = 9;
  const json price = validated(asked)["data"]["price"];
  EXPECT_EQ(price["gifts"], 1000);
  EXPECT_TRUE(price["total"].is_null());
  EXPECT_EQ(price["transaction_fee"], "0.00");
}

void GiftRequestValidation::expect_same_outcome(const http::HttpResponse& said,
                                                const http::HttpResponse& done) {
  if (done.status == 400) {
    EXPECT_EQ(said.status, 400);
    EXPECT_EQ(said.body, done.body);
    return;
  }
  ASSERT_EQ(said.status, 200) << said.body;
  const json answer = tests::parse_json(said.body);
  const json real = tests::parse_json(done.body);
  if (done.status == 403) {
    EXPECT_EQ(answer["data"]["verdict"], "refuse");
    // The real call looks at budgets once no recipient is refused.
    const json of_recipients = of_all(answer, "findings");
    EXPECT_EQ(of_recipients.empty() ? answer["data"]["findings"] : of_recipients, real["errors"]);
    return;
  }
  ASSERT_LT(done.status, 300) << done.body;
  EXPECT_EQ(answer["data"]["verdict"], "send");
  EXPECT_THAT(of_all(answer, "findings"), IsEmpty());
  EXPECT_THAT(answer["data"]["findings"], IsEmpty());
  std::vector<std::string> warnings = codes_of(of_all(answer, "warnings"));
  for (std::string& code : codes_of(answer["warnings"])) warnings.push_back(std::move(code));
  EXPECT_THAT(warnings, UnorderedElementsAreArray(codes_of(real["warnings"])));
  EXPECT_EQ(answer["data"]["recipients"].size(), real["data"]["recipients"].size());
}

/// Most are valid.
std::string GiftRequestValidation::random_body(std::mt19937& random, SendMode mode) {
  const auto is_rare = [&] { return random() % 12 == 0; };
  const auto one_of = [&](std::initializer_list<const char*> texts) {
    return std::string(*(texts.begin() + random() % texts.size()));
  };
  std::vector<json> recipients;
  for (std::size_t count = 1 + random() % 4; count > 0; --count) {
    const std::string email = one_of({"ana", "kim", "Rose"}) + "@" +
                              one_of({"example.com", "sales.example.com", "rival.example", "agency.gov"});
    json one = recipient(is_rare() ? "no-at-sign" : email,
                         is_rare() ? "Dear {{name}}" : one_of({"Hi", "Thank you"}));
    if (mode == SendMode::urls) one.erase("gift_redeem_type");
    if (is_rare()) one["unheard"] = 1;
    if (is_rare() && is_rare()) one.erase("message");
    recipients.push_back(std::move(one));
  }
  json asked = body(std::move(recipients));
  if (is_rare()) asked["gift_id"] = 8;
  if (is_rare()) asked["gift_id"] = "7";
  if (is_rare()) asked["utm_campaign_id"] = "spring";
  std::string text = asked.dump();
  if (is_rare() && is_rare()) text.pop_back();
  return text;
}

// covers: VALID-1
// covers: VALID-2
TEST_F(GiftRequestValidation, TheVerdictIsWhatTheRealCallThenDoes) {
  constexpr int kPolicies = 20;
  constexpr int kBodies = 25;
  tests::RowCounts rows(store_.address());
  std::mt19937 random(tests::seed());
  std::array<int, 3> outcomes{};  // created, refused by the policy, faulty
  for (int round = 0; round < kPolicies; ++round) {
    SCOPED_TRACE(tests::seed_info(round));
    const std::vector<std::vector<std::string>> domains{{}, {}, {"example.com"}, {"*.example.com", "gov"}};
    send_only_to(domains[random() % domains.size()], random() % 2 == 0);
    for (const char* pattern : {"ana@example.com", "sales.example.com", "rival.example", "*.gov"}) {
      if (random() % 4 == 0) list(pattern, DoNotSendReason::blocked);
      if (random() % 4 == 0) store_->do_not_send.remove(pattern, DoNotSendReason::blocked, {});
    }
    sync::SendingBudgetRules rules;
    if (random() % 2 == 0) rules.account.month.gifts = 40 * (round + 1);
    if (random() % 2 == 0) rules.installation.month.amount = Money{22'000 * (round + 1)};
    limit_by(rules);
    now_ = now_ + kMinuteMillis;
    for (int i = 0; i < kBodies; ++i) {
      const SendMode mode = random() % 2 ? SendMode::email : SendMode::urls;
      const http::HttpRequest asked = request(random_body(random, mode));
      const std::string before = rows.now();
      const int created = created_;
      const http::HttpResponse said = validate(asked, mode);
      EXPECT_EQ(rows.now(), before);
      EXPECT_EQ(created_, created);
      const http::HttpResponse done = create(asked, mode);
      expect_same_outcome(said, done);
      if (HasFailure()) FAIL() << asked.body << "\nsaid " << said.body << "\ndone " << done.body;
      ++outcomes[done.status < 300 ? 0 : done.status == 403 ? 1 : 2];
    }
  }
  for (const int count : outcomes) EXPECT_GT(count, 10) << "each outcome is tried";
}

}  // namespace
}  // namespace giftsync::handlers
