// What admins are mailed of budgets and bursts: one notice for each admin who sees the scope, in the mail
// that approvers get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "schema/store/gift/sending_usage.h"
#include "schema/store/mail/notices.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr const char* kPrefix = "gsk_live_abc";
constexpr const char* kTestPrefix = "gsk_test_abc";

class AdminNotices : public tests::StoreFixture {
 protected:
  static constexpr UtcMillis kNow = kSentAt;

  UserId user(const std::string& email, std::set<Role> roles,
              std::optional<OrganizationId> organization = {}) {
    ConsoleUser made;
    made.email = email;
    made.organization = organization;
    for (const Role role : roles) made.roles.push_back({role, RoleOrigin::granted, "root", kNow});
    return store_->console_users.create(made, {}).value();
  }
  OrganizationId organization(const std::string& name, const std::string& prefix) {
    Credential token;
    token.kind = CredentialKind::organization_token;
    token.prefix = prefix;
    token.hash = prefix;
    return store_->organizations.create(name, token).value();
  }
  AccountId account(const std::string& email, std::optional<OrganizationId> organization = {}) {
    Account made;
    made.email = email;
    made.organization = organization;
    return store_->accounts.create(made).value();
  }
  /// Its use has reached so many percent; 80 of `limit` gifts are used. `warned`: the percent that was
  /// reported before with the same use, as the daemon has read it.
  bool reach(const std::string& scope, BudgetKind kind, std::int64_t percent, std::string period = "2027-01",
             std::int64_t warned = 0, std::int64_t limit = 100) {
    const UsageLimit budget{std::move(period), scope, kind, {limit, Money{50'000}}, kNow, kNow + kDayMillis};
    sql("INSERT INTO sending_usage (id, gifts, amount) VALUES ('" + budget.period + " " + budget.scope +
        "', 80, 40250) ON CONFLICT DO NOTHING");
    Usage used{80, Money{40'250}, warned};
    if (warned > 0) used.warned_gifts = used.gifts;
    if (warned > 0) used.warned_amount = used.amount;
    return store_->sending_usage.mark_warned(budget, used, percent, kNow);
  }
  /// Lets a request pass what the key or token may request in ten minutes.
  void burst(UtcMillis at = kNow, const std::string& prefix = kPrefix) {
    store_->gifts.set_sending_charge([prefix](const GiftRequest&) {
      const UtcMillis begins{kNow.value / 600'000 * 600'000};
      return SendingCharge{"", {{"burst:1:10", prefix, std::nullopt, {1, {}}, begins, begins + 600'000}}};
    });
    NewGiftRequest request = request_for(2);
    request.request.created_at = at;
    request.request.is_test = is_test_key(prefix);
    EXPECT_EQ(store_->gifts.create(std::span(&request, 1)).front().kind, CreateOutcome::Kind::refused);
  }
  void insert_key(AccountId account, const std::string& prefix = kPrefix) {
    Credential key;
    key.account = account;
    key.name = "shop";
    key.prefix = prefix;
    key.hash = prefix;
    store_->credentials.insert(key);
  }
  std::string count() { return scalar("SELECT cast(count(*) AS TEXT) FROM admin_notice"); }
  /// The addresses of the mails that are due.
  std::vector<std::string> queue(UtcMillis now = kNow) {
    store_->approver_notices.queue_mails(now);
    std::vector<std::string> emails;
    for (const DeliveryClaim& claim : store_->deliveries.claim("a", 60'000, 10, now))
      emails.push_back(mail_of({-claim.transaction.value}, claim.number, "a").email);
    return emails;
  }
  ApproverMail mail_of(UserId user, std::int64_t number = 1, const std::string& claimed_by = "") {
    return store_->approver_notices.take(user, number, claimed_by);
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, AdminNotices,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// covers: GUARD-31
TEST_P(AdminNotices, EachAdminWhoSeesTheScopeGetsOneForAThresholdAndPeriod) {
  const OrganizationId acme = organization("Acme", "got_live_a");
  const OrganizationId edge = organization("Edge", "got_live_e");
  const UserId ana = user("ana@example.com", {Role::admin});
  user("of.acme@example.com", {Role::admin}, acme);
  user("of.edge@example.com", {Role::admin}, edge);
  user("ben@example.com", {Role::approver, Role::operations});
  store_->console_users.set_active(user("gone@example.com", {Role::admin}), false, {});
  const std::string scope = usage_scope(BudgetKind::account, account("rose@example.com", acme).value);
  EXPECT_TRUE(reach(scope, BudgetKind::account, 80));
  EXPECT_FALSE(reach(scope, BudgetKind::account, 80)) << "another daemon has reported it";
  EXPECT_EQ(count(), "2");
  EXPECT_TRUE(reach(scope, BudgetKind::account, 100, "2027-01", 80));
  EXPECT_TRUE(reach(scope, BudgetKind::account, 80, "2027-02"));
  EXPECT_EQ(count(), "6");
  EXPECT_TRUE(reach("all", BudgetKind::installation, 80));
  EXPECT_EQ(count(), "7") << "admins of an organization do not see it";
  EXPECT_TRUE(reach(usage_scope(BudgetKind::organization, edge.value), BudgetKind::organization, 80));
  EXPECT_EQ(count(), "9");
  EXPECT_THAT(queue(), UnorderedElementsAre("ana@example.com", "of.acme@example.com", "of.edge@example.com"));
  const ApproverMail mail = mail_of(ana);
  ASSERT_THAT(mail.admin_notices, SizeIs(5));
  EXPECT_FALSE(mail.is_obsolete);
  EXPECT_THAT(mail.notices, IsEmpty());
  const AdminNotice& notice = mail.admin_notices[0];
  EXPECT_EQ(notice.scope + " " + notice.period + " " + notice.owner, scope + " 2027-01 rose@example.com");
  EXPECT_EQ(notice.threshold, 80);
  EXPECT_EQ(notice.gifts, 80);
  EXPECT_EQ(notice.amount, Money{40'250});
  EXPECT_EQ(notice.gifts_limit, 100);
  EXPECT_EQ(notice.amount_limit, Money{50'000});
  EXPECT_EQ(notice.ends_at, kNow + kDayMillis);
}

// covers: GUARD-31
TEST_P(AdminNotices, APartOfARaisedLimitIsMailedAgain) {
  const UserId ana = user("ana@example.com", {Role::admin});
  const std::string scope = usage_scope(BudgetKind::account, account("rose@example.com").value);
  EXPECT_TRUE(reach(scope, BudgetKind::account, 100, "2027-01", 0, 80));
  EXPECT_THAT(queue(), ElementsAre("ana@example.com"));
  EXPECT_THAT(queue(), IsEmpty());
  EXPECT_TRUE(reach(scope, BudgetKind::account, 100, "2027-01", 100, 90));
  EXPECT_EQ(count(), "1") << "the same part, of the new limit";
  const std::string unmailed = "SELECT cast(mail_number AS TEXT) || ' ' || gifts_limit FROM admin_notice";
  EXPECT_EQ(scalar(unmailed), "0 90");
  EXPECT_THAT(mail_of(ana, 1).admin_notices, IsEmpty()) << "it is in the next mail";
}

// covers: GUARD-31
TEST_P(AdminNotices, APauseIsNoticedInItsTransactionEachTime) {
  const UserId ana = user("ana@example.com", {Role::admin});
  insert_key(account("rose@example.com"));
  burst();
  burst(kNow + 1);
  EXPECT_EQ(count(), "1") << "it is paused already";
  EXPECT_THAT(queue(), ElementsAre("ana@example.com"));
  const ApproverMail mail = mail_of(ana);
  ASSERT_THAT(mail.admin_notices, SizeIs(1));
  const AdminNotice& notice = mail.admin_notices[0];
  EXPECT_EQ(notice.kind, AdminNoticeKind::key);
  EXPECT_EQ(notice.scope + " " + notice.key_name + " " + notice.owner, "gsk_live_abc shop rose@example.com");
  EXPECT_EQ(notice.gifts_limit, 1);
  EXPECT_EQ(notice.ends_at.value - notice.begins_at.value, 600'000);
  EXPECT_EQ(notice.created_at, kNow);
  sql("UPDATE api_key SET paused_at = NULL");
  burst(kNow + 2);
  EXPECT_EQ(count(), "2") << "it was released, and is paused again";
}

// covers: TEST-9
TEST_P(AdminNotices, APausedTestKeyMakesNoNotice) {
  user("ana@example.com", {Role::admin});
  insert_key(account("rose@example.com"));
  insert_key(account("sam@example.com"), kTestPrefix);
  burst(kNow, kTestPrefix);
  EXPECT_EQ(scalar("SELECT prefix FROM api_key WHERE paused_at IS NOT NULL"), kTestPrefix);
  EXPECT_EQ(count(), "0");
  EXPECT_THAT(queue(), IsEmpty());
  burst();
  EXPECT_EQ(count(), "1") << "of the live key";
}

// covers: GUARD-31
TEST_P(AdminNotices, APausedTokenIsSeenByTheAdminsOfItsOrganization) {
  const OrganizationId edge = organization("Edge", kPrefix);
  const UserId of_edge = user("of.edge@example.com", {Role::admin}, edge);
  user("of.acme@example.com", {Role::admin}, organization("Acme", "got_live_a"));
  burst();
  EXPECT_THAT(queue(), ElementsAre("of.edge@example.com"));
  const ApproverMail mail = mail_of(of_edge);
  ASSERT_THAT(mail.admin_notices, SizeIs(1));
  EXPECT_EQ(mail.admin_notices[0].kind, AdminNoticeKind::token);
  EXPECT_EQ(mail.admin_notices[0].owner, "Edge");
}

// covers: GUARD-31
TEST_P(AdminNotices, OneMailHasBothKindsAndTheNextOfAnAdminWaitsForNothing) {
  const UserId ana = user("ana@example.com", {Role::admin, Role::approver});
  const auto hold_request = [&] {
    NewGiftRequest held = request_for(1);
    held.hold_reasons = {{"rule", "", "A rule."}};
    const GiftRequestId id = store_->gifts.create(std::span(&held, 1)).front().request;
    const ApproverNotice waiting{ana, -id.value, "", std::to_string(id.value), "1 x Coffee", "5.00"};
    store_->approver_notices.add(std::span(&waiting, 1), kNow);
  };
  hold_request();
  reach("all", BudgetKind::installation, 80);
  EXPECT_THAT(queue(), ElementsAre("ana@example.com"));
  EXPECT_THAT(mail_of(ana).notices, SizeIs(1));
  EXPECT_THAT(mail_of(ana).admin_notices, SizeIs(1));
  reach("all", BudgetKind::installation, 100, "2027-01", 80);
  EXPECT_THAT(mail_of(ana, 1, "a").admin_notices, SizeIs(2)) << "until it is sent";
  sql("UPDATE mail_outbox SET state = 'accepted', lease_owner = '', message_id = 'm1'");
  store_->approver_notices.queue_mails(kNow + kDayMillis);
  EXPECT_EQ(scalar("SELECT state FROM mail_outbox"), "accepted") << "nothing is new";
  reach("all", BudgetKind::installation, 80, "2027-02");
  EXPECT_THAT(queue(kNow + 1), ElementsAre("ana@example.com"));
  EXPECT_THAT(mail_of(ana, 2).admin_notices, SizeIs(1)) << "those of earlier mails are not repeated";
  EXPECT_TRUE(mail_of(ana, 2).notices.at(0).is_repeated);
  sql("UPDATE mail_outbox SET state = 'accepted', lease_owner = '', message_id = 'm2'");
  hold_request();
  EXPECT_THAT(queue(kNow + 2), IsEmpty()) << "what waits for approval waits for its ten minutes";
  reach("all", BudgetKind::installation, 100, "2027-02", 80);
  EXPECT_THAT(queue(kNow + 3), ElementsAre("ana@example.com")) << "and goes with what does not";
  EXPECT_THAT(mail_of(ana, 3).admin_notices, SizeIs(1));
  EXPECT_THAT(mail_of(ana, 3).notices, SizeIs(2));
  EXPECT_EQ(scalar("SELECT cast(number AS TEXT) FROM mail_outbox"), "3");
}

// covers: GUARD-31
TEST_P(AdminNotices, AUserWhoIsNoAdminAnyMoreGetsNone) {
  const UserId ana = user("ana@example.com", {Role::admin, Role::approver});
  const UserId ben = user("ben@example.com", {Role::admin});
  reach("all", BudgetKind::installation, 80);
  store_->console_users.revoke(ana, Role::admin, {});
  store_->console_users.set_active(ben, false, {});
  EXPECT_THAT(queue(), SizeIs(2));
  for (const UserId user : {ana, ben}) {
    EXPECT_TRUE(mail_of(user).is_obsolete);
    EXPECT_THAT(mail_of(user).admin_notices, IsEmpty());
  }
  sql("UPDATE mail_outbox SET state = 'withdrawn', lease_owner = ''");
  EXPECT_THAT(queue(kNow + kDayMillis), IsEmpty());
}

// covers: GUARD-31
TEST_P(AdminNotices, WithoutTheConsoleAdminsAloneAreMailedAndOldNoticesAreDeleted) {
  const UserId ana = user("ana@example.com", {Role::admin});
  const ApproverNotice waiting{user("ben@example.com", {Role::approver}), -7, "", "7", "Coffee", ""};
  store_->approver_notices.add(std::span(&waiting, 1), kNow);
  reach("all", BudgetKind::installation, 80);
  store_->approver_notices.set_console(false);
  store_->approver_notices.queue_mails(kNow);
  const auto claims = store_->deliveries.claim("a", 60'000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].transaction.value, -ana.value);
  store_->approver_notices.prune(kNow);
  EXPECT_EQ(count(), "1");
  store_->approver_notices.prune(kNow + 1);
  EXPECT_EQ(count(), "0");
}

// covers: CON-31, GUARD-31
TEST_P(AdminNotices, WithoutTheConsoleAnAdminsMailLeavesApproverNoticesForLater) {
  NewGiftRequest held = request_for(1);
  held.hold_reasons = {{"rule", "", "A rule holds it."}};
  const std::int64_t id = store_->gifts.create(std::span(&held, 1)).front().request.value;
  const UserId ana = user("ana@example.com", {Role::admin, Role::approver});
  const ApproverNotice waiting{ana, -id, "", std::to_string(id), "Coffee", ""};
  store_->approver_notices.add(std::span(&waiting, 1), kNow);
  EXPECT_THAT(queue(), ElementsAre("ana@example.com"));
  EXPECT_THAT(mail_of(ana).notices, SizeIs(1)) << "claimed, and not begun";
  store_->approver_notices.set_console(false);
  reach("all", BudgetKind::installation, 80);
  const ApproverMail mail = mail_of(ana, 1, "a");
  EXPECT_THAT(mail.notices, IsEmpty());
  EXPECT_THAT(mail.admin_notices, SizeIs(1));
  sql("UPDATE mail_outbox SET state = 'accepted', lease_owner = ''");
  EXPECT_THAT(queue(kNow + kDayMillis), IsEmpty());
  store_->approver_notices.set_console(true);
  EXPECT_THAT(queue(kNow + kDayMillis), ElementsAre("ana@example.com"));
  EXPECT_THAT(mail_of(ana, 2, "a").notices, SizeIs(1));
  EXPECT_THAT(mail_of(ana, 2, "a").admin_notices, IsEmpty());
}

}  // namespace
}  // namespace giftsync::store
