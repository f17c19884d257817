// The sync step against a real store (SQLite, or PostgreSQL when it is there) and a CRM with a memory that
// can be told to fail: one record for each gift, true whatever the order, and never an older state over a
// newer one.
#include "sync/sync_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/broken_world.h"
#include "sync/own_ids.h"
#include "tests/schema/store_ground.h"
#include "tests/sync/memory_crm.h"

namespace giftsync::sync {
namespace {

using namespace schema;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

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
    asked.request.costs = {schema::Money{500}, schema::Money{100}, schema::Money{20}, schema::Money{5}};
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
  const auto first = [&](std::int64_t lowest, std::int64_t looked = 0) {
    return first_own_id(store_->gifts, crm_, {lowest}, {looked}).id.value;
  };
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
  EXPECT_EQ(first_own_id(store_->gifts, crm_, {1}, {0}).looked_up_to.value, 9'000'002'499);
  EXPECT_EQ(first(1, 9'000'002'499), own + 1) << "what an earlier start saw is not looked at again";
  crm_.records[9'000'000'000'000'001];  // ours would have no room above it
  EXPECT_EQ(first(1), 4712);
  crm_.records[9'000'000'000 + 2600];  // nobody told of this one
  EXPECT_EQ(first(1, 9'000'002'499), 9'000'002'601);
  EXPECT_EQ(first(1), 9'000'000'000 + 2601);
}

TEST_P(SyncStep, OwnIdsGoAroundRecordsThatAreBroughtInBesideTheDaemon) {
  const std::int64_t own = send("ada@example.com").value;
  step();
  crm_.records[1];                // of what is behind us
  crm_.records[own + 1'000'000];  // far ahead
  EXPECT_EQ(first_id_above_strangers(store_->gifts, crm_), std::nullopt);
  crm_.records[own + 1];
  crm_.records[own + 7];
  const auto free = first_id_above_strangers(store_->gifts, crm_);
  ASSERT_TRUE(free);
  EXPECT_GT(free->value, own + 7) << "with room for somebody who counts on";
  store_->gifts.start_transaction_ids_at(*free);
  EXPECT_GE(send("bob@example.com").value, free->value);
  EXPECT_EQ(first_id_above_strangers(store_->gifts, crm_), std::nullopt);
}

}  // namespace
}  // namespace giftsync::sync
