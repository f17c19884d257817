// Mails to approvers from the request record that begins to wait to the relay (CON-31).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "daemon/mail/notice_mail.h"
#include "sync/request/approver_notices.h"
#include "sync/request/request_record_reconcile.h"
#include "tests/support/request_record_fixture.h"

namespace giftsync::sync {
namespace {
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// Returns scripted results, then accepts.
class Relay : public MailTransport {
 public:
  std::deque<SendResult> script;
  std::vector<OutgoingMail> sent;
  bool may_have_stale_markers = false;

  std::optional<SendResult> prepare(const OutgoingMail&) override { return std::nullopt; }
  SendResult send(const OutgoingMail& mail, std::int64_t) override {
    SendResult result{SendOutcome::accepted, "250 ok"};
    if (!script.empty()) {
      result = script.front();
      script.pop_front();
    }
    if (result.outcome != SendOutcome::transport_error) sent.push_back(mail);
    return result;
  }
  std::optional<SendResult> recover_outcome(const std::string&) override { return std::nullopt; }
  bool has_stale_markers() const override { return may_have_stale_markers; }
  void remove_stale_markers(const std::function<bool()>& none_is_sent) override {
    if (none_is_sent()) may_have_stale_markers = false;
  }
};

/// Whose CRM users are 005A for ana@example.com.
class DirectoryOfAna : public tests::EmptyDirectory {
 public:
  std::vector<std::vector<crm::CrmUser>> find_users_by_email(std::span<const std::string> keys) override {
    std::vector<std::vector<crm::CrmUser>> all;
    for (const std::string& key : keys) {
      auto& users = all.emplace_back();
      if (key == "ana@example.com") users.push_back({"005A", "Ana", key, true});
    }
    return all;
  }
};
class CrmWithUsers : public tests::InMemoryRequestCrm {
 public:
  crm::Directory& directory() override { return users_; }

 private:
  DirectoryOfAna users_;
};

class ApproverMails : public tests::RequestRecordFixture {
 protected:
  void SetUp() override {
    RequestRecordFixture::SetUp();
    if (IsSkipped()) return;
    rules.approver_notices = [this] { return notice_rules_; };
    delivery_rules_.owner = "one";
    delivery_rules_.from_address = "gifts@example.com";
    delivery_rules_.installation_id = "abc";
    delivery_rules_.policy.hold_uncertain = false;
    delivery_rules_.compose_for_approver = [](const store::ApproverMail& mail, const MailIdentity& identity) {
      return mail::compose_approver_mail({mail.email, mail.notices, identity, "gifts@example.com",
                                          "https://admin.example.com/console", "en", mail.admin_notices});
    };
  }
  UserId user(const std::string& email, Role role, std::optional<OrganizationId> organization = {}) {
    store::ConsoleUser made;
    made.email = email;
    made.organization = organization;
    made.roles = {{role, RoleOrigin::granted, "root", now}};
    return store().console_users.create(made, {}).value();
  }
  void process() {
    for (int i = 0; i < 3; ++i) request_record_step(store(), people_, rules, now);
  }
  /// The addresses and contents that the relay got since the last call.
  std::vector<OutgoingMail> deliver() {
    MailDelivery delivery(store(), delivery_rules_, 1, 1, [this] { return now; });
    delivery.step({.transport = relay_, .should_continue = [] { return true; }});
    return std::exchange(relay_.sent, {});
  }
  std::vector<std::string> addresses() {
    std::vector<std::string> found;
    for (const OutgoingMail& mail : deliver()) found.push_back(mail.envelope_to);
    return found;
  }

  CrmWithUsers people_;
  ApproverNoticeRules notice_rules_;
  DeliveryRules delivery_rules_;
  Relay relay_;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, ApproverMails,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// CON-31
TEST_P(ApproverMails, ApproversWhoMayDecideGetOneMailWithoutTheRecipient) {
  user("ana@example.com", Role::approver);  // the Sender
  user("ben@example.com", Role::approver);
  user("olga@example.com", Role::operations);
  people_.insert("1", "A secret message", false);
  process();
  process();
  const auto mails = deliver();
  ASSERT_THAT(mails, SizeIs(1));
  EXPECT_EQ(mails[0].envelope_to, "ben@example.com");
  EXPECT_THAT(mails[0].bytes, AllOf(HasSubstr("R-1: Coffee, cost 5.40"),
                                    HasSubstr("https://admin.example.com/console/requests/R-1"),
                                    Not(HasSubstr("secret")), Not(HasSubstr("1@example.com"))));
  EXPECT_THAT(mails[0].message_id, HasSubstr("approval-"));
  now = now + kDayMillis;
  process();
  EXPECT_THAT(addresses(), IsEmpty()) << "nothing new waits";
}

// covers: GUARD-31
TEST_P(ApproverMails, AnAdminIsMailedAboutABudgetBesideWhatWaits) {
  user("ada@example.com", Role::admin);
  user("eve@example.com", Role::approver);
  const UserId ben = user("ben@example.com", Role::approver);
  store().console_users.grant(ben, {Role::admin, RoleOrigin::granted, "root", now}, {});
  const store::UsageLimit budget{"2026-11", "all", store::BudgetKind::installation,
                                 {100, {}}, now,   now + kDayMillis};
  sql("INSERT INTO sending_usage (id, gifts, amount) VALUES ('2026-11 all', 80, 0)");
  ASSERT_TRUE(store().sending_usage.mark_warned(budget, {80}, 80, now));
  people_.insert("1", "Hello", false);
  process();
  std::map<std::string, std::string> mails;
  for (const OutgoingMail& mail : deliver()) mails[mail.envelope_to] += mail.bytes;
  ASSERT_THAT(mails, SizeIs(3));
  const auto names_budget = HasSubstr("80 % of a budget is used: the installation, 2026-11:");
  EXPECT_THAT(mails["ada@example.com"], AllOf(names_budget, Not(HasSubstr("R-1"))));
  EXPECT_THAT(mails["eve@example.com"], AllOf(Not(HasSubstr("budget")), HasSubstr("R-1: Coffee")));
  EXPECT_THAT(mails["ben@example.com"], AllOf(names_budget, HasSubstr("R-1: Coffee")));
  now = now + kDayMillis;
  process();
  EXPECT_THAT(addresses(), IsEmpty());
}

// covers: GUARD-31
TEST_P(ApproverMails, ARepeatOfAMailToAnAdminHasTheSameBytes) {
  user("ada@example.com", Role::admin);
  const auto reach = [&](std::int64_t percent, std::int64_t warned) {
    const store::UsageLimit budget{"2026-11", "all", store::BudgetKind::installation,
                                   {100, {}}, now,   now + kDayMillis};
    sql("INSERT INTO sending_usage (id, gifts, amount) VALUES ('2026-11 all', 80, 0) ON CONFLICT DO NOTHING");
    store().sending_usage.mark_warned(budget, {percent, {}, warned, warned}, percent, now);
    store().approver_notices.queue_mails(now);
  };
  relay_.script = {{SendOutcome::uncertain, "lost"}};
  reach(80, 0);
  const auto first = deliver();
  ASSERT_THAT(first, SizeIs(1));
  reach(100, 80);
  now = now + kHourMillis;
  const auto again = deliver();
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].bytes, first[0].bytes);
  store().approver_notices.queue_mails(now);
  now = now + store::kApproverMailPauseMillis;
  const auto next = deliver();
  ASSERT_THAT(next, SizeIs(1));
  EXPECT_THAT(next[0].bytes, AllOf(HasSubstr("100 % of a budget"), Not(HasSubstr("80 % of"))));
}

// CON-31
TEST_P(ApproverMails, SelfApprovalAndOrganizationsDecideWhoGetsThem) {
  store::Credential token;
  token.hash = "acme";
  const auto organization = store().organizations.create("Acme", token).value();
  token.hash = "edge";
  const auto other = store().organizations.create("Edge", token).value();
  user("ana@example.com", Role::approver);
  user("of.acme@example.com", Role::approver, organization);
  user("of.edge@example.com", Role::approver, other);
  const auto gone = user("gone@example.com", Role::approver);
  store().console_users.set_active(gone, false, {});
  notice_rules_ = {organization, true};
  people_.insert("1", "Hello", false);
  process();
  EXPECT_THAT(addresses(), testing::UnorderedElementsAre("ana@example.com", "of.acme@example.com"));
}

// CON-31
TEST_P(ApproverMails, ABurstIsOneMailAfterTheFirst) {
  user("ben@example.com", Role::approver);
  people_.insert("1", "Hello", false);
  process();
  EXPECT_THAT(addresses(), ElementsAre("ben@example.com"));
  for (int i = 2; i < 30; ++i) people_.insert(std::to_string(i), "Hello", false);
  process();
  now = now + store::kApproverMailPauseMillis - 1;
  process();
  EXPECT_THAT(addresses(), IsEmpty());
  now = now + 1;
  const auto mails = deliver();
  ASSERT_THAT(mails, SizeIs(1));
  EXPECT_THAT(mails[0].bytes, AllOf(HasSubstr("28 gift requests"), HasSubstr("And 9 more wait."),
                                    HasSubstr("https://admin.example.com/console/requests\r\n")));
}

// CON-31
TEST_P(ApproverMails, AnAutoApprovedOrDecidedRequestIsNotMailed) {
  user("ben@example.com", Role::approver);
  sender = refused("wait");  // or its gift would be mailed
  people_.insert("1", "Hello", true);
  process();
  EXPECT_THAT(addresses(), IsEmpty());
  people_.insert("2", "Hello", false);
  process();
  people_.edit("2", F::status, std::string("Rejected"));
  process();
  EXPECT_THAT(addresses(), IsEmpty()) << "it was decided before the mail left";
}

// CON-31
TEST_P(ApproverMails, ARepeatAfterAnUnknownOutcomeHasTheSameBytes) {
  user("ben@example.com", Role::approver);
  people_.insert("1", "Hello", false);
  process();
  relay_.script = {{SendOutcome::uncertain, "the connection broke"}};
  const auto first = deliver();
  ASSERT_THAT(first, SizeIs(1));
  people_.insert("2", "Hello", false);
  process();
  now = now + kHourMillis;
  process();
  const auto repeat = deliver();
  ASSERT_THAT(repeat, SizeIs(1));
  EXPECT_EQ(repeat[0].bytes, first[0].bytes);
  EXPECT_EQ(repeat[0].message_id, first[0].message_id);
  process();
  now = now + store::kApproverMailPauseMillis;
  process();
  const auto next = deliver();
  ASSERT_THAT(next, SizeIs(1));
  EXPECT_NE(next[0].message_id, first[0].message_id);
  EXPECT_THAT(next[0].bytes, HasSubstr("R-2"));
}

// CON-53
TEST_P(ApproverMails, AMailSaysWhatStillWaitsWithoutTheRecipient) {
  user("ben@example.com", Role::approver);
  people_.insert("1", "A secret message", false);
  people_.insert("2", "Hello", false);
  process();
  EXPECT_THAT(addresses(), ElementsAre("ben@example.com"));
  people_.edit("2", F::status, std::string("Rejected"));
  people_.insert("3", "Hello", false);
  process();
  now = now + store::kApproverMailPauseMillis;
  process();
  const auto mails = deliver();
  ASSERT_THAT(mails, SizeIs(1));
  const std::string& bytes = mails[0].bytes;
  EXPECT_THAT(bytes, AllOf(HasSubstr("Subject: Waiting for your approval: R-3"), Not(HasSubstr("R-2")),
                           HasSubstr("https://admin.example.com/console/requests/R-1"),
                           Not(HasSubstr("secret")), Not(HasSubstr("1@example.com"))));
  EXPECT_LT(bytes.find("R-3: Coffee"), bytes.find("Still waiting"));
  EXPECT_LT(bytes.find("Still waiting"), bytes.find("R-1: Coffee, cost 5.40"));
  now = now + kDayMillis;
  process();
  EXPECT_THAT(addresses(), IsEmpty()) << "nothing new waits";
}

// CON-31
TEST_P(ApproverMails, APauseOfDeliveryAppliesToThem) {
  user("ben@example.com", Role::approver);
  people_.insert("1", "Hello", false);
  process();
  relay_.script = {{SendOutcome::transport_error, "connection refused"}};
  EXPECT_THAT(deliver(), IsEmpty());
  EXPECT_THAT(deliver(), IsEmpty()) << "delivery is paused";
  now = now + kMinuteMillis;
  EXPECT_THAT(addresses(), ElementsAre("ben@example.com"));
}

// CON-31, MAIL-15
TEST_P(ApproverMails, WhatADeadDaemonLeftOfOneInTheDirectoryStays) {
  user("ben@example.com", Role::approver);
  people_.insert("1", "Hello", false);
  process();
  const auto claims = store().deliveries.claim("gone", 60'000, 1, now);
  ASSERT_THAT(claims, SizeIs(1));
  const store::DeliveryQueue::Sending sending{claims[0], "approval-1"};
  ASSERT_TRUE(store().deliveries.begin_sending("gone", std::span(&sending, 1), 60'000, now).front());
  relay_.may_have_stale_markers = true;
  EXPECT_THAT(deliver(), IsEmpty());
  EXPECT_TRUE(relay_.may_have_stale_markers) << "it may tell whether that mail was sent";
  const store::DeliveryOutcome outcome{
      claims[0].transaction, 1, DeliveryState::accepted, now, "250 ok", false, {}};
  store().deliveries.finish(std::span(&outcome, 1), now);
  EXPECT_THAT(deliver(), IsEmpty());
  EXPECT_FALSE(relay_.may_have_stale_markers);
}

// CON-31
TEST_P(ApproverMails, AnEditBeforeTheMailLeavesIsInIt) {
  user("ben@example.com", Role::approver);
  people_.insert("1", "Hello", false);
  process();
  people_.edit("1", F::gift_id, std::string("987654"));
  process();
  const auto mails = deliver();
  ASSERT_THAT(mails, SizeIs(1));
  EXPECT_THAT(mails[0].bytes, AllOf(HasSubstr("987654"), Not(HasSubstr("Coffee"))));
}

// CON-31
TEST_P(ApproverMails, AChangeAfterTheApprovalIsMailedAgainAndKeepsWhatWasApproved) {
  user("ben@example.com", Role::approver);
  sender = refused("wait");
  people_.insert("1", "Hello", false);
  process();
  EXPECT_FALSE(is_withdrawal(known("1")->error));
  const auto first = deliver();
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_THAT(first[0].bytes, Not(HasSubstr("was approved")));
  ApprovalDecision approve{RequestRecordAction::approve, "ben@example.com", ""};
  ASSERT_EQ(decide_request_record(store().request_records, people_, "R-1", approve, now).kind,
            ApprovalResult::Kind::done);
  process();
  const std::string approved = known("1")->approved_content;
  EXPECT_NE(approved, "");
  now = now + kDayMillis;
  people_.edit("1", F::message, std::string("Other"));
  process();
  EXPECT_EQ(known("1")->state, store::RequestRecordState::pending);
  EXPECT_EQ(known("1")->approved_content, approved);
  EXPECT_TRUE(is_withdrawal(known("1")->error)) << known("1")->error;
  const auto mails = deliver();
  ASSERT_THAT(mails, SizeIs(1));
  EXPECT_THAT(mails[0].bytes, HasSubstr("R-1: Coffee, cost 5.40 (was approved and changed since)"));
  people_.edit("1", F::status, std::string("Rejected"));
  process();
  EXPECT_EQ(known("1")->approved_content, "");
}

// SIGN-15, MAIL-5
TEST_P(ApproverMails, ASignInLinkIsMailedWithTheSameBytesUntilItEnds) {
  const UserId ana = user("ana@example.com", Role::approver);
  delivery_rules_.compose_for_sign_in = [](const store::SignInMail& mail, const MailIdentity& identity) {
    return mail::compose_sign_in_mail({mail, identity, "gifts@example.com",
                                       "https://admin.example.com/console/link/" + mail.salt,
                                       "admin.example.com"});
  };
  const auto ask = [&](const std::string& salt) {
    store().sign_in_mails.add({.token_hash = "hash of " + salt,
                               .salt = salt,
                               .email_key = "ana@example.com",
                               .client = "192.0.2.7",
                               .created_at = now,
                               .expires_at = now + store::kMailedLinkMillis});
    store().sign_in_mails.queue_mails(now);
  };
  ask("one");
  relay_.script = {{SendOutcome::try_later, "451 later"}};
  const auto first = deliver();
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].envelope_to, "ana@example.com");
  EXPECT_THAT(first[0].message_id, HasSubstr("sign_in-" + std::to_string(store::kSignInMailIds + ana.value)));
  EXPECT_THAT(first[0].bytes, HasSubstr("/console/link/one"));
  now = now + 2 * kMinuteMillis;
  ask("two");
  const auto second = deliver();
  ASSERT_THAT(second, SizeIs(1)) << "the first one, again";
  EXPECT_EQ(second[0].bytes, first[0].bytes);
  store().sign_in_mails.queue_mails(now);
  relay_.script = {{SendOutcome::try_later, "451 later"}};
  EXPECT_THAT(deliver().at(0).bytes, HasSubstr("/console/link/two"));
  now = now + store::kMailedLinkMillis;
  EXPECT_THAT(deliver(), IsEmpty()) << "its link has ended";
  EXPECT_EQ(scalar("SELECT state FROM mail_outbox"), "withdrawn");
}

}  // namespace
}  // namespace giftsync::sync
