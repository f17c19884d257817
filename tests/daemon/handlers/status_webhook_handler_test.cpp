// The webhook handler with a real store: its responses, and that a 2xx response is durable.
#include "daemon/handlers/status_webhook_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "daemon/group_commit_writer.h"
#include "platform/digest.h"
#include "tests/support/full_writer.h"
#include "tests/support/json.h"
#include "tests/support/temporary_store.h"

namespace giftsync::handlers {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

bool keep_going() {
  return true;
}

class StatusWebhookHandlerTest : public ::testing::Test {
 protected:
  StatusWebhookHandlerTest() {
    config::SourceSettings settings;
    settings.name = "vendor";
    settings.signature = config::SourceSignature::hmac;
    settings.signature_header = "X-Signature";
    settings.secrets = {config::Secret("hush")};
    settings.fields.transaction_id = "/id";
    settings.fields.status = "/what";
    settings.fields.occurred_at = "/at";
    config::SourceSettings poll = settings;
    poll.name = "feed";
    poll.kind = config::SourceKind::poll;
    config::SourceSettings mails;
    mails.name = "mails";
    mails.preset = config::SourcePreset::ses;
    mails.topic = "arn:aws:sns:us-west-2:123456789012:T";
    sources_ = {sources::compile_source(settings, "inst"), sources::compile_source(poll, "inst"),
                sources::compile_source(mails, "inst")};
    for (const sources::CompiledSource& source : sources_)
      health_monitor_.register_source(source.settings.name, source.rules.gift_source, kNow);
    handler_ = std::make_unique<StatusWebhookHandler>(
        sources_, ingestor_, writer_, health_monitor_,
        StatusWebhookOptions{[this] { return now_; }, [](const auto&, const auto&) { return std::nullopt; },
                             1000});
  }
  http::HttpResponse call(const std::string& body, const std::string& source = "vendor") {
    http::HttpRequest request;
    request.method = "POST";
    request.body = body;
    request.headers.emplace("X-Signature", to_hex(hmac_sha256("hush", body)));
    return handler_->handle(request, source).wait();
  }
  static nlohmann::json data_of(const http::HttpResponse& response) {
    return tests::parse_json(response.body).at("data");
  }
  static std::string report(TransactionId id, const std::string& status = "opened") {
    return R"({"id":)" + std::to_string(id.value) + R"(,"what":")" + status + R"(","at":1799990000})";
  }
  static std::string header(const http::HttpResponse& response, const std::string& name) {
    for (const auto& [known, value] : response.headers) {
      if (known == name) return value;
    }
    return {};
  }

  void fill_orphaned_changes() {
    for (std::int64_t i = 0; i < store::kMaxOrphanedChanges; i += 20'000) {
      std::vector<store::StatusChange> orphaned;
      for (std::int64_t j = 0; j < 20'000; ++j)
        orphaned.push_back({{}, "vendor", {1'000'000 + i + j}, Status::opened, kNow, kNow, {}});
      store_->changes.accept(orphaned);
    }
  }

  UtcMillis now_ = kNow;
  tests::TemporaryStore store_;
  sources::SourceHealthMonitor health_monitor_{*store_};
  int wakeups_ = 0;
  daemon::GroupCommitWriter writer_{store_->urgent_writes};
  sources::EventIngestor ingestor_{*store_, health_monitor_, [this] { ++wakeups_; }};
  std::vector<sources::CompiledSource> sources_;
  std::unique_ptr<StatusWebhookHandler> handler_;
};

// ARCH-22
TEST_F(StatusWebhookHandlerTest, AFullQueueIsAnsweredWith503) {
  tests::FullWriter full;
  handler_ = std::make_unique<StatusWebhookHandler>(
      sources_, ingestor_, full, health_monitor_,
      StatusWebhookOptions{[this] { return now_; }, [](const auto&, const auto&) { return std::nullopt; },
                           1000});
  const http::HttpResponse response = call(R"({"id":7,"what":"opened","at":1799990000})");
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.headers, ::testing::Contains(std::pair<std::string, std::string>("Retry-After", "1")));
}

// SRC-22, SRC-27
TEST_F(StatusWebhookHandlerTest, AcceptsOneEventOrAList) {
  const auto ids = store_.create_gifts(2);
  EXPECT_EQ(call(report(ids[0])).status, 200);
  EXPECT_EQ(wakeups_, 1);
  const http::HttpResponse many = call("[" + report(ids[0]) + "," + report(ids[1]) + "," + report({999}) +
                                       "," + report(ids[1], "strange") + "]");
  EXPECT_EQ(many.status, 200);
  const nlohmann::json data = data_of(many);
  EXPECT_EQ(data["accepted"], 1);
  EXPECT_EQ(data["duplicates"], 1);
  EXPECT_EQ(data["orphaned"], 1);
  EXPECT_EQ(data["quarantined"], 1);
  EXPECT_THAT(store_->changes.history(ids[1]), SizeIs(1));
  EXPECT_EQ(call("[]").status, 200);
}

// SEC-3
TEST_F(StatusWebhookHandlerTest, AMessageThatCannotBeVerifiedChangesNoState) {
  const nlohmann::json forged{
      {"Type", "Notification"},
      {"MessageId", "1"},
      {"Message", "{}"},
      {"Timestamp", to_rfc3339(kNow)},
      {"TopicArn", "arn:aws:sns:us-west-2:123456789012:T"},
      {"SignatureVersion", "2"},
      {"Signature", "AAAA"},
      {"SigningCertURL", "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-0.pem"}};
  const http::HttpResponse response = call(forged.dump(), "mails");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(header(response, "Retry-After"), "60");
  health_monitor_.close(kNow);
  const auto rows = store_->sources.list();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [](const auto& one) { return one.name == "mails"; });
  ASSERT_NE(row, rows.end());
  EXPECT_EQ(row->state, "new");
  EXPECT_EQ(row->rejected, 1);
  EXPECT_EQ(row->last_refusal, "Amazon's certificate cannot be fetched or read");
}

// SRC-23, SRC-28, SRC-29, SRC-52, SRC-61
TEST_F(StatusWebhookHandlerTest, RejectsByNameMethodSizeSignatureAndForm) {
  const std::string body = report(store_.create_gifts(1)[0]);
  EXPECT_EQ(call(body, "unknown").status, 404);
  EXPECT_EQ(call(body, "feed").status, 404) << "a poll has no endpoint";
  http::HttpRequest request;
  request.method = "GET";
  EXPECT_EQ(handler_->handle(request, "vendor").wait().status, 405);
  request.method = "POST";
  request.body_too_large = true;
  EXPECT_EQ(handler_->handle(request, "vendor").wait().status, 413);
  request.body_too_large = false;
  request.body = body;
  const http::HttpResponse unsigned_response = handler_->handle(request, "vendor").wait();
  EXPECT_EQ(unsigned_response.status, 401);
  EXPECT_NE(header(unsigned_response, "WWW-Authenticate"), "");
  request.headers.emplace("Content-Encoding", "gzip");
  const http::HttpResponse compressed = handler_->handle(request, "vendor").wait();
  EXPECT_EQ(compressed.status, 415) << "whatever its signature is of";
  EXPECT_THAT(compressed.body, HasSubstr("only identity is accepted"));
  const http::HttpResponse no_json = call("{");
  EXPECT_EQ(no_json.status, 400);
  EXPECT_THAT(no_json.body, HasSubstr("Nothing was accepted; send the message as JSON"));
  EXPECT_EQ(call("5").status, 400);
  const http::HttpResponse faulty = call(R"([{"id":"x","what":"opened","at":1},{}])");
  EXPECT_EQ(faulty.status, 400);
  EXPECT_THAT(tests::parse_json(faulty.body).at("errors"), SizeIs(2));
  health_monitor_.flush(now_);
  const store::SourceSummary row = store_->sources.list().back();
  EXPECT_EQ(row.name, "vendor");
  EXPECT_EQ(row.state, "new") << "a refused message is no state";
  EXPECT_EQ(row.rejected, 6) << "each but those without a source or a message";
  EXPECT_EQ(row.refused_in_row, 3) << "those with a signature";
  EXPECT_EQ(row.last_refused_at, now_);
  EXPECT_THAT(row.last_refusal, HasSubstr("transaction_id: found \"x\""));
  const auto kept = store_->refused_messages.list("vendor", 10);
  ASSERT_THAT(kept, SizeIs(3));
  EXPECT_EQ(kept[0].body, R"([{"id":"x","what":"opened","at":1},{}])");
  EXPECT_EQ(kept[0].reason, row.last_refusal);
  EXPECT_EQ(kept[0].status, 400);
  EXPECT_EQ(kept[2].body, "{");
  EXPECT_EQ(row.quarantined, 0) << "nothing of a refused message is stored";
}

// SRC-23
TEST_F(StatusWebhookHandlerTest, ReportsTheFirstErrorInTheOrderOfChecks) {
  http::HttpRequest request;
  request.method = "GET";
  request.body = "{";
  request.body_too_large = true;
  request.headers.emplace("Content-Encoding", "gzip");
  request.headers.emplace("Content-Type", "text/xml");
  const auto status = [&] { return handler_->handle(request, "vendor").wait().status; };
  EXPECT_EQ(status(), 405);
  request.method = "POST";
  EXPECT_EQ(status(), 413);
  request.body_too_large = false;
  EXPECT_EQ(status(), 415);
  request.headers.erase("Content-Encoding");
  EXPECT_EQ(status(), 401);
  request.headers.emplace("X-Signature", to_hex(hmac_sha256("hush", request.body)));
  EXPECT_EQ(status(), 415) << "its type";
  request.headers.erase("Content-Type");
  EXPECT_EQ(status(), 400);
}

// SRC-59
TEST_F(StatusWebhookHandlerTest, ARefusalHasTheSourceAndAReasonWithoutTheMessagesValues) {
  const http::HttpResponse faulty = call(R"([{"id":"a value","what":"opened","at":1},{}])");
  EXPECT_EQ(faulty.source, "vendor");
  EXPECT_EQ(faulty.reason, "no event could be read: occurred_at, status, transaction_id");
  EXPECT_EQ(call("{").reason, "no valid JSON: syntax");
  EXPECT_EQ(call("5").reason, "the document is a whole number, neither an object nor a list of objects");
  http::HttpRequest request;
  request.method = "POST";
  request.body = "{";
  EXPECT_EQ(handler_->handle(request, "vendor").wait().reason, "it came without X-Signature");
  request.body_too_large = true;
  EXPECT_EQ(handler_->handle(request, "vendor").wait().reason, "its body has more than 1000 bytes");
  EXPECT_EQ(call("{}", "unknown").source, "") << "a name of the caller's";
}

// SRC-25, SRC-29
TEST_F(StatusWebhookHandlerTest, ARefusedMessageDoesNotChangeTheState) {
  http::HttpRequest request;
  request.method = "POST";
  request.body = "{";
  request.headers.emplace("X-Signature", "00");
  const auto summary = [&] {
    health_monitor_.flush(now_);
    return store_->sources.list().back();
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(handler_->handle(request, "vendor").wait().status, 401);
  now_ = kNow + 61'000;
  EXPECT_EQ(summary().rejected, 3) << "counted";
  EXPECT_EQ(summary().state, "new");
  EXPECT_EQ(call("{").status, 400);
  now_ = kNow + 122'000;
  EXPECT_EQ(summary().rejected, 4);
  EXPECT_EQ(summary().state, "new");
  EXPECT_EQ(summary().refused_in_row, 1);
  EXPECT_EQ(call(report(store_.create_gifts(1)[0])).status, 200);
  EXPECT_EQ(summary().state, "ok");
  EXPECT_EQ(call("{").status, 400);
  EXPECT_EQ(summary().state, "ok") << "one bad message does not make a source bad";
  EXPECT_EQ(summary().refused_in_row, 1);
  EXPECT_THAT(store_->refused_messages.list("vendor", 10), SizeIs(2));
}

// SRC-28
TEST_F(StatusWebhookHandlerTest, OutOfRangeNumberOrDuplicateNameAffectsNoOtherEvent) {
  const TransactionId id = store_.create_gifts(1)[0];
  const std::string good = report(id);
  const std::string larger = good.substr(0, good.size() - 1) + R"(,"more":18446744073709551616})";
  const std::string twice = good.substr(0, good.size() - 1) + R"(,"what":"redeemed","x":2})";
  EXPECT_EQ(call("[" + larger + "," + twice + "]").status, 200);
  EXPECT_THAT(store_->changes.history(id), SizeIs(1));
  EXPECT_EQ(store_->sources.list().back().quarantined, 1);
  const http::HttpResponse refused = call(twice);
  EXPECT_EQ(refused.status, 400) << "like any unreadable message";
  EXPECT_THAT(refused.body, HasSubstr("appears twice"));
}

TEST_F(StatusWebhookHandlerTest, RejectsMessagesWithTooManyEvents) {
  const TransactionId id = store_.create_gifts(1)[0];
  const auto message_of = [&](std::size_t events) {
    std::string body = "[" + report(id);
    for (std::size_t i = 1; i < events; ++i) body += ",0";
    return body + "]";
  };
  const http::HttpResponse refused = call(message_of(sources::kMaxEvents + 1));
  EXPECT_EQ(refused.status, 413);
  EXPECT_FALSE(refused.close) << "its body was read to the end";
  const nlohmann::json problem = tests::parse_json(refused.body);
  EXPECT_EQ(problem.at("code"), "too_many_reports");
  EXPECT_THAT(problem.at("detail").get<std::string>(), HasSubstr("contains 10001 events; at most 10000 are"));
  EXPECT_THAT(store_->changes.history(id), SizeIs(0)) << "all or nothing";
  health_monitor_.flush(now_);
  const store::SourceSummary row = store_->sources.list().back();
  EXPECT_EQ(row.state, "new");
  EXPECT_THAT(row.last_refusal, HasSubstr("10001 events"));
  EXPECT_EQ(row.rejected, 1);
  EXPECT_EQ(call(message_of(sources::kMaxEvents)).status, 200);
  EXPECT_THAT(store_->changes.history(id), SizeIs(1));
}

// SRC-52
TEST_F(StatusWebhookHandlerTest, UnverifiableMessageIsToBeRetried) {
  const http::HttpResponse response = call(
      R"({"Type":"Notification","MessageId":"m","TopicArn":"arn:aws:sns:us-west-2:123456789012:T","Message":"{}",
          "Timestamp":"2027-01-15T08:00:00Z","SignatureVersion":"2","Signature":"AAAA","SigningCertURL":
          "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3.pem"})",
      "mails");
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(header(response, "Retry-After"), "60");
  health_monitor_.flush(now_);
  for (const store::SourceSummary& row : store_->sources.list()) {
    EXPECT_EQ(row.state, "new") << "anyone can send a message that cannot be verified";
    EXPECT_EQ(row.rejected, row.name == "mails" ? 1 : 0);
  }
}

TEST_F(StatusWebhookHandlerTest, StateSavedByAnotherDaemonIsCorrected) {
  const std::string good = report(store_.create_gifts(1)[0]);
  const auto save_failing = [&](const std::string& reason) {
    store::SourceHealthUpdate update{.source = "vendor"};
    update.state = store::SourceHealthUpdate::State{"failing", reason, now_};
    store_->sources.save_health(std::span(&update, 1));
  };
  call(good);
  ASSERT_EQ(store_->sources.list().back().state, "ok");
  save_failing("another daemon could not reach it");
  now_ = kNow + 4'000;
  call(good);
  EXPECT_EQ(store_->sources.list().back().state, "failing") << "not with every message";
  now_ = kNow + 6'000;
  health_monitor_.flush(now_);
  EXPECT_EQ(store_->sources.list().back().state, "ok");
  EXPECT_EQ(store_->sources.list().back().reason, "");
  save_failing("it cannot be reached any more");
  now_ = kNow + 60'000;
  health_monitor_.flush(now_);
  EXPECT_EQ(store_->sources.list().back().state, "failing") << "nothing was received here since";
}

// SRC-7
TEST_F(StatusWebhookHandlerTest, AsksToRetryWhenTooManyChangesAreOrphaned) {
  fill_orphaned_changes();
  const auto ids = store_.create_gifts(1);
  const http::HttpResponse full = call("[" + report(ids[0]) + "," + report({5'000'000}) + "]");
  EXPECT_EQ(full.status, 503);
  EXPECT_EQ(header(full, "Retry-After"), "300");
  EXPECT_THAT(store_->changes.history(ids[0]), SizeIs(0)) << "all or nothing";
  EXPECT_EQ(call(report(ids[0])).status, 200) << "known changes are accepted";
}

// SRC-9
TEST_F(StatusWebhookHandlerTest, QuarantinedEventsAreAppliedOnceTheSettingsFit) {
  const auto ids = store_.create_gifts(1);
  EXPECT_EQ(data_of(call("[" + report(ids[0], "unwrapped") + "," + report(ids[0], "noise") + "," +
                         report(ids[0], "lost") + "]"))["quarantined"],
            3);
  EXPECT_EQ(ingestor_.reprocess(sources_[0], kNow + 5, keep_going).applied, 0u);
  config::SourceSettings remapped = sources_[0].settings;
  remapped.status_map = {{"unwrapped", "redeemed"}, {"noise", "ignore"}};
  EXPECT_EQ(ingestor_.reprocess(sources::compile_source(remapped, "inst"), kNow + 5, keep_going).applied, 2u);
  const auto history = store_->changes.history(ids[0]);
  ASSERT_THAT(history, SizeIs(1));
  EXPECT_EQ(history.front().status, Status::redeemed);
  EXPECT_EQ(history.front().received_at, kNow) << "as it was received";
  ASSERT_THAT(store_->sources.list_quarantined("vendor", 0, 10), SizeIs(1));
  EXPECT_EQ(store_->sources.list_quarantined("vendor", 0, 10).front().status_word, "lost");
  const auto ignored = store_->sources.list_ignored("vendor", 0, 10);
  ASSERT_THAT(ignored, SizeIs(1));
  EXPECT_EQ(ignored.front().status_word, "noise");
  EXPECT_EQ(ignored.front().received_at, kNow);
  EXPECT_THAT(ignored.front().payload, HasSubstr("noise")) << "as it came";
}

// SRC-63
TEST_F(StatusWebhookHandlerTest, IgnoredEventsAreKeptAndNotProcessedAgain) {
  const auto ids = store_.create_gifts(1);
  config::SourceSettings settings = sources_[0].settings;
  settings.status_map = {{"noise", "ignore"}};
  const sources::CompiledSource ignoring = sources::compile_source(settings, "inst");
  sync::InboundEvent event;
  event.set(sync::EventField::transaction_id, std::to_string(ids[0].value));
  event.set(sync::EventField::status, "noise");
  event.set(sync::EventField::occurred_at, "1799990000");
  const auto ingest = [&](const sources::CompiledSource& source) {
    return ingestor_.ingest(source, ingestor_.classify_events(source, std::span(&event, 1), kNow), {}, kNow);
  };
  EXPECT_EQ(ingest(ignoring).ignored, 1u);
  EXPECT_EQ(ingest(ignoring).ignored, 1u);
  ASSERT_THAT(store_->sources.list_ignored("vendor", 0, 10), SizeIs(1)) << "once";
  EXPECT_EQ(store_->sources.list_ignored("vendor", 0, 10).front().detail,
            "status \"noise\" is mapped to ignore");
  settings.status_map = {{"noise", "redeemed"}};
  const sources::CompiledSource mapped = sources::compile_source(settings, "inst");
  EXPECT_EQ(ingestor_.reprocess(mapped, kNow + 5, keep_going).applied, 0u);
  EXPECT_THAT(store_->changes.history(ids[0]), SizeIs(0));
  EXPECT_THAT(store_->sources.list_ignored("vendor", 0, 10), SizeIs(1));
  settings.status_map = {{"else", "redeemed"}};
  EXPECT_EQ(ingest(sources::compile_source(settings, "inst")).result.quarantined, 1u);
  EXPECT_THAT(store_->sources.list_ignored("vendor", 0, 10), SizeIs(0)) << "it has one state";
  EXPECT_THAT(store_->sources.list_quarantined("vendor", 0, 10), SizeIs(1));
}

// SRC-9
TEST_F(StatusWebhookHandlerTest, QuarantinedEventsShowTheirCurrentReason) {
  const auto ids = store_.create_gifts(1);
  call(report(ids[0], "unwrapped"));
  config::SourceSettings other = sources_[0].settings;
  other.fields.status = "/nothing";
  for (int times = 0; times < 2; ++times) {
    EXPECT_EQ(ingestor_.reprocess(sources::compile_source(other, "inst"), kNow + 5, keep_going).applied, 0u);
    const auto kept = store_->sources.list_quarantined("vendor", 0, 10);
    ASSERT_THAT(kept, SizeIs(1));
    EXPECT_EQ(kept.front().reason, store::QuarantineReason::malformed);
    EXPECT_EQ(kept.front().detail, "status: found nothing");
    EXPECT_EQ(kept.front().received_at, kNow);
  }
}

// SRC-9
TEST_F(StatusWebhookHandlerTest, ReprocessingAppliesWhatItCanWhenTooManyChangesAreOrphaned) {
  const auto ids = store_.create_gifts(1);
  call("[" + report({5'000'000}, "unwrapped") + "," + report(ids[0], "unwrapped") + "]");
  fill_orphaned_changes();
  config::SourceSettings remapped = sources_[0].settings;
  remapped.status_map = {{"unwrapped", "redeemed"}};
  const sources::CompiledSource source = sources::compile_source(remapped, "inst");
  EXPECT_EQ(ingestor_.reprocess(source, kNow + 5, keep_going).applied, 1u);
  EXPECT_THAT(store_->changes.history(ids[0]), SizeIs(1));
  const auto kept = store_->sources.list_quarantined("vendor", 0, 10);
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept.front().transaction, "5000000");
  EXPECT_EQ(kept.front().reason, store::QuarantineReason::unknown_status);
  EXPECT_THAT(kept.front().detail, HasSubstr("could be applied now"));
  EXPECT_THAT(kept.front().detail, HasSubstr("giftsyncctl change purge --orphaned --source vendor"));
  store_->changes.purge_orphaned("vendor", {std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(ingestor_.reprocess(source, kNow + 6, keep_going).applied, 1u);
  EXPECT_THAT(store_->sources.list_quarantined("vendor", 0, 10), SizeIs(0));
  EXPECT_EQ(store_->sources.list().back().orphaned, 1);
}

TEST_F(StatusWebhookHandlerTest, ReprocessingChecksForStopAfterEachBatch) {
  const auto ids = store_.create_gifts(1);
  std::vector<sync::InboundEvent> events(1200);
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].set(sync::EventField::transaction_id, std::to_string(ids[0].value));
    events[i].set(sync::EventField::status, "unwrapped");
    events[i].set(sync::EventField::occurred_at, std::to_string(1'799'990'000 + i));
  }
  ingestor_.ingest(sources_[0], ingestor_.classify_events(sources_[0], events, kNow), {}, kNow);
  config::SourceSettings remapped = sources_[0].settings;
  remapped.status_map = {{"unwrapped", "redeemed"}};
  const sources::CompiledSource source = sources::compile_source(remapped, "inst");
  int calls = 0;
  EXPECT_EQ(ingestor_.reprocess(source, kNow, [&] { return ++calls == 1; }).applied, 500u);
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(store_->sources.list_quarantined("vendor", 0, 2000), SizeIs(700));
  calls = 0;
  EXPECT_EQ(ingestor_.reprocess(source, kNow, [&] { return ++calls > 0; }).applied, 700u);
  EXPECT_EQ(calls, 3) << "two batches, and the end";
}

TEST_F(StatusWebhookHandlerTest, ReprocessingEventsOfAnotherSourceTerminates) {
  const auto ids = store_.create_gifts(1);
  config::SourceSettings external = sources_[0].settings;
  external.external = true;
  const sources::CompiledSource source = sources::compile_source(external, "inst");
  sync::InboundEvent event;
  event.set(sync::EventField::transaction_id, std::to_string(ids[0].value));
  event.set(sync::EventField::status, "opened");
  event.set(sync::EventField::occurred_at, "1799990000");
  const auto taken =
      ingestor_.ingest(source, ingestor_.classify_events(source, std::span(&event, 1), kNow), {}, kNow);
  EXPECT_EQ(taken.result.quarantined, 1u);
  EXPECT_EQ(ingestor_.reprocess(source, kNow + 5, keep_going).applied, 0u);
  EXPECT_THAT(store_->sources.list_quarantined("vendor", 0, 10), SizeIs(1));
}

TEST_F(StatusWebhookHandlerTest, OrphanedChangesCreateTheirGiftOnceTheSourceIsCorrected) {
  const std::string with_recipient = R"({"id":8000,"what":"sent","at":1799990000,"to":"ada@example.com"})";
  EXPECT_EQ(data_of(call(with_recipient))["orphaned"], 1);
  EXPECT_EQ(data_of(call(report({8000}, "redeemed")))["orphaned"], 1);
  ASSERT_THAT(store_->sources.orphaned_payloads("vendor", 0, 10), SizeIs(2));
  EXPECT_THAT(
      store_->sources.orphaned_payloads("vendor", 0, 1).front().detail,
      HasSubstr(
          "sent of gift 8000 at 2027-01-15T05:13:20.000Z: there is no such gift of giftsync's own; if"));
  EXPECT_EQ(ingestor_.reprocess(sources_[0], kNow + 5, keep_going).gifts, 0u);

  config::SourceSettings corrected = sources_[0].settings;
  corrected.external = true;
  sources::CompiledSource source = sources::compile_source(corrected, "inst");
  health_monitor_.register_source("vendor", source.rules.gift_source, kNow);
  for (int times = 0; times < 2; ++times)
    EXPECT_EQ(ingestor_.reprocess(source, kNow + 5, keep_going).gifts, 0u)
        << "no JSON pointer names the recipient";
  const auto kept = store_->sources.orphaned_payloads("vendor", 0, 10);
  ASSERT_THAT(kept, SizeIs(2));
  EXPECT_THAT(kept[0].detail, HasSubstr("it has no recipient (fields.recipient_email"));
  EXPECT_THAT(kept[1].detail, HasSubstr("and no sending time (fields.sent_at)"));
  EXPECT_EQ(kept[0].received_at, kNow);

  wakeups_ = 0;
  corrected.fields.recipient_email = "/to";
  source = sources::compile_source(corrected, "inst");
  EXPECT_EQ(ingestor_.reprocess(source, kNow + 6, keep_going).gifts, 1u);
  EXPECT_EQ(wakeups_, 1);
  const TransactionId id{8000};
  ASSERT_THAT(store_->gifts.find(std::span(&id, 1)), SizeIs(1));
  EXPECT_EQ(store_->gifts.find(std::span(&id, 1)).front().transaction.email, "ada@example.com");
  store_->changes.apply_orphaned(kNow);
  EXPECT_THAT(store_->changes.changes_of(std::span(&id, 1)), SizeIs(2)) << "sent and redeemed";
  EXPECT_THAT(store_->sources.orphaned_payloads("vendor", 0, 10), SizeIs(0));
  EXPECT_EQ(store_->sources.list().back().orphaned, 0);
  EXPECT_EQ(ingestor_.reprocess(source, kNow + 7, keep_going).gifts, 0u);
}

// SRC-15
TEST_F(StatusWebhookHandlerTest, OrphanedChangesThatNoLongerApplyAreQuarantined) {
  call(report({8000}));
  config::SourceSettings other = sources_[0].settings;
  other.may_set = {"redeemed"};
  EXPECT_EQ(ingestor_.reprocess(sources::compile_source(other, "inst"), kNow + 5, keep_going).gifts, 0u);
  EXPECT_THAT(store_->sources.orphaned_payloads("vendor", 0, 10), SizeIs(0));
  ASSERT_THAT(store_->sources.list_quarantined("vendor", 0, 10), SizeIs(1));
  EXPECT_EQ(store_->sources.list_quarantined("vendor", 0, 10).front().reason,
            store::QuarantineReason::may_set);
  EXPECT_EQ(ingestor_.reprocess(sources_[0], kNow + 6, keep_going).applied, 1u);
  EXPECT_THAT(store_->sources.orphaned_payloads("vendor", 0, 10), SizeIs(1)) << "and beside its change again";
  other.may_set = {};
  other.status_map = {{"opened", "ignore"}};
  EXPECT_EQ(ingestor_.reprocess(sources::compile_source(other, "inst"), kNow + 7, keep_going).gifts, 0u);
  EXPECT_THAT(store_->sources.orphaned_payloads("vendor", 0, 10), SizeIs(1))
      << "its change is orphaned nevertheless";
}

// SRC-13
TEST_F(StatusWebhookHandlerTest, AVoidedChangeIsNotDerivedAgain) {
  const TransactionId id{8000};
  call(report(id));
  const auto orphaned = store_->changes.history(id);
  ASSERT_THAT(orphaned, SizeIs(1));
  store_->changes.void_change(orphaned[0].id, {kNow, "admin", "a test of the vendor's"});
  config::SourceSettings remapped = sources_[0].settings;
  remapped.status_map = {{"opened", "redeemed"}};
  const sources::CompiledSource source = sources::compile_source(remapped, "inst");
  ingestor_.reprocess(source, kNow + 5, keep_going);
  ASSERT_THAT(store_->changes.history(id), SizeIs(1));
  EXPECT_EQ(store_->changes.history(id)[0].status, Status::opened);

  store_->changes.restore_change(orphaned[0].id, {kNow, "admin", "none"});
  ingestor_.reprocess(source, kNow + 6, keep_going);
  ASSERT_THAT(store_->changes.history(id), SizeIs(1));
  EXPECT_EQ(store_->changes.history(id)[0].status, Status::redeemed);
}

// SRC-26
TEST_F(StatusWebhookHandlerTest, MessageIsADuplicateOnlyUnderTheSameSettings) {
  sync::InboundEvent raw;
  raw.set(sync::EventField::transaction_id, "8000");
  raw.set(sync::EventField::status, "sent");
  raw.set(sync::EventField::occurred_at, "1799990000");
  raw.set(sync::EventField::recipient_email, "ada@example.com");
  const auto take = [&](const config::SourceSettings& settings) {
    const sources::CompiledSource source = sources::compile_source(settings, "inst");
    return ingestor_
        .ingest(source, ingestor_.classify_events(source, std::span(&raw, 1), kNow), {"msg_1", std::nullopt},
                kNow)
        .result;
  };
  config::SourceSettings settings = sources_[0].settings;
  EXPECT_EQ(take(settings).orphaned, 1u);
  EXPECT_EQ(take(settings).kind, store::IngestResult::Kind::replayed);
  settings.secrets = {config::Secret("another")};
  EXPECT_EQ(take(settings).kind, store::IngestResult::Kind::replayed) << "it means the same";
  settings.external = true;
  health_monitor_.register_source("vendor", "vendor", kNow);
  const store::IngestResult corrected = take(settings);
  EXPECT_EQ(corrected.gifts, 1u);
  EXPECT_EQ(corrected.duplicates, 1u) << "its known change has no effect";
  EXPECT_EQ(take(settings).kind, store::IngestResult::Kind::replayed);
  for (const auto& edit : std::vector<std::function<void(config::SourceSettings&)>>{
           [](config::SourceSettings& one) { one.items = "/list"; },
           [](config::SourceSettings& one) { one.fields.sent_at = "/sent"; },
           [](config::SourceSettings& one) {
             one.status_map = {{"sent", "sent"}};
           },
           [](config::SourceSettings& one) { one.may_set = {"sent"}; }}) {
    config::SourceSettings edited = settings;
    edit(edited);
    EXPECT_EQ(take(edited).kind, store::IngestResult::Kind::stored);
  }
}

// SRC-22, SRC-26
TEST_F(StatusWebhookHandlerTest, KnownMailgunTokenIsADuplicateWhateverTheSettings) {
  const TransactionId id = store_.create_gifts(1)[0];
  const std::string token(50, 'e');
  const std::string timestamp = std::to_string(kNow.value / 1000);
  const auto event = [&](const std::string& what, const std::string& seen) {
    return R"({"signature":{"token":")" + seen + R"(","timestamp":")" + timestamp + R"(","signature":")" +
           to_hex(hmac_sha256("hush", timestamp + seen)) +
           R"("},"event-data":{"id":"a","timestamp":1799990000,)" + R"("event":")" + what +
           R"(","message":{"headers":{"message-id":"gift-)" + std::to_string(id.value) +
           R"(.0.inst@example.com"}}}})";
  };
  config::SourceSettings settings;
  settings.name = "mails";
  settings.preset = config::SourcePreset::mailgun;
  settings.secrets = {config::Secret("hush")};
  const auto set_up = [&] {
    sources_ = {sources::compile_source(settings, "inst")};
    handler_ = std::make_unique<StatusWebhookHandler>(
        sources_, ingestor_, writer_, health_monitor_,
        StatusWebhookOptions{[this] { return now_; }, [](const auto&, const auto&) { return std::nullopt; },
                             1000});
  };
  set_up();
  EXPECT_EQ(data_of(call(event("delivered", token), "mails"))["accepted"], 1);
  settings.may_set = {"delivered", "opened"};
  set_up();
  EXPECT_THAT(call(event("opened", token), "mails").body, HasSubstr("Duplicate."));
  store::InboundBatch older;
  older.source = "mails";
  older.message_id = std::string(50, 'f');
  ASSERT_EQ(store_->sources.accept(older).kind, store::IngestResult::Kind::stored)
      << "as an older giftsync stored it";
  EXPECT_THAT(call(event("opened", *older.message_id), "mails").body, HasSubstr("Duplicate."));
  EXPECT_THAT(store_->changes.history(id), SizeIs(1));
}

}  // namespace
}  // namespace giftsync::handlers
