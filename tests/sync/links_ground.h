// A real store and the SQL CRM over every back end, with the sync step and rematching. The admin's hand is
// plain SQL.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schema/sql_crm/sql_crm.h"
#include "sync/rematch.h"
#include "sync/sync_step.h"
#include "tests/schema/store_ground.h"

namespace giftsync::sync {

using namespace schema;

constexpr UtcMillis kNow{1'800'000'000'000};

class LinksGround : public StoreGround {
 protected:
  void SetUp() override {
    StoreGround::SetUp();
    if (IsSkipped()) return;
    migrate_managed_crm(database_->address());
    const PersonMatchFields person{{"Email"}, {"Phone", "MobilePhone"}, {"LastModifiedDate", true}};
    rules_.match_fields = {person, person, "US"};
    rules_.link_of = [](const RecipientTransaction&) { return "https://gifts.test/g/x"; };
    rules_.tasks = {false, "Other", "Not Started", "Completed"};
    crm_ = make_sql_crm({database_->address(), "giftsync", rules_.match_fields});
    sql("INSERT INTO crm_user (id, email) VALUES ('u1', 'sam@example.com')");
  }
  void TearDown() override {
    crm_.reset();
    StoreGround::TearDown();
  }

  /// A column of the gift's record.
  std::string record(TransactionId gift, const std::string& column) {
    return scalar("SELECT " + column +
                  " FROM crm_gift_record WHERE recipienttransactionid = " + std::to_string(gift.value));
  }
  NewGiftRequest request_to(const std::string& email) {
    NewGiftRequest asked;
    asked.request.account = {1};
    asked.request.gift = {7};
    asked.request.item_name = "Coffee";
    asked.request.sender_email = "sam@example.com";
    asked.request.created_at = kNow;
    asked.recipients.push_back({email, "Ada", "", "Thank you"});
    return asked;
  }
  TransactionId send(const std::string& email) {
    const NewGiftRequest asked = request_to(email);
    return store_->gifts.create(std::span(&asked, 1)).front().recipients.front().id;
  }
  void report(TransactionId gift, Status status, std::int64_t after_millis) {
    const StatusChange change{{}, "test", gift, status, kNow + after_millis, kNow, {}};
    store_->changes.accept(std::span(&change, 1));
  }
  SyncReport step(UtcMillis now = kNow) { return sync_step(*store_, *crm_, rules_, {"one", 60'000}, now); }
  GiftMirror mirror(TransactionId gift) { return store_->sync.mirrors(std::span(&gift, 1)).front(); }

  RematchRules rematch_rules() const {
    RematchRules rules;
    rules.match_fields = rules_.match_fields;
    rules.skip_unmatched = rules_.skip_unmatched;
    rules.tasks_enabled = rules_.tasks.enabled;
    return rules;
  }
  std::vector<Rematch> rematch_unmatched(bool dry_run = false) {
    RematchRules rules = rematch_rules();
    rules.dry_run = dry_run;
    return rematch(*store_, *crm_, rules,
                   store_->sync.mirrors_to_rematch(RematchScope::unmatched, {0}, kCrmBatch), kNow + 1000);
  }
  Rematch rematch_gift(TransactionId gift, bool is_sending = false) {
    RematchRules rules = rematch_rules();
    rules.over_corrections = true;
    rules.is_sending = is_sending;
    return rematch(*store_, *crm_, rules, {mirror(gift)}, kNow + 1000).front();
  }
  std::vector<Rematch> rematch_converted() {
    RematchRules rules = rematch_rules();
    rules.follow_leads = true;
    return rematch(*store_, *crm_, rules,
                   store_->sync.mirrors_to_rematch(RematchScope::linked_to_lead, {0}, kCrmBatch),
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

  std::unique_ptr<Crm> crm_;
  SyncRules rules_;
};

}  // namespace giftsync::sync
