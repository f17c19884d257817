// The sync step against a real store (SQLite, or PostgreSQL when it is there) and a CRM with a memory that
// can be told to fail: one record for each gift, true whatever the order, and never an older state over a
// newer one.
#include "sync/sync_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "schema/broken_world.h"
#include "sync/own_ids.h"
#include "tests/schema/store_ground.h"

namespace giftsync::sync {
namespace {

using namespace schema;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

/// A CRM in memory behind the port.
class MemoryCrm : public Crm {
 public:
  std::map<std::string, Candidate> contacts_by_email;
  std::map<std::string, Candidate> leads_by_email;
  std::map<std::string, CrmUser> users_by_email;
  std::map<std::int64_t, GiftRecord> records;
  std::map<std::int64_t, RowResult> refuses;  ///< by transaction
  bool down = false;
  int candidate_calls = 0;
  std::function<void()> before_upsert = [] {};  ///< runs once

  std::vector<Candidates> find_candidates(PersonObject object,
                                          std::span<const RecipientKeys> recipients) override {
    check();
    ++candidate_calls;
    auto& people = object == PersonObject::contact ? contacts_by_email : leads_by_email;
    std::vector<Candidates> all;
    for (const RecipientKeys& recipient : recipients) {
      Candidates& found = all.emplace_back();
      if (const auto person = people.find(recipient.email_key); person != people.end())
        found.by_email.push_back(person->second);
    }
    return all;
  }
  std::vector<std::vector<CrmUser>> find_users(std::span<const std::string> keys) override {
    check();
    std::vector<std::vector<CrmUser>> all;
    for (const std::string& key : keys) {
      auto& found = all.emplace_back();
      if (const auto user = users_by_email.find(key); user != users_by_email.end())
        found.push_back(user->second);
    }
    return all;
  }
  std::vector<std::optional<CrmUser>> users_by_id(std::span<const std::string> ids) override {
    return std::vector<std::optional<CrmUser>>(ids.size());
  }
  std::optional<std::vector<std::vector<schema::PermissionSetAssignment>>> permission_sets(
      std::span<const std::string>) override {
    return std::nullopt;
  }
  std::vector<RowResult> upsert_gift_records(std::span<const GiftUpsert> rows) override {
    check();
    std::exchange(before_upsert, [] {})();
    std::vector<RowResult> results;
    for (const GiftUpsert& row : rows) results.push_back(upsert(row));
    return results;
  }
  std::vector<std::vector<Opportunity>> open_opportunities(std::span<const std::string> contacts) override {
    return std::vector<std::vector<Opportunity>>(contacts.size());
  }
  std::vector<ConvertedLead> converted_leads(std::span<const std::string>) override { return {}; }
  std::vector<RowResult> relink_gift_records(std::span<const GiftRelink>) override { return {}; }
  std::vector<RowResult> upsert_tasks(std::span<const TaskUpsert> rows) override {
    check();
    return std::vector<RowResult>(rows.size(), {RowResult::Kind::created, ""});
  }
  std::vector<Task> tasks(TransactionId, std::size_t) override { return {}; }
  std::vector<GiftRecord> find_gift_records(std::span<const TransactionId>) override { return {}; }
  std::vector<GiftRecord> gift_records(TransactionId, std::size_t) override { return {}; }
  std::vector<TransactionId> transaction_ids_below(TransactionId below, std::size_t limit) override {
    std::vector<TransactionId> ids;
    for (auto row = records.lower_bound(below.value); row != records.begin() && ids.size() < limit;)
      ids.push_back({(--row)->first});
    return ids;
  }
  std::int64_t count_gift_records() override { return static_cast<std::int64_t>(records.size()); }
  std::optional<StatusLogSize> status_log_size() override { return std::nullopt; }
  void prepare_status_log() override {}
  std::vector<StatusLogSpan> status_log(TransactionId, std::size_t, UtcMillis, UtcMillis) override {
    return {};
  }
  std::vector<RecordTimes> record_times(std::span<const TransactionId>) override { return {}; }
  std::vector<TransactionId> fill_record_times(std::span<const RecordTimes>) override { return {}; }

 private:
  void check() const {
    if (down) throw BrokenWorld(true, "the CRM is down");
  }
  RowResult upsert(const GiftUpsert& row) {
    const std::int64_t id = row.record.transaction().value;
    if (const auto refusal = refuses.find(id); refusal != refuses.end()) return refusal->second;
    const auto known = records.find(id);
    if (known == records.end() && row.exists) return {RowResult::Kind::gone, "deleted"};
    if (known != records.end() && known->second.version >= row.record.version)
      return {RowResult::Kind::unchanged, ""};
    const auto kind = known == records.end() ? RowResult::Kind::created : RowResult::Kind::updated;
    records.insert_or_assign(id, row.record);
    return {kind, ""};
  }
};

class SyncStep : public StoreGround {
 protected:
  void SetUp() override {
    StoreGround::SetUp();
    if (IsSkipped()) return;
    rules_.link_of = [](const RecipientTransaction& gift) {
      return "https://gifts.test/g/" + std::to_string(gift.id.value);
    };
    crm_.users_by_email["sam@example.com"] = {"005S", "Sam", "sam@example.com", true};
  }

  TransactionId send(const std::string& email, SendMode mode = SendMode::email) {
    NewGiftRequest asked;
    asked.request.account = {1};
    asked.request.mode = mode;
    asked.request.gift = {7};
    asked.request.item_name = "Coffee";
    asked.request.costs = {{500}, {100}, {20}, {5}};
    asked.request.sender_email = "Sam@Example.com";
    asked.request.created_at = kNow;
    asked.recipients.push_back({email, "Ada", "", "Thank you"});
    return store_->gifts.create(std::span(&asked, 1)).front().recipients.front().id;
  }
  void report(TransactionId gift, Status status, std::int64_t after_millis) {
    const StatusChange change{{}, "test", gift, status, kNow + after_millis, kNow, {}};
    store_->changes.accept(std::span(&change, 1));
  }
  SyncReport step(UtcMillis now = kNow) { return sync_step(*store_, crm_, rules_, {"one", 60'000}, now); }
  std::string text(TransactionId gift, GiftField field) {
    const auto* value = std::get_if<std::string>(&crm_.records.at(gift.value).get(field));
    return value ? *value : "(absent)";
  }

  MemoryCrm crm_;
  SyncRules rules_;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, SyncStep, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

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

TEST_P(SyncStep, SkipsUnmatchedGiftsWhenToldSo) {
  rules_.skip_unmatched = true;
  const TransactionId gift = send("nobody@example.com");
  EXPECT_EQ(step().skipped, 1u);
  EXPECT_THAT(crm_.records, IsEmpty());
  report(gift, Status::opened, 5);
  EXPECT_EQ(step().folded, 1u) << "its changes still fold in the store";
  EXPECT_THAT(crm_.records, IsEmpty());
  EXPECT_EQ(store_->sync.mirrors(std::span(&gift, 1)).front().state, MirrorState::skipped);
}

TEST_P(SyncStep, WarnsWhenTheSenderIsNoCrmUser) {
  crm_.users_by_email.clear();
  const TransactionId gift = send("ada@example.com");
  EXPECT_THAT(step().notes, ElementsAre(HasSubstr("no CRM user has the address sam@example.com")));
  EXPECT_EQ(text(gift, GiftField::sender), "(absent)");
}

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

TEST_P(SyncStep, FoldsHeldChangesIntoTheFirstRecord) {
  const TransactionId first = send("ada@example.com");
  report({first.value + 1}, Status::opened, 10);
  const TransactionId gift = send("bob@example.com");
  ASSERT_EQ(gift.value, first.value + 1);
  step();
  EXPECT_EQ(text(gift, GiftField::status), "opened");
}

TEST_P(SyncStep, DecidesOnceAndReusesTheDecision) {
  crm_.contacts_by_email["ada@example.com"] = {"003A", "Ada", "", false, "Email", ""};
  const TransactionId gift = send("ada@example.com");
  crm_.refuses[gift.value] = {RowResult::Kind::retry, "locked"};
  EXPECT_EQ(step().failed, 1u);
  crm_.contacts_by_email["ada@example.com"].id = "003OTHER";
  crm_.refuses.clear();
  EXPECT_EQ(step().claimed, 0u) << "it waits before it tries again";
  EXPECT_EQ(step(kNow + 2000).created, 1u);
  EXPECT_EQ(text(gift, GiftField::recipient_contact), "003A");
  EXPECT_EQ(crm_.candidate_calls, 1);
}

TEST_P(SyncStep, OneRefusedRowHoldsUpNoOther) {
  const TransactionId bad = send("bad@example.com");
  const TransactionId good = send("good@example.com");
  crm_.refuses[bad.value] = {RowResult::Kind::rejected, "value too long"};
  const SyncReport report = step();
  EXPECT_EQ(report.created, 1u);
  EXPECT_EQ(report.failed, 1u);
  EXPECT_TRUE(crm_.records.contains(good.value));
  EXPECT_EQ(store_->sync.mirrors(std::span(&bad, 1)).front().error, "value too long");
  EXPECT_EQ(store_->sync.counts().waiting, 1);
}

TEST_P(SyncStep, ADeletedRecordIsReportedAndNotMadeAgain) {
  const TransactionId gift = send("ada@example.com");
  step();
  crm_.records.clear();
  report(gift, Status::opened, 5);
  EXPECT_THAT(step().notes, ElementsAre(HasSubstr("deleted in the CRM")));
  EXPECT_THAT(crm_.records, IsEmpty());
  EXPECT_EQ(store_->sync.mirrors(std::span(&gift, 1)).front().state, MirrorState::gone);
  EXPECT_EQ(store_->sync.counts().waiting, 0);
}

TEST_P(SyncStep, NothingIsLostWhenTheCrmIsDown) {
  const TransactionId gift = send("ada@example.com");
  crm_.down = true;
  EXPECT_THROW(step(), BrokenWorld);
  crm_.down = false;
  EXPECT_EQ(step().claimed, 0u) << "the claim of the failed round still runs";
  store_->sync.break_leases("one");
  EXPECT_EQ(step().created, 1u);
  EXPECT_TRUE(crm_.records.contains(gift.value));
}

TEST_P(SyncStep, ADaemonThatWakesAfterItsLeaseWritesNoPast) {
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

TEST_P(SyncStep, OwnIdsBeginAboveTheCrmsButNotAboveThoseOfOthers) {
  const auto first = [&](std::int64_t lowest) { return first_own_id(store_->gifts, crm_, {lowest}).value; };
  EXPECT_EQ(first(1), 1);
  const std::int64_t own = send("ada@example.com").value;
  EXPECT_EQ(first(1), own + 1);
  crm_.records[4711];  // of a store that was lost
  crm_.records[12];
  store_->sources.open("vendor", "vendor", kNow);
  SourceReport report;
  report.source = report.origin = "vendor";
  for (std::int64_t i = 0; i < 2500; ++i) {
    const TransactionId id{9'000'000'000 + i};
    report.items.emplace_back().gift.emplace().id = id;
    crm_.records[id.value];
  }
  ASSERT_EQ(store_->sources.accept(report).gifts, 2500u);
  EXPECT_EQ(first(1), 4712);
  EXPECT_EQ(first(5000), 5000);
  crm_.records[9'000'000'000 + 2600];  // nobody told of this one
  EXPECT_EQ(first(1), 9'000'000'000 + 2601);
}

}  // namespace
}  // namespace giftsync::sync
