// The fixture of tests of sources: a store with two sources, and events for them.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "schema/store/event/sources.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {

class SourcesFixture : public tests::StoreFixture {
 protected:
  static constexpr UtcMillis kNow{1'800'000'000'000};
  void SetUp() override {
    tests::StoreFixture::SetUp();
    if (IsSkipped()) return;
    sources().open("vendor", "", kNow);
    sources().open("other", "", kNow);
  }
  Store& store() { return *store_; }
  Sources& sources() { return store_->sources; }

  TransactionId own_gift() {
    NewGiftRequest request;
    request.request.account = {1};
    request.request.gift = {7};
    request.request.item_name = "Coffee";
    request.request.sender_email = "sam@example.com";
    request.request.created_at = kNow;
    request.recipients.push_back({"ada@example.com", "", "", "Hi"});
    const auto outcome = store().gifts.create(std::span(&request, 1)).front();
    EXPECT_EQ(outcome.kind, CreateOutcome::Kind::created) << outcome.error;
    return outcome.recipients.empty() ? TransactionId{} : outcome.recipients.front().id;
  }

  static InboundBatch report(const std::string& gift_source = "") {
    InboundBatch batch;
    batch.source = "vendor";
    batch.gift_source = gift_source;
    batch.now = kNow;
    return batch;
  }
  static InboundItem change(TransactionId id, Status status, std::int64_t after = 0) {
    InboundItem item;
    item.change = StatusChange{{}, "", id, status, kNow + after, kNow, {"e" + std::to_string(after)}};
    item.event.status_word = to_word(status);
    item.event.transaction = std::to_string(id.value);
    item.event.digest = "d" + std::to_string(id.value) + std::string(to_word(status)) + std::to_string(after);
    item.event.payload = "{}";
    item.event.received_at = kNow;
    return item;
  }
  static InboundItem quarantined(const std::string& status_word,
                                 QuarantineReason reason = QuarantineReason::unknown_status) {
    InboundItem item;
    item.quarantined = true;
    item.event.reason = reason;
    item.event.status_word = status_word;
    item.event.detail = "unmapped";
    item.event.digest = "quarantined " + status_word;
    item.event.payload = R"({"status":")" + status_word + R"("})";
    item.event.received_at = kNow;
    return item;
  }
  /// Received so many milliseconds after kNow.
  static UnappliedEvent ignored(const std::string& status_word, std::int64_t after = 0) {
    UnappliedEvent event;
    event.state = EventState::ignored;
    event.status_word = status_word;
    event.detail = "status is mapped to ignore";
    event.digest = "ignored " + status_word;
    event.payload = R"({"status":")" + status_word + R"("})";
    event.received_at = kNow + after;
    return event;
  }
  std::vector<std::string> ignored_words(const std::string& source = "vendor") {
    std::vector<std::string> words;
    for (const UnappliedEvent& one : sources().list_ignored(source, 0, 10'000))
      words.push_back(one.status_word);
    return words;
  }
  static InboundItem external_gift(TransactionId id) {
    InboundItem item = change(id, Status::sent);
    ExternalGift gift;
    gift.id = id;
    gift.gift = {42};
    gift.item_name = "Mug";
    gift.costs = {Money{1230}, Money{495}, Money{0}, Money{100}};
    gift.sender_email = "rose@example.com";
    gift.email = "ada@example.com";
    gift.phone = "+1 650 867 3450";
    gift.sent_at = kNow;
    item.gift = gift;
    return item;
  }
  void fill_quarantine(std::int64_t count) {
    sql("INSERT INTO inbound_event (id, source, digest, state, reason, status_word, detail, transaction_id, "
        "payload, "
        "received_at) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
        std::to_string(count) +
        ") SELECT 1000000 + i, 'vendor', 'digest ' || i, 'quarantined', 'unknown_status', 'x', '', '1', "
        "'{}', 0 FROM n");
  }
  std::optional<Gift> gift(TransactionId id) {
    const auto found = store().gifts.find(std::span(&id, 1));
    return found.empty() ? std::nullopt : std::optional(found.front());
  }
  SourceSummary source_summary(const std::string& name = "vendor") {
    for (const SourceSummary& row : sources().list()) {
      if (row.name == name) return row;
    }
    return {};
  }
};

}  // namespace giftsync::store
