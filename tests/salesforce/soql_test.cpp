// The subset of SOQL: what it selects, its order, its pages, and its refusals in the words of Salesforce.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/salesforce/fake_org_fixture.h"

namespace giftsync::tests::fake_org {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class SoqlTest : public FakeOrgTest {
 protected:
  void SetUp() override {
    sql("INSERT INTO crm_account (id, name) VALUES ('001000000000001AAA', 'Acme')");
    sql("INSERT INTO crm_contact (id, lastname, email, accountid, title, lastmodifieddate) VALUES "
        "('003000000000001AAA', 'Lima', 'Ana@Example.com', '001000000000001AAA', 'b', "
        "'2026-11-21T10:00:00.000Z'),"
        "('003000000000002AAA', 'Ömer', 'o@example.com', NULL, 'A', '2026-11-22T10:00:00.000Z'),"
        "('003000000000003AAA', 'O''Neill', NULL, NULL, NULL, '2026-11-23T10:00:00.000Z')");
  }
  std::string refusal(const std::string& soql) {
    const Json body = query(soql);
    return body.is_array()
               ? body[0]["errorCode"].get<std::string>() + " " + body[0]["message"].get<std::string>()
               : "accepted: " + body.dump();
  }
};

TEST_F(SoqlTest, ComparesTextWithoutCase) {
  EXPECT_THAT(names("SELECT LastName FROM Contact WHERE Email = 'ana@example.COM'"), ElementsAre("Lima"));
  EXPECT_THAT(names("select lastname from contact where LASTNAME in ('ömer', 'lima') order by id"),
              ElementsAre("Lima", "Ömer"));
}

TEST_F(SoqlTest, CombinesConditions) {
  const std::pair<const char*, std::vector<std::string>> kCases[] = {
      {"Email != 'ana@example.com'", {"Ömer", "O'Neill"}},
      {"Email = null", {"O'Neill"}},
      {"Email != null AND Title = 'a'", {"Ömer"}},
      {"Title = 'a' OR (Title = 'b' AND Account.Name = 'acme')", {"Lima", "Ömer"}},
      {"NOT Title = 'a'", {"Lima", "O'Neill"}},
      {"Title NOT IN ('a')", {"Lima", "O'Neill"}},
      {"LastModifiedDate >= 2026-11-22T10:00:00Z", {"Ömer", "O'Neill"}},
      {"LastModifiedDate > 2026-11-22T11:00:00+01:00", {"O'Neill"}},
      {"LastName = 'O\\'Neill'", {"O'Neill"}},
      {"LastName LIKE 'o%'", {"O'Neill"}},
      {"Id = '003000000000001'", {"Lima"}},
      {"AccountId IN ('001000000000001AAA')", {"Lima"}},
      {"IsDeleted = false", {"Lima", "Ömer", "O'Neill"}},
  };
  for (const auto& [condition, expected] : kCases)
    EXPECT_THAT(names(std::string("SELECT LastName FROM Contact WHERE ") + condition),
                ::testing::UnorderedElementsAreArray(expected))
        << condition;
}

TEST_F(SoqlTest, PutsNullsFirstUnlessToldOtherwise) {
  EXPECT_THAT(names("SELECT Title FROM Contact ORDER BY Title"), ElementsAre("null", "A", "b"));
  EXPECT_THAT(names("SELECT Title FROM Contact ORDER BY Title DESC"), ElementsAre("null", "b", "A"));
  EXPECT_THAT(names("SELECT Title FROM Contact ORDER BY Title DESC NULLS LAST, Id ASC"),
              ElementsAre("b", "A", "null"));
  EXPECT_THAT(names("SELECT Title FROM Contact ORDER BY Title LIMIT 1 OFFSET 1"), ElementsAre("A"));
}

TEST_F(SoqlTest, ShowsParents) {
  const Json answer = query("SELECT Id, Account.Name, Account.Id FROM Contact ORDER BY Id LIMIT 2");
  const Json& with = answer["records"][0];
  EXPECT_EQ(with["attributes"]["url"], "/services/data/v62.0/sobjects/Contact/003000000000001AAA");
  EXPECT_EQ(with["Account"]["Name"], "Acme");
  EXPECT_EQ(with["Account"]["attributes"]["type"], "Account");
  EXPECT_TRUE(answer["records"][1]["Account"].is_null());
}

TEST_F(SoqlTest, ShowsDeletedRecordsInQueryAllOnly) {
  sql("UPDATE crm_contact SET isdeleted = 1, masterrecordid = '003000000000002AAA' WHERE lastname = 'Lima'");
  EXPECT_THAT(names("SELECT LastName FROM Contact WHERE IsDeleted = true"), IsEmpty());
  EXPECT_THAT(names("SELECT MasterRecordId FROM Contact WHERE IsDeleted = true", "queryAll"),
              ElementsAre("003000000000002AAA"));
}

TEST_F(SoqlTest, LeavesOutRolesOfDeletedOpportunities) {
  sql("INSERT INTO crm_opportunity (id, name, isclosed, isdeleted) VALUES ('006000000000001AAA', 'Open', 0, "
      "0), "
      "('006000000000002AAA', 'Gone', 0, 1), ('006000000000003AAA', 'Won', 1, 0)");
  sql("INSERT INTO crm_opportunity_contact_role (id, contactid, opportunityid) VALUES "
      "('00K1', '003000000000001AAA', '006000000000001AAA'), ('00K2', '003000000000001AAA', "
      "'006000000000002AAA'), "
      "('00K3', '003000000000001AAA', '006000000000003AAA')");
  EXPECT_THAT(
      names("SELECT OpportunityId FROM OpportunityContactRole WHERE Contact.Email IN ('ana@example.com') "
            "AND Opportunity.IsClosed = false"),
      ElementsAre("006000000000001AAA"));
}

TEST_F(SoqlTest, Counts) {
  EXPECT_EQ(query("SELECT COUNT() FROM Contact WHERE Email != null"),
            (Json{{"totalSize", 2}, {"done", true}, {"records", Json::array()}}));
}

TEST_F(SoqlTest, GivesPagesByLocator) {
  sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4500) INSERT INTO crm_lead "
      "(id, name) "
      "SELECT '00Q' || i, 'n' || i FROM n");
  Json page = query("SELECT Id FROM Lead");
  std::size_t seen = page["records"].size();
  EXPECT_EQ(seen, 2'000U);
  EXPECT_EQ(page["totalSize"], 4'500);
  std::string next;
  while (!page["done"].get<bool>()) {
    next = page["nextRecordsUrl"].get<std::string>().substr(std::string("/services/data/v62.0").size());
    page = call("GET", next).body;
    seen += page["records"].size();
  }
  EXPECT_EQ(seen, 4'500U);
  EXPECT_FALSE(page.contains("nextRecordsUrl"));
  org.advance(Queries::kLocatorMillis + 1);
  EXPECT_EQ(call("GET", next).body[0]["errorCode"], "INVALID_QUERY_LOCATOR");
}

TEST_F(SoqlTest, RefusesUnknownNamesWithTheirPlace) {
  EXPECT_EQ(
      refusal("select count() from XYZZY"),
      "INVALID_TYPE \nselect count() from XYZZY\n                    ^\nERROR at Row:1:Column:21\nsObject "
      "type "
      "'XYZZY' is not supported. If you are attempting to use a custom object, be sure to append the '__c' "
      "after the entity name. Please reference your WSDL or the describe call for the appropriate names.");
  EXPECT_THAT(
      refusal("SELECT Id, Foo__c FROM Contact"),
      HasSubstr("INVALID_FIELD \nSELECT Id, Foo__c FROM Contact\n           ^\nERROR at Row:1:Column:12\nNo "
                "such column 'Foo__c' on entity 'Contact'."));
  EXPECT_THAT(refusal("SELECT Boss.Name FROM Contact"), HasSubstr("Didn't understand relationship 'Boss'"));
}

TEST_F(SoqlTest, RefusesMalformedQueries) {
  for (const char* soql :
       {"", "SELECT", "SELECT FROM Contact", "SELECT Id FROM Contact WHERE",
        "SELECT Id FROM Contact WHERE Email = ana", "SELECT Id FROM Contact WHERE Email IN ()",
        "SELECT Id FROM Contact WHERE Email = 'a' AND Title = 'b' OR Title = "
        "'c'",
        "SELECT Id FROM Contact WHERE Email = 'a\\q'", "SELECT Id FROM Contact WHERE Email = 'a'b'",
        "SELECT Id FROM Contact WHERE Email = 'open", "SELECT Id FROM Contact LIMIT x",
        "SELECT Id FROM Contact WHERE LastModifiedDate > 2026-11-22T10:00:00"})
    EXPECT_THAT(refusal(soql), HasSubstr("MALFORMED_QUERY ")) << soql;
}

TEST_F(SoqlTest, RefusesValuesOfAnotherType) {
  EXPECT_THAT(refusal("SELECT Id FROM Contact WHERE LastModifiedDate = '2026'"),
              HasSubstr("must be of type dateTime and should not be enclosed in quotes"));
  EXPECT_THAT(refusal("SELECT Id FROM Contact WHERE Email = 7"),
              HasSubstr("must be of type string and should be enclosed in quotes"));
  EXPECT_THAT(refusal("SELECT Id FROM Contact WHERE Id = 'x'"), HasSubstr("invalid ID field: x"));
  EXPECT_THAT(refusal("SELECT Id FROM Gift_Record__c WHERE Message__c = 'x'"),
              HasSubstr("field 'Message__c' can not be filtered in a query call"));
}

/// Without a permission set there is neither object nor field.
TEST_F(SoqlTest, HidesWhatNoPermissionSetGrants) {
  token = session_of(org.add_user("other@example.com", "Nothing"));
  EXPECT_THAT(refusal("SELECT Id FROM Gift_Record__c"), HasSubstr("INVALID_TYPE"));
  EXPECT_THAT(refusal("SELECT RecipientTransactionId__c FROM Task"), HasSubstr("No such column"));
  EXPECT_THAT(names("SELECT LastName FROM Contact WHERE Title = 'a'"), ElementsAre("Ömer"));
}

TEST_F(SoqlTest, WritesNumbersAsDoubles) {
  id_of_new("Gift_Record__c", {{"RecipientTransactionId__c", 9'000'000'000'000'001}, {"Item_Cost__c", 5.5}});
  EXPECT_THAT(names("SELECT RecipientTransactionId__c FROM Gift_Record__c"),
              ElementsAre("9.000000000000001E15"));
  EXPECT_THAT(names("SELECT Item_Cost__c FROM Gift_Record__c WHERE RecipientTransactionId__c IN "
                    "(9000000000000001)"),
              ElementsAre("5.5"));
  EXPECT_EQ(java_number(7), "7.0");
  EXPECT_EQ(java_number(1.23e9), "1.23E9");
}

}  // namespace
}  // namespace giftsync::tests::fake_org
