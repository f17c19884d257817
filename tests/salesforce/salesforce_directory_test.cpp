// People, users, opportunities and tasks of an org.
#include "tests/salesforce/salesforce_crm_fixture.h"

namespace giftsync::salesforce {
namespace {
using crm::Candidates;
using crm::PersonObject;
using crm::RecipientMatchKeys;
using crm::TaskUpsert;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class SalesforceDirectoryTest : public SalesforceCrmTest {
 protected:
  Candidates find(const std::string& email, const std::string& phone = "",
                  PersonObject object = PersonObject::contact) {
    const RecipientMatchKeys keys{email_key(email), phone_key(phone, "US")};
    return crm_->directory().find_candidates(object, std::span(&keys, 1)).front();
  }
  static std::vector<std::string> ids(const std::vector<crm::Candidate>& people) {
    std::vector<std::string> all;
    for (const auto& person : people) all.push_back(person.id);
    return all;
  }
};

TEST_F(SalesforceDirectoryTest, ContactsAreFoundByAddressAndPhone) {
  const std::string rose = contact("Rose@Example.com", "(650) 867-3450");
  const std::string other = contact("other@example.com", "650.867.3450");
  const Candidates found = find("rose@example.com", "+1 650 867 3450");
  EXPECT_THAT(ids(found.by_email), ElementsAre(rose));
  EXPECT_EQ(found.by_email[0].name, "Rose Lima");
  EXPECT_EQ(found.by_email[0].matched_field, "Email");
  EXPECT_THAT(ids(found.by_phone), testing::UnorderedElementsAre(rose, other));
  EXPECT_TRUE(find("unknown@example.com").empty());
  EXPECT_TRUE(find("").empty());
}

TEST_F(SalesforceDirectoryTest, CandidatesAreInTheOrderOfTheSettings) {
  const std::string first = contact("rose@example.com");
  const std::string second = contact("rose@example.com");
  sql("UPDATE crm_contact SET lastmodifieddate = '2020-01-01T00:00:00.000Z' WHERE id = '" + first + "'");
  EXPECT_THAT(ids(find("rose@example.com").by_email), ElementsAre(second, first));
}

// MATCH-7
TEST_F(SalesforceDirectoryTest, ConvertedLeadsComeLastAndAreFollowed) {
  const std::string rose = contact("rose@example.com");
  const std::string open =
      insert("crm_lead", "lastname, company, email, isconverted", "'Lima', 'Acme', 'rose@example.com', 0");
  const std::string converted =
      insert("crm_lead", "lastname, company, email, isconverted, convertedcontactid",
             "'Lima', 'Acme', 'rose@example.com', 1, '" + rose + "'");
  sql("UPDATE crm_lead SET lastmodifieddate = '2020-01-01T00:00:00.000Z' WHERE id = '" + open + "'");
  const Candidates people = find("rose@example.com", "", PersonObject::lead);
  ASSERT_THAT(ids(people.by_email), ElementsAre(open, converted));
  EXPECT_FALSE(people.by_email[0].converted);
  EXPECT_TRUE(people.by_email[1].converted);
  const std::vector<std::string> leads{open, converted, "l1"};
  const auto found = crm_->directory().find_converted_leads(leads);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].lead_id, converted);
  EXPECT_EQ(found[0].contact_id, rose);
  EXPECT_TRUE(found[0].contact_exists);
  EXPECT_EQ(found[0].contact_name, "Rose Lima");
}

TEST_F(SalesforceDirectoryTest, OpenOpportunitiesOfContactsAreOrdered) {
  const std::string rose = contact("rose@example.com");
  const auto opportunity = [&](const std::string& date, bool is_closed) {
    const std::string id = insert("crm_opportunity", "name, stagename, closedate, isclosed",
                                  "'Deal', 'Prospecting', '" + date + "', " + (is_closed ? "1" : "0"));
    insert("crm_opportunity_contact_role", "opportunityid, contactid", "'" + id + "', '" + rose + "'");
    return id;
  };
  const std::string later = opportunity("2027-01-01", false);
  const std::string sooner = opportunity("2026-12-01", false);
  opportunity("2026-01-01", true);
  sql("INSERT INTO crm_opportunity_contact_role (opportunityid, contactid) VALUES ('" + later + "', '" +
      rose + "')");
  const std::vector<std::string> contacts{"c1", rose};
  const auto found = crm_->directory().find_open_opportunities(contacts);
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_THAT(found[0], IsEmpty());
  ASSERT_THAT(found[1], SizeIs(2));
  EXPECT_EQ(found[1][0].id, sooner);
  EXPECT_EQ(found[1][0].stage, "Prospecting");
  EXPECT_EQ(found[1][0].order_value, "2026-12-01");
  EXPECT_EQ(found[1][1].id, later);
}

// MATCH-4
TEST_F(SalesforceDirectoryTest, ABatchIsLookedUpInOneCallAndPhonesInASecondOne) {
  sql("UPDATE crm_user SET email = 'sam@example.com' WHERE id = '" + user_ + "'");
  const std::string rose = contact("rose@example.com", "(650) 867-3450");
  const std::string by_phone = contact("other@example.com", "650.867.3451");
  const auto lead = [&](const std::string& email, const std::string& phone) {
    return insert("crm_lead", "lastname, company, email, phone, isconverted",
                  "'Lima', 'Acme', '" + email + "', '" + phone + "', 0");
  };
  lead("rose@example.com", "");
  const std::string bertha = lead("bertha@example.com", "");
  const std::string caller = lead("", "650.867.3452");
  const std::string deal = insert("crm_opportunity", "name, stagename, closedate, isclosed",
                                  "'Deal', 'Prospecting', '2027-01-01', 0");
  insert("crm_opportunity_contact_role", "opportunityid, contactid", "'" + deal + "', '" + rose + "'");
  const auto phone = [](const std::string& number) { return phone_key(number, "US"); };
  crm::DecisionQuestions queries;
  queries.recipients = {{"rose@example.com", ""}, {"bertha@example.com", ""}, {"unknown@example.com", ""}};
  queries.sender_keys = {"unknown@example.com", "sam@example.com"};
  const int before = calls();
  auto facts = crm_->directory().look_up(queries);
  EXPECT_EQ(calls() - before, 1);
  EXPECT_THAT(ids(facts.contacts[0].by_email), ElementsAre(rose));
  EXPECT_TRUE(facts.leads[0].empty()) << "a contact is preferred";
  EXPECT_THAT(ids(facts.leads[1].by_email), ElementsAre(bertha));
  EXPECT_TRUE(facts.contacts[2].empty() && facts.leads[2].empty());
  EXPECT_THAT(facts.senders[0], IsEmpty());
  EXPECT_EQ(facts.senders[1].at(0).id, user_);
  ASSERT_THAT(facts.opportunities, SizeIs(1));
  EXPECT_EQ(facts.opportunities.at(rose).at(0).id, deal);
  queries.recipients = {{"rose@example.com", phone("650.867.3451")},
                        {"unknown@example.com", phone("650.867.3451")},
                        {"", phone("650.867.3452")},
                        {"bertha@example.com", phone("650.867.3452")}};
  facts = crm_->directory().look_up(queries);
  EXPECT_EQ(calls() - before, 3);
  EXPECT_THAT(ids(facts.contacts[0].by_email), ElementsAre(rose));
  EXPECT_THAT(ids(facts.contacts[1].by_phone), ElementsAre(by_phone));
  EXPECT_FALSE(facts.opportunities.contains(by_phone)) << "they are asked for by its Id";
  EXPECT_THAT(ids(facts.leads[2].by_phone), ElementsAre(caller));
  EXPECT_THAT(ids(facts.leads[3].by_email), ElementsAre(bertha));
}

TEST_F(SalesforceDirectoryTest, UsersAndAccountsAreFound) {
  sql("UPDATE crm_user SET email = 'Ada@Example.com', isactive = 1 WHERE id = '" + user_ + "'");
  const std::string retired = insert("crm_user", "username, lastname, name, email, isactive",
                                     "'old', 'Old', 'Old', 'ada@example.com', 0");
  const std::vector<std::string> keys{"unknown@example.com", "ada@example.com", ""};
  const auto by_email = crm_->directory().find_users_by_email(keys);
  ASSERT_THAT(by_email, SizeIs(3));
  EXPECT_THAT(by_email[0], IsEmpty());
  ASSERT_THAT(by_email[1], SizeIs(2));
  EXPECT_EQ(by_email[1][0].id, user_) << "active ones first";
  EXPECT_EQ(by_email[1][1].id, retired);
  EXPECT_THAT(by_email[2], IsEmpty());
  const std::vector<std::string> ids{retired, "u1", user_.substr(0, 15)};
  const auto by_id = crm_->directory().find_users_by_id(ids);
  EXPECT_FALSE(by_id[0]->active);
  EXPECT_FALSE(by_id[1]);
  EXPECT_EQ(by_id[2]->id, user_);
  const std::string account = insert("crm_account", "name", "'Acme'");
  const std::string rose =
      insert("crm_contact", "lastname, name, accountid", "'Lima', 'Rose Lima', '" + account + "'");
  const std::vector<std::string> contacts{rose, contact("ada@example.com"), "c1"};
  EXPECT_THAT(crm_->directory().find_accounts_of_contacts(contacts),
              ElementsAre(std::optional(account), std::optional(std::string()), std::nullopt));
  const auto sets = crm_->directory().permission_sets(std::span(&ids[2], 1));
  ASSERT_TRUE(sets);
  ASSERT_THAT(sets->front(), SizeIs(1));
  EXPECT_EQ(sets->front()[0].permission_set, "giftsync_Integration");
  EXPECT_TRUE(sets->front()[0].active);
}

// ORG-22
TEST_F(SalesforceDirectoryTest, APersonAccountIsFoundThroughItsContact) {
  server_.with_org([](Org& org) {
    tests::fake_org::Field field;
    field.name = field.label = "IsPersonAccount";
    field.column = "ispersonaccount";
    field.kind = tests::fake_org::Kind::checkbox;
    org.add_field("crm_account", field);
  });
  const std::string person = insert("crm_account", "name, ispersonaccount", "'Rose Lima', 1");
  const std::string rose = insert("crm_contact", "lastname, name, email, accountid",
                                  "'Lima', 'Rose Lima', 'rose@example.com', '" + person + "'");
  const auto found = find("rose@example.com").by_email;
  ASSERT_THAT(ids(found), ElementsAre(rose));
  EXPECT_EQ(found[0].account_id, person);
}

// SIGN-10
TEST_F(SalesforceDirectoryTest, ThePermissionSetsOfAddressesAreOneCallOfTheLowestClass) {
  const std::string set = scalar("SELECT id FROM crm_permission_set WHERE name = 'giftsync_Integration'");
  const auto assign = [&](const std::string& email, int is_active) {
    const std::string user = insert("crm_user", "username, lastname, name, email, isactive",
                                    "'" + email + std::to_string(is_active) + "', 'Lima', 'Lima', '" + email +
                                        "', " + std::to_string(is_active));
    insert("crm_permission_set_assignment", "assigneeid, permissionsetid, isactive",
           "'" + user + "', '" + set + "', 1");
  };
  assign("Rose@Example.com", 1);
  assign("rose@example.com", 0);
  assign("retired@example.com", 0);
  const std::vector<std::string> keys{"unknown@example.com", "rose@example.com", "", "retired@example.com"};
  ASSERT_TRUE(crm_->directory().permission_sets_by_email(keys)) << "signs in";
  const int before = calls();
  const auto sets = crm_->directory().permission_sets_by_email(keys);
  EXPECT_EQ(calls() - before, 1);
  ASSERT_TRUE(sets);
  ASSERT_THAT(*sets, SizeIs(4));
  EXPECT_THAT(sets->at(0), IsEmpty());
  ASSERT_THAT(sets->at(1), SizeIs(1)) << "of the active user alone";
  EXPECT_EQ(sets->at(1)[0].permission_set, "giftsync_Integration");
  EXPECT_TRUE(sets->at(1)[0].active);
  EXPECT_THAT(sets->at(2), IsEmpty());
  EXPECT_THAT(sets->at(3), IsEmpty());
}

// REQ-36, ORG-15
TEST_F(SalesforceDirectoryTest, OnlySetsOfThePackagesOwnNamespaceHaveTheirBareNames) {
  server_.with_org([](Org& org) { org.set("foreign_permission_sets", "xyz__Admin"); });
  const auto set = [&](const std::string& prefix) {
    return scalar(
        "SELECT id FROM crm_permission_set WHERE name = 'Admin' AND coalesce(namespaceprefix, '') = '" +
        prefix + "'");
  };
  const std::string person = insert("crm_user", "username, lastname, name, email, isactive",
                                    "'rose', 'Lima', 'Lima', 'rose@example.com', 1");
  const std::string group = insert("crm_permission_set", "name", "'Everything'");
  const auto assign = [&](const std::string& assigned, const std::string& of_group) {
    insert("crm_permission_set_assignment", "assigneeid, permissionsetid, permissionsetgroupid, isactive",
           "'" + person + "', '" + assigned + "', " + of_group + ", 1");
  };
  assign(set("xyz"), "NULL");
  assign(group, "'" + group + "'");
  for (const char* prefix : {"", "xyz"})
    insert("crm_permission_set_group_component", "permissionsetid, permissionsetgroupid",
           "'" + set(prefix) + "', '" + group + "'");
  const auto names = [&](const std::string& name_space) {
    SalesforceCrmOptions options{.names = ApiNames(OrgNames{.name_space = name_space}),
                                 .match_fields = match_fields()};
    options.request_records = {.facts = facts()};
    options.clock = [] { return system_now(); };
    const auto crm = make_salesforce_crm(client_, std::move(options));
    const std::string email = "rose@example.com";
    std::vector<std::vector<std::string>> found;
    for (const auto& sets : {crm->directory().permission_sets(std::span(&person, 1)),
                             crm->directory().permission_sets_by_email(std::span(&email, 1))}) {
      std::vector<std::string>& one = found.emplace_back();
      for (const auto& assignment : sets.value().front()) one.push_back(assignment.permission_set);
      std::ranges::sort(one);
    }
    EXPECT_EQ(found[0], found[1]);
    return found[0];
  };
  EXPECT_THAT(names(""), ElementsAre("Admin", "xyz__Admin", "xyz__Admin"));
  EXPECT_THAT(names("xyz"), ElementsAre("Admin", "Admin", "c__Admin"));
}

TEST_F(SalesforceDirectoryTest, ATaskIsMadeOnceAndCompleted) {
  const std::string rose = contact("rose@example.com");
  kinds({upsert(1, 1)});
  std::vector<TaskUpsert> rows(2);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].transaction = {static_cast<std::int64_t>(i) + 1};
    rows[i].status = "Not Started";
    rows[i].subject = "Gift";
    rows[i].contact_id = rose;
    rows[i].owner_id = "unknown";
  }
  EXPECT_THAT(kinds_of(crm_->tasks().upsert(rows)), ElementsAre(Kind::created, Kind::not_found));
  EXPECT_THAT(kinds_of(crm_->tasks().upsert(std::span(rows).first(1))), ElementsAre(Kind::unchanged));
  rows[0].completed = true;
  rows[0].exists = true;
  rows[0].status = "Completed";
  EXPECT_THAT(kinds_of(crm_->tasks().upsert(std::span(rows).first(1))), ElementsAre(Kind::updated));
  const auto tasks = crm_->tasks().page({0}, 10);
  ASSERT_THAT(tasks, SizeIs(1));
  EXPECT_EQ(tasks[0].status, "Completed");
  EXPECT_EQ(tasks[0].who_id, rose);
  EXPECT_EQ(tasks[0].what_id, scalar("SELECT id FROM crm_gift_record"));
  sql("UPDATE crm_task SET isdeleted = 1");
  rows[0].status = "Deferred";
  EXPECT_THAT(kinds_of(crm_->tasks().upsert(std::span(rows).first(1))), ElementsAre(Kind::not_found));
}

// SYNC-69
TEST_F(SalesforceDirectoryTest, ATaskWithKnownIdsCostsOneCall) {
  const std::string gift = write({upsert(1, 1)}).front().crm_id;
  TaskUpsert task;
  task.transaction = {1};
  task.status = "Not Started";
  task.subject = "Gift";
  task.gift_crm_id = gift;
  const auto write_task = [&] { return crm_->tasks().upsert(std::span(&task, 1)).front(); };
  int before = calls();
  const auto created = write_task();
  EXPECT_EQ(created.kind, Kind::created);
  EXPECT_EQ(created.crm_id, scalar("SELECT id FROM crm_task"));
  EXPECT_EQ(scalar("SELECT whatid FROM crm_task"), gift);
  task.exists = true;
  task.completed = true;
  task.status = "Completed";
  task.crm_id = created.crm_id;
  EXPECT_EQ(write_task().kind, Kind::updated);
  EXPECT_EQ(calls() - before, 2);
  task.crm_id = gift;
  task.status = "Deferred";
  const auto updated = write_task();
  EXPECT_EQ(updated.kind, Kind::updated) << "it is found by its Transaction Id";
  EXPECT_EQ(updated.crm_id, created.crm_id);
  sql("UPDATE crm_task SET isdeleted = 1");
  task.crm_id = created.crm_id;
  EXPECT_EQ(write_task().kind, Kind::not_found);
}

TEST_F(SalesforceDirectoryTest, ATaskOfARecordThatItsIdDoesNotNameAnyMoreIsNotCreated) {
  const auto created = write({upsert(1, 1), upsert(2, 1)});
  std::vector<TaskUpsert> rows(2);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].transaction = {static_cast<std::int64_t>(i) + 1};
    rows[i].status = "Not Started";
    rows[i].subject = "Gift";
  }
  sql("UPDATE crm_gift_record SET isdeleted = 1 WHERE recipienttransactionid = 1");
  rows[0].gift_crm_id = created[0].crm_id;
  rows[1].gift_crm_id = contact("rose@example.com");
  sql("UPDATE crm_contact SET isdeleted = 1");
  const auto results = crm_->tasks().upsert(rows);
  EXPECT_THAT(kinds_of(results), ElementsAre(Kind::not_found, Kind::created));
  EXPECT_EQ(scalar("SELECT whatid FROM crm_task"), created[1].crm_id);
}

}  // namespace
}  // namespace giftsync::salesforce
