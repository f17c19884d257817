// Sender lookup in store and CRM, on both back ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/store/store.h"
#include "sync/access/send_authorization.h"
#include "tests/crm/crm_conformance.h"

namespace giftsync::sync {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr UtcMillis kNow{1'795'264'267'000};

class SenderLookup : public crm::CrmConformance {
 protected:
  void SetUp() override {
    crm::CrmConformance::SetUp();
    if (IsSkipped()) return;
    store::migrate_store(address());
    store_ = std::make_unique<store::Store>(address());
    store::Credential token;
    token.hash = "abc";
    token.prefix = "got_live_abc";
    organization_ = *store_->organizations.create("Edge", token);
    store::Account account;
    account.email = "Ana@Example.com";
    account.organization = organization_;
    store_->accounts.create(account);
    sql("INSERT INTO crm_user (id, name, email, isactive) VALUES ('u1', 'Ana', ' ana@example.COM ', true), "
        "('u2', 'Old Ana', 'ana@example.com', false), ('u3', 'Bob', 'bob@example.com', true)");
    sql("INSERT INTO crm_permission_set_assignment (id, assigneeid, permissionsetname, isactive, "
        "expirationdate) VALUES ('p1', 'u1', 'Standard_User', true, NULL), ('p2', 'u3', 'Admin', NULL, "
        "'2026-11-21T12:31:06Z'), ('p3', 'u3', 'Sales', false, '2026-11-21T12:31:08.5Z')");
  }
  void TearDown() override {
    store_.reset();
    crm::CrmConformance::TearDown();
  }
  std::vector<SenderInfo> senders(const std::vector<SenderRef>& names,
                                  TokenStatus::State state = TokenStatus::State::active) {
    const auto port = crm();
    return find_senders(store_->accounts, port->directory(), {state, organization_, "Edge"}, names);
  }

  std::unique_ptr<store::Store> store_;
  OrganizationId organization_;
};

TEST_P(SenderLookup, FindsByIdAndByEmailInOrder) {
  const auto all =
      senders({{"u3", ""}, {"", "ANA@example.com"}, {"missing", ""}, {"", ""}, {"u2", "x@y.com"}});
  ASSERT_THAT(all, SizeIs(5));
  EXPECT_EQ(all[0].user->id, "u3");
  EXPECT_FALSE(all[0].account.has_value());
  ASSERT_THAT(*all[0].permission_sets, SizeIs(2));
  EXPECT_EQ(all[1].user->id, "u1") << "the active one of two with one address";
  ASSERT_TRUE(all[1].account.has_value());
  EXPECT_EQ(all[1].account->organization, organization_);
  EXPECT_THAT(missing_preconditions(all[1], kNow), IsEmpty());
  EXPECT_FALSE(all[2].user.has_value());
  EXPECT_FALSE(all[3].user.has_value());
  EXPECT_FALSE(all[4].user->active) << "an Id goes before an address";
  EXPECT_THAT(*all[4].permission_sets, IsEmpty());
}

TEST_P(SenderLookup, AssignmentExpiryHasMillisecondPrecision) {
  const auto assignments = *senders({{"u3", ""}})[0].permission_sets;
  const auto& admin = assignments[assignments[0].permission_set == "Admin" ? 0 : 1];
  const auto& sales = assignments[assignments[0].permission_set == "Admin" ? 1 : 0];
  EXPECT_TRUE(admin.active);
  EXPECT_EQ(admin.expires_at, kNow - 1000);
  EXPECT_FALSE(sales.active);
  EXPECT_EQ(sales.expires_at, kNow + 1500);
}

TEST_P(SenderLookup, UnreadableExpiryCountsAsExpired) {
  if (dialect() == sql::Dialect::postgresql) GTEST_SKIP() << "PostgreSQL takes times only";
  sql("UPDATE crm_permission_set_assignment SET expirationdate = 'next year' WHERE id = 'p1'");
  EXPECT_THAT(missing_preconditions(senders({{"u1", ""}})[0], kNow), SizeIs(1));
}

// REQ-52
TEST_P(SenderLookup, WithoutAnActiveTokenTheRestIsFoundAsWell) {
  const auto all = senders({{"u3", ""}}, TokenStatus::State::revoked);
  EXPECT_THAT(missing_preconditions(all[0], kNow), SizeIs(1)) << "callers read of the token only";
  EXPECT_GT(all_missing_preconditions(all[0], kNow).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(backends, SenderLookup, crm::managed_crms(), crm::name_of_crm);

}  // namespace
}  // namespace giftsync::sync
