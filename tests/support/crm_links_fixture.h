// A real store and a SQL CRM on every back end, with the sync step and rematching. An admin's edits are plain
// SQL.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/crm/managed/managed_crm.h"
#include "sync/rematch.h"
#include "sync/sync_step.h"
#include "tests/support/store_fixture.h"

namespace giftsync::tests {

using namespace schema;

constexpr platform::UtcMillis kNow{1'800'000'000'000};

class CrmLinksFixture : public StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    if (IsSkipped()) return;
    schema::crm::managed::migrate_managed_crm(database_->address());
    const schema::crm::PersonMatchFields person{
        {"Email"}, {"Phone", "MobilePhone"}, {"LastModifiedDate", true}};
    rules_.match_fields = {person, person, "US"};
    rules_.link_of = [](const schema::store::RecipientTransaction&) { return "https://gifts.test/g/x"; };
    rules_.tasks = {false, "Other", "Not Started", "Completed"};
    crm_ = schema::crm::managed::make_managed_crm({database_->address(), "giftsync", rules_.match_fields});
    sql("INSERT INTO crm_user (id, email) VALUES ('u1', 'sam@example.com')");
  }
  void TearDown() override {
    crm_.reset();
    StoreFixture::TearDown();
  }

  /// A column of the gift's record.
  std::string record(schema::TransactionId gift, const std::string& column) {
    return scalar("SELECT " + column +
                  " FROM crm_gift_record WHERE recipienttransactionid = " + std::to_string(gift.value));
  }
  schema::store::NewGiftRequest request_to(const std::string& email) {
    schema::store::NewGiftRequest new_request;
    new_request.request.account = {1};
    new_request.request.gift = {7};
    new_request.request.item_name = "Coffee";
    new_request.request.sender_email = "sam@example.com";
    new_request.request.created_at = kNow;
    new_request.recipients.push_back({email, "Ada", "", "Thank you"});
    return new_request;
  }
  schema::TransactionId send(const std::string& email) {
    const schema::store::NewGiftRequest new_request = request_to(email);
    return store_->gifts.create(std::span(&new_request, 1)).front().recipients.front().id;
  }
  void report(schema::TransactionId gift, schema::Status status, std::int64_t after_millis) {
    const schema::store::StatusChange change{{}, "test", gift, status, kNow + after_millis, kNow, {}};
    store_->changes.accept(std::span(&change, 1));
  }
  sync::SyncStepStats step(platform::UtcMillis now = kNow) {
    return sync::sync_step(*store_, *crm_, rules_, {"one", 60'000}, now);
  }
  schema::store::CrmSyncState sync_state(schema::TransactionId gift) {
    return store_->sync.find_states(std::span(&gift, 1)).front();
  }

  sync::RematchRules rematch_rules() const {
    sync::RematchRules rules;
    rules.match_fields = rules_.match_fields;
    rules.skip_unmatched = rules_.skip_unmatched;
    rules.tasks_enabled = rules_.tasks.enabled;
    return rules;
  }
  std::vector<sync::RematchResult> rematch_unmatched(bool dry_run = false) {
    sync::RematchRules rules = rematch_rules();
    rules.dry_run = dry_run;
    return sync::rematch(*store_, *crm_, rules,
                         store_->sync.list_states_to_rematch(schema::store::RematchScope::unmatched, {0},
                                                             crm_->pace().rows_per_read),
                         kNow + 1000);
  }
  sync::RematchResult rematch_gift(schema::TransactionId gift, bool is_sending = false) {
    sync::RematchRules rules = rematch_rules();
    rules.overwrite_corrections = true;
    rules.is_sending = is_sending;
    return sync::rematch(*store_, *crm_, rules, {sync_state(gift)}, kNow + 1000).front();
  }
  std::vector<sync::RematchResult> rematch_converted() {
    sync::RematchRules rules = rematch_rules();
    rules.follow_leads = true;
    return sync::rematch(*store_, *crm_, rules,
                         store_->sync.list_states_to_rematch(schema::store::RematchScope::linked_to_lead, {0},
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

  std::unique_ptr<schema::crm::Crm> crm_;
  sync::SyncRules rules_;
};

}  // namespace giftsync::tests
