// sObject Collections: order, limits, what becomes of values, and refused rows in the words of Salesforce.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/salesforce/fake_org_fixture.h"

namespace giftsync::tests::fake_org {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CollectionsTest : public FakeOrgTest {
 protected:
  Json value(const std::string& id, const std::string& field) {
    return query("SELECT " + field + " FROM Gift_Record__c WHERE Id = '" + id + "'")["records"][0][field];
  }
  std::string gift(int transaction, Json fields = Json::object()) {
    fields["RecipientTransactionId__c"] = transaction;
    return id_of_new("Gift_Record__c", fields);
  }
};

TEST_F(CollectionsTest, AnswersEachRowInItsOrder) {
  const Json rows =
      create("Contact", {{{"LastName", "Lima"}}, {{"FirstName", "Ana"}}, {{"LastName", "Diaz"}}});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(outcome(rows[0]), "ok");
  EXPECT_EQ(outcome(rows[1]), "REQUIRED_FIELD_MISSING Required fields are missing: [LastName]");
  EXPECT_EQ(rows[1]["errors"][0]["fields"], Json::array({"LastName"}));
  EXPECT_EQ(names("SELECT LastName FROM Contact WHERE Id = '" + rows[2]["id"].get<std::string>() + "'"),
            std::vector<std::string>{"Diaz"});
}

TEST_F(CollectionsTest, TakesTwoHundredRows) {
  const std::vector<Json> rows(201, Json{{"LastName", "Lima"}});
  EXPECT_EQ(call("POST", "/composite/sobjects", {{"records", typed("Contact", rows)}}).status, 400);
  EXPECT_EQ(create("Contact", {rows.begin(), rows.begin() + 200}).size(), 200U);
  EXPECT_EQ(call("POST", "/composite/sobjects", {{"records", Json::array()}}).body[0]["message"],
            "At least 1 record is required");
}

TEST_F(CollectionsTest, KeepsTheTransactionIdUnique) {
  const std::string id = gift(7);
  EXPECT_EQ(outcome(create("Gift_Record__c", {{{"RecipientTransactionId__c", 7}}})[0]),
            "DUPLICATE_VALUE duplicate value found: RecipientTransactionId__c duplicates value on record "
            "with id: " +
                id.substr(0, 15));
  const Json rows =
      create("Gift_Record__c", {{{"RecipientTransactionId__c", 8}}, {{"RecipientTransactionId__c", 8}}});
  EXPECT_EQ(outcome(rows[0]), "ok");
  EXPECT_EQ(outcome(rows[1]),
            "DUPLICATE_VALUE duplicate value found: <unknown> duplicates value on record with id: <unknown>");
}

TEST_F(CollectionsTest, MakesOneTaskPerGift) {
  const Json task{{"Subject", "Gift"}, {"RecipientTransactionId__c", 7}};
  EXPECT_EQ(outcome(create("Task", {task})[0]), "ok");
  EXPECT_THAT(outcome(create("Task", {task})[0]), StartsWith("DUPLICATE_VALUE"));
}

TEST_F(CollectionsTest, ReadsManyRecordsByTheirIds) {
  const std::string id = id_of_new("Contact", {{"LastName", "Lima"}});
  const std::string gone = id_of_new("Contact", {{"LastName", "Diaz"}});
  call("DELETE", "/sobjects/Contact/" + gone);
  const Json rows =
      call("GET", "/composite/sobjects/Contact?ids=" + gone + "," + id + "&fields=LastName").body;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0], nullptr);
  EXPECT_EQ(rows[1]["LastName"], "Lima");
  EXPECT_EQ(rows[1]["Id"], id);
  EXPECT_EQ(call("POST", "/composite/sobjects/Contact",
                 {{"ids", Json::array({gone, id})}, {"fields", Json::array({"LastName"})}})
                .body,
            rows);
  EXPECT_EQ(call("GET", "/composite/sobjects/Contact?ids=" + id + "&fields=Nothing").body[0]["errorCode"],
            "INVALID_FIELD");
}

TEST_F(CollectionsTest, DeletesByAKey) {
  const std::string id = id_of_new("Contact", {{"LastName", "Lima"}, {"Email", "lima@example.com"}});
  EXPECT_EQ(call("DELETE", "/sobjects/Contact/Email/lima@example.com").status, 204);
  EXPECT_EQ(call("GET", "/sobjects/Contact/" + id).status, 404);
}

TEST_F(CollectionsTest, UpsertsByExternalId) {
  const auto upsert = [&](const std::vector<Json>& rows) {
    return call("PATCH", "/composite/sobjects/Gift_Record__c/RecipientTransactionId__c",
                {{"records", typed("Gift_Record__c", rows)}})
        .body;
  };
  const Json first = upsert({{{"RecipientTransactionId__c", 7}, {"Name", "A"}}});
  const Json second = upsert(
      {{{"RecipientTransactionId__c", 7}, {"Name", "B"}}, {{"RecipientTransactionId__c", 7}, {"Name", "C"}}});
  EXPECT_EQ(first[0]["created"], true);
  EXPECT_EQ(second[0]["created"], false);
  EXPECT_EQ(second[0]["id"], first[0]["id"]);
  EXPECT_EQ(outcome(second[1]), "DUPLICATE_VALUE Duplicate external id specified: 7");
  EXPECT_EQ(call("PATCH", "/composite/sobjects/Gift_Record__c/Name",
                 {{"records", typed("Gift_Record__c", {Json::object()})}})
                .body[0]["errorCode"],
            "NOT_FOUND");
}

TEST_F(CollectionsTest, ChangesValuesAsSalesforceDoes) {
  const std::string id = gift(7, {{"Name", "  Coffee "},
                                  {"Deal_Stage__c", "  "},
                                  {"RecipientTransactionCreatedAt__c", "2026-11-21T10:00:00.987Z"},
                                  {"Item_Cost__c", 5.005}});
  EXPECT_EQ(value(id, "Name"), "Coffee");
  EXPECT_TRUE(value(id, "Deal_Stage__c").is_null());
  EXPECT_EQ(value(id, "RecipientTransactionCreatedAt__c"), "2026-11-21T10:00:00.000+0000");
  EXPECT_THAT(value(id, "LastModifiedDate").get<std::string>(), HasSubstr(".000+0000"));
  EXPECT_EQ(value(id, "LastModifiedDate"), value(id, "SystemModstamp"));
  EXPECT_EQ(value(id, "LastModifiedById"), user);
  EXPECT_EQ(value(id, "OwnerId"), user);
}

TEST_F(CollectionsTest, RefusesValuesInTheWordsOfSalesforce) {
  const std::pair<Json, const char*> kCases[] = {
      {{{"Name", std::string(81, 'x')}}, "STRING_TOO_LONG Name: data value too large: "},
      {{{"Recipient_Email__c", "no address"}},
       "INVALID_EMAIL_ADDRESS Recipient Email: invalid email address: no address"},
      {{{"RecipientTransactionId__c", 1e18}}, "NUMBER_OUTSIDE_VALID_RANGE Transaction Id: "},
      {{{"Nothing__c", 1}}, "INVALID_FIELD No such column 'Nothing__c' on sobject of type Gift_Record__c"},
      {{{"Delivered__c", true}},
       "INVALID_FIELD_FOR_INSERT_UPDATE Unable to create/update fields: Delivered__c. "},
      {{{"CreatedDate", "2026-11-21T10:00:00Z"}},
       "INVALID_FIELD_FOR_INSERT_UPDATE Unable to create/update fields: CreatedDate. "},
      {{{"Account__c", "x"}}, "MALFORMED_ID Account: id value of incorrect type: x"},
      {{{"Account__c", "001000000000009AAA"}}, "INVALID_CROSS_REFERENCE_KEY invalid cross reference id"},
      {{{"Account__c", "003000000000009AAA"}},
       "FIELD_INTEGRITY_EXCEPTION Account: id value of incorrect type: "},
  };
  for (const auto& [fields, expected] : kCases)
    EXPECT_THAT(outcome(create("Gift_Record__c", {fields})[0]), StartsWith(expected)) << fields.dump();
  EXPECT_EQ(
      call("POST", "/composite/sobjects", {{"records", typed("Gift_Record__c", {{{"Item_Cost__c", "x"}}})}})
          .status,
      400);
}

TEST_F(CollectionsTest, RefusesLostTargetsOfLookups) {
  const std::string contact = id_of_new("Contact", {{"LastName", "Lima"}});
  const std::string lead = id_of_new("Lead", {{"LastName", "Diaz"}, {"Company", "Acme"}});
  sql("UPDATE crm_contact SET isdeleted = 1");
  sql("UPDATE crm_lead SET isconverted = 1");
  EXPECT_EQ(outcome(create("Gift_Record__c", {{{"RecipientContactId__c", contact}}})[0]),
            "ENTITY_IS_DELETED entity is deleted");
  EXPECT_EQ(outcome(create("Gift_Record__c", {{{"RecipientLeadId__c", lead}}})[0]),
            "CANNOT_UPDATE_CONVERTED_LEAD cannot reference converted lead");
}

TEST_F(CollectionsTest, ClearsLookupsOfDeletedRecords) {
  const std::string contact = id_of_new("Contact", {{"LastName", "Lima"}});
  const std::string id = gift(7, {{"RecipientContactId__c", contact}});
  const Json rows = call("DELETE", "/composite/sobjects?ids=" + contact + "," + contact).body;
  EXPECT_EQ(outcome(rows[0]), "ok");
  EXPECT_EQ(outcome(rows[1]), "ENTITY_IS_DELETED entity is deleted");
  EXPECT_TRUE(value(id, "RecipientContactId__c").is_null());
}

TEST_F(CollectionsTest, RefusesUpdatesOfRecordsThatAreNotThere) {
  const std::string id = gift(7);
  sql("UPDATE crm_gift_record SET isdeleted = 1");
  const Json rows =
      update("Gift_Record__c",
             {{{"id", id}, {"Name", "A"}}, {{"id", "a0G5g0000009999AAA"}, {"Name", "A"}}, {{"Name", "A"}}});
  EXPECT_EQ(outcome(rows[0]), "ENTITY_IS_DELETED entity is deleted");
  EXPECT_EQ(outcome(rows[1]), "INVALID_CROSS_REFERENCE_KEY invalid cross reference id");
  EXPECT_EQ(outcome(rows[2]), "MISSING_ARGUMENT Id not specified in an update call");
}

TEST_F(CollectionsTest, KeepsNewerVersions) {
  const std::string id = gift(7, {{"Record_Version__c", 3}, {"RecipientTransactionStatus__c", "opened"}});
  const auto write = [&](int version, const char* status) {
    return outcome(
        update("Gift_Record__c",
               {{{"id", id}, {"Record_Version__c", version}, {"RecipientTransactionStatus__c", status}}})[0]);
  };
  EXPECT_THAT(write(2, "sent"), StartsWith("FIELD_CUSTOM_VALIDATION_EXCEPTION GIFTSYNC:OLDER"));
  EXPECT_EQ(value(id, "RecipientTransactionStatus__c"), "opened");
  EXPECT_EQ(write(4, "redeemed"), "ok");
}

TEST_F(CollectionsTest, LetsOneOfTwoClaimsWin) {
  const std::string id = id_of_new("Request_Record__c", {{"Request_Status__c", "Approved"}});
  const std::string read =
      names("SELECT LastModifiedDate FROM Request_Record__c WHERE Id = '" + id + "'").at(0);
  org.advance(5'000);
  const auto claim = [&](const char* mark) {
    return outcome(update(
        "Request_Record__c",
        {{{"id", id}, {"Claimed__c", true}, {"Guard_Mark__c", mark}, {"Guard_Modified__c", read}}})[0]);
  };
  EXPECT_EQ(claim("one"), "ok");
  EXPECT_THAT(claim("two"), StartsWith("FIELD_CUSTOM_VALIDATION_EXCEPTION GIFTSYNC:CHANGED"));
  token = session_of(org.add_user("admin@example.com", "Admin"));
  EXPECT_EQ(
      outcome(update("Request_Record__c", {{{"id", id}, {"Request_Status__c", "Rejected"}}})[0]),
      "FIELD_CUSTOM_VALIDATION_EXCEPTION giftsync is sending this gift; it cannot be changed any more.");
}

TEST_F(CollectionsTest, NumbersRequestRecords) {
  id_of_new("Request_Record__c", {{"Message__c", "Hello"}});
  sql("INSERT INTO crm_request_record (message) VALUES ('by plain SQL')");
  EXPECT_THAT(names("SELECT Name FROM Request_Record__c ORDER BY Name"),
              ElementsAre("R-00000001", "R-00000002"));
  EXPECT_THAT(names("SELECT Request_Status__c FROM Request_Record__c ORDER BY Name LIMIT 1"),
              ElementsAre("Pending"));
}

TEST_F(CollectionsTest, UndoesAllRowsWithAllOrNone) {
  const Json rows = call("POST", "/composite/sobjects",
                         {{"allOrNone", true},
                          {"records", typed("Contact", {{{"LastName", "Lima"}}, {{"FirstName", "x"}}})}})
                        .body;
  EXPECT_THAT(outcome(rows[0]), StartsWith("ALL_OR_NONE_OPERATION_ROLLED_BACK Record rolled back because"));
  EXPECT_THAT(outcome(rows[1]), StartsWith("REQUIRED_FIELD_MISSING"));
  EXPECT_EQ(query("SELECT COUNT() FROM Contact")["totalSize"], 0);
}

TEST_F(CollectionsTest, GivesUsersTheirFieldPermissionsOnly) {
  const std::string id = gift(7);
  token = session_of(org.add_user("reader@example.com", "Standard_User"));
  EXPECT_THAT(outcome(update("Gift_Record__c", {{{"id", id}, {"Name", "A"}}})[0]),
              StartsWith("INSUFFICIENT_ACCESS_OR_READONLY"));
  token = session_of(org.add_user("admin@example.com", "Admin"));
  EXPECT_THAT(outcome(update("Gift_Record__c", {{{"id", id}, {"Record_Version__c", 9}}})[0]),
              StartsWith("INVALID_FIELD_FOR_INSERT_UPDATE"));
  EXPECT_EQ(outcome(update("Gift_Record__c", {{{"id", id}, {"Name", "A"}}})[0]), "ok");
}

TEST_F(CollectionsTest, LocksRowsForSomeTries) {
  const std::string account = id_of_new("Account", {{"Name", "Acme"}});
  org.faults().add({{"kind", "lock"}, {"ids", {account}}, {"times", 2}});
  const Json row{{"Account__c", account}};
  const Json rows = create("Gift_Record__c", {row, row, row});
  EXPECT_EQ(outcome(rows[0]),
            "UNABLE_TO_LOCK_ROW unable to obtain exclusive access to this record or 1 records: " + account);
  EXPECT_THAT(outcome(rows[1]), StartsWith("UNABLE_TO_LOCK_ROW"));
  EXPECT_EQ(outcome(rows[2]), "ok");
}

TEST_F(CollectionsTest, HasRulesOfTheOrgsOwn) {
  org.faults().add({{"kind", "rule"},
                    {"object", "Gift_Record__c"},
                    {"times", 0},
                    {"formula", "ISBLANK(Message__c)"},
                    {"message", "Say something."}});
  EXPECT_EQ(outcome(create("Gift_Record__c", {{{"Name", "A"}}})[0]),
            "FIELD_CUSTOM_VALIDATION_EXCEPTION Say something.");
  EXPECT_EQ(outcome(create("Gift_Record__c", {{{"Message__c", "Hello"}}})[0]), "ok");
}

}  // namespace
}  // namespace giftsync::tests::fake_org
