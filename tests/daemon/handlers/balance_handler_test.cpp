// GET /api/v1/balance with a real store.
#include "daemon/handlers/balance_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sync/access/credential.h"
#include "tests/support/api_key.h"
#include "tests/support/json.h"
#include "tests/support/temporary_store.h"

namespace giftsync::handlers {
namespace {

using nlohmann::json;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class BalanceHandlerTest : public ::testing::Test {
 protected:
  /// A key of a new account.
  std::string new_key(const std::string& address, Scope scope,
                      std::optional<OrganizationId> organization = {}) {
    store::Account account;
    account.email = address;
    account.name = address;
    account.organization = organization;
    account_ = *store_->accounts.create(account);
    if (organization) store_->accounts.set_organization(address, organization);
    return tests::make_api_key(*store_, account_, {scope});
  }
  /// Of the newest account, for 5.75 each.
  void request_gifts(sync::SendingBudgets& budgets, std::size_t count,
                     std::optional<OrganizationId> organization = {}) {
    store_->gifts.set_sending_charge(
        [&](const store::GiftRequest& request) { return budgets.charge_of(request); });
    store::NewGiftRequest request;
    request.request.account = account_;
    request.request.organization = organization;
    request.request.gift = {7};
    request.request.item_name = "Coffee";
    request.request.costs = {Money{500}, Money{0}, Money{25}, Money{50}};
    request.request.created_at = now_;
    for (std::size_t i = 0; i < count; ++i)
      request.recipients.push_back({"p" + std::to_string(i) + "@example.com", "", "", "Hi"});
    ASSERT_EQ(store_->gifts.create(std::span(&request, 1)).front().kind, store::CreateOutcome::Kind::created);
  }
  http::HttpResponse call(sync::SendingBudgets& budgets, const std::string& key) {
    BalanceHandler handler(budgets, store_->sending_usage, authenticator_);
    http::HttpRequest request;
    request.method = "GET";
    request.headers.emplace("Authorization", key);
    return handler.read(request, {}).wait();
  }
  json budgets_for(sync::SendingBudgets& budgets, const std::string& key) {
    const http::HttpResponse response = call(budgets, key);
    EXPECT_EQ(response.status, 200) << response.body;
    return tests::parse_json(response.body)["data"]["budgets"];
  }

  tests::TemporaryStore store_;
  UtcMillis now_{1'795'264'267'000};  // 2026-11-21T12:31:07Z
  const Clock clock_ = [this] { return now_; };
  http::Authenticator authenticator_{store_->credentials, clock_, 0};
  AccountId account_;
};

// HTTP-60
TEST_F(BalanceHandlerTest, TheCurrencyIsNamedOnceWhereOneIsSet) {
  const std::string key = new_key("ana@example.com", Scope::read);
  sync::SendingBudgets budgets(store_->sending_usage, {}, clock_, clock_);
  BalanceHandler handler(budgets, store_->sending_usage, authenticator_, "EUR");
  http::HttpRequest request;
  request.method = "GET";
  request.headers.emplace("Authorization", key);
  EXPECT_EQ(handler.read(request, {}).wait().body, R"({"data":{"budgets":[],"currency":"EUR"}})");
  EXPECT_EQ(call(budgets, key).body, R"({"data":{"budgets":[]}})");
}

// HTTP-53
TEST_F(BalanceHandlerTest, WithoutABudgetTheListIsEmpty) {
  const std::string key = new_key("ana@example.com", Scope::read);
  sync::SendingBudgets budgets(store_->sending_usage, {}, clock_, clock_);
  EXPECT_THAT(budgets_for(budgets, key), IsEmpty());
}

// HTTP-53
TEST_F(BalanceHandlerTest, TheAccountsBudgetHasLimitUseAndWhatIsLeft) {
  const std::string other = new_key("kim@example.com", Scope::read);
  const std::string key = new_key("ana@example.com", Scope::read);
  sync::SendingBudgetRules rules;
  rules.account.month = {100, Money{50'000}};
  rules.account.day = {std::nullopt, Money{1'000}};
  sync::SendingBudgets budgets(store_->sending_usage, rules, clock_, clock_);
  request_gifts(budgets, 1);
  const json found = budgets_for(budgets, key);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[1], tests::parse_json(R"({"scope": "account", "period": "2026-11", "limit_gifts": 100,
      "used_gifts": 1, "left_gifts": 99, "limit_amount": "500.00", "used_amount": "5.75",
      "left_amount": "494.25", "resets_at": "2026-12-01T00:00:00.000Z"})"));
  EXPECT_EQ(found[0]["period"], "2026-11-21");
  EXPECT_EQ(found[0]["limit_gifts"], nullptr);
  EXPECT_EQ(found[0]["left_gifts"], nullptr);
  EXPECT_EQ(found[0]["left_amount"], "4.25");
  EXPECT_EQ(found[0]["resets_at"], "2026-11-22T00:00:00.000Z");
  EXPECT_EQ(budgets_for(budgets, other)[1]["used_gifts"], 0) << "each account has its own";
}

// HTTP-53
TEST_F(BalanceHandlerTest, OfSharedBudgetsOnlyWhatIsLeftIsRead) {
  const sync::NewCredential token = sync::make_credential(CredentialKind::organization_token);
  const OrganizationId organization = *store_->organizations.create("Edge", token);
  const std::string key = new_key("ana@example.com", Scope::read, organization);
  sync::SendingBudgetRules rules;
  rules.organization.month.gifts = 10;
  rules.installation.month.amount = Money{1'000};
  sync::SendingBudgets budgets(store_->sending_usage, rules, clock_, clock_);
  request_gifts(budgets, 1, organization);
  EXPECT_EQ(budgets_for(budgets, key), tests::parse_json(R"([
      {"scope": "organization", "period": "2026-11", "left_gifts": 9, "left_amount": null,
       "resets_at": "2026-12-01T00:00:00.000Z"},
      {"scope": "installation", "period": "2026-11", "left_gifts": null, "left_amount": "4.25",
       "resets_at": "2026-12-01T00:00:00.000Z"}])"));
}

// HTTP-53
TEST_F(BalanceHandlerTest, NeedsAKeyWithTheScopeRead) {
  sync::SendingBudgets budgets(store_->sending_usage, {}, clock_, clock_);
  EXPECT_EQ(call(budgets, new_key("ana@example.com", Scope::send)).status, 403);
  EXPECT_EQ(call(budgets, "gsk_live_unknown").status, 401);
}

}  // namespace
}  // namespace giftsync::handlers
