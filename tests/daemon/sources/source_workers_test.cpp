// The sources of a running daemon: what its maintenance does with quarantined and orphaned events.
#include "daemon/sources/source_workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/group_commit_writer.h"
#include "daemon/handlers/status_webhook_handler.h"
#include "platform/clock.h"
#include "platform/digest.h"
#include "tests/support/captured_log.h"
#include "tests/support/temporary_store.h"

namespace giftsync::sources {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SourceWorkersTest : public ::testing::Test {
 protected:
  SourceWorkersTest() {
    settings_.name = "vendor";
    settings_.signature = config::SourceSignature::hmac;
    settings_.signature_header = "X-Signature";
    settings_.secrets = {config::Secret("hush")};
    settings_.fields.transaction_id = "/id";
    settings_.fields.status = "/what";
    settings_.fields.occurred_at = "/at";
    settings_.fields.recipient_email = "/to";
  }
  /// As at a start or reload.
  SourceWorkers make_workers() {
    return {{settings_}, "inst", {}, *store_, [] {}};
  }
  void post(SourceWorkers& workers, const std::string& body) {
    daemon::GroupCommitWriter writer(store_->urgent_writes);
    handlers::StatusWebhookHandler handler(
        workers.sources(), workers.ingestor(), writer, workers.health_monitor(),
        {system_now, [](const auto&, const auto&) { return std::nullopt; }, 1000});
    http::HttpRequest request;
    request.method = "POST";
    request.body = body;
    request.headers.emplace("X-Signature", to_hex(hmac_sha256("hush", body)));
    EXPECT_EQ(handler.handle(request, "vendor").wait().status, 200);
  }
  static void run_maintenance(SourceWorkers& workers, std::int64_t offset_millis) {
    workers.run_maintenance(system_now() + offset_millis, [] { return true; });
  }
  std::string reason() { return store_->sources.list().front().reason; }

  tests::TemporaryStore store_;
  config::SourceSettings settings_;
};

// SRC-17
TEST_F(SourceWorkersTest, WarnsWhenAllChangesOfASourceAreOrphanedAndCreatesTheirGiftsAfterTheFix) {
  const std::string sent = R"({"id":8000,"what":"sent","at":1600000000,"to":"ada@example.com"})";
  tests::CapturedLog log;
  {
    SourceWorkers first = make_workers();
    post(first, sent);
    log.take_lines();
    run_maintenance(first, 30'000);
    EXPECT_EQ(reason(), "") << "an early change is no reason for a warning";
    run_maintenance(first, 200'000);
    EXPECT_THAT(log.take_lines(), ElementsAre(AllOf(HasSubstr("warning source vendor: ok, but all"),
                                                    HasSubstr("set transactions: external and reload"))));
    EXPECT_THAT(reason(), HasSubstr("change list --orphaned --source vendor"));
    first.stop();
  }
  settings_.external = true;
  settings_.fields.recipient_email = "/missing";
  {
    SourceWorkers external = make_workers();
    run_maintenance(external, 400'000);
    EXPECT_THAT(log.take_lines(), ElementsAre(HasSubstr("correct fields.recipient_email")));
    EXPECT_THAT(reason(), HasSubstr("source quarantine vendor --orphaned"));
    external.stop();
  }
  settings_.fields.recipient_email = "/to";
  SourceWorkers corrected = make_workers();
  run_maintenance(corrected, 600'000);
  EXPECT_THAT(log.take_lines(), ElementsAre("info source vendor: 1 gift was created from orphaned events",
                                            "info source vendor: ok"));
  EXPECT_EQ(reason(), "");
  const TransactionId id{8000};
  EXPECT_EQ(store_->gifts.find(std::span(&id, 1)).size(), 1u);
  run_maintenance(corrected, 800'000);
  EXPECT_THAT(log.take_lines(), IsEmpty());
  corrected.stop();
}

// SRC-14
TEST_F(SourceWorkersTest, OrphanedChangesOfAnOldMappingAreNotReleasedWhenReprocessingIsInterrupted) {
  const TransactionId id{8000};
  const std::string to = R"(,"to":"ada@example.com"})";
  settings_.fields.sent_at = "/sent";
  {
    SourceWorkers wrong = make_workers();
    post(wrong, R"({"id":8000,"what":"redeemed","at":1600000500,"real":1600000900,"sent":1600000000)" + to);
    run_maintenance(wrong, 0);
    wrong.stop();
  }
  settings_.external = true;
  settings_.fields.occurred_at = "/real";
  {
    SourceWorkers interrupted = make_workers();
    post(interrupted, R"({"id":8000,"what":"sent","real":1600000000,"sent":1600000000)" + to);
    interrupted.run_maintenance(system_now(), [] { return false; });
    ASSERT_EQ(store_->gifts.find(std::span(&id, 1)).size(), 1u);
    EXPECT_EQ(store_->changes.apply_orphaned(system_now()), 0);
    EXPECT_EQ(store_->sources.orphaned_payloads("vendor", 0, 10).size(), 1u);
    interrupted.stop();
  }
  SourceWorkers complete = make_workers();
  EXPECT_EQ(store_->changes.apply_orphaned(system_now()), 0);
  run_maintenance(complete, 0);
  const auto history = store_->changes.history(id);
  ASSERT_EQ(history.size(), 2u) << "sent, and redeemed at its real time";
  EXPECT_EQ(history[1].status, Status::redeemed);
  EXPECT_EQ(history[1].occurred_at, UtcMillis{1'600'000'900'000});
  EXPECT_EQ(store_->sources.orphaned_payloads("vendor", 0, 10).size(), 0u);
  EXPECT_EQ(store_->sources.list().front().orphaned, 0);
  complete.stop();
}

// LIFE-17
TEST_F(SourceWorkersTest, OnlyTheTrustedClockDeletesMessageIds) {
  SourceWorkers workers = make_workers();
  store::InboundBatch message;
  message.source = "vendor";
  message.message_id = "m-1";
  message.now = system_now();
  using Kind = decltype(store_->sources.accept(message).kind);
  ASSERT_EQ(store_->sources.accept(message).kind, Kind::stored);
  run_maintenance(workers, 100 * kDayMillis);
  EXPECT_EQ(store_->sources.accept(message).kind, Kind::replayed) << "the clock may be wrong by then";
  workers.prune(message.now + 100 * kDayMillis);
  EXPECT_EQ(store_->sources.accept(message).kind, Kind::stored);
  workers.stop();
}

}  // namespace
}  // namespace giftsync::sources
