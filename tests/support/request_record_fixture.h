// Fixture of the request record tests: a real store, an in-memory CRM, a catalogue and an account that may
// send.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/request/request_record_approval.h"
#include "sync/request/request_record_step.h"
#include "tests/support/in_memory_request_crm.h"
#include "tests/support/store_fixture.h"

namespace giftsync::tests {

class RequestRecordFixture : public StoreFixture {
 protected:
  using F = RequestRecordField;
  void SetUp() override {
    StoreFixture::SetUp();
    if (IsSkipped()) return;
    store::GiftItem coffee;
    coffee.id = {7};
    coffee.name = "Coffee";
    coffee.description = "A cup";
    coffee.costs = {Money{500}, Money{200}, Money{10}, Money{40}};
    store().catalogue.import(std::span(&coffee, 1));
    rules.authorize_senders = [this](std::span<const std::string> ids) {
      return std::vector<sync::SenderAuthorization>(ids.size(), sender);
    };
    store::Account ana;
    ana.id = {3};
    ana.email = "ana@example.com";
    ana.name = "Ana";
    sender.account = ana;
  }

  /// A sender who may not send.
  static sync::SenderAuthorization refused(const std::string& message) {
    return {std::nullopt, {{sync::Precondition::active_account, message, "giftsyncctl account list"}}};
  }
  store::Store& store() { return *store_; }
  sync::RequestRecordStepStats step() { return sync::request_record_step(store(), crm, rules, now); }
  /// Runs steps until nothing is left to do now.
  void run_until_idle() {
    for (int i = 0; i < 20; ++i) {
      step();
      if (crm.change_events.empty() && store().request_records.find_due(now, 1).empty()) return;
    }
    ADD_FAILURE() << "the requests never stop changing";
  }
  std::vector<store::RequestRecordGift> sent(const std::string& id) {
    return store().request_records.find_gifts_by_record(std::span(&id, 1));
  }
  std::optional<store::RequestRecordEntry> known(const std::string& id) {
    const auto found = store().request_records.find(std::span(&id, 1));
    return found.empty() ? std::nullopt : std::optional(found.front());
  }
  std::vector<store::RecipientTransaction> gifts_of(const std::string& id) {
    const auto found = sent(id);
    return found.empty() ? std::vector<store::RecipientTransaction>()
                         : store().gifts.find_recipients(found.front().gift_request);
  }
  std::string status(const std::string& id) { return crm.text(id, F::status); }
  std::string error(const std::string& id) { return crm.text(id, F::error_log); }
  /// "pending>approved by Auto-Approved"
  std::vector<std::string> transitions(const std::string& id) {
    std::vector<std::string> transitions;
    for (const auto& transition : store().request_records.find_transitions(id))
      transitions.push_back(transition.from + ">" + transition.to + " by " + transition.who);
    return transitions;
  }

  InMemoryRequestCrm crm;
  sync::RequestRecordRules rules;
  sync::SenderAuthorization sender;
  UtcMillis now{1'800'000'000'000};
};

}  // namespace giftsync::tests
