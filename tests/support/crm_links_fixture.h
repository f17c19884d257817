// A real store and a SQL CRM on every back end, with the sync step and rematching. An admin's edits are plain
// SQL.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crm/sql/managed/managed_crm.h"
#include "matching/rematch.h"
#include "sync/crm/sync_step.h"
#include "tests/support/store_fixture.h"

namespace giftsync::tests {

constexpr UtcMillis kNow{1'800'000'000'000};

class CrmLinksFixture : public StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    if (IsSkipped()) return;
    crm::managed::migrate_managed_crm(database_->address());
    const crm::PersonMatchFields person{{"Email"}, {"Phone", "MobilePhone"}, {"LastModifiedDate", true}};
    rules_.match_fields = {person, person, "US"};
    rules_.link_of = [](const store::RecipientTransaction&) { return "https://gifts.test/g/x"; };
    rules_.tasks = {false, "Other", "Not Started", "Completed"};
    crm_ = crm::managed::make_managed_crm({database_->address(), "giftsync", rules_.match_fields});
    sql("INSERT INTO crm_user (id, email) VALUES ('u1', 'sam@example.com')");
  }
  void TearDown() override {
    crm_.reset();
    StoreFixture::TearDown();
  }

  /// A column of the gift's record.
  std::string record(TransactionId gift, const std::string& column) {
    return scalar("SELECT " + column +
                  " FROM crm_gift_record WHERE recipienttransactionid = " + std::to_string(gift.value));
  }
  store::NewGiftRequest request_to(const std::string& email) {
    store::NewGiftRequest new_request;
    new_request.request.account = {1};
    new_request.request.gift = {7};
    new_request.request.item_name = "Coffee";
    new_request.request.sender_email = "sam@example.com";
    new_request.request.created_at = kNow;
    new_request.recipients.push_back({email, "Ada", "", "Thank you"});
    return new_request;
  }
  TransactionId send(const std::string& email) {
    const store::NewGiftRequest new_request = request_to(email);
    return store_->gifts.create(std::span(&new_request, 1)).front().recipients.front().id;
  }
  void report(TransactionId gift, Status status, std::int64_t after_millis) {
    const store::StatusChange change{{}, "test", gift, status, kNow + after_millis, kNow, {}};
    store_->changes.accept(std::span(&change, 1));
  }
  sync::SyncStepStats step(UtcMillis now = kNow) {
    return sync::sync_step(*store_, *crm_, rules_, {"one", 60'000}, now);
  }
  store::CrmSyncState sync_state(TransactionId gift) {
    return store_->sync.find_states(std::span(&gift, 1)).front();
  }

  matching::RematchRules rematch_rules() const {
    matching::RematchRules rules;
    rules.match_fields = rules_.match_fields;
    rules.skip_unmatched = rules_.skip_unmatched;
    rules.tasks_enabled = rules_.tasks.enabled;
    return rules;
  }
  std::vector<matching::RematchResult> rematch_unmatched(bool dry_run = false) {
    matching::RematchRules rules = rematch_rules();
    rules.dry_run = dry_run;
    return matching::rematch(
        *store_, *crm_, rules,
        store_->sync.list_states_to_rematch(store::RematchScope::unmatched, {0}, crm_->pace().rows_per_read),
        kNow + 1000);
  }
  matching::RematchResult rematch_gift(TransactionId gift, bool is_sending = false) {
    matching::RematchRules rules = rematch_rules();
    rules.overwrite_corrections = true;
    rules.is_sending = is_sending;
    return matching::rematch(*store_, *crm_, rules, {sync_state(gift)}, kNow + 1000).front();
  }
  std::vector<matching::RematchResult> rematch_converted() {
    matching::RematchRules rules = rematch_rules();
    rules.follow_leads = true;
    return matching::rematch(*store_, *crm_, rules,
                             store_->sync.list_states_to_rematch(store::RematchScope::linked_to_lead, {0},
                                                                 crm_->pace().rows_per_read),
                             kNow + 1000);
  }
  /// Contact c1 of account a1 with two open opportunities and a closed one.
  void add_contact_with_opportunities() {
    sql("INSERT INTO crm_contact (id, email, accountid) VALUES ('c1', 'ada@example.com', 'a1')");
    sql("INSERT INTO crm_opportunity (id, stagename, isclosed, closedate, accountid) VALUES ('o1', 'Later', "
        "false, "
        "'2027-05-01', 'a2'), ('o2', 'Closing', false, '2027-01-01', 'a2'), ('o3', 'Won', true, "
        "'2020-01-01', 'a2')");
    sql("INSERT INTO crm_opportunity_contact_role (id, contactid, opportunityid) VALUES ('k1', 'c1', 'o1'), "
        "('k2', "
        "'c1', 'o2'), ('k3', 'c1', 'o3')");
  }

  std::unique_ptr<crm::Crm> crm_;
  sync::SyncRules rules_;
};

}  // namespace giftsync::tests
