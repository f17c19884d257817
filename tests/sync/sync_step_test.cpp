// The sync step against a real store (SQLite, and PostgreSQL where available) and an in-memory CRM that can
// fail: one record for each gift, correct in any order, and never an older state over a newer one.
#include "sync/crm/sync_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/dependency_error.h"
#include "sync/crm/transaction_id_floor.h"
#include "sync/mail/delivery_rules.h"
#include "tests/support/in_memory_crm.h"
#include "tests/support/log_lines.h"
#include "tests/support/store_fixture.h"

namespace giftsync::sync {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

class SyncStep : public tests::StoreFixture {
 protected:
  void SetUp() override {
    tests::StoreFixture::SetUp();
    if (IsSkipped()) return;
    rules_.link_of = [](const store::RecipientTransaction& gift) {
      return "https://gifts.test/g/" + std::to_string(gift.id.value);
    };
    crm_.users_by_email["sam@example.com"] = {"005S", "Sam", "sam@example.com", true};
  }

  TransactionId send(const std::string& email, SendMode mode = SendMode::email) {
    store::NewGiftRequest new_request;
    new_request.request.account = {1};
    new_request.request.mode = mode;
    new_request.request.gift = {7};
    new_request.request.item_name = "Coffee";
    new_request.request.costs = {Money{500}, Money{100}, Money{20}, Money{5}};
    new_request.request.sender_email = "Sam@Example.com";
    new_request.request.created_at = kNow;
    new_request.recipients.push_back({email, "Ada", "", "Thank you"});
    return store_->gifts.create(std::span(&new_request, 1)).front().recipients.front().id;
  }
  void report(TransactionId gift, Status status, std::int64_t after_millis) {
    const store::StatusChange change{{}, "test", gift, status, kNow + after_millis, kNow, {}};
    store_->changes.accept(std::span(&change, 1));
  }
  SyncStepStats step(UtcMillis now = kNow) { return sync_step(*store_, crm_, rules_, {"one", 60'000}, now); }
  std::string text(TransactionId gift, GiftField field) {
    const auto* value = std::get_if<std::string>(&crm_.records.at(gift.value).get(field));
    return value ? *value : "(absent)";
  }

  tests::InMemoryCrm crm_;
  SyncRules rules_;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, SyncStep, testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// OPS-30
TEST_P(SyncStep, DecisionsAndWrittenRecordsAreEventsForTheLog) {
  crm_.contacts_by_email["ada@example.com"] = {"003A", "Ada", "001A", false, "Email", ""};
  const TransactionId matched = send("ada@example.com");
  const TransactionId unmatched = send("other@example.com");
  const auto events_of = [](const SyncStepStats& stats, TransactionId gift) {
    std::vector<GiftEventKind> kinds;
    for (const GiftEvent& event : stats.events)
      if (event.gift == gift) kinds.push_back(event.kind);
    return kinds;
  };
  const SyncStepStats first = step();
  using Kind = GiftEventKind;
  EXPECT_THAT(events_of(first, matched), testing::ElementsAre(Kind::matched_contact, Kind::record_created));
  EXPECT_THAT(events_of(first, unmatched), testing::ElementsAre(Kind::unmatched, Kind::record_created));
  report(matched, Status::opened, 1000);
  EXPECT_THAT(events_of(step(kNow + 2000), matched), testing::ElementsAre(Kind::record_updated));
}

// OPS-40
TEST_P(SyncStep, CountsTheStatusesThatGiftsReachAndSinceWhenTheirRecordsWereDue) {
  const auto reached = [](const SyncStepStats& stats, Status status) {
    return stats.reached[static_cast<std::size_t>(status)];
  };
  const TransactionId gift = send("ada@example.com");
  send("other@example.com");
  const SyncStepStats first = step(kNow + 50);
  EXPECT_EQ(reached(first, Status::sent), 2u);
  EXPECT_EQ(reached(first, Status::delivered), 0u);
  EXPECT_THAT(first.written_since, ElementsAre(kNow, kNow));
  report(gift, Status::delivered, 1000);
  report(gift, Status::opened, 2000);
  const SyncStepStats second = step(kNow + 3000);
  EXPECT_EQ(reached(second, Status::sent), 0u);
  EXPECT_EQ(reached(second, Status::delivered), 1u);
  EXPECT_EQ(reached(second, Status::opened), 1u) << "both, although one batch folds them";
  EXPECT_THAT(second.written_since, ElementsAre(kNow));
  report(gift, Status::opened, 2500);
  EXPECT_EQ(reached(step(kNow + 4000), Status::opened), 0u) << "it has a time already";
}

// TEST-1, OPS-40
TEST_P(SyncStep, TestGiftsReachNoStatusAndWaitForNoRecord) {
  const TransactionId gift = send("ada@example.com");
  sql("UPDATE recipient_transaction SET is_test = 1");
  report(gift, Status::delivered, 1000);
  const SyncStepStats stats = step(kNow + 2000);
  EXPECT_EQ(stats.folded, 1u);
  EXPECT_THAT(stats.reached, testing::Each(0u));
  EXPECT_THAT(stats.written_since, IsEmpty());
}

// SYNC-1, SYNC-9, SYNC-10, SYNC-11
TEST_P(SyncStep, WritesOneCompleteRecordForAGift) {
  crm_.contacts_by_email["ada@example.com"] = {"003A", "Ada", "001A", false, "Email", ""};
  const TransactionId gift = send("Ada@example.com");
  EXPECT_EQ(step().created, 1u);
  EXPECT_EQ(step().claimed, 0u) << "nothing is left to do";
  EXPECT_EQ(text(gift, GiftField::status), "sent");
  EXPECT_EQ(text(gift, GiftField::recipient_contact), "003A");
  EXPECT_EQ(text(gift, GiftField::account), "001A");
  EXPECT_EQ(text(gift, GiftField::recipient_lead), "(absent)");
  EXPECT_EQ(text(gift, GiftField::sender), "005S");
  EXPECT_EQ(text(gift, GiftField::delivered_by), "email");
  EXPECT_EQ(text(gift, GiftField::name), "Coffee for Ada");
  EXPECT_EQ(text(gift, GiftField::link), "https://gifts.test/g/" + std::to_string(gift.value));
  EXPECT_EQ(crm_.records.at(gift.value).get(GiftField::total_price), FieldValue(Money{625}));
  EXPECT_EQ(crm_.records.at(gift.value).get(GiftField::sent_at), FieldValue(kNow));
}

TEST_P(SyncStep, LinksALeadWhenNoContactMatches) {
  crm_.leads_by_email["bertha@example.com"] = {"00QB", "Bertha", "", false, "Email", ""};
  const TransactionId gift = send("bertha@example.com", SendMode::urls);
  step();
  EXPECT_EQ(text(gift, GiftField::recipient_lead), "00QB");
  EXPECT_EQ(text(gift, GiftField::recipient_contact), "(absent)");
  EXPECT_EQ(text(gift, GiftField::delivered_by), "(absent)");
}

// MATCH-8
TEST_P(SyncStep, SkipsUnmatchedGiftsWhenConfigured) {
  rules_.skip_unmatched = true;
  const TransactionId gift = send("unknown@example.com");
  EXPECT_EQ(step().skipped, 1u);
  EXPECT_THAT(crm_.records, IsEmpty());
  report(gift, Status::opened, 5);
  EXPECT_EQ(step().folded, 1u) << "its changes still fold in the store";
  EXPECT_THAT(crm_.records, IsEmpty());
  EXPECT_EQ(store_->sync.find_states(std::span(&gift, 1)).front().state, store::CrmSyncStatus::skipped);
}

TEST_P(SyncStep, WarnsWhenTheSenderIsNoCrmUser) {
  crm_.users_by_email.clear();
  const TransactionId gift = send("ada@example.com");
  EXPECT_THAT(tests::messages_of(step().warnings),
              ElementsAre(HasSubstr("no CRM user has the address sam@example.com")));
  EXPECT_EQ(text(gift, GiftField::sender), "(absent)");
}

// ARCH-29, STATUS-1
TEST_P(SyncStep, FoldsChangesAndRaisesTheVersionOnlyForRealOnes) {
  const TransactionId gift = send("ada@example.com");
  step();
  report(gift, Status::redeemed, 20);
  report(gift, Status::opened, 10);
  EXPECT_EQ(step().updated, 1u);
  EXPECT_EQ(text(gift, GiftField::status), "redeemed");
  EXPECT_EQ(crm_.records.at(gift.value).version, 2);
  report(gift, Status::opened, 15);  // later than the one that counts
  EXPECT_EQ(step().unchanged, 1u);
  EXPECT_EQ(crm_.records.at(gift.value).version, 2);
}

TEST_P(SyncStep, FoldsOrphanedChangesIntoTheFirstRecord) {
  const TransactionId first = send("ada@example.com");
  report({first.value + 1}, Status::opened, 10);
  const TransactionId gift = send("bob@example.com");
  ASSERT_EQ(gift.value, first.value + 1);
  step();
  EXPECT_EQ(text(gift, GiftField::status), "opened");
}

// MATCH-19
TEST_P(SyncStep, DecidesOnceAndReusesTheDecision) {
  crm_.contacts_by_email["ada@example.com"] = {"003A", "Ada", "", false, "Email", ""};
  const TransactionId gift = send("ada@example.com");
  crm_.rejected_rows[gift.value] = {crm::RowResult::Kind::retry, "locked"};
  EXPECT_EQ(step().failed, 1u);
  crm_.contacts_by_email["ada@example.com"].id = "003OTHER";
  crm_.rejected_rows.clear();
  EXPECT_EQ(step().claimed, 0u) << "it waits before the next attempt";
  EXPECT_EQ(step(kNow + 2000).created, 1u);
  EXPECT_EQ(text(gift, GiftField::recipient_contact), "003A");
  EXPECT_EQ(crm_.candidate_calls, 1);
}

// ARCH-31
TEST_P(SyncStep, RejectedRowDoesNotBlockOthers) {
  const TransactionId bad = send("bad@example.com");
  const TransactionId good = send("good@example.com");
  crm_.rejected_rows[bad.value] = {crm::RowResult::Kind::rejected, "value too long"};
  const SyncStepStats report = step();
  EXPECT_EQ(report.created, 1u);
  EXPECT_EQ(report.failed, 1u);
  EXPECT_TRUE(crm_.records.contains(good.value));
  EXPECT_EQ(store_->sync.find_states(std::span(&bad, 1)).front().error, "value too long");
  EXPECT_EQ(store_->sync.counts().waiting, 1);
}

// SYNC-18
TEST_P(SyncStep, DeletedRecordIsReportedAndNotRecreated) {
  const TransactionId gift = send("ada@example.com");
  step();
  crm_.records.clear();
  report(gift, Status::opened, 5);
  const auto warnings = step().warnings;
  EXPECT_THAT(tests::messages_of(warnings), ElementsAre(HasSubstr("deleted in the CRM")));
  const std::string request =
      std::to_string(store_->gifts.find(std::span(&gift, 1)).front().request.id.value);
  EXPECT_EQ(tests::fields_text(warnings.front()),
            "gift=" + std::to_string(gift.value) + " request=" + request);  // OPS-47
  EXPECT_THAT(crm_.records, IsEmpty());
  EXPECT_EQ(store_->sync.find_states(std::span(&gift, 1)).front().state, store::CrmSyncStatus::deleted);
  EXPECT_EQ(store_->sync.counts().waiting, 0);
}

TEST_P(SyncStep, NothingIsLostWhenTheCrmIsDown) {
  const TransactionId gift = send("ada@example.com");
  crm_.down = true;
  EXPECT_THROW(step(), DependencyError);
  crm_.down = false;
  EXPECT_EQ(step().claimed, 0u) << "the claim of the failed step has not expired";
  store_->sync.release_leases({"one"});
  EXPECT_EQ(step().created, 1u);
  EXPECT_TRUE(crm_.records.contains(gift.value));
}

// ARCH-30
TEST_P(SyncStep, ExpiredLeaseHolderDoesNotOverwriteNewerState) {
  const TransactionId gift = send("ada@example.com");
  step();
  report(gift, Status::opened, 5);
  // The first daemon stalls just before its upsert; meanwhile another one folds a newer change and writes it.
  crm_.before_upsert = [&] {
    report(gift, Status::redeemed, 9);
    sync_step(*store_, crm_, rules_, {"other", 60'000}, kNow);
  };
  sync_step(*store_, crm_, rules_, {"stalled", -1}, kNow);
  EXPECT_EQ(text(gift, GiftField::status), "redeemed");
  step();
  EXPECT_EQ(text(gift, GiftField::status), "redeemed");
  EXPECT_EQ(store_->sync.counts().waiting, 0);
}

/// Time passes in the store by moving its leases.
class SlowCrm : public SyncStep {
 protected:
  static constexpr std::int64_t kCallMillis = 120'000;
  static SyncLease lease_of(const std::string& owner) {
    return {owner, sync_lease_millis({.longest_call_millis = kCallMillis})};
  }
  void let_pass(std::int64_t millis) {
    sql("UPDATE crm_outbox SET lease_until = lease_until - " + std::to_string(millis) +
        " WHERE lease_owner <> ''");
  }
  SyncStepStats step_of(const std::string& owner) {
    return sync_step(*store_, crm_, rules_, lease_of(owner), kNow);
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, SlowCrm, testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// SYNC-24
TEST_P(SlowCrm, ABatchThatTakesLongerThanItsFirstLeaseIsWrittenOnceByItsOwner) {
  send("ada@example.com");
  send("bob@example.com");
  SyncStepStats other_during_lookup;
  SyncStepStats other_during_upsert;
  crm_.before_lookup = [&] {
    let_pass(2 * kCallMillis - 10'000);
    other_during_lookup = step_of("other");
  };
  crm_.before_upsert = [&] {
    let_pass(kCallMillis - 10'000);
    other_during_upsert = step_of("other");
  };
  EXPECT_EQ(step_of("one").created, 2u);
  EXPECT_EQ(other_during_lookup.claimed, 0u);
  EXPECT_EQ(other_during_upsert.claimed, 0u) << "both daemons write the same records again and again";
  EXPECT_EQ(crm_.upserted_rows, 2u);
  EXPECT_EQ(store_->sync.counts().waiting, 0);
}

// SYNC-24
TEST_P(SlowCrm, WhatAnotherOwnerHasTakenOverIsNotWritten) {
  const TransactionId ada = send("ada@example.com");
  send("bob@example.com");
  SyncStepStats other;
  crm_.before_lookup = [&] {
    sql("UPDATE crm_outbox SET lease_until = 0 WHERE transaction_id = " + std::to_string(ada.value));
    other = step_of("other");
  };
  const SyncStepStats one = step_of("one");
  EXPECT_EQ(other.created, 1u);
  EXPECT_EQ(one.lost, 1u);
  EXPECT_EQ(one.created, 1u);
  EXPECT_THAT(tests::messages_of(one.warnings),
              ElementsAre(HasSubstr("another daemon or command has taken over")));
  EXPECT_EQ(crm_.upserted_rows, 2u) << "each record once";
  EXPECT_EQ(store_->sync.counts().waiting, 0);
}

// SYNC-24
TEST_P(SlowCrm, ALateRefusalDoesNotReplaceTheNewOwnersResult) {
  const TransactionId ada = send("ada@example.com");
  crm_.before_upsert = [&] {
    let_pass(2 * kCallMillis + 1'000);
    EXPECT_EQ(step_of("other").created, 1u);
    crm_.rejected_rows[ada.value] = {crm::RowResult::Kind::rejected, "locked by the other"};
  };
  EXPECT_EQ(step_of("one").failed, 1u);
  EXPECT_EQ(store_->sync.find_states(std::span(&ada, 1)).front().state, store::CrmSyncStatus::written);
  EXPECT_EQ(store_->sync.counts().waiting, 0);
}

// SYNC-25
TEST_P(SyncStep, ARejectedRecordRestsUpToADay) {
  const TransactionId bad = send("bad@example.com");
  crm_.rejected_rows[bad.value] = {crm::RowResult::Kind::rejected, "a rule of the CRM"};
  UtcMillis now = kNow;
  for (int i = 0; i < 17; ++i) {
    ASSERT_EQ(step(now).failed, 1u);
    now = store_->sync.find_wait(bad)->next_attempt_at;
    EXPECT_EQ(step(now - 1).claimed, 0u);
  }
  EXPECT_EQ(step(now).failed, 1u);
  const auto wait = store_->sync.find_wait(bad);
  EXPECT_EQ(wait->next_attempt_at, now + kMaxRejectedRetryMillis);
  EXPECT_TRUE(wait->is_rejected);
  EXPECT_EQ(store_->sync.counts().rejected, 1);
  EXPECT_EQ(store_->sync.counts().next_rejected_at, wait->next_attempt_at);
  send("good@example.com");
  EXPECT_EQ(step(now).created, 1u) << "a resting record holds up no other";
  EXPECT_EQ(store_->sync.reset_rejected_after(now, now), 1);
  crm_.rejected_rows.clear();
  EXPECT_EQ(step(now).created, 1u);
  EXPECT_FALSE(store_->sync.find_wait(bad));
}

// SYNC-25
TEST_P(SyncStep, AChangeOfARejectedGiftIsTriedAtOnce) {
  const TransactionId bad = send("bad@example.com");
  crm_.rejected_rows[bad.value] = {crm::RowResult::Kind::rejected, "a rule of the CRM"};
  step();
  report(bad, Status::opened, 5);
  EXPECT_EQ(store_->sync.counts().rejected, 0);
  EXPECT_EQ(step().failed, 1u);
}

// SYNC-68
TEST_P(SyncStep, OnlyUndecidedGiftsWaitForLookups) {
  const TransactionId decided = send("ada@example.com");
  step();
  crm_.is_lookup_ready = false;
  crm_.contacts_by_email["bob@example.com"] = {"003B", "Bob", "", false, "Email", ""};
  const TransactionId undecided = send("bob@example.com");
  report(decided, Status::opened, 5);
  SyncStepStats stats = step();
  EXPECT_EQ(stats.updated, 1u) << "a decided gift does not wait";
  EXPECT_EQ(stats.waiting, 1u);
  EXPECT_FALSE(crm_.records.contains(undecided.value));
  EXPECT_THAT(store_->sync.find_states(std::span(&undecided, 1)), IsEmpty()) << "it was decided too early";
  const auto wait = store_->sync.find_wait(undecided);
  EXPECT_EQ(wait->attempts, 0);
  EXPECT_EQ(wait->last_error, "match keys are missing");
  crm_.is_lookup_ready = true;
  EXPECT_EQ(step(wait->next_attempt_at).created, 1u);
  EXPECT_EQ(text(undecided, GiftField::recipient_contact), "003B");
}

class TasksWithIds : public tests::EmptyTasks {
 public:
  std::vector<crm::TaskUpsert> given;
  std::optional<UtcMillis> paused_until;
  std::vector<crm::RowResult> upsert(std::span<const crm::TaskUpsert> rows) override {
    if (paused_until) throw DependencyPause(*paused_until, "no calls for tasks");
    given.assign(rows.begin(), rows.end());
    std::vector<crm::RowResult> results = EmptyTasks::upsert(rows);
    for (crm::RowResult& result : results) result.crm_id = "00T1";
    return results;
  }
};

/// Says the Ids of its rows.
class CrmWithIds : public tests::InMemoryCrm {
 public:
  std::string given_id;  ///< of the last row
  std::string id = "a0G1";
  TasksWithIds tasks_with_ids;

  std::vector<crm::RowResult> upsert(std::span<const crm::GiftUpsert> rows) override {
    std::vector<crm::RowResult> results = InMemoryCrm::upsert(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      given_id = rows[i].crm_id;
      if (results[i].kind != crm::RowResult::Kind::not_found) results[i].crm_id = id;
    }
    return results;
  }
  crm::Tasks& tasks() override { return tasks_with_ids; }
};

// SYNC-69
TEST_P(SyncStep, TheIdsThatTheCrmSaysAreGivenBackWithTheNextWrite) {
  CrmWithIds crm;
  rules_.tasks = {true, "Other", "Not Started", "Completed"};
  const TransactionId gift = send("ada@example.com");
  const auto write = [&](std::int64_t after) {
    sync_step(*store_, crm, rules_, {"one", 60'000}, kNow + after);
    return store_->sync.find_states(std::span(&gift, 1)).front();
  };
  EXPECT_EQ(write(0).crm_id, "a0G1");
  EXPECT_EQ(crm.given_id, "");
  ASSERT_THAT(crm.tasks_with_ids.given, SizeIs(1));
  EXPECT_EQ(crm.tasks_with_ids.given[0].gift_crm_id, "a0G1");
  EXPECT_EQ(crm.tasks_with_ids.given[0].crm_id, "");
  report(gift, Status::opened, 5);
  crm.id = "";
  EXPECT_EQ(write(10).crm_id, "a0G1") << "a CRM that does not say it takes nothing away";
  EXPECT_EQ(crm.given_id, "a0G1");
  report(gift, Status::redeemed, 15);
  crm.id = "a0G2";
  EXPECT_EQ(write(20).crm_id, "a0G2");
  EXPECT_EQ(crm.tasks_with_ids.given[0].crm_id, "00T1");
  EXPECT_EQ(crm.tasks_with_ids.given[0].gift_crm_id, "a0G2");
  report(gift, Status::refunded, 25);
  crm.records.clear();
  EXPECT_EQ(write(30).crm_id, "") << "a deleted record has none";
}

/// Knows the users and account owners of a test.
class CrmWithOwners : public CrmWithIds {
 public:
  std::map<std::string, crm::CrmUser> users;
  std::map<std::string, std::string> account_owners;
  std::vector<std::string> asked_users;
  bool refuses_questions = false;
  int questions_about_accounts = 0;
  int unanswered_question = 0;  ///< the first is 1; 0: none

  std::vector<std::optional<crm::CrmUser>> find_users_by_id(std::span<const std::string> ids) override {
    if (refuses_questions) throw DependencyPause(kNow + kHourMillis, "users are hidden", false, false);
    asked_users.insert(asked_users.end(), ids.begin(), ids.end());
    std::vector<std::optional<crm::CrmUser>> found;
    for (const std::string& user : ids)
      found.push_back(users.contains(user) ? std::optional(users.at(user)) : std::nullopt);
    return found;
  }
  std::vector<std::string> find_account_owners(std::span<const std::string> ids) override {
    if (++questions_about_accounts == unanswered_question) throw DependencyError(true, "it does not answer");
    std::vector<std::string> found;
    for (const std::string& account : ids) found.push_back(account_owners[account]);
    return found;
  }
};

// SYNC-12, SYNC-74, SYNC-75
TEST_P(SyncStep, EachStateOfTheSenderHasItsSenderAndOwner) {
  struct Case {
    const char* name;
    const char* user;  ///< whom the address finds
    bool is_active;
    const char* alias;
    const char* fallback;
    const char* sender;
    const char* owner;
  };
  constexpr Case kCases[] = {{"known", "005S", true, "", "", "005S", "005S"},
                             {"known with a fallback", "005S", true, "", "005F", "005S", "005S"},
                             {"unknown", "", true, "", "", "(absent)", "(absent)"},
                             {"unknown with a fallback", "", true, "", "005F", "(absent)", "005F"},
                             {"inactive", "005S", false, "", "", "005S", "005S"},
                             {"inactive with a fallback", "005S", false, "", "005F", "005S", "005F"},
                             {"alias", "", true, "ana@example.com", "", "005A", "005A"},
                             {"alias of no one", "", true, "no@example.com", "005F", "(absent)", "005F"}};
  for (const Case& one : kCases) {
    CrmWithOwners crm;
    if (*one.user != '\0')
      crm.users_by_email["sam@example.com"] = {one.user, "Sam", "sam@example.com", one.is_active};
    crm.users_by_email["ana@example.com"] = {"005A", "Ana", "ana@example.com", true};
    for (const auto& [key, user] : crm.users_by_email) crm.users[user.id] = user;
    rules_.tasks = {true, "Other", "Not Started", "Completed"};
    rules_.fallback_owner = one.fallback;
    rules_.sender_aliases.clear();
    if (*one.alias != '\0') rules_.sender_aliases["sam@example.com"] = one.alias;
    const TransactionId gift = send("ada@example.com");
    const SyncStepStats stats = sync_step(*store_, crm, rules_, {"one", 60'000}, kNow);
    ASSERT_EQ(stats.created, 1U) << one.name;
    const auto text_in = [&](GiftField field) {
      const auto* value = std::get_if<std::string>(&crm.records.at(gift.value).get(field));
      return value ? *value : "(absent)";
    };
    EXPECT_EQ(text_in(GiftField::sender), one.sender) << one.name;
    EXPECT_EQ(text_in(GiftField::actual_sender), one.sender) << one.name;
    EXPECT_EQ(text_in(GiftField::owner), one.owner) << one.name;
    EXPECT_EQ(text_in(GiftField::sender_email), "Sam@Example.com") << one.name;
    const bool is_unknown = std::string(one.sender) == "(absent)";
    ASSERT_EQ(stats.warnings.size(), is_unknown ? 1U : 0U) << one.name;
    for (const LogLine& warning : stats.warnings) {
      ASSERT_THAT(warning.fields, SizeIs(1)) << one.name;
      EXPECT_EQ(std::get<std::vector<std::int64_t>>(warning.fields[0].value), std::vector{gift.value})
          << one.name << ": the line is found by its gift";
    }
    ASSERT_THAT(crm.tasks_with_ids.given, SizeIs(1)) << one.name;
    const std::string owner = one.owner;
    EXPECT_EQ(crm.tasks_with_ids.given[0].owner_id, owner == "(absent)" ? "" : owner) << one.name;
    if (*one.fallback == '\0') {
      EXPECT_THAT(crm.asked_users, IsEmpty()) << one.name;
    }
  }
}

// SYNC-75
TEST_P(SyncStep, TheIntegrationUserIsNotLookedUpAndARefusedQuestionStopsNoRecord) {
  CrmWithOwners crm;
  rules_.fallback_owner = "005F";
  rules_.integration_user = "005I";
  send("ada@example.com");
  EXPECT_EQ(sync_step(*store_, crm, rules_, {"one", 60'000}, kNow).created, 1U);
  EXPECT_THAT(crm.asked_users, IsEmpty());
  rules_.integration_user.clear();
  crm.users_by_email["sam@example.com"] = {"005S", "Sam", "sam@example.com", false};
  crm.refuses_questions = true;
  const TransactionId gift = send("bob@example.com");
  EXPECT_EQ(sync_step(*store_, crm, rules_, {"one", 60'000}, kNow).created, 1U);
  EXPECT_EQ(crm.records.at(gift.value).get(GiftField::owner), FieldValue(std::string("005S")))
      << "the CRM refuses such an owner itself";
}

// SYNC-77
TEST_P(SyncStep, ATaskIsAssignedToTheOwnerOfTheAccountAlsoByALaterAttempt) {
  CrmWithOwners crm;
  crm.contacts_by_email["ada@example.com"] = {"003A", "Ada", "001A", false, "Email", ""};
  crm.account_owners["001A"] = "005O";
  crm.users["005O"] = {"005O", "Olga", "", true};
  rules_.integration_user = "005I";
  rules_.fallback_owner = "005F";
  rules_.tasks = {true, "Other", "Not Started", "Completed", "{link}"};
  rules_.tasks.assignee = TaskAssignee::account_owner;
  crm.tasks_with_ids.paused_until = kNow + kMinuteMillis;
  const TransactionId gift = send("ada@example.com");
  EXPECT_EQ(sync_step(*store_, crm, rules_, {"one", 60'000}, kNow).created, 1U);
  EXPECT_EQ(crm.records.at(gift.value).get(GiftField::owner), FieldValue(std::string("005I")));
  crm.tasks_with_ids.paused_until.reset();
  crm.tasks_with_ids.given.clear();
  EXPECT_EQ(sync_step(*store_, crm, rules_, {"one", 60'000}, kNow + kMinuteMillis).tasks, 1U);
  ASSERT_THAT(crm.tasks_with_ids.given, SizeIs(1));
  EXPECT_EQ(crm.tasks_with_ids.given[0].owner_id, "005O");
  EXPECT_EQ(crm.tasks_with_ids.given[0].subject, "https://gifts.test/g/" + std::to_string(gift.value));
}

// SYNC-77
TEST_P(SyncStep, NothingIsWrittenUntilTheOwnersOfAllTasksAreKnown) {
  CrmWithOwners crm;
  for (const char* key : {"ada@example.com", "bob@example.com"})
    crm.contacts_by_email[key] = {"003A", "Ada", "001A", false, "Email", ""};
  rules_.tasks = {true, "Other", "Not Started", "Completed"};
  rules_.tasks.assignee = TaskAssignee::account_owner;
  crm.tasks_with_ids.paused_until = kNow + kMinuteMillis;
  const TransactionId written = send("ada@example.com");
  sync_step(*store_, crm, rules_, {"one", 60'000}, kNow);
  crm.tasks_with_ids.paused_until.reset();
  const TransactionId fresh = send("bob@example.com");
  crm.unanswered_question = crm.questions_about_accounts + 2;  // about the gift whose task is missing
  EXPECT_THROW(sync_step(*store_, crm, rules_, {"one", 60'000}, kNow + kMinuteMillis), DependencyError);
  EXPECT_TRUE(crm.records.contains(written.value));
  EXPECT_FALSE(crm.records.contains(fresh.value));
}

// SYNC-25
TEST_P(SyncStep, ARowRestsAsLongAsTheCrmSaysWithinTheLimits) {
  const TransactionId gift = send("ada@example.com");
  UtcMillis now = kNow;
  const auto rest_after = [&](crm::RowResult::Kind kind, std::int64_t retry_after_millis) {
    crm::RowResult refusal{kind, "refused"};
    refusal.retry_after_millis = retry_after_millis;
    crm_.rejected_rows[gift.value] = refusal;
    EXPECT_EQ(step(now).failed, 1U);
    const UtcMillis next = store_->sync.find_wait(gift)->next_attempt_at;
    return next.value - std::exchange(now, next).value;
  };
  using Kind = crm::RowResult::Kind;
  EXPECT_EQ(rest_after(Kind::rejected, 6 * kHourMillis), 6 * kHourMillis);
  EXPECT_EQ(rest_after(Kind::rejected, 0), rejected_retry_millis(2));
  EXPECT_EQ(rest_after(Kind::rejected, 7 * kDayMillis), kMaxRejectedRetryMillis);
  EXPECT_EQ(rest_after(Kind::retry, kMinuteMillis), kMinuteMillis);
  EXPECT_EQ(rest_after(Kind::retry, kHourMillis), kMaxSyncRetryMillis);
}

// SYNC-70
TEST_P(SyncStep, APauseOfTasksDoesNotStopGiftRecordsAndIsMadeUpForAlone) {
  CrmWithIds crm;
  rules_.tasks = {true, "Other", "Not Started", "Completed"};
  crm.tasks_with_ids.paused_until = kNow + kMinuteMillis;
  const TransactionId gift = send("ada@example.com");
  const SyncStepStats paused = sync_step(*store_, crm, rules_, {"one", 60'000}, kNow);
  EXPECT_EQ(paused.created, 1U);
  EXPECT_EQ(paused.tasks, 0U);
  const auto wait = store_->sync.find_wait(gift);
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->next_attempt_at, kNow + kMinuteMillis);
  EXPECT_THAT(wait->last_error, testing::StartsWith(std::string(kTaskError) + "no calls for tasks"));
  crm.tasks_with_ids.paused_until.reset();
  const SyncStepStats later = sync_step(*store_, crm, rules_, {"one", 60'000}, kNow + kMinuteMillis);
  EXPECT_EQ(later.tasks, 1U);
  EXPECT_EQ(crm.upserted_rows, 1U) << "the record was written by the first attempt";
  EXPECT_FALSE(store_->sync.find_wait(gift));
}

/// Answers all questions of a batch at once, except for the opportunities of Bob.
class CombiningCrm : public tests::InMemoryCrm {
 public:
  std::vector<crm::DecisionQuestions> asked;
  std::vector<std::string> asked_for_opportunities;

  crm::DecisionFacts look_up(const crm::DecisionQuestions& questions) override {
    asked.push_back(questions);
    crm::DecisionFacts facts;
    for (const crm::RecipientMatchKeys& keys : questions.recipients) {
      const std::string id = "003" + keys.email_key;
      facts.contacts.push_back({{{id, "", "", false, "Email", ""}}, {}});
      facts.leads.emplace_back();
      if (!keys.email_key.starts_with("bob"))
        facts.opportunities[id] = {{"006" + id, "Deal", "001A", "Closing", "", false}};
    }
    facts.senders.assign(questions.sender_keys.size(), {{"005S", "Sam", "sam@example.com", true}});
    return facts;
  }
  std::vector<crm::Candidates> find_candidates(crm::PersonObject,
                                               std::span<const crm::RecipientMatchKeys>) override {
    ADD_FAILURE() << "asked apart for candidates";
    return {};
  }
  std::vector<std::vector<crm::CrmUser>> find_users_by_email(std::span<const std::string>) override {
    ADD_FAILURE() << "asked apart for users";
    return {};
  }
  std::vector<std::vector<crm::Opportunity>> find_open_opportunities(
      std::span<const std::string> contacts) override {
    asked_for_opportunities.insert(asked_for_opportunities.end(), contacts.begin(), contacts.end());
    return {contacts.size(), {{"006B", "Deal", "", "Closing", "", false}}};
  }
};

TEST_P(SyncStep, OneBatchLooksUpItsRecipientsAndSendersOnce) {
  CombiningCrm crm;
  const TransactionId ada = send("ada@example.com");
  const TransactionId bob = send("bob@example.com");
  EXPECT_EQ(sync_step(*store_, crm, rules_, {"one", 60'000}, kNow).created, 2u);
  ASSERT_EQ(crm.asked.size(), 1u);
  EXPECT_EQ(crm.asked.front().recipients.size(), 2u);
  EXPECT_THAT(crm.asked.front().sender_keys, testing::ElementsAre("sam@example.com"));
  const auto text_of = [&](TransactionId gift, GiftField field) {
    return std::get<std::string>(crm.records.at(gift.value).get(field));
  };
  EXPECT_EQ(text_of(ada, GiftField::recipient_contact), "003ada@example.com");
  EXPECT_EQ(text_of(bob, GiftField::recipient_contact), "003bob@example.com");
  EXPECT_EQ(text_of(ada, GiftField::opportunity), "006003ada@example.com");
  EXPECT_EQ(text_of(bob, GiftField::opportunity), "006B");
  EXPECT_THAT(crm.asked_for_opportunities, ElementsAre("003bob@example.com"));
  EXPECT_EQ(text_of(bob, GiftField::sender), "005S");
}

// SYNC-24
TEST(SyncLease, LastsTwiceTheLongestCallAndNoLessThanHalfAMinute) {
  EXPECT_EQ(sync_lease_millis({.longest_call_millis = 5000}), 30'000);
  EXPECT_EQ(sync_lease_millis({.longest_call_millis = 120'000}), 240'000);
}

// SYNC-21
TEST_P(SyncStep, OwnIdsStartAboveOwnCrmIdsOnly) {
  const auto first = [&](std::int64_t lowest, std::int64_t checked = 0) {
    return find_transaction_id_floor(store_->gifts, crm_, {lowest}, {checked}).id.value;
  };
  EXPECT_EQ(first(1), 1);
  const std::int64_t own = send("ada@example.com").value;
  EXPECT_EQ(first(1), own + 1);
  crm_.records[4711];  // from a store that was lost
  crm_.records[12];
  store_->sources.open("vendor", "vendor", kNow);
  store::InboundBatch report;
  report.source = report.gift_source = "vendor";
  for (std::int64_t i = 0; i < 2500; ++i) {
    const TransactionId id{9'000'000'000 + i};
    report.items.emplace_back().gift.emplace().id = id;
    crm_.records[id.value];
  }
  ASSERT_EQ(store_->sources.accept(report).gifts, 2500u);
  EXPECT_EQ(first(1), 4712);
  EXPECT_EQ(first(5000), 5000);
  EXPECT_EQ(find_transaction_id_floor(store_->gifts, crm_, {1}, {0}).highest_seen_id.value, 9'000'002'499);
  EXPECT_EQ(first(1, 9'000'002'499), own + 1) << "ids checked by an earlier start are not checked again";
  crm_.records[9'000'000'000'000'001];  // no id of giftsync fits above it
  EXPECT_EQ(first(1), 4712);
  crm_.records[9'000'000'000 + 2600];  // an id that was never reported
  EXPECT_EQ(first(1, 9'000'002'499), 9'000'002'601);
  EXPECT_EQ(first(1), 9'000'000'000 + 2601);
}

TEST_P(SyncStep, OwnIdsSkipRecordsImportedConcurrently) {
  const std::int64_t own = send("ada@example.com").value;
  step();
  crm_.records[1];                // below giftsync's own ids
  crm_.records[own + 1'000'000];  // far above
  EXPECT_EQ(first_id_above_unknown_records(store_->gifts, crm_), std::nullopt);
  crm_.records[own + 1];
  crm_.records[own + 7];
  const auto free = first_id_above_unknown_records(store_->gifts, crm_);
  ASSERT_TRUE(free);
  EXPECT_GT(free->value, own + 7) << "far enough above an importer that continues";
  store_->gifts.start_transaction_ids_at(*free);
  EXPECT_GE(send("bob@example.com").value, free->value);
  EXPECT_EQ(first_id_above_unknown_records(store_->gifts, crm_), std::nullopt);
}

}  // namespace
}  // namespace giftsync::sync
