// Opportunities through contact roles, converted leads, and the order of candidates, as crm/crm.h
// specifies them, over every back end and every type of field.
#include <algorithm>
#include <random>

#include "crm/sql/managed/csv_import.h"
#include "tests/crm/crm_conformance.h"

namespace giftsync::crm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class CrmOpportunities : public CrmConformance {
 protected:
  static std::vector<std::string> open_of(Crm& crm, const std::string& contact) {
    std::vector<std::string> ids;
    const auto found = crm.directory().find_open_opportunities(std::span(&contact, 1));
    for (const Opportunity& one : found.front()) ids.push_back(one.id);
    return ids;
  }
  void role(const std::string& contact, const std::string& opportunity) {
    sql("INSERT INTO crm_opportunity_contact_role (id, contactid, opportunityid) VALUES ('k" +
        std::to_string(++roles_) + "', '" + contact + "', '" + opportunity + "')");
  }

 private:
  int roles_ = 0;
};

class ManagedCrmOpportunities : public CrmOpportunities {};

// MATCH-14
TEST_P(CrmOpportunities, OnlyOpenOnesOfTheContactsRolesByCloseDateThenId) {
  sql("INSERT INTO crm_opportunity (id, name, stagename, isclosed, closedate, accountid) VALUES"
      " ('o1', 'Late', 'Prospecting', false, '2026-03-01', 'a1'), ('o2', 'Soon', 'Closing', false, "
      "'2026-01-05', NULL),"
      " ('o3', 'Won', 'Closed Won', true, '2025-01-01', 'a1'), ('o4', 'Unsaid', 'New', NULL, NULL, 'a1'),"
      " ('o5', 'Twin', 'Closing', false, '2026-01-05', 'a1'), ('o9', 'Of others', 'New', false, "
      "'2020-01-01', 'a1')");
  for (const char* opportunity : {"o1", "o2", "o3", "o4", "o5", "o2", "gone"}) role("c1", opportunity);
  role("c2", "o3");
  const auto port = crm();
  const std::vector<std::string> contacts{"c1", "c2", "", "c1", "unknown"};
  const auto found = port->directory().find_open_opportunities(contacts);
  ASSERT_THAT(found, SizeIs(5));
  ASSERT_THAT(found[0], SizeIs(4)) << "each once, however many roles lead to it";
  EXPECT_EQ(found[0][0].id, "o2");
  EXPECT_EQ(found[0][0].name, "Soon");
  EXPECT_EQ(found[0][0].stage, "Closing");
  EXPECT_EQ(found[0][0].account_id, "");
  EXPECT_EQ(found[0][0].order_value, "2026-01-05");
  EXPECT_EQ(found[0][1].id, "o5");
  EXPECT_EQ(found[0][2].id, "o1");
  EXPECT_EQ(found[0][3].id, "o4") << "without a date it comes last";
  EXPECT_EQ(found[0][3].order_value, "");
  EXPECT_THAT(found[1], IsEmpty()) << "a closed one is none";
  EXPECT_THAT(found[2], IsEmpty());
  EXPECT_THAT(found[3], SizeIs(4));
  EXPECT_THAT(found[4], IsEmpty());
  EXPECT_THAT(port->directory().find_open_opportunities({}), IsEmpty());
}

TEST_P(CrmOpportunities, TheOrderIsConfiguredNullsLastInBothDirections) {
  sql("ALTER TABLE crm_opportunity ADD COLUMN score NUMERIC");
  sql("INSERT INTO crm_opportunity (id, score) VALUES ('o1', 9), ('o2', 10.5), ('o3', NULL), ('o4', -1)");
  for (const char* opportunity : {"o1", "o2", "o3", "o4"}) role("c1", opportunity);
  MatchFields fields = default_fields();
  fields.opportunity.order_by = {"Score", true};
  EXPECT_THAT(open_of(*crm(fields), "c1"), ElementsAre("o2", "o1", "o4", "o3"));
  fields.opportunity.order_by.descending = false;
  EXPECT_THAT(open_of(*crm(fields), "c1"), ElementsAre("o4", "o1", "o2", "o3"));
}

TEST_P(CrmOpportunities, LettersOfEveryScriptOrderWithoutCase) {
  sql("INSERT INTO crm_opportunity (id, name) VALUES ('o1', 'Émile B'), ('o2', 'émile A'), ('o3', 'ÉMILE "
      "b')");
  for (const char* opportunity : {"o1", "o2", "o3"}) role("c1", opportunity);
  MatchFields fields = default_fields();
  fields.opportunity.order_by = {"Name", false};
  EXPECT_THAT(open_of(*crm(fields), "c1"), ElementsAre("o2", "o1", "o3"));
  fields.opportunity.order_by.descending = true;
  EXPECT_THAT(open_of(*crm(fields), "c1"), ElementsAre("o1", "o3", "o2"));
}

TEST_P(CrmOpportunities, TheCapKeepsTheFirstInOrder) {
  const std::string numbers =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250) ";
  sql("INSERT INTO crm_opportunity (id, isclosed) " + numbers + "SELECT 'o' || (1000 + i), false FROM n");
  sql("INSERT INTO crm_opportunity_contact_role (id, contactid, opportunityid) " + numbers +
      "SELECT 'x' || i, 'c1', 'o' || (1251 - i) FROM n");
  role("c2", "o1250");
  const auto open = open_of(*crm(), "c1");
  ASSERT_THAT(open, SizeIs(kMaxCandidates));
  EXPECT_EQ(open.front(), "o1001");
  EXPECT_EQ(open.back(), "o1200");
  const std::vector<std::string> contacts{"c1", "c2"};
  EXPECT_THAT(crm()->directory().find_open_opportunities(contacts)[1], SizeIs(1));
}

TEST_P(CrmOpportunities, ADeletedAccountIsNotReturned) {
  sql("INSERT INTO crm_opportunity (id, accountid) VALUES ('o1', 'a1'), ('o2', 'a2')");
  role("c1", "o1");
  role("c2", "o2");
  const auto port = crm();
  const std::vector<std::string> contacts{"c1", "c2"};
  EXPECT_EQ(port->directory().find_open_opportunities(contacts)[1][0].account_id, "a2")
      << "a CRM that keeps no accounts";
  sql("INSERT INTO crm_account (id) VALUES ('a1')");
  const auto found = port->directory().find_open_opportunities(contacts);
  EXPECT_EQ(found[0][0].account_id, "a1");
  EXPECT_EQ(found[1][0].account_id, "");
  sql("INSERT INTO crm_contact (id, email, accountid) VALUES ('c1', 'a@x.com', 'a1'), ('c2', 'b@x.com', "
      "'a2')");
  EXPECT_TRUE(find(*port, PersonObject::contact, recipient("a@x.com")).by_email[0].account_exists);
  EXPECT_FALSE(find(*port, PersonObject::contact, recipient("b@x.com")).by_email[0].account_exists);
}

// SYNC-36
TEST_P(ManagedCrmOpportunities, RowsThatAreMarkedAsDeletedAreNoRows) {
  sql("INSERT INTO crm_account (id) VALUES ('a1'), ('a2')");
  sql("INSERT INTO crm_contact (id, email, accountid) VALUES ('c1', 'c@x.com', 'a2'), ('c2', 'c@x.com', "
      "'a1')");
  sql("INSERT INTO crm_lead (id, isconverted, convertedcontactid) VALUES ('l1', true, 'c1'), ('l2', true, "
      "'c2')");
  sql("INSERT INTO crm_opportunity (id, accountid) VALUES ('o1', 'a2'), ('o2', 'a1'), ('o3', 'a2')");
  for (const char* opportunity : {"o1", "o2", "o3"}) role("c2", opportunity);
  sql("INSERT INTO crm_user (id) VALUES ('u1'), ('u2')");
  sql("INSERT INTO crm_permission_set_assignment (id, assigneeid, permissionsetname) VALUES ('p1', 'u2', "
      "'Gone'), ('p2', 'u2', 'Kept')");
  const auto port = crm();
  Directory& directory = port->directory();
  const std::vector<std::string> contacts{"c1", "c2"};
  const std::vector<std::string> leads{"l1", "l2"};
  const std::vector<std::string> users{"u1", "u2"};
  const Associations links{"c1", "a1", "l2", "o1"};
  EXPECT_THAT(open_of(*port, "c2"), ElementsAre("o1", "o2", "o3")) << "tables without the column";
  EXPECT_THAT(directory.find_converted_leads(leads), SizeIs(2));
  EXPECT_TRUE(directory.find_users_by_id(users)[0]);
  EXPECT_THAT((*directory.permission_sets(users))[1], SizeIs(2));
  EXPECT_THAT(port->gift_records().missing_lookups(std::span(&links, 1)).front(), IsEmpty());

  const auto mark = [&](const std::string& table, const std::string& id) {
    const bool is_checkbox = table == "crm_opportunity";
    sql("ALTER TABLE " + table + " ADD COLUMN isdeleted " + (is_checkbox ? "BOOLEAN" : "TEXT"));
    sql("UPDATE " + table + " SET isdeleted = " + (is_checkbox ? "(id = '" : "CASE WHEN id = '") + id +
        (is_checkbox ? "')" : "' THEN ' TRUE' ELSE 'false' END"));
  };
  mark("crm_account", "a1");
  mark("crm_contact", "c1");
  sql("ALTER TABLE crm_lead ADD COLUMN isdeleted DATE");
  sql("UPDATE crm_lead SET isdeleted = '2026-11-27' WHERE id = 'l2'");
  mark("crm_opportunity", "o1");
  mark("crm_opportunity_contact_role", "k3");
  mark("crm_user", "u1");
  mark("crm_permission_set_assignment", "p1");
  const auto open = directory.find_open_opportunities(contacts)[1];
  ASSERT_THAT(open, SizeIs(1));
  EXPECT_EQ(open[0].id, "o2");
  EXPECT_EQ(open[0].account_id, "");
  const auto accounts = directory.find_accounts_of_contacts(contacts);
  EXPECT_FALSE(accounts[0]);
  EXPECT_EQ(accounts[1], "");
  const auto converted = directory.find_converted_leads(leads);
  ASSERT_THAT(converted, SizeIs(1));
  EXPECT_FALSE(converted[0].contact_exists);
  EXPECT_FALSE(directory.find_users_by_id(users)[0]);
  EXPECT_TRUE(directory.find_users_by_id(users)[1]);
  const auto assigned = (*directory.permission_sets(users))[1];
  ASSERT_THAT(assigned, SizeIs(1));
  EXPECT_EQ(assigned[0].permission_set, "Kept");
  EXPECT_THAT(port->gift_records().missing_lookups(std::span(&links, 1)).front(), SizeIs(4));
  RequestRecords& requests = *port->request_records();
  EXPECT_THAT(requests.find_persons(PersonObject::contact, contacts), SizeIs(1));
  EXPECT_THAT(requests.find_persons(PersonObject::lead, leads), SizeIs(1));
  EXPECT_THAT(requests.find_opportunities(std::vector<std::string>{"o1", "o2"}), SizeIs(1));
  EXPECT_THAT(port->rows()->page("opportunity", "", 10), SizeIs(2));
}

TEST_P(ManagedCrmOpportunities, AMissingOrderFieldIsReportedOnlyWhenItIsUsed) {
  MatchFields fields = default_fields();
  fields.opportunity.order_by.field = "Score";
  EXPECT_THAT(
      crm::managed::match_field_faults({address(), "giftsync", fields}),
      ElementsAre(testing::AllOf(HasSubstr("matching.opportunity.order_by.field"), HasSubstr("closedate"))));
  EXPECT_THROW(open_of(*crm(fields), "c1"), DependencyError);
  fields.opportunity.enabled = false;
  EXPECT_THAT(crm::managed::match_field_faults({address(), "giftsync", fields}), IsEmpty());
}

// SYNC-77
TEST_P(CrmOpportunities, AccountsHaveTheirOwners) {
  sql("INSERT INTO crm_user (id, name) VALUES ('u1', 'Ana')");
  sql("INSERT INTO crm_account (id, name, ownerid) VALUES ('a1', 'Acme', 'u1')");
  const std::vector<std::string> accounts{"unknown", "a1", "a1"};
  EXPECT_THAT(crm()->directory().find_account_owners(accounts), ElementsAre("", "u1", "u1"));
  EXPECT_THAT(crm()->directory().find_account_owners({}), IsEmpty());
}

TEST_P(CrmOpportunities, ContactsHaveTheAccountsThatExist) {
  sql("INSERT INTO crm_account (id) VALUES ('a1')");
  sql("INSERT INTO crm_contact (id, accountid) VALUES ('c1', 'a1'), ('c2', 'a2'), ('c3', NULL)");
  const std::vector<std::string> contacts{"c3", "c1", "unknown", "c2", "", "c1"};
  EXPECT_THAT(crm()->directory().find_accounts_of_contacts(contacts),
              ElementsAre("", "a1", std::nullopt, "", std::nullopt, "a1"));
}

TEST_P(CrmOpportunities, ConvertedLeadsReturnTheirContacts) {
  sql("INSERT INTO crm_contact (id, firstname, lastname, accountid) VALUES ('c1', 'Bertha', 'Boxer', 'a1')");
  sql("INSERT INTO crm_lead (id, isconverted, convertedcontactid) VALUES ('l1', true, 'c1'), ('l2', true, "
      "'c2'),"
      " ('l3', false, NULL), ('l4', true, NULL), ('l5', NULL, 'c1')");
  const std::vector<std::string> leads{"l1", "l2", "l3", "l4", "l5", "unknown", ""};
  auto found = crm()->directory().find_converted_leads(leads);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.lead_id < b.lead_id; });
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_EQ(found[0].contact_id, "c1");
  EXPECT_EQ(found[0].contact_name, "Bertha Boxer");
  EXPECT_EQ(found[0].account_id, "a1");
  EXPECT_TRUE(found[0].contact_exists);
  EXPECT_EQ(found[1].contact_id, "c2");
  EXPECT_FALSE(found[1].contact_exists);
  EXPECT_EQ(found[2].lead_id, "l4");
  EXPECT_EQ(found[2].contact_id, "");
}

/// A custom field with its cells in ascending order, equal ones side by side; an empty cell is null.
struct OrderedField {
  const char* name;
  std::vector<std::vector<std::string>> ascending;
};

const std::vector<OrderedField>& ordered_fields() {
  static const std::vector<OrderedField> fields{
      {"Number_Field", {{"-7.25"}, {"0"}, {"9"}, {"10"}, {"10.5"}, {"1000000"}}},
      {"Date_Field", {{"1999-12-31"}, {"2026-01-05"}, {"2026-01-06"}}},
      {"Time_Field",
       {{"2025-12-31T23:59:59.999Z"},
        {"2026-01-01T00:00:00Z", "2026-01-01T02:00:00+02:00"},
        {"2026-01-01T00:00:00.001Z"}}},
      {"Text_Field",
       {{"10"},
        {"9a"},
        {"_"},
        {"alpha", "Alpha", "ALPHA"},
        {"beta"},
        {"Émile A", "émile a"},
        {"éMILE B"},
        {"ÖL"}}},
      {"Flag_Field", {{"false"}, {"true"}}},
  };
  return fields;
}

/// A row's place in ascending order; null has none.
struct OrderedRow {
  std::string id;
  std::string cell;
  std::optional<std::size_t> rank;
};

std::vector<OrderedRow> shuffled_rows(const OrderedField& field, std::mt19937& random) {
  std::vector<OrderedRow> rows;
  for (std::size_t rank = 0; rank < field.ascending.size(); ++rank) {
    for (const std::string& cell : field.ascending[rank]) rows.push_back({"", cell, rank});
  }
  rows.push_back({"", "", std::nullopt});
  rows.push_back({"", "", std::nullopt});
  std::shuffle(rows.begin(), rows.end(), random);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].id = (i % 2 == 0 ? "p" : "P") + std::to_string(i);
  return rows;
}

std::vector<std::string> expected_ids(std::vector<OrderedRow> rows, bool descending) {
  std::sort(rows.begin(), rows.end(), [&](const OrderedRow& a, const OrderedRow& b) {
    if (a.rank.has_value() != b.rank.has_value()) return a.rank.has_value();
    if (a.rank != b.rank) return descending ? a.rank > b.rank : a.rank < b.rank;
    return a.id < b.id;
  });
  std::vector<std::string> ids;
  for (const OrderedRow& row : rows) ids.push_back(row.id);
  return ids;
}

class CrmOrder : public CrmOpportunities {
 protected:
  void import(ImportObject object, const std::string& field, const std::vector<OrderedRow>& rows) {
    const std::vector<std::string> header = object == ImportObject::opportunity
                                                ? std::vector<std::string>{"Id", field}
                                                : std::vector<std::string>{"Id", field, "Email"};
    const auto rows_import = crm::managed::make_csv_import(address(), object, header);
    const auto cells = [&](const OrderedRow& row) {
      std::vector<std::string> all{row.id, row.cell};
      if (header.size() == 3) all.emplace_back("same@x.com");
      return all;
    };
    for (const OrderedRow& row : rows) rows_import->detect_types(2, cells(row));
    std::size_t line = 1;
    for (const OrderedRow& row : rows) rows_import->add(++line, cells(row));
    EXPECT_THAT(rows_import->finish().refused, IsEmpty());
  }
};

TEST_P(CrmOrder, EveryTypeOfCustomFieldOrdersContactsLeadsAndOpportunitiesTotally) {
  std::mt19937 random(20'261'121);
  for (const OrderedField& field : ordered_fields()) {
    for (int round = 0; round < 3; ++round) {
      const std::vector<OrderedRow> rows = shuffled_rows(field, random);
      for (const char* table : {"crm_contact", "crm_lead", "crm_opportunity", "crm_opportunity_contact_role"})
        sql("DELETE FROM " + std::string(table));
      import(ImportObject::contact, field.name, rows);
      import(ImportObject::lead, field.name, rows);
      import(ImportObject::opportunity, field.name, rows);
      for (const OrderedRow& row : rows) role("c1", row.id);
      for (const bool descending : {false, true}) {
        MatchFields fields = default_fields();
        fields.contact.order_by = fields.lead.order_by =
            fields.opportunity.order_by = {field.name, descending};
        const auto port = crm(fields);
        const auto expected = expected_ids(rows, descending);
        EXPECT_EQ(by_email(*port, PersonObject::contact, "same@x.com"), expected) << field.name << descending;
        EXPECT_EQ(by_email(*port, PersonObject::lead, "same@x.com"), expected) << field.name << descending;
        EXPECT_EQ(open_of(*port, "c1"), expected) << field.name << descending;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(backends, CrmOpportunities, all_crms(), name_of_crm);
INSTANTIATE_TEST_SUITE_P(backends, ManagedCrmOpportunities, managed_crms(), name_of_crm);
// Its rows come by an import, which only the managed CRM has.
INSTANTIATE_TEST_SUITE_P(backends, CrmOrder, managed_crms(), name_of_crm);

}  // namespace
}  // namespace giftsync::crm
