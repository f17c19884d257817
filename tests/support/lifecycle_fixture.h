// Fixture of the lifecycle tests: a real store and managed CRM on each back end, and an injected clock.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "crm/sql/managed/managed_crm.h"
#include "sync/crm/sync_step.h"
#include "sync/gift/gift_actions.h"
#include "sync/gift/lifecycle.h"
#include "tests/support/store_fixture.h"

namespace giftsync::tests {

class LifecycleFixture : public StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    if (IsSkipped()) return;
    crm::managed::migrate_managed_crm(database_->address());
    const crm::PersonMatchFields person{{"Email"}, {"Phone"}, {"LastModifiedDate", true}};
    rules_.match_fields = {person, person, "US"};
    rules_.link_of = [](const auto&) { return std::string("https://gifts.test/g/x"); };
    crm_ = crm::managed::make_managed_crm({database_->address(), "giftsync", rules_.match_fields, {}});
    store_->gifts.set_lifecycle_stamp(sync::terms_stamper(terms_, 90));
  }
  void TearDown() override {
    crm_.reset();
    StoreFixture::TearDown();
  }

  std::vector<TransactionId> send(std::size_t count, SendMode mode = SendMode::email) {
    store::NewGiftRequest new_request;
    new_request.request.account = {1};
    new_request.request.mode = mode;
    new_request.request.gift = {7};
    new_request.request.item_name = "Coffee";
    new_request.request.costs = {Money{500}, Money{0}, Money{10}, Money{40}};
    new_request.request.sender_email = "sam@example.com";
    new_request.request.created_at = now_;
    for (std::size_t i = 0; i < count; ++i)
      new_request.recipients.push_back({"p" + std::to_string(i) + "@example.com", "", "", "Hi"});
    std::vector<TransactionId> ids;
    const auto outcomes = store_->gifts.create(std::span(&new_request, 1));
    for (const auto& one : outcomes.front().recipients) ids.push_back(one.id);
    return ids;
  }
  void report(TransactionId gift, Status status) {
    const store::StatusChange change{{}, "test", gift, status, now_, now_, {}};
    store_->changes.accept(std::span(&change, 1));
  }
  /// As the delivery worker does it; the relay reports `state`.
  std::vector<store::DeliveryClaim> deliver(DeliveryState state = DeliveryState::accepted) {
    const auto claims = store_->deliveries.claim("mailer", 60'000, 100'000, now_);
    std::vector<store::DeliveryQueue::Sending> sendings;
    for (const auto& claim : claims) sendings.push_back({claim, "mail"});
    const std::vector<bool> started = store_->deliveries.begin_sending("mailer", sendings, 60'000, now_);
    std::vector<store::DeliveryOutcome> outcomes;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (started[i]) outcomes.push_back(outcome_of(claims[i], state));
    }
    store_->deliveries.finish(outcomes, now_);
    return claims;
  }
  store::DeliveryOutcome outcome_of(const store::DeliveryClaim& claim, DeliveryState state) const {
    store::DeliveryOutcome outcome{claim.transaction, claim.attempt + 1, state, now_, "", false, {}};
    const bool arrived = state == DeliveryState::accepted;
    if (claim.kind == MailKind::gift) {
      outcome.change = store::StatusChange{
          {}, "mailer", claim.transaction, arrived ? Status::delivered : Status::undelivered, now_, now_, {}};
    }
    return outcome;
  }
  void sync() {
    while (sync::sync_step(*store_, *crm_, rules_, {"one", 60'000}, now_).claimed > 0) {
    }
  }
  /// Runs the timers until nothing is due, then syncs the CRM.
  sync::LifecycleStepStats run_timers() {
    sync::LifecycleStepStats all;
    int rounds = 0;
    for (sync::LifecycleStepStats one{.more = true}; one.more;) {
      if (++rounds > 1'000) throw std::logic_error("the timers come to no end");
      one = sync::lifecycle_step(store_->lifecycle, now_);
      all.expired += one.expired;
      all.refunded += one.refunded;
      all.reminded += one.reminded;
    }
    sync();
    return all;
  }
  /// Some of the gifts that have a timer, due or not.
  std::vector<TransactionId> scheduled_gifts() {
    return store_->lifecycle.find_due({std::numeric_limits<std::int64_t>::max()}, 10);
  }
  void advance_days(std::int64_t days) { now_ = now_ + days * kDayMillis; }
  void advance_to(std::string_view text) { now_ = *from_rfc3339(text); }

  store::Gift gift(TransactionId id) { return store_->gifts.find(std::span(&id, 1)).front(); }
  Status status(TransactionId id) { return gift(id).transaction.status; }
  std::string time(TransactionId id, Status status) {
    const auto found = gift(id).transaction.times[status];
    return found ? to_rfc3339(*found) : "never";
  }
  GiftRecord record(TransactionId id) { return crm_->gift_records().page({id.value - 1}, 1).front(); }
  std::string text(TransactionId id, GiftField field) {
    const GiftRecord found = record(id);
    const auto* value = std::get_if<std::string>(&found.get(field));
    return value ? *value : "";
  }

  sync::LifecycleTerms terms_;
  std::unique_ptr<crm::Crm> crm_;
  sync::SyncRules rules_;
  UtcMillis now_ = *from_rfc3339("2026-03-01T12:00:00Z");
};

}  // namespace giftsync::tests
