// The ground of tests on requests: a real store, a CRM in memory, a catalogue and an account that may send.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/request_step.h"
#include "sync/request_verdict.h"
#include "tests/schema/store_ground.h"
#include "tests/sync/request_crm.h"

namespace giftsync::sync {

class RequestGround : public schema::StoreGround {
 protected:
  using F = schema::RequestField;
  void SetUp() override {
    StoreGround::SetUp();
    if (IsSkipped()) return;
    schema::GiftItem coffee;
    coffee.id = {7};
    coffee.name = "Coffee";
    coffee.description = "A cup";
    coffee.costs = {schema::Money{500}, schema::Money{200}, schema::Money{10}, schema::Money{40}};
    store().catalogue.import(std::span(&coffee, 1));
    rules.check_senders = [this](std::span<const std::string> ids) {
      return std::vector<SenderVerdict>(ids.size(), sender);
    };
    schema::Account ana;
    ana.id = {3};
    ana.email = "ana@example.com";
    ana.name = "Ana";
    sender.account = ana;
  }

  schema::Store& store() { return *store_; }
  RequestReport step() { return request_step(store(), crm, rules, now); }
  /// Rounds until nothing is left to do just now.
  void settle() {
    for (int i = 0; i < 20; ++i) {
      step();
      if (crm.notes.empty() && store().requests.due(now, 1).empty()) return;
    }
    ADD_FAILURE() << "the requests do not come to rest";
  }
  std::vector<schema::SentRequest> sent(const std::string& id) {
    return store().requests.sent(std::span(&id, 1));
  }
  std::optional<schema::KnownRequest> known(const std::string& id) {
    const auto found = store().requests.find(std::span(&id, 1));
    return found.empty() ? std::nullopt : std::optional(found.front());
  }
  std::vector<schema::RecipientTransaction> gifts_of(const std::string& id) {
    const auto found = sent(id);
    return found.empty() ? std::vector<schema::RecipientTransaction>()
                         : store().gifts.recipients(found.front().gift_request);
  }
  std::string status(const std::string& id) { return crm.text(id, F::status); }
  std::string error(const std::string& id) { return crm.text(id, F::error_log); }
  /// "pending>approved by Auto-Approved"
  std::vector<std::string> story(const std::string& id) {
    std::vector<std::string> moves;
    for (const auto& move : store().requests.moves(id))
      moves.push_back(move.from + ">" + move.to + " by " + move.who);
    return moves;
  }

  RequestCrm crm;
  RequestRules rules;
  SenderVerdict sender;
  schema::UtcMillis now{1'800'000'000'000};
};

}  // namespace giftsync::sync
