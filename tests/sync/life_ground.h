// The ground that the tests of a gift's life stand on: a real store and managed CRM on each back end, and a
// clock that is moved by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "schema/sql_crm/sql_crm.h"
#include "sync/gift_hand.h"
#include "sync/lifecycle_rules.h"
#include "sync/lifecycle_step.h"
#include "sync/sync_step.h"
#include "tests/schema/store_ground.h"

namespace giftsync::sync {

class LifeGround : public schema::StoreGround {
 protected:
  void SetUp() override {
    StoreGround::SetUp();
    if (IsSkipped()) return;
    schema::migrate_managed_crm(database_->address());
    const schema::PersonMatchFields person{{"Email"}, {"Phone"}, {"LastModifiedDate", true}};
    rules_.match_fields = {person, person, "US"};
    rules_.link_of = [](const auto&) { return std::string("https://gifts.test/g/x"); };
    crm_ = schema::make_sql_crm({database_->address(), "giftsync", rules_.match_fields, {}});
    store_->gifts.stamp_with(stamp_of(terms_, 90));
  }
  void TearDown() override {
    crm_.reset();
    StoreGround::TearDown();
  }

  std::vector<schema::TransactionId> send(std::size_t count,
                                          schema::SendMode mode = schema::SendMode::email) {
    schema::NewGiftRequest asked;
    asked.request.account = {1};
    asked.request.mode = mode;
    asked.request.gift = {7};
    asked.request.item_name = "Coffee";
    asked.request.costs = {schema::Money{500}, schema::Money{0}, schema::Money{10}, schema::Money{40}};
    asked.request.sender_email = "sam@example.com";
    asked.request.created_at = now_;
    for (std::size_t i = 0; i < count; ++i)
      asked.recipients.push_back({"p" + std::to_string(i) + "@example.com", "", "", "Hi"});
    std::vector<schema::TransactionId> ids;
    const auto outcomes = store_->gifts.create(std::span(&asked, 1));
    for (const auto& one : outcomes.front().recipients) ids.push_back(one.id);
    return ids;
  }
  void report(schema::TransactionId gift, schema::Status status) {
    const schema::StatusChange change{{}, "test", gift, status, now_, now_, {}};
    store_->changes.accept(std::span(&change, 1));
  }
  /// As the delivery loop does it; the relay says `state`.
  std::vector<schema::DeliveryClaim> deliver(schema::DeliveryState state = schema::DeliveryState::accepted) {
    const auto claims = store_->deliveries.claim("mailer", 60'000, 100'000, now_);
    std::vector<schema::DeliveryQueue::Sending> sendings;
    for (const auto& claim : claims) sendings.push_back({claim, "mail"});
    const std::vector<bool> begun = store_->deliveries.begin_sending("mailer", sendings, 60'000, now_);
    std::vector<schema::DeliveryOutcome> outcomes;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (begun[i]) outcomes.push_back(outcome_of(claims[i], state));
    }
    store_->deliveries.finish(outcomes, now_);
    return claims;
  }
  schema::DeliveryOutcome outcome_of(const schema::DeliveryClaim& claim, schema::DeliveryState state) const {
    schema::DeliveryOutcome outcome{claim.transaction, claim.attempt + 1, state, now_, "", false, {}};
    const bool arrived = state == schema::DeliveryState::accepted;
    if (claim.kind == schema::MailKind::gift) {
      outcome.change = schema::StatusChange{{},
                                            "mailer",
                                            claim.transaction,
                                            arrived ? schema::Status::delivered : schema::Status::undelivered,
                                            now_,
                                            now_,
                                            {}};
    }
    return outcome;
  }
  void sync() {
    while (sync_step(*store_, *crm_, rules_, {"one", 60'000}, now_).claimed > 0) {
    }
  }
  /// The timers' rounds until nothing is due, and then the CRM.
  LifecycleReport look() {
    LifecycleReport all;
    int rounds = 0;
    for (LifecycleReport one{.more = true}; one.more;) {
      if (++rounds > 1'000) throw std::logic_error("the timers come to no end");
      one = lifecycle_step(*store_, now_);
      all.expired += one.expired;
      all.refunded += one.refunded;
      all.reminded += one.reminded;
    }
    sync();
    return all;
  }
  /// Some of the gifts that a timer is to look at, whenever that is.
  std::vector<schema::TransactionId> ever_due() {
    return store_->life.due({std::numeric_limits<std::int64_t>::max()}, 10);
  }
  void wait_days(std::int64_t days) { now_ = now_ + days * schema::kDayMillis; }
  void wait_until(std::string_view text) { now_ = *schema::from_rfc3339(text); }

  schema::Gift gift(schema::TransactionId id) { return store_->gifts.gifts(std::span(&id, 1)).front(); }
  schema::Status status(schema::TransactionId id) { return gift(id).transaction.status; }
  std::string time(schema::TransactionId id, schema::Status status) {
    const auto found = gift(id).transaction.times[status];
    return found ? schema::to_rfc3339(*found) : "never";
  }
  schema::GiftRecord record(schema::TransactionId id) {
    return crm_->gift_records({id.value - 1}, 1).front();
  }
  std::string text(schema::TransactionId id, schema::GiftField field) {
    const schema::GiftRecord found = record(id);
    const auto* value = std::get_if<std::string>(&found.get(field));
    return value ? *value : "";
  }

  LifecycleTerms terms_;
  std::unique_ptr<schema::Crm> crm_;
  SyncRules rules_;
  schema::UtcMillis now_ = *schema::from_rfc3339("2026-03-01T12:00:00Z");
};

}  // namespace giftsync::sync
