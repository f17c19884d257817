// The console's lists of request records and mails: what a viewer sees, keyset pages, and an operator's
// actions on mails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ConsoleListsTest : public tests::StoreFixture {
 protected:
  static constexpr UtcMillis kNow = kSentAt;

  void save(const std::string& id, RequestRecordState state, const std::string& requested_by,
            const std::string& error = "") {
    RequestRecordEntryUpdate change;
    change.next.record_id = id;
    change.next.number = "R-" + id;
    change.next.state = state;
    change.next.requested_by = requested_by;
    change.next.error = error;
    change.transitions = {{kNow, "ana", "", std::string(to_word(state)), ""}};
    store_->request_records.save(std::span(&change, 1));
  }
  AccountId account(const std::string& email, std::optional<OrganizationId> organization = {}) {
    Account made;
    made.email = email;
    made.organization = organization;
    return store_->accounts.create(made).value();
  }
  OrganizationId organization(const std::string& name) {
    Credential token;
    token.hash = "hash of " + name;
    return store_->organizations.create(name, token).value();
  }
  std::vector<std::string> numbers(const Viewer& viewer, const RequestRecordFilter& filter = {},
                                   const std::string& before = "", std::optional<OrganizationId> owner = {}) {
    std::vector<std::string> found;
    for (const auto& one : store_->request_records.list(viewer, owner, filter, before, 50))
      found.push_back(one.number);
    return found;
  }
  TransactionId gift_of(AccountId from, const std::string& email = "ada@example.com") {
    NewGiftRequest request = request_for(0);
    request.request.account = from;
    request.recipients.push_back({email, "", "", ""});
    return store_->gifts.create(std::span(&request, 1)).front().recipients.front().id;
  }
  void set_mail(TransactionId id, const std::string& assignments) {
    sql("UPDATE mail_outbox SET " + assignments + " WHERE transaction_id = " + std::to_string(id.value));
  }
  std::vector<AuditEvent> events() { return store_->audit.list(operations_, {}, 50); }

  const Viewer operations_ = Viewer::of_command_line();
  const Viewer approver_{{2}, {}, {}, {Role::approver}};
};

INSTANTIATE_TEST_SUITE_P(BackEnds, ConsoleListsTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// CON-28
TEST_P(ConsoleListsTest, ASenderSeesTheOwnRequestsAndAnApproverAll) {
  const AccountId ana = account("ana@acme.com");
  save("1", RequestRecordState::pending, "ana@acme.com");
  save("2", RequestRecordState::pending, "");
  save("3", RequestRecordState::sent, "ana@acme.com");
  EXPECT_THAT(numbers(operations_), ElementsAre("R-2", "R-1"));
  EXPECT_THAT(numbers(approver_), ElementsAre("R-2", "R-1"));
  EXPECT_THAT(numbers({{1}, ana, {}, {Role::sender}}), ElementsAre("R-1"));
  EXPECT_THAT(numbers({{1}, {}, {}, {Role::sender}}), IsEmpty());
  EXPECT_THAT(numbers({{1}, ana, {}, {}}), IsEmpty());
  const Viewer sender{{1}, ana, {}, {Role::sender}};
  EXPECT_TRUE(store_->request_records.find(sender, {}, "R-1"));
  EXPECT_FALSE(store_->request_records.find(sender, {}, "R-2"));
  EXPECT_FALSE(store_->request_records.find(operations_, {}, "R-9"));
}

// CON-28
TEST_P(ConsoleListsTest, AnOrganizationSeesRequestsOnlyIfTheyAreSentForIt) {
  const OrganizationId acme = organization("Acme");
  const OrganizationId edge = organization("Edge");
  save("1", RequestRecordState::pending, "");
  for (const Role role : {Role::approver, Role::admin, Role::operations, Role::auditor}) {
    EXPECT_THAT(numbers({{1}, {}, acme, {role}}, {}, "", acme), ElementsAre("R-1"));
    EXPECT_THAT(numbers({{1}, {}, edge, {role}}, {}, "", acme), IsEmpty());
    EXPECT_THAT(numbers({{1}, {}, edge, {role}}), IsEmpty()) << "without a token";
  }
}

// CON-28
TEST_P(ConsoleListsTest, RequestsAreListedByStateOrErrorInPages) {
  save("1", RequestRecordState::approved, "", "no account");
  save("2", RequestRecordState::approved, "");
  save("3", RequestRecordState::rejected, "", "no account");
  EXPECT_THAT(numbers(operations_, {RequestRecordState::approved}), ElementsAre("R-2", "R-1"));
  EXPECT_THAT(numbers(operations_, {RequestRecordState::approved}, "R-2"), ElementsAre("R-1"));
  EXPECT_THAT(numbers(operations_, {RequestRecordState::pending, true}), ElementsAre("R-1"));
  EXPECT_EQ(store_->request_records.list(operations_, {}, {RequestRecordState::approved}, "", 1)[0].since,
            kNow);
  const RequestRecordFilter all{.is_any_state = true};
  EXPECT_THAT(numbers(operations_, all), ElementsAre("R-3", "R-2", "R-1"));
  EXPECT_THAT(numbers(operations_, all, "R-3"), ElementsAre("R-2", "R-1"));
  save("4", RequestRecordState::pending, "", std::string(kChangedError));
  save("5", RequestRecordState::pending, "", std::string(kUncheckedError));
  save("6", RequestRecordState::pending, "", "Changed");
  EXPECT_THAT(numbers(operations_, {RequestRecordState::pending, true}), ElementsAre("R-6", "R-1"))
      << "CON-57: a withdrawn approval is no error";
  EXPECT_THAT(numbers(operations_, {.has_error = true, .number = "R-4"}), IsEmpty());
}

// CON-48
TEST_P(ConsoleListsTest, RequestsAreFoundByNumberInTheStateThatIsAskedFor) {
  save("1", RequestRecordState::approved, "", "no account");
  save("3", RequestRecordState::rejected, "", "no account");
  save("000003", RequestRecordState::sent, "");
  EXPECT_THAT(numbers(operations_, {.is_any_state = true, .number = "R-3"}), ElementsAre("R-3", "R-000003"));
  EXPECT_THAT(numbers(operations_, {.is_any_state = true, .number = "3"}), ElementsAre("R-000003"));
  EXPECT_THAT(numbers(operations_, {.is_any_state = true, .number = "R"}), IsEmpty());
  EXPECT_THAT(numbers(operations_, {.state = RequestRecordState::rejected, .number = "R-3"}),
              ElementsAre("R-3"));
  EXPECT_THAT(numbers(operations_, {.number = "R-3"}), IsEmpty()) << "it does not wait";
  EXPECT_THAT(numbers(operations_, {.has_error = true, .number = "R-1"}), ElementsAre("R-1"));
  EXPECT_THAT(numbers(operations_, {.has_error = true, .number = "R-3"}), IsEmpty()) << "it is rejected";
  const Viewer eve{{1}, account("eve@edge.com"), {}, {Role::sender}};
  EXPECT_THAT(numbers(eve, {.is_any_state = true, .number = "R-3"}), IsEmpty());
}

// CON-48
TEST_P(ConsoleListsTest, RequestsAreFoundByGiftAndPersonForTheViewer) {
  const AccountId ana = account("Ana@acme.com");
  for (const char* id : {"1", "2"}) save(id, RequestRecordState::claimed, "Ana@acme.com");
  save("3", RequestRecordState::pending, "");
  NewGiftRequest request = request_for(0);
  request.request.account = ana;
  request.recipients.push_back({"Ada@example.com", "", "", ""});
  RequestRecordLink link;
  link.record_id = "2";
  const std::string key = "2";
  link.entry_version = store_->request_records.find(std::span(&key, 1)).front().version;
  request.request_record = link;
  const auto id = store_->gifts.create(std::span(&request, 1)).front().recipients.front().id;
  const TransactionId other = gift_of(ana);
  const auto of_gift = [](TransactionId gift) {
    return RequestRecordFilter{.is_any_state = true, .gift = gift};
  };
  const auto of_person = [](const std::string& person) {
    return RequestRecordFilter{.is_any_state = true, .person = person};
  };
  EXPECT_THAT(numbers(operations_, of_gift(id)), ElementsAre("R-2"));
  EXPECT_THAT(numbers(operations_, of_gift(other)), IsEmpty()) << "of no request";
  EXPECT_THAT(numbers(operations_, of_person(" ada@example.com")), ElementsAre("R-2"));
  EXPECT_THAT(numbers(operations_, of_person("ana@ACME.com")), ElementsAre("R-2", "R-1"));
  EXPECT_THAT(numbers(operations_, of_person("ana@ACME.com"), "R-2"), ElementsAre("R-1"));
  EXPECT_THAT(numbers(operations_, of_person("eve@edge.com")), IsEmpty());
  for (const RequestRecordFilter& search : {of_gift(id), of_person("ada@example.com")}) {
    RequestRecordFilter filter = search;
    filter.is_any_state = false;
    EXPECT_THAT(numbers(operations_, filter), IsEmpty()) << "it does not wait";
    filter.has_error = true;
    EXPECT_THAT(numbers(operations_, filter), IsEmpty());
    filter.has_error = false;
    filter.state = RequestRecordState::claimed;
    EXPECT_THAT(numbers(operations_, filter), ElementsAre("R-2"));
  }
  const Viewer eve{{1}, account("eve@edge.com"), {}, {Role::sender}};
  EXPECT_THAT(numbers(eve, of_gift(id)), IsEmpty());
  EXPECT_THAT(numbers(eve, of_person("ada@example.com")), IsEmpty());
  sql("UPDATE recipient_transaction SET email = 'Ada@b\u00FCcher.example' WHERE id = " +
      std::to_string(id.value));
  for (const char* typed : {"ada@b\u00FCcher.example", "ADA@xn--bcher-kva.example"})
    EXPECT_THAT(numbers(operations_, of_person(typed)), ElementsAre("R-2")) << typed;
}

// CON-30
TEST_P(ConsoleListsTest, TheEventOfADecisionIsInItsTransaction) {
  RequestRecordEntryUpdate change;
  change.next.record_id = "1";
  change.audit = AuditEvent{.action = "request.approve"};
  change.next.version = 5;
  EXPECT_THAT(store_->request_records.save(std::span(&change, 1)), IsEmpty());
  EXPECT_THAT(events(), IsEmpty()) << "of a version that is not there";
  change.next.version = 0;
  EXPECT_THAT(store_->request_records.save(std::span(&change, 1)), SizeIs(1));
  EXPECT_THAT(events(), SizeIs(1));
}

// CON-32, CON-16
TEST_P(ConsoleListsTest, MailsAreListedForTheViewerWithMaskedAddresses) {
  const OrganizationId acme = organization("Acme");
  const TransactionId own = gift_of(account("ana@acme.com", acme));
  const TransactionId other = gift_of(account("eve@edge.com"), "no address");
  for (const TransactionId id : {own, other}) set_mail(id, "state = 'held', last_reply = 'ada is away'");
  const auto ids = [&](const Viewer& viewer, std::optional<TransactionId> before = {}) {
    std::vector<TransactionId> found;
    for (const auto& one : store_->deliveries.list(viewer, DeliveryState::held, before, 50))
      found.push_back(one.transaction);
    return found;
  };
  EXPECT_THAT(ids(operations_), ElementsAre(other, own));
  EXPECT_THAT(ids(operations_, other), ElementsAre(own));
  EXPECT_THAT(ids({{1}, {}, acme, {Role::admin}}), ElementsAre(own));
  EXPECT_THAT(store_->deliveries.list(operations_, DeliveryState::queued, {}, 50), IsEmpty());
  const auto masked = store_->deliveries.list({{1}, {}, {}, {Role::auditor}}, DeliveryState::held, {}, 50);
  ASSERT_THAT(masked, SizeIs(2));
  EXPECT_EQ(masked[0].email, "***");
  EXPECT_EQ(masked[1].email, "***@example.com");
  EXPECT_EQ(masked[1].last_reply, "***") << "not the same as none";
  EXPECT_EQ(store_->deliveries.list(operations_, DeliveryState::held, {}, 50)[1].last_reply, "ada is away");
}

// CON-32, CON-16
TEST_P(ConsoleListsTest, MailsOfGiftsAreListedInAnyStateForTheViewer) {
  const OrganizationId acme = organization("Acme");
  const AccountId ana = account("ana@acme.com", acme);
  const std::vector<TransactionId> gifts{gift_of(ana), gift_of(account("eve@edge.com")), gift_of(ana)};
  set_mail(gifts[0], "state = 'accepted', message_id = 'm1', last_reply = 'ada is away'");
  const auto found = store_->deliveries.list({{1}, {}, acme, {Role::admin}}, gifts);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].transaction, gifts[2]);
  EXPECT_EQ(found[0].state, DeliveryState::queued);
  EXPECT_EQ(found[1].transaction, gifts[0]);
  EXPECT_EQ(found[1].state, DeliveryState::accepted);
  EXPECT_EQ(found[1].message_id, "m1");
  EXPECT_EQ(found[1].last_reply, "ada is away");
  EXPECT_THAT(store_->deliveries.list(operations_, std::span(gifts).first(2)), SizeIs(2));
  EXPECT_THAT(store_->deliveries.list(operations_, {}), IsEmpty());
  const auto masked = store_->deliveries.list({{1}, {}, acme, {Role::auditor}}, std::span(gifts).first(1));
  ASSERT_THAT(masked, SizeIs(1));
  EXPECT_EQ(masked[0].email, "***@example.com");
  EXPECT_EQ(masked[0].last_reply, "***");
}

// CON-32, CON-60
TEST_P(ConsoleListsTest, AnActionOnAMailNeedsItsStateAndHasItsEvent) {
  const TransactionId id = gift_of({1});
  AuditEvent event;
  event.actor = "op@example.com";
  const auto apply = [&](MailAction action) { return store_->deliveries.apply(id, action, event, kNow); };
  const auto state = [&] { return store_->deliveries.find(id)->state; };
  EXPECT_FALSE(apply(MailAction::release)) << "it is not held";
  EXPECT_FALSE(apply(MailAction::retry)) << "it is due already";
  EXPECT_THAT(events(), IsEmpty());
  set_mail(id,
           "state = 'held', message_id = 'm1', turn = 0, next_attempt_at = 0, uncertain_retries = 3, "
           "last_reply = 'lost'");
  EXPECT_TRUE(apply(MailAction::release));
  EXPECT_EQ(state(), DeliveryState::queued);
  EXPECT_EQ(store_->deliveries.find(id)->message_id, "m1");
  EXPECT_EQ(store_->deliveries.find(id)->uncertain_retries, 0);
  set_mail(id, "next_attempt_at = " + std::to_string(kNow.value + 5'000));
  EXPECT_TRUE(apply(MailAction::retry));
  EXPECT_THAT(store_->deliveries.claim("a", -1, 10, kNow), SizeIs(1));
  EXPECT_EQ(store_->deliveries.oldest_due(kNow), kNow);
  EXPECT_TRUE(apply(MailAction::withdraw));
  EXPECT_EQ(state(), DeliveryState::withdrawn);
  EXPECT_FALSE(apply(MailAction::withdraw));
  EXPECT_EQ(store_->deliveries.oldest_due(kNow), std::nullopt);
  EXPECT_THAT(events(), SizeIs(3));
  std::vector<GiftActionKind> kinds;
  for (const GiftAction& one : store_->lifecycle.find_actions(id)) {
    kinds.push_back(one.kind);
    EXPECT_EQ(one.actor, one.kind == GiftActionKind::mail_held ? "mailer" : "op@example.com");
    EXPECT_EQ(one.comment, one.kind == GiftActionKind::mail_held ? "lost" : "") << "once";
  }
  EXPECT_THAT(kinds, ElementsAre(GiftActionKind::mail_held, GiftActionKind::mail_released,
                                 GiftActionKind::mail_retried, GiftActionKind::mail_withdrawn));
  const auto withdrawn_by = [&] {
    return store_->deliveries.list(operations_, DeliveryState::withdrawn, {}, 10).at(0).withdrawn_by;
  };
  EXPECT_EQ(withdrawn_by(), "op@example.com");
  sql("INSERT INTO gift_action (transaction_id, done_at, action, actor, comment) VALUES (" +
      std::to_string(id.value) + ", " + std::to_string(kNow.value) + ", 'cancelled', 'sam@example.com', '')");
  EXPECT_EQ(withdrawn_by(), "op@example.com") << "who cancelled the gift later withdrew nothing";
  set_mail(id, "ordered_at = " + std::to_string(kNow.value + 1));
  EXPECT_EQ(withdrawn_by(), "") << "that was an earlier mail";
}

// CON-60
TEST_P(ConsoleListsTest, ADeferredMailKeepsItsReplyAndTimeWhenItIsWithdrawn) {
  const TransactionId id = gift_of({1});
  set_mail(id, "turn = 0, last_reply = '450 busy', updated_at = " + std::to_string(kNow.value - 5) +
                   ", next_attempt_at = " + std::to_string(kNow.value + 5'000));
  AuditEvent event;
  event.actor = "op@example.com";
  ASSERT_TRUE(store_->deliveries.apply(id, MailAction::retry, event, kNow));
  EXPECT_THAT(store_->lifecycle.find_actions(id), SizeIs(1)) << "the outbox has its reply still";
  EXPECT_EQ(store_->deliveries.find(id)->last_reply, "450 busy");
  ASSERT_TRUE(store_->deliveries.apply(id, MailAction::withdraw, event, kNow + 1));
  const auto actions = store_->lifecycle.find_actions(id);
  ASSERT_THAT(actions, SizeIs(3));
  EXPECT_EQ(actions[0].kind, GiftActionKind::mail_deferred);
  EXPECT_EQ(actions[0].at, kNow - 5);
  EXPECT_EQ(actions[0].actor, "mailer");
  EXPECT_EQ(actions[0].comment, "450 busy");
  EXPECT_EQ(actions[1].kind, GiftActionKind::mail_retried);
  EXPECT_EQ(actions[2].kind, GiftActionKind::mail_withdrawn);
}

}  // namespace
}  // namespace giftsync::store
