// Which approvers are notified of held gift requests.
#include <gtest/gtest.h>

#include "sync/access/credential.h"
#include "sync/request/approver_notices.h"
#include "tests/support/store_fixture.h"

namespace giftsync::sync {
namespace {

class HeldNotices : public tests::StoreFixture {
 protected:
  OrganizationId organization(const std::string& name) {
    return *store_->organizations.create(name, make_credential(CredentialKind::organization_token));
  }
  void add_approver(const std::string& email, std::optional<OrganizationId> organization) {
    store::ConsoleUser made;
    made.email = email;
    made.organization = organization;
    made.roles = {{Role::approver, RoleOrigin::granted, "root", kSentAt}};
    ASSERT_TRUE(store_->console_users.create(made, {}).has_value());
  }
  void hold(std::size_t count, std::optional<OrganizationId> organization, AccountId account = {1}) {
    store::NewGiftRequest request = request_for(1);
    request.request.account = account;
    request.request.organization = organization;
    request.hold_reasons = {{"rule", "", "A rule."}};
    const std::vector<store::NewGiftRequest> requests(count, request);
    for (const store::CreateOutcome& outcome : store_->gifts.create(requests))
      ASSERT_EQ(outcome.kind, store::CreateOutcome::Kind::held);
  }
  std::string notices() { return scalar("SELECT cast(count(*) AS TEXT) FROM approver_notice"); }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, HeldNotices,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// covers: GUARD-29
TEST_P(HeldNotices, RequestsWithoutAnApproverHoldUpNoOthers) {
  const OrganizationId edge = organization("Edge");
  hold(600, organization("Other"));
  hold(1, edge);
  add_held_notices(*store_, false, kSentAt);
  EXPECT_EQ(notices(), "0") << "there is no approver";
  add_approver("ben@example.com", edge);
  add_held_notices(*store_, false, kSentAt);
  add_held_notices(*store_, false, kSentAt);
  EXPECT_EQ(notices(), "1");
}

// covers: GUARD-29
TEST_P(HeldNotices, NoOneIsNotifiedOfTheirOwnRequestUnlessTheyMayApproveIt) {
  store::Account ben;
  ben.email = "Ben@example.com";
  const AccountId account = *store_->accounts.create(ben);
  add_approver("ben@example.com", std::nullopt);
  hold(2, std::nullopt, account);
  add_held_notices(*store_, false, kSentAt);
  EXPECT_EQ(notices(), "0");
  add_held_notices(*store_, true, kSentAt);
  EXPECT_EQ(notices(), "2");
}

}  // namespace
}  // namespace giftsync::sync
