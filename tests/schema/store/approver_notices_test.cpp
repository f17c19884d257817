// What approvers are mailed: one notice for each time that a request record begins to wait, and one mail at a
// time for an approver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/store/mail/notices.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ApproverNoticesTest : public tests::StoreFixture {
 protected:
  static constexpr UtcMillis kNow = kSentAt;

  UserId approver(const std::string& email) {
    ConsoleUser made;
    made.email = email;
    made.roles = {{Role::approver, RoleOrigin::granted, "root", kNow}};
    return store_->console_users.create(made, {}).value();
  }
  /// Saves the record's state with a transition to it.
  void set_state(const std::string& id, RequestRecordState state, const std::string& from = "") {
    const auto known = store_->request_records.find(std::span(&id, 1));
    RequestRecordEntryUpdate change;
    if (!known.empty()) change.next = known.front();
    change.next.record_id = id;
    change.next.number = "R-" + id;
    change.next.state = state;
    change.transitions = {{kNow, "ana", from, std::string(to_word(state)), ""}};
    EXPECT_THAT(store_->request_records.save(std::span(&change, 1)), SizeIs(1));
  }
  /// A notice for the user of each of these records that none has.
  std::size_t add_notices(UserId user, const std::vector<std::string>& ids) {
    std::vector<ApproverNotice> notices;
    for (const UnnoticedRecord& one : store_->approver_notices.find_unnoticed(ids))
      notices.push_back({user, one.transition, one.record_id, "R-" + one.record_id, "Coffee", "5.00"});
    store_->approver_notices.add(notices, kNow);
    return notices.size();
  }
  std::vector<DeliveryClaim> claim(UtcMillis now) { return store_->deliveries.claim("a", 60'000, 10, now); }
  void end(const DeliveryClaim& claim, DeliveryState state, UtcMillis now) {
    const DeliveryQueue::Sending sending{claim, "m" + std::to_string(claim.number)};
    ASSERT_TRUE(store_->deliveries.begin_sending("a", std::span(&sending, 1), 60'000, now).front());
    const DeliveryOutcome outcome{claim.transaction, claim.attempt + 1, state, now, "250 ok", false, {}};
    ASSERT_EQ(store_->deliveries.finish(std::span(&outcome, 1), now), 1u);
  }
  std::vector<std::string> numbers(UserId user, std::int64_t mail, const std::string& claimed_by) {
    std::vector<std::string> found;
    for (const ApproverNotice& one : store_->approver_notices.take(user, mail, claimed_by).notices)
      found.push_back(one.number);
    return found;
  }
  /// Lets these records begin to wait, and ends the user's first mail, which names them.
  void send_first_mail(UserId user, const std::vector<std::string>& ids) {
    for (const std::string& id : ids) set_state(id, RequestRecordState::pending);
    add_notices(user, ids);
    store_->approver_notices.queue_mails(kNow);
    const auto claims = claim(kNow);
    ASSERT_THAT(claims, SizeIs(1));
    numbers(user, 1, "a");
    end(claims[0], DeliveryState::accepted, kNow);
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, ApproverNoticesTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// CON-31
TEST_P(ApproverNoticesTest, ARecordIsNoticedOnceEachTimeItBeginsToWait) {
  const UserId ana = approver("ana@example.com");
  set_state("1", RequestRecordState::pending);
  set_state("2", RequestRecordState::approved);
  EXPECT_EQ(add_notices(ana, {"1", "2", "3"}), 1u);
  EXPECT_EQ(add_notices(ana, {"1", "2", "3"}), 0u);
  set_state("1", RequestRecordState::approved);
  EXPECT_EQ(add_notices(ana, {"1"}), 0u);
  set_state("1", RequestRecordState::pending);
  EXPECT_EQ(add_notices(ana, {"1"}), 1u);
}

// covers: GUARD-29
TEST_P(ApproverNoticesTest, AHeldGiftRequestIsNoticedWhileItWaits) {
  const UserId ana = approver("ana@example.com");
  std::vector<GiftRequestId> ids;
  for (int i = 0; i < 2; ++i) {
    NewGiftRequest request = request_for(1);
    request.hold_reasons = {{"rule", "", "A rule."}};
    ids.push_back(store_->gifts.create(std::span(&request, 1)).front().request);
  }
  const auto unnoticed = [&](GiftRequestId after = {}) {
    std::vector<GiftRequestId> found;
    for (const HeldGiftRequest& held : store_->approver_notices.find_unnoticed_held(after, 10))
      found.push_back(held.id);
    return found;
  };
  EXPECT_EQ(unnoticed(), ids);
  EXPECT_THAT(unnoticed(ids[0]), ElementsAre(ids[1]));
  for (const GiftRequestId id : ids) {
    const ApproverNotice notice{ana, -id.value, "", std::to_string(id.value), "1 x Coffee", "5.00"};
    store_->approver_notices.add(std::span(&notice, 1), kNow);
  }
  EXPECT_THAT(unnoticed(), IsEmpty());
  store_->held.reject({ids[0], "ana", "", {}}, kNow);
  store_->approver_notices.queue_mails(kNow);
  ASSERT_THAT(claim(kNow), SizeIs(1));
  const ApproverMail mail = store_->approver_notices.take(ana, 1, "a");
  ASSERT_THAT(mail.notices, SizeIs(1));
  EXPECT_EQ(mail.notices[0].number, std::to_string(ids[1].value));
  EXPECT_TRUE(mail.notices[0].is_of_held());
  EXPECT_FALSE(mail.is_obsolete);
  store_->held.reject({ids[1], "ana", "", {}}, kNow);
  EXPECT_TRUE(store_->approver_notices.take(ana, 1, "").is_obsolete);
}

// CON-31
TEST_P(ApproverNoticesTest, AnEditChangesWhatIsSaidExceptInAMailThatMayHaveLeft) {
  using F = RequestRecordField;
  const UserId ana = approver("ana@example.com");
  GiftItem tea;
  tea.id = {7};
  tea.name = "Tea";
  store_->catalogue.import(std::span(&tea, 1));
  const std::string id = "1";
  const auto edit = [&](F field, FieldValue value) {
    RequestRecord after;
    after.set(field, std::move(value));
    RequestRecordEntryUpdate change;
    change.next = store_->request_records.find(std::span(&id, 1)).at(0);
    change.edit = RequestRecordEdit{kNow, "ben", format_values({}, approval_bound_fields()),
                                    format_values(after, approval_bound_fields())};
    EXPECT_THAT(store_->request_records.save(std::span(&change, 1)), SizeIs(1));
    EXPECT_THAT(store_->approver_notices.find_unnoticed(std::span(&id, 1)), IsEmpty());
  };
  const auto said = [&](std::int64_t mail, const std::string& claimed_by) {
    const auto notices = store_->approver_notices.take(ana, mail, claimed_by).notices;
    return notices.empty() ? std::string("nothing") : notices.back().item + " " + notices.back().cost;
  };
  set_state("1", RequestRecordState::pending);
  add_notices(ana, {"1"});
  store_->approver_notices.queue_mails(kNow);
  edit(F::message, std::string("Hello"));
  edit(F::gift_id, std::string(" 7 "));
  const auto claims = claim(kNow);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(said(1, "a"), "Tea ");
  edit(F::gift_id, std::string("8"));
  EXPECT_EQ(said(1, ""), "Tea ") << "the mailer has read it";
  const DeliveryQueue::Sending sending{claims[0], "m1"};
  ASSERT_TRUE(store_->deliveries.begin_sending("a", std::span(&sending, 1), 60'000, kNow).front());
  edit(F::gift_id, std::string("9"));
  EXPECT_EQ(said(1, ""), "Tea ") << "it may have left";
  const DeliveryOutcome outcome{
      claims[0].transaction, claims[0].attempt + 1, DeliveryState::accepted, kNow, "250 ok", false, {}};
  ASSERT_EQ(store_->deliveries.finish(std::span(&outcome, 1), kNow), 1u);
  edit(F::gift_id, std::string("10"));
  set_state("2", RequestRecordState::pending);
  add_notices(ana, {"2"});
  store_->approver_notices.queue_mails(kNow);
  EXPECT_THAT(claim(kNow + kApproverMailPauseMillis), SizeIs(1));
  EXPECT_EQ(said(2, "a"), "10 ") << "named again in the next mail";
}

// CON-31
TEST_P(ApproverNoticesTest, ACheckedCostLeavesTheMail) {
  const UserId ana = approver("ana@example.com");
  set_state("1", RequestRecordState::pending);
  add_notices(ana, {"1"});
  const std::string id = "1";
  RequestRecord after;
  after.set(RequestRecordField::include_shipping, true);
  RequestRecordEntryUpdate change;
  change.next = store_->request_records.find(std::span(&id, 1)).at(0);
  change.edit = RequestRecordEdit{kNow, "ben", format_values({}, approval_bound_fields()),
                                  format_values(after, approval_bound_fields())};
  EXPECT_THAT(store_->request_records.save(std::span(&change, 1)), SizeIs(1));
  store_->approver_notices.queue_mails(kNow);
  ASSERT_THAT(claim(kNow), SizeIs(1));
  const auto notices = store_->approver_notices.take(ana, 1, "a").notices;
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_EQ(notices[0].item + "/" + notices[0].cost, "Coffee/");
}

// CON-31
TEST_P(ApproverNoticesTest, MailsOfOneApproverAreTenMinutesApart) {
  const UserId ana = approver("ana@example.com");
  set_state("1", RequestRecordState::pending);
  add_notices(ana, {"1"});
  store_->approver_notices.queue_mails(kNow);
  set_state("2", RequestRecordState::pending);
  add_notices(ana, {"2"});
  store_->approver_notices.queue_mails(kNow);
  auto claims = claim(kNow);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].transaction.value, -ana.value);
  EXPECT_EQ(claims[0].kind, MailKind::approval);
  EXPECT_THAT(numbers(ana, claims[0].number, "a"), ElementsAre("R-1", "R-2")) << "it takes what waits";
  set_state("3", RequestRecordState::pending);
  add_notices(ana, {"3"});
  store_->approver_notices.queue_mails(kNow);
  EXPECT_THAT(numbers(ana, claims[0].number, ""), ElementsAre("R-1", "R-2")) << "a repeat is the same mail";
  end(claims[0], DeliveryState::accepted, kNow + 1'000);
  store_->approver_notices.queue_mails(kNow + 2'000);
  EXPECT_EQ(store_->deliveries.retry_deferred(std::nullopt, kNow + 3'000), 0)
      << "no command shortens the pause";
  EXPECT_THAT(claim(kNow + kApproverMailPauseMillis), IsEmpty());
  claims = claim(kNow + 1'000 + kApproverMailPauseMillis);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].number, 2);
  EXPECT_EQ(claims[0].message_id, "");
  EXPECT_THAT(numbers(ana, 2, "a"), ElementsAre("R-3", "R-1", "R-2")) << "the new one first";
  end(claims[0], DeliveryState::accepted, kNow + 1'000 + kApproverMailPauseMillis);
  store_->approver_notices.queue_mails(kNow + kHourMillis);
  EXPECT_THAT(claim(kNow + kDayMillis), IsEmpty()) << "nothing is new";
}

// CON-53
TEST_P(ApproverNoticesTest, WhatStillWaitsIsRepeatedBehindWhatIsNew) {
  const UserId ana = approver("ana@example.com");
  send_first_mail(ana, {"1", "2", "3"});
  // The second is decided; the third waits again, which is new.
  set_state("2", RequestRecordState::rejected);
  set_state("3", RequestRecordState::approved);
  set_state("3", RequestRecordState::pending);
  EXPECT_EQ(add_notices(ana, {"1", "2", "3"}), 1u);
  store_->approver_notices.queue_mails(kNow);
  const UtcMillis second = kNow + kApproverMailPauseMillis;
  const auto claims = claim(second);
  ASSERT_THAT(claims, SizeIs(1));
  const ApproverMail mail = store_->approver_notices.take(ana, 2, "a");
  ASSERT_THAT(mail.notices, SizeIs(2));
  EXPECT_EQ(mail.notices[0].number, "R-3");
  EXPECT_FALSE(mail.notices[0].is_repeated);
  EXPECT_EQ(mail.notices[1].number, "R-1");
  EXPECT_TRUE(mail.notices[1].is_repeated);
  // Until it is sent it follows the decisions; then it stays.
  set_state("1", RequestRecordState::approved);
  EXPECT_THAT(numbers(ana, 2, "a"), ElementsAre("R-3"));
  set_state("1", RequestRecordState::pending);
  add_notices(ana, {"1"});
  EXPECT_THAT(numbers(ana, 2, "a"), ElementsAre("R-1", "R-3")) << "it waits again, once";
  end(claims[0], DeliveryState::uncertain, second);
  set_state("1", RequestRecordState::rejected);
  EXPECT_THAT(numbers(ana, 2, "a"), ElementsAre("R-1", "R-3")) << "it may have been sent";
}

// CON-31
TEST_P(ApproverNoticesTest, ANoticeSaysThatAnApprovalWasWithdrawn) {
  const UserId ana = approver("ana@example.com");
  for (const std::string id : {"1", "2"}) set_state(id, RequestRecordState::pending);
  set_state("1", RequestRecordState::approved);
  set_state("1", RequestRecordState::pending, "approved");
  add_notices(ana, {"1", "2"});
  store_->approver_notices.queue_mails(kNow);
  ASSERT_THAT(claim(kNow), SizeIs(1));
  const ApproverMail mail = store_->approver_notices.take(ana, 1, "a");
  ASSERT_THAT(mail.notices, SizeIs(2));
  EXPECT_EQ(mail.notices[0].number, "R-1");
  EXPECT_TRUE(mail.notices[0].was_approved);
  EXPECT_FALSE(mail.notices[1].was_approved);
}

// CON-53
TEST_P(ApproverNoticesTest, WhatStillWaitsAloneIsNoMail) {
  const UserId ana = approver("ana@example.com");
  send_first_mail(ana, {"1"});
  set_state("2", RequestRecordState::pending);
  add_notices(ana, {"2"});
  store_->approver_notices.queue_mails(kNow);
  ASSERT_THAT(claim(kNow + kApproverMailPauseMillis), SizeIs(1));
  set_state("2", RequestRecordState::rejected);
  EXPECT_TRUE(store_->approver_notices.take(ana, 2, "a").is_obsolete) << "what was new is decided";
}

// CON-32
TEST_P(ApproverNoticesTest, AHeldMailIsFoundAndListedWithTheApproversAddress) {
  const UserId ana = approver("ana@example.com");
  set_state("1", RequestRecordState::pending);
  add_notices(ana, {"1"});
  store_->approver_notices.queue_mails(kNow);
  const auto claims = claim(kNow);
  ASSERT_THAT(claims, SizeIs(1));
  end(claims[0], DeliveryState::held, kNow);
  const auto held = store_->deliveries.list({DeliveryState::held, DeliveryState::uncertain}, 10);
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_EQ(held[0].kind, MailKind::approval);
  EXPECT_EQ(held[0].email, "ana@example.com");
  EXPECT_EQ(held[0].transaction.value, -ana.value);
}

// CON-31
TEST_P(ApproverNoticesTest, AMailThatHasNotEndedIsNotReplaced) {
  const UserId ana = approver("ana@example.com");
  set_state("1", RequestRecordState::pending);
  add_notices(ana, {"1"});
  store_->approver_notices.queue_mails(kNow);
  const auto claims = claim(kNow);
  ASSERT_THAT(claims, SizeIs(1));
  numbers(ana, 1, "a");
  end(claims[0], DeliveryState::uncertain, kNow);
  EXPECT_THAT(numbers(ana, 1, "a"), ElementsAre("R-1"));
  set_state("2", RequestRecordState::pending);
  add_notices(ana, {"2"});
  store_->approver_notices.queue_mails(kNow + kHourMillis);
  const auto again = claim(kNow + kHourMillis);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].number, 1);
  EXPECT_EQ(again[0].message_id, "m1");
  EXPECT_THAT(numbers(ana, 1, "a"), ElementsAre("R-1")) << "it may have been sent";
}

// CON-31
TEST_P(ApproverNoticesTest, ASenderWhoseClaimHasPassedAddsNothing) {
  const UserId ana = approver("ana@example.com");
  set_state("1", RequestRecordState::pending);
  add_notices(ana, {"1"});
  store_->approver_notices.queue_mails(kNow);
  ASSERT_THAT(store_->deliveries.claim("a", -1, 10, kNow), SizeIs(1));
  ASSERT_THAT(store_->deliveries.claim("b", 60'000, 10, kNow), SizeIs(1));
  EXPECT_THAT(numbers(ana, 1, "b"), ElementsAre("R-1"));
  set_state("2", RequestRecordState::pending);
  add_notices(ana, {"2"});
  EXPECT_THAT(numbers(ana, 1, "a"), ElementsAre("R-1")) << "b may send the mail without it";
  EXPECT_THAT(numbers(ana, 1, "b"), ElementsAre("R-1", "R-2"));
}

// CON-31
TEST_P(ApproverNoticesTest, WhatWasDecidedBeforeTheMailLeavesIsNotInIt) {
  const UserId ana = approver("ana@example.com");
  for (const std::string id : {"1", "2", "3"}) set_state(id, RequestRecordState::pending);
  add_notices(ana, {"1", "2", "3"});
  store_->approver_notices.queue_mails(kNow);
  ASSERT_THAT(claim(kNow), SizeIs(1));
  set_state("1", RequestRecordState::approved);
  EXPECT_THAT(numbers(ana, 1, "a"), ElementsAre("R-2", "R-3"));
  set_state("2", RequestRecordState::rejected);
  EXPECT_THAT(numbers(ana, 1, "a"), ElementsAre("R-3")) << "it was not sent yet";
  set_state("3", RequestRecordState::rejected);
  EXPECT_TRUE(store_->approver_notices.take(ana, 1, "a").is_obsolete);
  set_state("1", RequestRecordState::pending);
  EXPECT_EQ(add_notices(ana, {"1", "2", "3"}), 1u) << "it waits again";
  EXPECT_THAT(numbers(ana, 1, "a"), ElementsAre("R-1"));
}

// CON-31
TEST_P(ApproverNoticesTest, AMailIsObsoleteWhenNothingWaitsOrTheUserIsNoApprover) {
  const UserId ana = approver("ana@example.com");
  const UserId ben = approver("ben@example.com");
  set_state("1", RequestRecordState::pending);
  const std::vector<std::string> ids{"1"};
  const auto waiting = store_->approver_notices.find_unnoticed(ids);
  ASSERT_THAT(waiting, SizeIs(1));
  const std::vector<ApproverNotice> notices{{ana, waiting[0].transition, "1", "R-1", "Coffee", ""},
                                            {ben, waiting[0].transition, "1", "R-1", "Coffee", ""}};
  store_->approver_notices.add(notices, kNow);
  store_->approver_notices.queue_mails(kNow);
  ASSERT_THAT(claim(kNow), SizeIs(2));
  const ApproverMail mail = store_->approver_notices.take(ana, 1, "a");
  EXPECT_FALSE(mail.is_obsolete);
  EXPECT_EQ(mail.email, "ana@example.com");
  EXPECT_FALSE(store_->approver_notices.take(ben, 1, "a").is_obsolete);
  store_->console_users.revoke(ben, Role::approver, {});
  EXPECT_TRUE(store_->approver_notices.take(ben, 1, "").is_obsolete);
  set_state("1", RequestRecordState::rejected);
  EXPECT_TRUE(store_->approver_notices.take(ana, 1, "").is_obsolete);
  store_->approver_notices.prune(kNow + 1);
  EXPECT_THAT(store_->approver_notices.take(ana, 1, "").notices, IsEmpty());
}

}  // namespace
}  // namespace giftsync::store
