// What a trial says is what the ingest does afterwards.
#include "daemon/wiring/source_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "daemon/sources/event_ingestor.h"
#include "daemon/sources/kept_event.h"
#include "tests/support/temporary_store.h"

namespace giftsync::wiring {
namespace {

using sync::TrialOutcome;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

class SourceTrialTest : public ::testing::Test {
 protected:
  SourceTrialTest() {
    source_.name = "vendor";
    source_.external = true;
    source_.allots_ids = true;
    source_.fields.transaction_id = "/id";
    source_.fields.status = "/what";
    source_.fields.occurred_at = "/at";
    source_.fields.recipient_email = "/to";
    source_.fields.sent_at = "/sent";
    source_.status_map = {{"viewed", "opened"}, {"ping", "ignore"}, {"claimed", "redeemed"}};
  }
  SourceTrial try_sample(const std::string& document) { return try_source(source_, *store_, document, kNow); }
  std::vector<TrialOutcome> outcomes_of(const std::string& document) {
    std::vector<TrialOutcome> outcomes;
    for (const SourceTrial::Event& event : try_sample(document).events)
      outcomes.push_back(event.trial.outcome);
    return outcomes;
  }
  /// As a daemon would.
  sync::IngestSummary ingest(const std::string& document) {
    health_monitor_.register_source("vendor", source_.external ? "vendor" : "", kNow);
    const sources::CompiledSource compiled = sources::compile_source(source_, "");
    const auto json = parse_lenient_json(document);
    const auto events = sources::extract_events(json->root(), compiled);
    return ingestor_.ingest(compiled, ingestor_.classify_events(compiled, *events, kNow), {}, kNow);
  }
  static std::string event(const std::string& id, const std::string& what, int second,
                           const std::string& more = "") {
    return R"({"id":")" + id + R"(","what":")" + what + R"(","at":)" +
           std::to_string(1'799'990'000 + second) + more + "}";
  }

  tests::TemporaryStore store_;
  sources::SourceHealthMonitor health_monitor_{*store_};
  sources::EventIngestor ingestor_{*store_, health_monitor_, [] {}};
  config::SourceSettings source_;
};

constexpr const char* kGift = R"(,"to":"ada@example.com","sent":1799980000)";

// SRC-62
TEST_F(SourceTrialTest, SaysWhatTheIngestThenDoes) {
  const std::string first = "[" + event("ord_1", "viewed", 1) + "," + event("ord_1", "claimed", 2, kGift) +
                            "," + event("ord_2", "viewed", 3) + "," + event("ord_2", "viewed", 3) + "," +
                            event("ord_1", "ping", 4) + "," + event("ord_1", "torn", 5) + "," +
                            event("", "viewed", 6) + "]";
  const std::string second = "[" + event("ord_1", "viewed", 1) + "," + event("ord_1", "viewed", 9) + "," +
                             event("ord_2", "claimed", 8, kGift) + "," + event("ord_3", "viewed", 1) + "," +
                             event("ord_2", "viewed", 3) + "]";
  for (const std::string& document : {first, second}) {
    std::map<TrialOutcome, std::size_t> counts;
    std::size_t gifts = 0;
    for (const SourceTrial::Event& one : try_sample(document).events) {
      ++counts[one.trial.outcome];
      gifts += one.trial.creates_gift ? 1 : 0;
    }
    const sync::IngestSummary real = ingest(document);
    EXPECT_EQ(counts[TrialOutcome::accepted], real.result.accepted);
    EXPECT_EQ(counts[TrialOutcome::duplicate], real.result.duplicates);
    EXPECT_EQ(counts[TrialOutcome::orphaned], real.result.orphaned);
    EXPECT_EQ(counts[TrialOutcome::quarantined], real.result.quarantined);
    EXPECT_EQ(counts[TrialOutcome::ignored], real.ignored);
    EXPECT_EQ(gifts, real.result.gifts);
  }
}

// SRC-62
TEST_F(SourceTrialTest, AKnownChangeIsAppliedOnlyWhenItsGiftIsKnown) {
  const std::string orphan = event("ord_1", "viewed", 1);
  ingest(orphan);
  const sync::EventTrial before = try_sample(orphan).events.front().trial;
  EXPECT_EQ(before.outcome, TrialOutcome::duplicate);
  EXPECT_FALSE(before.is_applied());
  EXPECT_THAT(before.detail, HasSubstr("it has no recipient"));
  ingest(event("ord_1", "claimed", 2, kGift));
  const sync::EventTrial after = try_sample(orphan).events.front().trial;
  EXPECT_EQ(after.outcome, TrialOutcome::duplicate);
  EXPECT_TRUE(after.is_applied());
  EXPECT_EQ(after.detail, "");
}

// SRC-62
TEST_F(SourceTrialTest, ChangesNothing) {
  const std::string document = "[" + event("ord_1", "claimed", 2, kGift) + "," + event("ord_2", "viewed", 3) +
                               "," + event("ord_1", "torn", 5) + "]";
  const TransactionId next = store_->gifts.next_transaction_id();
  for (int times = 0; times < 2; ++times)
    EXPECT_THAT(outcomes_of(document),
                ElementsAre(TrialOutcome::accepted, TrialOutcome::orphaned, TrialOutcome::quarantined));
  EXPECT_EQ(store_->gifts.next_transaction_id(), next);
  EXPECT_THAT(store_->external_ids.find("ord_1"), IsEmpty());
  EXPECT_THAT(store_->sources.list(), IsEmpty());
  EXPECT_THAT(store_->sources.list_quarantined("vendor", 0, 10), IsEmpty());
  EXPECT_EQ(store_->changes.count_orphaned(), 0);
}

// SRC-62
TEST_F(SourceTrialTest, NamesTheGiftAndWhatIsMissingToCreateIt) {
  auto events = try_sample("[" + event("ord_1", "viewed", 1) + "," + event("ord_2", "viewed", 1, kGift) +
                           "," + event("ord_2", "claimed", 7) + "]")
                    .events;
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_THAT(events[0].trial.detail, HasSubstr("it has no recipient (fields.recipient_email"));
  EXPECT_EQ(events[0].trial.external_id, "ord_1");
  EXPECT_EQ(events[0].trial.transaction, std::nullopt) << "no id is allotted";
  EXPECT_TRUE(events[1].trial.creates_gift);
  EXPECT_EQ(events[1].trial.status, Status::opened);
  EXPECT_FALSE(events[2].trial.creates_gift);
  EXPECT_EQ(events[2].trial.outcome, TrialOutcome::accepted) << "the event before it creates the gift";
  ingest(event("ord_2", "viewed", 1, kGift));
  const auto known = store_->external_ids.find("ord_2");
  events = try_sample(event("ord_2", "claimed", 7)).events;
  EXPECT_EQ(events.front().trial.transaction, known.front().transaction);
  EXPECT_TRUE(events.front().trial.gift_exists);
}

// SRC-62
TEST_F(SourceTrialTest, FindsOwnGiftsAndThoseOfOtherSources) {
  const TransactionId own = store_.create_gifts(1)[0];
  const std::string report = event(std::to_string(own.value), "viewed", 1);
  source_.allots_ids = false;
  auto events = try_sample(report).events;
  EXPECT_EQ(events.front().trial.outcome, TrialOutcome::quarantined);
  EXPECT_EQ(events.front().trial.reason, store::QuarantineReason::other_source);
  EXPECT_THAT(events.front().trial.detail, HasSubstr("is a gift that giftsync sent"));
  source_.external = false;
  events = try_sample(report).events;
  EXPECT_EQ(events.front().trial.outcome, TrialOutcome::accepted);
  EXPECT_EQ(events.front().trial.transaction, own);
}

// SRC-62
TEST_F(SourceTrialTest, SaysWhenTheWholeDocumentWouldBeRefused) {
  EXPECT_NE(try_sample("{").refusal, "");
  EXPECT_THAT(try_sample("[" + event("", "viewed", 1) + "]").refusal, HasSubstr("no event can be read"));
  EXPECT_EQ(try_sample("[" + event("", "viewed", 1) + "," + event("a", "viewed", 1) + "]").refusal, "");
  source_.kind = config::SourceKind::poll;
  EXPECT_EQ(try_sample("[" + event("", "viewed", 1) + "]").refusal, "")
      << "a page is quarantined or repeated";
  source_.items = "/data";
  EXPECT_THAT(try_sample("[]").refusal, HasSubstr("there is nothing at /data"));
}

}  // namespace
}  // namespace giftsync::wiring
