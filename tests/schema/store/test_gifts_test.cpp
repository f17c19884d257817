// Test gifts on each back end: no listing of others has them, they have no mail of their own, and a purge
// deletes all their rows and no other.
#include "schema/store/gift/test_gifts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "schema/contact_normalization.h"
#include "schema/store/statements/mail_ids.h"
#include "schema/store/store_stats.h"
#include "tests/support/row_counts.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = CreateOutcome::Kind;

constexpr const char* kLiveKey = "gsk_live_abcdefg";
constexpr const char* kTestKey = "gsk_test_abcdefg";

class TestGiftsTest : public tests::StoreFixture {
 protected:
  static NewGiftRequest asked(bool is_test, SendMode mode = SendMode::email) {
    NewGiftRequest request = request_for(2, mode);
    request.recipients[1].email = "bea@example.com";
    request.request.sender_email = "sam@example.com";
    request.request.item_name = "Coffee";
    request.request.credential_prefix = is_test ? kTestKey : kLiveKey;
    request.request.is_test = is_test;
    return request;
  }
  CreateOutcome create(const NewGiftRequest& request) {
    return store_->gifts.create(std::span(&request, 1)).front();
  }
  /// Gifts in several statuses that the CRM refused, and one request that waits. Those of tests are overdue.
  void fill(bool is_test) {
    for (const SendMode mode : {SendMode::email, SendMode::urls}) {
      const CreateOutcome made = create(asked(is_test, mode));
      const TransactionId gift = made.recipients.front().id;
      const StatusChange opened{{}, "test", gift, Status::opened, kSentAt, kSentAt, {}};
      store_->changes.accept(std::span(&opened, 1));
      sql("UPDATE recipient_transaction SET status = 'undelivered', undelivered_at = sent_at, has_conflict = "
          "1 "
          "WHERE id = " +
          std::to_string(gift.value));
    }
    sql(std::string("UPDATE crm_outbox SET attempts = 1, is_rejected = 1, next_attempt_at = ") +
        (is_test ? "1, last_error = 'a test'" : "5, last_error = 'the CRM is away'") + " WHERE attempts = 0");
    sql("UPDATE mail_outbox SET turn = 0, next_attempt_at = 1 WHERE transaction_id < -" +
        std::to_string(kTestMailIds));
    NewGiftRequest held = asked(is_test);
    held.hold_reasons = {{"rule", "", "A person has to approve it."}};
    ASSERT_EQ(create(held).kind, Kind::held);
  }

  /// A change that a source reported and an admin voided, a donation and an action.
  void add_details(TransactionId gift) {
    const std::string id = std::to_string(gift.value);
    const StatusChange opened{{}, "test", gift, Status::opened, kSentAt, kSentAt, {"event of " + id}};
    store_->changes.accept(std::span(&opened, 1));
    const ChangeId change = store_->changes.history(gift).front().id;
    ASSERT_EQ(store_->changes.void_change(change, {kSentAt, "ana", "wrong gift"}), VoidOutcome::voided);
    sql("INSERT INTO donation (transaction_id, charity, link) VALUES (" + id + ", 'c', 'l')");
    sql("INSERT INTO gift_action (transaction_id, done_at, action, actor, comment) VALUES (" + id +
        ", 1, 'resent', 'ana', '')");
  }
  std::string count(const std::string& rows) { return scalar("SELECT cast(count(*) AS TEXT) FROM " + rows); }

  using Listing = std::function<std::string()>;
  template <class Rows, class IdOf>
  static std::string ids_of(const Rows& rows, IdOf id_of) {
    std::string text;
    for (const auto& row : rows) text += std::to_string(id_of(row).value) + " ";
    return text;
  }
  /// Every listing of the store that may have gifts; of queues those that people read.
  std::map<std::string, Listing> listings() {
    const Viewer all = Viewer::of_command_line();
    const auto of_gift = [](const Gift& gift) { return gift.transaction.id; };
    const auto itself = [](const auto& id) { return id; };
    return {
        {"gifts by id", [=, this] { return ids_of(store_->gifts.list({}, {}, 100).gifts, of_gift); }},
        {"gifts of a sender",
         [=, this] {
           GiftFilter filter;
           filter.sender = "sam@example.com";
           return ids_of(store_->gifts.list(filter, {}, 100).gifts, of_gift);
         }},
        {"latest gifts",
         [=, this] {
           return ids_of(store_->gifts.list_latest({}, SentPosition::end(), 100),
                         [](const SentPosition& at) { return at.id; });
         }},
        {"search of the latest",
         [=, this] { return ids_of(store_->gifts.search_latest({}, SentPosition::end()).gifts, of_gift); }},
        {"conflicts", [=, this] { return ids_of(store_->gifts.list_conflicting({}, 100), itself); }},
        {"console's gifts",
         [=, this] {
           return ids_of(store_->console_gifts.list(all, {}, {}, 100).gifts,
                         [](const ConsoleGift& one) { return one.gift.transaction.id; });
         }},
        {"console's gifts of an address",
         [=, this] {
           ConsoleGiftFilter filter;
           filter.recipient = "ada@example.com";
           return ids_of(store_->console_gifts.list(all, filter, {}, 100).gifts,
                         [](const ConsoleGift& one) { return one.gift.transaction.id; });
         }},
        {"undelivered gifts",
         [=, this] { return std::to_string(store_->console_gifts.count_undelivered(all, {0})); }},
        {"backfill",
         [=, this] {
           return std::to_string(store_->backfill.count_transactions()) + ": " +
                  ids_of(store_->backfill.transactions({}, 100), itself);
         }},
        {"mails by state",
         [=, this] {
           std::string text;
           for (const auto& [state, count] : store_->deliveries.count_by_state())
             text += std::string(to_word(state)) + " " + std::to_string(count) + " ";
           return text;
         }},
        {"mails",
         [=, this] {
           return ids_of(store_->deliveries.list({DeliveryState::queued}, 100),
                         [](const DeliveryRow& row) { return row.transaction; }) +
                  ids_of(store_->deliveries.list(all, DeliveryState::queued, {}, 100),
                         [](const ListedMail& mail) { return mail.transaction; });
         }},
        {"gifts that the CRM has not",
         [=, this] {
           const SyncQueue::Counts counts = store_->sync.counts();
           return std::to_string(counts.waiting) + " " + std::to_string(counts.failing) + " " +
                  std::to_string(counts.rejected) + " " + counts.last_error + " " +
                  std::to_string(counts.oldest_due.value().value) + " " +
                  std::to_string(counts.next_rejected_at.value().value);
         }},
        {"classes of failures",
         [=, this] {
           std::string text;
           for (const CrmFailureClass& one : store_->console_gifts.failure_classes(all))
             text += one.error + " " + std::to_string(one.gifts) + " ";
           return text;
         }},
        {"changes",
         [=, this] {
           return ids_of(store_->changes.list({}, ChangeOrder::newest_first, {}, 100),
                         [](const StatusChange& change) { return change.transaction; });
         }},
        {"gifts in the future",
         [=, this] {
           return std::to_string(store_stats(address(), kSentAt - kDayMillis, kSentAt).gifts_in_future);
         }},
        {"mail that is due the longest",
         [=, this] { return std::to_string(store_->deliveries.oldest_due(kSentAt).value().value); }},
        {"held requests",
         [=, this] {
           return std::to_string(store_->held.count_waiting()) + ": " +
                  ids_of(store_->held.list({}, {}, 100), [](const HeldGiftRequest& held) { return held.id; });
         }},
        {"held requests for approvers",
         [=, this] {
           return ids_of(store_->approver_notices.find_unnoticed_held({}, 100),
                         [](const HeldGiftRequest& held) { return held.id; });
         }},
        {"gifts of a person",
         [=, this] {
           return ids_of(store_->person_traces.gifts("ada@example.com", ""),
                         [](const PersonGift& gift) { return gift.id; });
         }},
    };
  }
  std::map<std::string, std::string> all_listed() {
    std::map<std::string, std::string> listed;
    for (const auto& [name, listing] : listings()) listed[name] = listing();
    return listed;
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, TestGiftsTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// covers: TEST-7
TEST_P(TestGiftsTest, EachListingIsThatOfAStoreWithoutThem) {
  store_->gifts.set_test_mail(true);
  fill(false);
  const auto before = all_listed();
  for (const auto& [name, text] : before) EXPECT_FALSE(text.empty()) << name << " lists nothing";
  fill(true);
  EXPECT_EQ(all_listed(), before);
}

// covers: TEST-7
TEST_P(TestGiftsTest, TheCountsOfTheCrmsQueueAreThoseOfAStoreWithoutThem) {
  fill(true);
  EXPECT_EQ(store_->sync.counts().waiting, 0);
  EXPECT_EQ(store_->sync.counts().failing, 0);
  EXPECT_FALSE(store_->sync.counts().oldest_due.has_value());
  fill(false);
  EXPECT_EQ(store_->sync.counts().waiting, 4);
  EXPECT_EQ(store_->sync.counts().failing, 4);
  EXPECT_EQ(store_->sync.counts().oldest_due, UtcMillis{5});
}

// covers: TEST-7
TEST_P(TestGiftsTest, TheirOwnListingsHaveThemAlone) {
  fill(false);
  fill(true);
  const auto are_tests = [](const std::vector<Gift>& gifts) {
    for (const Gift& gift : gifts) EXPECT_TRUE(gift.request.is_test && gift.transaction.is_test);
    return gifts.size();
  };
  GiftFilter filter;
  filter.test = true;
  EXPECT_EQ(are_tests(store_->gifts.list(filter, {}, 100).gifts), 4u);
  EXPECT_THAT(store_->gifts.list(filter, {}, 3).gifts, SizeIs(3));
  EXPECT_EQ(are_tests(store_->gifts.search_latest(filter, SentPosition::end()).gifts), 4u);
  EXPECT_THAT(store_->gifts.list_latest(filter, SentPosition::end(), 100), SizeIs(4));
  Viewer viewer = Viewer::of_command_line();
  viewer.test = true;
  const auto shown = store_->console_gifts.list(viewer, {}, {}, 100).gifts;
  ASSERT_THAT(shown, SizeIs(4));
  EXPECT_TRUE(store_->console_gifts.find(viewer, shown.front().gift.transaction.id));
  EXPECT_FALSE(store_->console_gifts.find(Viewer::of_command_line(), shown.front().gift.transaction.id));
  ChangeFilter changes;
  changes.test = true;
  EXPECT_THAT(store_->changes.list(changes, ChangeOrder::oldest_first, {}, 100), SizeIs(2));
  HeldFilter held;
  held.test = true;
  EXPECT_THAT(store_->held.list(held, {}, 100), SizeIs(1));
}

// covers: TEST-2
TEST_P(TestGiftsTest, NoneHasAMailOfItsOwn) {
  const TransactionId gift = create(asked(true)).recipients.front().id;
  EXPECT_FALSE(store_->deliveries.find(gift));
  EXPECT_THAT(store_->deliveries.claim("mailer", 60'000, 100, kSentAt), IsEmpty());
  store_->gifts.set_test_mail(true);
  const TransactionId mailed = create(asked(true)).recipients.front().id;
  EXPECT_FALSE(store_->deliveries.find(mailed));
  const auto claims = store_->deliveries.claim("mailer", 60'000, 100, kSentAt);
  ASSERT_THAT(claims, SizeIs(2));
  for (const DeliveryClaim& claim : claims) {
    EXPECT_EQ(claim.kind, MailKind::test);
    EXPECT_TRUE(is_test_mail(claim.transaction));
    EXPECT_FALSE(is_mail_to_sender(claim.transaction));
  }
  EXPECT_EQ(test_gift_of(test_mail_of(mailed)), mailed);
  create(asked(true, SendMode::urls));
  EXPECT_THAT(store_->deliveries.claim("other", 60'000, 100, kSentAt), IsEmpty()) << "the caller mails URLs";
}

// covers: TEST-2
TEST_P(TestGiftsTest, AReportedBounceMakesNoEntryInTheList) {
  const TransactionId test = create(asked(true)).recipients.front().id;
  const TransactionId live = create(asked(false)).recipients.front().id;
  std::vector<DeliveryOutcome> outcomes;
  for (const TransactionId gift : {test, live}) {
    DoNotSendEntry entry;
    entry.pattern = std::to_string(gift.value) + "@example.com";
    entry.reason = DoNotSendReason::bounced;
    entry.transaction = gift;
    DeliveryOutcome outcome{gift, 1, DeliveryState::undelivered, kSentAt, "", false, {}};
    outcome.do_not_send = entry;
    outcomes.push_back(outcome);
  }
  store_->deliveries.finish(outcomes, kSentAt);
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM do_not_send"), "1");
  EXPECT_EQ(scalar("SELECT pattern FROM do_not_send"), std::to_string(live.value) + "@example.com");
}

// covers: TEST-1
TEST_P(TestGiftsTest, AnIdempotencyKeyOfATestKeyIsAnother) {
  NewGiftRequest live = asked(false);
  live.idempotency = IdempotencyKey{"k", "one"};
  NewGiftRequest test = asked(true);
  test.idempotency = IdempotencyKey{"k", "two"};
  const CreateOutcome first = create(live);
  const CreateOutcome second = create(test);
  EXPECT_EQ(second.kind, Kind::created);
  EXPECT_EQ(create(test).kind, Kind::replayed);
  EXPECT_EQ(create(live).request, first.request);
  const auto found = store_->gifts.find_idempotent({1}, SendMode::email, {"k", "two"}, true);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->request, second.request);
  EXPECT_EQ(store_->gifts.find_idempotent({1}, SendMode::email, {"k", "two"})->kind, Kind::body_mismatch);
}

// covers: TEST-7
TEST_P(TestGiftsTest, FrequencyCountsThemApart) {
  store_->gifts.set_frequency_rule({.gifts = 1});
  EXPECT_EQ(create(asked(true)).kind, Kind::created);
  EXPECT_EQ(create(asked(false)).kind, Kind::created) << "no test gift counts";
  EXPECT_EQ(create(asked(true)).kind, Kind::refused);
  EXPECT_EQ(create(asked(false)).kind, Kind::refused);
}

// covers: TEST-7
TEST_P(TestGiftsTest, TheFirstGiftToADomainIsNoTest) {
  NewGiftRequest test = asked(true);
  for (NewRecipient& to : test.recipients) to.email = "kim@new.example";
  create(test);
  EXPECT_EQ(store_->gifts.first_new_domain(test.recipients), "new.example");
}

// covers: TEST-9
TEST_P(TestGiftsTest, APurgeDeletesAllTheirRowsAndNoOther) {
  store_->gifts.set_test_mail(true);
  fill(false);
  add_details(create(asked(false)).recipients.front().id);
  tests::RowCounts counts(address());
  const std::string before = counts.now();
  fill(true);
  NewGiftRequest keyed = asked(true);
  keyed.idempotency = IdempotencyKey{"k", "one"};
  const TransactionId gift = create(keyed).recipients.front().id;
  add_details(gift);
  const auto details = {"change_event", "change_audit", "donation", "gift_action"};
  for (const char* const table : details) EXPECT_EQ(count(table), "2") << table;
  store_->test_gifts.save_records({{gift, "{}"}, {{gift.value + 1}, "{}"}});
  store_->test_gifts.save_records({{gift, R"({"Name":"Coffee"})"}});
  EXPECT_EQ(store_->test_gifts.find_records(std::span(&gift, 1)).at(gift), R"({"Name":"Coffee"})");
  EXPECT_EQ(store_->test_gifts.purge(kSentAt), 0) << "none is older";
  EXPECT_EQ(store_->test_gifts.purge(kSentAt + 1), 7) << "six gifts and one that was held";
  EXPECT_EQ(store_->test_gifts.purge(kSentAt + 1), 0);
  EXPECT_EQ(counts.now(), before);
  for (const char* const table : details) EXPECT_EQ(count(table), "1") << table;
  EXPECT_EQ(create(keyed).kind, Kind::created) << "the key is free";
}

// covers: TEST-9
TEST_P(TestGiftsTest, ARecordThatComesAfterThePurgeIsNotKept) {
  const TransactionId purged = create(asked(true)).recipients.front().id;
  EXPECT_EQ(store_->test_gifts.purge(kSentAt + 1), 2);
  const TransactionId kept = create(asked(true)).recipients.front().id;
  store_->test_gifts.save_records({{purged, "{}"}});
  EXPECT_EQ(count("test_record"), "0");
  store_->test_gifts.save_records({{purged, "{}"}, {kept, "{}"}});
  EXPECT_EQ(count("test_record"), "1");
  EXPECT_THAT(store_->test_gifts.find_records(std::span(&kept, 1)), SizeIs(1));
}

// covers: TEST-9
TEST_P(TestGiftsTest, AHeldRequestThatWasApprovedStaysAsLongAsItsGifts) {
  store_->gifts.set_hold_terms(
      {kDayMillis, [](const std::vector<ExceededLimit>&, const std::vector<RecentRecipient>&) {
         return std::vector<HoldReason>();
       }});
  NewGiftRequest held = asked(true);
  held.hold_reasons = {{"rule", "", "A person has to approve it."}};
  held.idempotency = IdempotencyKey{"k", "one"};
  const CreateOutcome waiting = create(held);
  ASSERT_EQ(waiting.kind, Kind::held);
  NewGiftRequest approved = asked(true);
  approved.request.created_at = kSentAt + 10'000;
  AuditEvent event;
  event.action = "held.approve";
  event.object_kind = "held";
  event.object_id = std::to_string(waiting.request.value);
  approved.approval = std::make_shared<HeldDecision>(HeldDecision{waiting.request, "rose", "fine", event});
  ASSERT_EQ(create(approved).kind, Kind::created);
  create(asked(true));
  const auto is_found = [&] {
    const bool by_key =
        store_->gifts.find_idempotent({1}, SendMode::email, *held.idempotency, true).has_value();
    EXPECT_EQ(by_key, store_->held.find(waiting.request).has_value());
    return by_key;
  };
  EXPECT_EQ(store_->test_gifts.purge(kSentAt + 1), 2) << "those of the other request";
  EXPECT_EQ(store_->test_gifts.purge(kSentAt + 1), 0);
  EXPECT_TRUE(is_found());
  EXPECT_EQ(store_->test_gifts.purge(kSentAt + 10'001), 3) << "two gifts and the held request";
  EXPECT_FALSE(is_found());
}

}  // namespace
}  // namespace giftsync::store
