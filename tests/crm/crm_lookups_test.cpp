// Lookups without targets, relinked records, and tasks, as crm/crm.h specifies them, over every back
// end.
#include "tests/crm/crm_conformance.h"

namespace giftsync::crm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = RowResult::Kind;

class CrmLookups : public CrmConformance {
 protected:
  void SetUp() override {
    CrmConformance::SetUp();
    if (IsSkipped()) return;
    sql("INSERT INTO crm_contact (id) VALUES ('c1'), ('c2')");
    sql("INSERT INTO crm_lead (id) VALUES ('l1')");
    sql("INSERT INTO crm_account (id) VALUES ('a1')");
    sql("INSERT INTO crm_opportunity (id) VALUES ('o1')");
    sql("INSERT INTO crm_user (id) VALUES ('u1')");
  }
  GiftUpsert gift(std::int64_t transaction, const Associations& links, const std::string& user = "u1") {
    GiftUpsert row;
    row.record.set(GiftField::transaction_id, transaction);
    row.record.set(GiftField::status, std::string("sent"));
    row.record.version = 1;
    set_store_version({transaction}, 1);
    const auto set = [&](GiftField field, const std::string& id) {
      if (!id.empty()) row.record.set(field, id);
    };
    set(GiftField::recipient_contact, links.contact_id);
    set(GiftField::account, links.account_id);
    set(GiftField::recipient_lead, links.lead_id);
    set(GiftField::opportunity, links.opportunity_id);
    for (const GiftField field :
         {GiftField::sender, GiftField::actual_sender, GiftField::created_by, GiftField::owner})
      set(field, user);
    return row;
  }
  static Associations stored_links(Crm& port, std::int64_t transaction) {
    const TransactionId id{transaction};
    const auto records = port.gift_records().find(std::span(&id, 1));
    EXPECT_THAT(records, SizeIs(1));
    return records.empty() ? Associations() : associations_of(records.front());
  }
  static RowResult relink(Crm& port, std::int64_t transaction, const Associations& from,
                          const Associations& to, const std::string& stage_from = "",
                          const std::string& stage_to = "") {
    const GiftRelink row{{transaction}, from, to, stage_from, stage_to};
    return port.gift_records().relink(std::span(&row, 1)).front();
  }
  static TaskUpsert task(std::int64_t transaction, const std::string& contact = "") {
    TaskUpsert row;
    row.transaction = {transaction};
    row.status = "Not Started";
    row.type = "Other";
    row.subject = "Gift sent: Coffee for Rose";
    row.contact_id = contact;
    return row;
  }
  static std::vector<Kind> kinds(const std::vector<RowResult>& results) {
    std::vector<Kind> all;
    for (const RowResult& result : results) all.push_back(result.kind);
    return all;
  }
};

TEST_P(CrmLookups, LookupsThatExistAreWritten) {
  const auto port = crm();
  const GiftUpsert row = gift(1, {"c1", "a1", "", "o1"});
  const auto results = port->gift_records().upsert(std::span(&row, 1));
  EXPECT_EQ(results[0].kind, Kind::created);
  EXPECT_THAT(results[0].cleared_lookups, IsEmpty());
  EXPECT_EQ(stored_links(*port, 1), (Associations{"c1", "a1", "", "o1"}));
}

TEST_P(CrmLookups, MissingLookupsAreClearedAndReportedAndTheRecordIsWritten) {
  const auto port = crm();
  const std::vector<GiftUpsert> rows{gift(1, {"gone", "gone", "", "gone"}, "gone"),
                                     gift(2, {"", "", "gone", ""}), gift(3, {"c1", "", "", ""})};
  const auto results = port->gift_records().upsert(rows);
  EXPECT_THAT(kinds(results), ElementsAre(Kind::created, Kind::created, Kind::created));
  std::vector<GiftField> cleared{GiftField::recipient_contact, GiftField::account,
                                 GiftField::opportunity,       GiftField::sender,
                                 GiftField::actual_sender,     GiftField::owner};
  if (port->gift_records().has_field(GiftField::created_by)) cleared.push_back(GiftField::created_by);
  EXPECT_THAT(results[0].cleared_lookups, testing::UnorderedElementsAreArray(cleared));
  EXPECT_THAT(results[1].cleared_lookups, ElementsAre(GiftField::recipient_lead));
  EXPECT_THAT(results[2].cleared_lookups, IsEmpty());
  EXPECT_EQ(stored_links(*port, 1), Associations());
  EXPECT_EQ(stored_links(*port, 3).contact_id, "c1");
  if (is_salesforce()) return;  // the owner of such a record is its writer
  EXPECT_EQ(scalar("SELECT ownerid FROM crm_gift_record WHERE recipienttransactionid = 1"), "null");
}

TEST_P(CrmLookups, AccountsAndUsersAreNotCheckedInACrmWithoutAny) {
  sql("DELETE FROM crm_account");
  sql("DELETE FROM crm_user");
  const auto port = crm();
  const GiftUpsert row = gift(1, {"c1", "a7", "", ""}, "u7");
  EXPECT_THAT(port->gift_records().upsert(std::span(&row, 1))[0].cleared_lookups, IsEmpty());
  EXPECT_EQ(stored_links(*port, 1).account_id, "a7");
}

TEST_P(CrmLookups, LookupsToDeletedRowsAreReported) {
  const auto port = crm();
  const std::vector<Associations> links{
      {"c1", "a1", "", "o1"}, {"c9", "a9", "", "o1"}, {}, {"", "", "l9", "o9"}};
  const auto lost = port->gift_records().missing_lookups(links);
  ASSERT_THAT(lost, SizeIs(4));
  EXPECT_THAT(lost[0], IsEmpty());
  EXPECT_THAT(lost[1], ElementsAre(GiftField::recipient_contact, GiftField::account));
  EXPECT_THAT(lost[2], IsEmpty());
  EXPECT_THAT(lost[3], ElementsAre(GiftField::recipient_lead, GiftField::opportunity));
  EXPECT_THAT(port->gift_records().missing_lookups({}), IsEmpty());
}

TEST_P(CrmLookups, LookupsToAnObjectWithoutRowsAreNotMissing) {
  for (const std::string object : {"contact", "lead", "account", "opportunity"})
    sql("DELETE FROM crm_" + object);
  const Associations links{"c9", "a9", "", "o9"};
  EXPECT_THAT(crm()->gift_records().missing_lookups(std::span(&links, 1)).front(), IsEmpty())
      << "as while it is refilled";
}

TEST_P(CrmLookups, RelinkingWritesTheFourLookupsAndNothingElse) {
  const auto port = crm();
  const GiftUpsert row = gift(1, {"", "", "l1", ""});
  port->gift_records().upsert(std::span(&row, 1));
  sql("UPDATE crm_gift_record SET deal_stage = 'Mine', name = 'Mine', record_version = 7");
  EXPECT_EQ(relink(*port, 1, {"", "", "l1", ""}, {"c1", "a1", "", "o1"}).kind, Kind::updated);
  EXPECT_EQ(stored_links(*port, 1), (Associations{"c1", "a1", "", "o1"}));
  EXPECT_EQ(
      scalar(
          "SELECT deal_stage || name || record_version || recipienttransactionstatus FROM crm_gift_record"),
      "MineMine7sent");
  EXPECT_EQ(relink(*port, 1, {"c1", "a1", "", "o1"}, {}).kind, Kind::updated);
  EXPECT_EQ(stored_links(*port, 1), Associations());
}

TEST_P(CrmLookups, RelinkingChangesTheStageOnlyWhileItIsUnedited) {
  const auto port = crm();
  const std::vector<GiftUpsert> rows{gift(1, {"", "", "", "o1"}), gift(2, {}), gift(3, {}), gift(4, {})};
  port->gift_records().upsert(rows);
  sql("UPDATE crm_gift_record SET deal_stage = 'Closing' WHERE recipienttransactionid <> 3");
  const auto stage = [&](int id) {
    return scalar("SELECT deal_stage FROM crm_gift_record WHERE recipienttransactionid = " +
                  std::to_string(id));
  };
  const std::vector<GiftRelink> moves{{{1}, {"", "", "", "o1"}, {"c1", "", "", ""}, "Closing", ""},
                                      {{2}, {}, {"c1", "", "", "o1"}, "Open", "Won"},
                                      {{3}, {}, {"c1", "", "", "o1"}, "", "Won"},
                                      {{4}, {}, {"c1", "", "", "o1"}, "Closing", "Won"}};
  EXPECT_THAT(kinds(port->gift_records().relink(moves)),
              ElementsAre(Kind::updated, Kind::updated, Kind::updated, Kind::updated));
  EXPECT_EQ(stage(1), "null");
  EXPECT_EQ(stage(2), "Closing") << "a user edited it";
  EXPECT_EQ(stored_links(*port, 2).opportunity_id, "o1");
  EXPECT_EQ(stage(3), "Won");
  EXPECT_EQ(stage(4), "Won");
}

TEST_P(CrmLookups, RelinkingWritesNoStageOfADeletedOpportunity) {
  const auto port = crm();
  const GiftUpsert row = gift(1, {});
  port->gift_records().upsert(std::span(&row, 1));
  sql("UPDATE crm_gift_record SET deal_stage = 'Closing'");
  EXPECT_THAT(relink(*port, 1, {}, {"c1", "", "", "gone"}, "Closing", "Won").cleared_lookups,
              ElementsAre(GiftField::opportunity));
  EXPECT_EQ(scalar("SELECT deal_stage FROM crm_gift_record"), "null");
}

TEST_P(CrmLookups, RelinkingKeepsManualCorrections) {
  const auto port = crm();
  const GiftUpsert row = gift(1, {"c1", "", "", ""});
  port->gift_records().upsert(std::span(&row, 1));
  sql("UPDATE crm_gift_record SET recipientcontactid = 'c2'");
  EXPECT_EQ(relink(*port, 1, {"c1", "", "", ""}, {"", "", "l1", ""}).kind, Kind::unchanged);
  EXPECT_EQ(stored_links(*port, 1).contact_id, "c2");
  EXPECT_EQ(relink(*port, 9, {}, {"c1", "", "", ""}).kind, Kind::not_found);
  EXPECT_THAT(port->gift_records().relink({}), IsEmpty());
}

TEST_P(CrmLookups, RelinkingToADeletedRowLeavesTheLookupEmpty) {
  const auto port = crm();
  const GiftUpsert row = gift(1, {});
  port->gift_records().upsert(std::span(&row, 1));
  const RowResult result = relink(*port, 1, {}, {"c1", "gone", "", ""});
  EXPECT_EQ(result.kind, Kind::updated);
  EXPECT_THAT(result.cleared_lookups, ElementsAre(GiftField::account));
  EXPECT_EQ(stored_links(*port, 1), (Associations{"c1", "", "", ""}));
}

// SYNC-31
TEST_P(CrmLookups, AGiftHasExactlyOneTaskRelatedToItsRecord) {
  const auto port = crm();
  const std::vector<GiftUpsert> gifts{gift(1, {"c1", "", "", ""}), gift(2, {"", "", "l1", ""})};
  port->gift_records().upsert(gifts);
  const std::vector<TaskUpsert> rows{task(1, "c1"), task(2), task(3)};
  const auto results = port->tasks().upsert(rows);
  EXPECT_THAT(kinds(results), ElementsAre(Kind::created, Kind::created, Kind::not_found));
  EXPECT_THAT(results[2].reason, HasSubstr("gift record"));
  EXPECT_THAT(kinds(port->tasks().upsert(rows)),
              ElementsAre(Kind::unchanged, Kind::unchanged, Kind::not_found));
  const auto tasks = port->tasks().page({0}, 10);
  ASSERT_THAT(tasks, SizeIs(2));
  EXPECT_EQ(tasks[0].what_id, scalar("SELECT id FROM crm_gift_record WHERE recipienttransactionid = 1"));
  EXPECT_EQ(tasks[0].who_id, "c1");
  EXPECT_EQ(tasks[0].type, "Other");
  EXPECT_EQ(tasks[0].status, "Not Started");
  EXPECT_EQ(tasks[0].subject, "Gift sent: Coffee for Rose");
  EXPECT_EQ(tasks[1].who_id, "");
  EXPECT_NE(tasks[0].id, tasks[1].id);
  ASSERT_THAT(port->tasks().page({1}, 10), SizeIs(1));
}

// SYNC-76
TEST_P(CrmLookups, ATaskGetsItsTextsAndItsDueDateWhenItIsMade) {
  const auto port = crm();
  const std::vector<GiftUpsert> gifts{gift(1, {}), gift(2, {})};
  port->gift_records().upsert(gifts);
  std::vector<TaskUpsert> rows{task(1), task(2)};
  rows[0].subject = "{Coffee} for Rose";
  rows[0].description = "Coffee for Rose: https://gifts.test/g/x";
  rows[0].due_date = "2026-12-05";
  EXPECT_THAT(kinds(port->tasks().upsert(rows)), ElementsAre(Kind::created, Kind::created));
  const auto texts_of = [&](const char* transaction) {
    return scalar(
        "SELECT subject || ', ' || coalesce(description, 'none') || ', ' || "
        "coalesce(cast(activitydate as text), 'none') FROM crm_task WHERE recipienttransactionid = " +
        std::string(transaction));
  };
  EXPECT_EQ(texts_of("1"), "{Coffee} for Rose, Coffee for Rose: https://gifts.test/g/x, 2026-12-05");
  EXPECT_EQ(texts_of("2"), "Gift sent: Coffee for Rose, none, none");
  for (TaskUpsert& row : rows) {
    row.exists = row.completed = true;
    row.status = "Completed";
    row.description = row.subject = "another";
    row.due_date = "2030-01-01";
  }
  EXPECT_THAT(kinds(port->tasks().upsert(rows)), ElementsAre(Kind::updated, Kind::updated));
  EXPECT_EQ(texts_of("2"), "Gift sent: Coffee for Rose, none, none") << "only the status is written later";
}

TEST_P(CrmLookups, CompletingWritesTheStatusAndNothingElse) {
  const auto port = crm();
  const GiftUpsert row = gift(1, {});
  port->gift_records().upsert(std::span(&row, 1));
  TaskUpsert open = task(1);
  port->tasks().upsert(std::span(&open, 1));
  sql("UPDATE crm_task SET subject = 'Mine', type = 'Call', whoid = 'c2', ownerid = 'u1'");
  TaskUpsert done = task(1, "c1");
  done.exists = done.completed = true;
  done.status = "Completed";
  done.type = "Email";
  EXPECT_THAT(kinds(port->tasks().upsert(std::span(&done, 1))), ElementsAre(Kind::updated));
  EXPECT_EQ(scalar("SELECT status || subject || type || whoid || ownerid FROM crm_task"),
            "CompletedMineCallc2u1");
  EXPECT_THAT(kinds(port->tasks().upsert(std::span(&done, 1))), ElementsAre(Kind::unchanged));
}

TEST_P(CrmLookups, ATaskIsCompletedWithoutItsGiftRecord) {
  const auto port = crm();
  const GiftUpsert row = gift(1, {});
  port->gift_records().upsert(std::span(&row, 1));
  TaskUpsert done = task(1);
  port->tasks().upsert(std::span(&done, 1));
  sql("DELETE FROM crm_gift_record");
  done.exists = done.completed = true;
  done.status = "Completed";
  EXPECT_THAT(kinds(port->tasks().upsert(std::span(&done, 1))), ElementsAre(Kind::updated));
  EXPECT_EQ(scalar("SELECT status FROM crm_task"), "Completed");
}

TEST_P(CrmLookups, AManuallyDeletedTaskIsNotRecreated) {
  const auto port = crm();
  const GiftUpsert row = gift(1, {});
  port->gift_records().upsert(std::span(&row, 1));
  TaskUpsert done = task(1);
  port->tasks().upsert(std::span(&done, 1));
  sql("DELETE FROM crm_task");
  done.exists = done.completed = true;
  EXPECT_THAT(kinds(port->tasks().upsert(std::span(&done, 1))), ElementsAre(Kind::not_found));
  EXPECT_THAT(port->tasks().page({0}, 10), IsEmpty());
}

TEST_P(CrmLookups, ATaskOfACompletedGiftIsCreatedCompleted) {
  const auto port = crm();
  const GiftUpsert row = gift(1, {});
  port->gift_records().upsert(std::span(&row, 1));
  TaskUpsert done = task(1, "gone");
  done.completed = true;
  done.status = "Completed";
  EXPECT_THAT(kinds(port->tasks().upsert(std::span(&done, 1))), ElementsAre(Kind::created));
  EXPECT_EQ(port->tasks().page({0}, 10)[0].status, "Completed");
  EXPECT_EQ(port->tasks().page({0}, 10)[0].who_id, "") << "a contact that vanished";
}

TEST_P(CrmLookups, ATasksContactFollowsItsGiftUnlessEdited) {
  const auto port = crm();
  const std::vector<GiftUpsert> gifts{gift(1, {}), gift(2, {})};
  port->gift_records().upsert(gifts);
  const std::vector<TaskUpsert> rows{task(1), task(2)};
  port->tasks().upsert(rows);
  sql("UPDATE crm_task SET whoid = 'c2' WHERE recipienttransactionid = 2");
  for (const std::int64_t id : {1, 2}) relink(*port, id, {}, {"c1", "", "", ""});
  EXPECT_EQ(port->tasks().page({0}, 10)[0].who_id, "c1");
  EXPECT_EQ(port->tasks().page({0}, 10)[1].who_id, "c2");
}

INSTANTIATE_TEST_SUITE_P(backends, CrmLookups, all_crms(), name_of_crm);

}  // namespace
}  // namespace giftsync::crm
