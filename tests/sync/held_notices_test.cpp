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

// covers: GUARD-29
TEST_P(HeldNotices, AMailNamesWhoAskedForWhomAndWhyUnlessTheOrganizationIsNotSeen) {
  const OrganizationId edge = organization("Edge");
  store::Account rose;
  rose.email = "rose@example.com";
  rose.organization = edge;
  const AccountId account = *store_->accounts.create(rose);
  store::Credential key = make_credential(CredentialKind::api_key);
  key.account = account;
  key.name = "shop";
  key.id = store_->credentials.insert(key);
  add_approver("ben@example.com", edge);
  for (const std::size_t recipients : {1, 2}) {
    store::NewGiftRequest request = request_for(recipients);
    request.request.account = account;
    request.request.organization = edge;
    request.request.credential_prefix = key.prefix;
    request.recipients.front().email = "kim@example.org";
    request.hold_reasons = {{"rule", "", "The rule \"all\" holds it."},
                            {"recent_gift", "recipients[0].email", "Again."}};
    store_->gifts.create(std::span(&request, 1));
  }
  add_held_notices(*store_, false, kSentAt);
  ASSERT_TRUE(store_->credentials.pause(key, "leaked", kSentAt + 1));
  store_->approver_notices.queue_mails(kSentAt + 2);
  ASSERT_EQ(store_->deliveries.claim("a", 60'000, 10, kSentAt + 2).size(), 1u);
  const UserId ben = store_->console_users.find_by_email("ben@example.com")->id;
  auto mail = store_->approver_notices.take(ben, 1, "a");
  ASSERT_EQ(mail.notices.size(), 2u);
  for (const store::ApproverNotice& notice : mail.notices) {
    EXPECT_EQ(notice.asked_by, "rose@example.com (" + key.prefix + ", shop)");
    EXPECT_EQ(notice.reasons, "The rule \"all\" holds it. recipients[0].email: Again.");
    EXPECT_EQ(notice.paused_at, kSentAt + 1);
    EXPECT_EQ(notice.recipient, notice.item.starts_with("1 x ") ? "kim@example.org" : "");
  }
  ASSERT_TRUE(store_->credentials.release(key));
  EXPECT_EQ(store_->approver_notices.take(ben, 1, "").notices.front().paused_at, kSentAt + 1)
      << "a repeat of the mail is the same";
  sql("UPDATE console_user SET organization_id = " + std::to_string(organization("Other").value));
  mail = store_->approver_notices.take(ben, 1, "");
  EXPECT_TRUE(mail.notices.empty());
  EXPECT_TRUE(mail.is_obsolete);
}

}  // namespace
}  // namespace giftsync::sync
