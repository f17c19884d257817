// Formulas, and the validation rules and formula fields of the package as they are committed.
#include "tests/salesforce/fake_org/formula.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/salesforce/fake_org/metadata.h"
#include "tests/salesforce/fake_org_fixture.h"

namespace giftsync::tests::fake_org {
namespace {

class FormulaTest : public ::testing::Test {
 protected:
  const Object& gift() const { return *schema.find("Gift_Record__c"); }
  const Object& request() const { return *schema.find("Request_Record__c"); }

  bool holds(const std::string& formula, const Values& now, const Values* before = nullptr) const {
    return is_true(parse_formula(formula, gift()), {now, before});
  }
  bool refuses(const Object& object, const std::string& rule, const Values& now, const Values* before) const {
    const auto found = std::ranges::find(object.rules, rule, &ValidationRule::name);
    EXPECT_NE(found, object.rules.end()) << rule;
    return found != object.rules.end() && is_true(parse_formula(found->formula, object), {now, before});
  }

  OrgSchema schema = read_org_schema(read_project(salesforce_project()));
};

TEST_F(FormulaTest, EvaluatesFunctionsAndComparisons) {
  const Values now{{"Record_Version__c", 3.0}, {"Name", std::string("Coffee")}};
  const Values before{{"Record_Version__c", 2.0}, {"Name", std::string("Coffee")}};
  const std::pair<const char*, bool> kCases[] = {
      {"AND(TRUE, Record_Version__c = 3)", true},
      {"AND(TRUE, Record_Version__c <> 3)", false},
      {"OR(FALSE, Record_Version__c >= 3, FALSE)", true},
      {"NOT(Record_Version__c < 3)", true},
      {"ISNEW()", false},
      {"ISCHANGED(Record_Version__c)", true},
      {"ISCHANGED(Name)", false},
      {"PRIORVALUE(Record_Version__c) = 2", true},
      {"ISBLANK(Message__c)", true},
      {"ISBLANK(Name)", false},
      {"BLANKVALUE(Item_Cost__c, 7) = 7", true},
      {"BLANKVALUE(Record_Version__c, 7) = 3", true},
      {"Name = \"Coffee\"", true},
      {"( Name = 'Tea' )", false},
      {"Item_Cost__c < 1", false},  // an order with a blank
      {"Item_Cost__c <> 1", true},  // blank is not 1
  };
  for (const auto& [formula, expected] : kCases) EXPECT_EQ(holds(formula, now, &before), expected) << formula;
}

TEST_F(FormulaTest, TreatsANewRecordAsUnchanged) {
  const Values now{{"Record_Version__c", 3.0}};
  EXPECT_TRUE(holds("ISNEW()", now));
  EXPECT_FALSE(holds("ISCHANGED(Record_Version__c)", now));
  EXPECT_TRUE(holds("PRIORVALUE(Record_Version__c) = 3", now));
}

TEST_F(FormulaTest, ComparesPicklistsByIspickvalOnly) {
  const Values now{{"RecipientTransactionStatus__c", std::string("opened")}};
  EXPECT_TRUE(holds("ISPICKVAL(RecipientTransactionStatus__c, \"opened\")", now));
  EXPECT_FALSE(holds("ISPICKVAL(RecipientTransactionStatus__c, \"sent\")", now));
  EXPECT_TRUE(holds("ISPICKVAL(DeliveryType__c, \"\")", now));
  EXPECT_THROW(parse_formula("ISPICKVAL(Name, \"x\")", gift()), FormulaError);
}

TEST_F(FormulaTest, RefusesWhatADeploymentRefuses) {
  for (const char* formula : {"", "AND(", "NOT(TRUE, TRUE)", "Nothing__c = 1", "VLOOKUP(Name)",
                              "Name = ", "TRUE FALSE", "ISCHANGED(1)", "Name = \"open"})
    EXPECT_THROW(parse_formula(formula, gift()), FormulaError) << formula;
}

TEST_F(FormulaTest, OnlyNewerRefusesOlderVersionsOnly) {
  const auto refused = [&](Value now, Value before) {
    const Values held{{"Record_Version__c", before}};
    return refuses(gift(), "Only_Newer", {{"Record_Version__c", now}}, &held);
  };
  EXPECT_TRUE(refused(2.0, 3.0));
  EXPECT_FALSE(refused(3.0, 3.0));
  EXPECT_FALSE(refused(4.0, 3.0));
  EXPECT_FALSE(refused(1.0, Value()));  // a record that giftsync did not write yet
  EXPECT_FALSE(refuses(gift(), "Only_Newer", {{"Record_Version__c", 1.0}}, nullptr));
}

TEST_F(FormulaTest, SameGiftKeepsTheTransactionIdOfWrittenRecords) {
  const auto refused = [&](Value id, Value version, Value version_before) {
    const Values held{{"RecipientTransactionId__c", 1.0}, {"Record_Version__c", version_before}};
    return refuses(gift(), "Same_Gift", {{"RecipientTransactionId__c", id}, {"Record_Version__c", version}},
                   &held);
  };
  EXPECT_TRUE(refused(2.0, 4.0, 3.0));
  EXPECT_TRUE(refused(2.0, 3.0, 3.0)) << "by hand";
  EXPECT_TRUE(refused(2.0, 1.0, Value())) << "giftsync on a record that it did not write";
  EXPECT_FALSE(refused(2.0, Value(), Value())) << "by hand on such a record";
  EXPECT_FALSE(refused(1.0, 4.0, 3.0));
  EXPECT_FALSE(refuses(gift(), "Same_Gift", {{"RecipientTransactionId__c", 2.0}, {"Record_Version__c", 1.0}},
                       nullptr));
}

/// As_Read compares only writes of giftsync, which have a fresh mark.
TEST_F(FormulaTest, AsReadRefusesARecordThatChangedSinceItWasRead) {
  const std::string read = "2026-11-21T10:00:00.000Z";
  const Values before{{"LastModifiedDate", read},
                      {"Request_Status__c", std::string("Approved")},
                      {"Claimed__c", false},
                      {"Guard_Mark__c", std::string("old")}};
  Values now = before;
  now["Guard_Mark__c"] = std::string("new");
  now["Claimed__c"] = true;
  now["Guard_Modified__c"] = read;
  EXPECT_FALSE(refuses(request(), "As_Read", now, &before));
  now["Guard_Modified__c"] = std::string("2026-11-21T09:59:59.000Z");
  EXPECT_TRUE(refuses(request(), "As_Read", now, &before));
  now["Guard_Mark__c"] = std::string("old");
  EXPECT_FALSE(refuses(request(), "As_Read", now, &before));
}

TEST_F(FormulaTest, AsReadClaimsApprovedRecordsOnly) {
  const std::string read = "2026-11-21T10:00:00.000Z";
  for (const auto& status : {"Pending", "Approved", "Rejected", "Sent"}) {
    const Values before{{"LastModifiedDate", read},
                        {"Request_Status__c", std::string(status)},
                        {"Claimed__c", false},
                        {"Guard_Mark__c", Value()}};
    Values now = before;
    now["Guard_Mark__c"] = std::string("new");
    now["Guard_Modified__c"] = read;
    now["Claimed__c"] = true;
    EXPECT_EQ(refuses(request(), "As_Read", now, &before), std::string(status) != "Approved") << status;
  }
}

TEST_F(FormulaTest, BeingSentKeepsTheStatusOfAClaimedRecordFromPeople) {
  const Values before{{"Claimed__c", true}, {"Request_Status__c", std::string("Approved")}};
  Values now = before;
  now["Request_Status__c"] = std::string("Rejected");
  EXPECT_TRUE(refuses(request(), "Being_Sent", now, &before));
  now["Guard_Mark__c"] = std::string("giftsync's");
  EXPECT_FALSE(refuses(request(), "Being_Sent", now, &before));
  now = before;
  now["Message__c"] = std::string("Hello");
  EXPECT_FALSE(refuses(request(), "Being_Sent", now, &before));
}

class FormulaFieldTest : public FakeOrgTest {};

TEST_F(FormulaFieldTest, DeliveredFollowsItsTimes) {
  const auto delivered = [&](const char* delivered_at, const char* undelivered_at) {
    Json gift{{"Name", "Coffee"}};
    if (delivered_at != nullptr) gift["Delivered_Date_Time__c"] = delivered_at;
    if (undelivered_at != nullptr) gift["Undelivered_Date_Time__c"] = undelivered_at;
    const std::string id = id_of_new("Gift_Record__c", gift);
    return names("SELECT Delivered__c FROM Gift_Record__c WHERE Id = '" + id + "'").at(0);
  };
  EXPECT_EQ(delivered(nullptr, nullptr), "false");
  EXPECT_EQ(delivered("2026-11-21T10:00:00Z", nullptr), "true");
  EXPECT_EQ(delivered("2026-11-21T10:00:00Z", "2026-11-21T11:00:00Z"), "false");
  EXPECT_EQ(delivered("2026-11-21T11:00:00Z", "2026-11-21T11:00:00Z"), "true");
}

}  // namespace
}  // namespace giftsync::tests::fake_org
