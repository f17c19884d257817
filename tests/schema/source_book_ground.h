// The ground that tests of the source book stand on: a store with two sources, and reports for them.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "schema/store/source_book.h"
#include "tests/schema/store_ground.h"

namespace giftsync::schema {

class SourceBookGround : public StoreGround {
 protected:
  static constexpr UtcMillis kNow{1'800'000'000'000};
  void SetUp() override {
    StoreGround::SetUp();
    if (IsSkipped()) return;
    book().open("vendor", "", kNow);
    book().open("other", "", kNow);
  }
  Store& store() { return *store_; }
  SourceBook& book() { return store_->sources; }

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

  static SourceReport report(const std::string& origin = "") {
    SourceReport made;
    made.source = "vendor";
    made.origin = origin;
    made.now = kNow;
    return made;
  }
  static SourceItem change(TransactionId id, Status status, std::int64_t after = 0) {
    SourceItem item;
    item.change = StatusChange{{}, "", id, status, kNow + after, kNow, {"e" + std::to_string(after)}};
    item.aside.word = to_word(status);
    item.aside.transaction = std::to_string(id.value);
    item.aside.digest = "d" + std::to_string(id.value) + std::string(to_word(status)) + std::to_string(after);
    item.aside.report = "{}";
    item.aside.received_at = kNow;
    return item;
  }
  static SourceItem aside(const std::string& word, AsideReason reason = AsideReason::word) {
    SourceItem item;
    item.kept_aside = true;
    item.aside.reason = reason;
    item.aside.word = word;
    item.aside.detail = "unmapped";
    item.aside.digest = "aside " + word;
    item.aside.report = R"({"status":")" + word + R"("})";
    item.aside.received_at = kNow;
    return item;
  }
  static SourceItem sent_elsewhere(TransactionId id) {
    SourceItem item = change(id, Status::sent);
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
  void fill_aside(std::int64_t count) {
    sql("INSERT INTO source_aside (id, source, digest, reason, word, detail, transaction_id, report, "
        "received_at) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
        std::to_string(count) +
        ") SELECT 1000000 + i, 'vendor', 'digest ' || i, 'word', 'x', '', '1', '{}', 0 FROM n");
  }
  std::optional<Gift> gift(TransactionId id) {
    const auto found = store().gifts.gifts(std::span(&id, 1));
    return found.empty() ? std::nullopt : std::optional(found.front());
  }
  SourceStanding standing(const std::string& name = "vendor") {
    for (const SourceStanding& row : book().standings()) {
      if (row.name == name) return row;
    }
    return {};
  }
};

}  // namespace giftsync::schema
