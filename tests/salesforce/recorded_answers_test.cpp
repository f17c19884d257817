// The fake org's answers against those of real orgs: members, types, statuses and words. Conversations are
// in recorded_replays_test.cpp.
#include "tests/salesforce/recorded_answers.h"

#include <set>

namespace giftsync::tests::fake_org {
namespace {

TEST_F(RecordedAnswersTest, Collections) {
  EXPECT_EQ(shape(create("Contact", {{{"LastName", "Dyer"}}})),
            shape(file("amp-labs/batch_create_contacts_success.json")));
  EXPECT_EQ(update("Contact", {{{"LastName", "Dyer"}}, {{"LastName", "Blevins"}}}),
            file("amp-labs/batch_update_contacts_err-each-no-ids.json"));
  EXPECT_EQ(call("POST", "/composite/sobjects", {{"records", Json::array()}}).body,
            file("amp-labs/batch_create_contacts_err-bad-request.json"));
  EXPECT_EQ(
      call("POST", "/composite/sobjects",
           {{"allOrNone", true}, {"records", typed("Contact", {{{"FirstName", "S"}}, {{"LastName", "B"}}})}})
          .body,
      file("amp-labs/batch_create_contacts_partial-but-allOrNone.json"));
}

TEST_F(RecordedAnswersTest, CollectionsOfRecordedRequests) {
  const Json created =
      call("POST", "/composite/sobjects", file("amp-labs/batch_create_contacts_payload.json")).body;
  EXPECT_EQ(shape(created), shape(file("amp-labs/batch_create_contacts_success.json")));
  EXPECT_EQ(created.size(), 2U);
  Json changes = file("amp-labs/batch_update_contacts_payload.json");
  for (std::size_t at = 0; at < 2; ++at) changes["records"][at]["id"] = created[at]["id"];
  Json expected = file("amp-labs/batch_update_contacts_success.json");
  for (std::size_t at = 0; at < 2; ++at) expected[at]["id"] = created[at]["id"];
  EXPECT_EQ(call("PATCH", "/composite/sobjects", changes).body, expected);
  changes["allOrNone"] = true;
  changes["records"][1]["unknownField_LastName"] = "Blevins";
  EXPECT_EQ(call("PATCH", "/composite/sobjects", changes).body,
            file("amp-labs/batch_update_contacts_partial-but-allOrNone.json"));
  const Json refused = call("DELETE", "/composite/sobjects?ids=001RM000003oLrB000").body;
  EXPECT_EQ(refused[0]["errors"], file("amp-labs/success-with-errors.json")["errors"]);
}

TEST_F(RecordedAnswersTest, SingleRecords) {
  const Json made = call("POST", "/sobjects/Account", {{"Name", "Acme"}}).body;
  EXPECT_EQ(shape(made), shape(file("amp-labs/create-ok.json")));
  EXPECT_EQ(shape(made), shape(file("restforce/create_success_response.json")));
  const std::string id = made["id"].get<std::string>();
  EXPECT_EQ(call("PATCH", "/sobjects/Account/" + id, {{"MasterRecordId", "001000000000001AAA"}}).body,
            file("amp-labs/invalid-field-upsert.json"));
  const Json found = call("GET", "/sobjects/Account/" + id).body;
  const Json recorded = file("restforce/sobject_find_success_response.json");
  for (const char* member :
       {"attributes", "Id", "OwnerId", "IsDeleted", "Name", "CreatedById", "LastModifiedById"})
    EXPECT_EQ(shape(found.at(member)), shape(recorded.at(member))) << member;
  Json selected = file("restforce/sobject_select_success_response.json");
  selected["AccountNumber"] = selected["External_Field__c"];
  selected.erase("External_Field__c");
  call("PATCH", "/sobjects/Account/" + id, {{"AccountNumber", "1234"}});
  EXPECT_EQ(shape(call("GET", "/sobjects/Account/" + id + "?fields=AccountNumber").body), shape(selected));
}

TEST_F(RecordedAnswersTest, NamesThatAreNoKeys) {
  EXPECT_EQ(call("GET", "/sobjects/Account/23foo").body, file("restforce/sobject_find_error_response.json"));
  EXPECT_EQ(call("DELETE", "/sobjects/Account/rid").body, file("restforce/delete_error_response.json"));
  const ApiAnswer upsert = call("PATCH", "/sobjects/Account/Namez/foo", {{"Name", "Acme"}});
  EXPECT_EQ(upsert.status, 404);
  EXPECT_EQ(upsert.body, file("restforce/upsert_error_response.json"));
}

TEST_F(RecordedAnswersTest, SingleUpserts) {
  const ApiAnswer made =
      call("PATCH", "/sobjects/Gift_Record__c/RecipientTransactionId__c/7", {{"Name", "Gift"}});
  EXPECT_EQ(made.status, 201);
  expect_members(file("restforce/upsert_created_success_response.json"), made.body, "upsert");
  org.change({{"object", "Gift_Record__c"}, {"field", "RecipientTransactionId__c"}, {"unique", false}});
  create("Gift_Record__c", {{{"RecipientTransactionId__c", 7}}});
  const ApiAnswer several =
      call("PATCH", "/sobjects/Gift_Record__c/RecipientTransactionId__c/7", {{"Name", "Gift"}});
  EXPECT_EQ(several.status, 300);
  EXPECT_EQ(shape(several.body), shape(file("restforce/upsert_multiple_error_response.json")));
  EXPECT_EQ(several.body.size(), 2U);
}

TEST_F(RecordedAnswersTest, RefusedUpsertsTellWhatTheyWereAboutToDo) {
  const auto upsert = [&](const std::vector<Json>& rows) {
    return call("PATCH", "/composite/sobjects/Gift_Record__c/RecipientTransactionId__c",
                {{"allOrNone", true}, {"records", typed("Gift_Record__c", rows)}})
        .body;
  };
  create("Gift_Record__c", {{{"RecipientTransactionId__c", 7}}});
  const Json rows = upsert({{{"RecipientTransactionId__c", 7}, {"Name", "Old"}},
                            {{"RecipientTransactionId__c", 8}, {"Name", "New"}},
                            {{"RecipientTransactionId__c", 9}, {"OwnerId", "INVALID_OWNER"}}});
  EXPECT_EQ(rows[0]["created"], false);
  EXPECT_EQ(rows[1]["created"], true);
  EXPECT_EQ(rows[2]["created"], true);
  EXPECT_EQ(rows[1]["errors"][0]["statusCode"], "ALL_OR_NONE_OPERATION_ROLLED_BACK");
  EXPECT_EQ(rows[2]["errors"][0]["statusCode"], "MALFORMED_ID");
  EXPECT_EQ(names("SELECT Name FROM Gift_Record__c").size(), 1U);
}

TEST_F(RecordedAnswersTest, Pages) {
  EXPECT_EQ(query("SELECT Id FROM Account"), file("restforce/query_empty_response.json"));
  for (int block = 0; block < 2; ++block)
    create("Account", std::vector<Json>(200, Json{{"Name", "Acme"}, {"AccountNumber", "1"}}));
  const ApiAnswer first =
      call("GET", "/query?q=SELECT+Name+FROM+Account", nullptr, {{"Sforce-Query-Options", "batchSize=200"}});
  Json recorded = file("restforce/query_paginated_first_page_response.json");
  const auto with_name = [](Json page) {
    page["records"][0]["Name"] = page["records"][0]["Text_Label"];
    page["records"][0].erase("Text_Label");
    return shape(page);
  };
  EXPECT_EQ(shape(first.body), with_name(recorded));
  const std::string next = first.body["nextRecordsUrl"].get<std::string>();
  recorded = file("restforce/query_paginated_last_page_response.json");
  EXPECT_EQ(shape(call("GET", next.substr(next.find("/query"))).body), with_name(recorded));
}

TEST_F(RecordedAnswersTest, RecordsAndTheirParents) {
  EXPECT_EQ(shape(query("SELECT Id FROM Organization")), shape(file("restforce/org_query_response.json")));
  EXPECT_EQ(shape(query("SELECT Id, Name FROM PermissionSet")),
            shape(file("amp-labs/metadata_write_permission-set.json")));
  const std::string account = id_of_new("Account", {{"Name", "Acme"}});
  create("Opportunity", {{{"Name", "Deal"},
                          {"StageName", "Prospecting"},
                          {"CloseDate", "2010-01-01"},
                          {"AccountId", account}}});
  const Json record =
      query("SELECT CloseDate, CreatedDate, IsClosed, Account.Name FROM Opportunity")["records"][0];
  Json recorded = file("restforce/query_success_response.json")["records"][0];
  EXPECT_EQ(record["CloseDate"], recorded["Date_Label"]);
  EXPECT_EQ(record["CreatedDate"].get<std::string>().substr(19),
            recorded["DateTime_Label"].get<std::string>().substr(19));
  EXPECT_EQ(shape(record["IsClosed"]), shape(recorded["Checkbox_Label"]));
  recorded["ParentWhizbang__r"].erase("Text_Label");
  EXPECT_EQ(shape(record["Account"]), shape(recorded["ParentWhizbang__r"]));
}

TEST_F(RecordedAnswersTest, TokenRefusals) {
  ApiRequest request;
  request.method = "POST";
  request.path = "/services/oauth2/token";
  request.body = "grant_type=client_credentials&client_id=x&client_secret=y";
  const ApiAnswer refused = api.answer(request);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(shape(refused.body), shape(file("restforce/auth_error_response.json")));
  EXPECT_EQ(shape(refused.body), shape(file("restforce/refresh_error_response.json")));
}

TEST_F(RecordedAnswersTest, Refusals) {
  EXPECT_EQ(query("SELECT Id,Name,BillingCity,IsDeleted FROM Accout"), file("amp-labs/unknown-object.json"));
  EXPECT_EQ(call("POST", "/sobjects/Account", {{"Name", "A"}, {"AccountNumer", "1"}}).body,
            file("amp-labs/unknown-field.json"));
  const ApiAnswer write = call("POST", "/sobjects/Account", {{"foo", "A"}});
  EXPECT_EQ(write.status, 400);
  EXPECT_EQ(shape(write.body), shape(file("restforce/write_error_response.json")));
  EXPECT_EQ(shape(query("SELECT Nothing FROM Account")), shape(file("restforce/query_error_response.json")));
  const ApiAnswer unknown = call("GET", "/sobjects/Whizbang/describe");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.body, file("restforce/sobject_describe_error_response.json"));
  org.database().run("DELETE FROM org_session");
  EXPECT_EQ(query("SELECT Id FROM Account"), file("restforce/expired_session_response.json"));
}

TEST_F(RecordedAnswersTest, CompositeErrorsAndCounts) {
  EXPECT_EQ(shape(in_composite("/sobjects/Foo")),
            shape(cassette("TestCompositeParallelSalesforce.test_errors.yaml")));
  const Json recorded = cassette("TestCountSObjects.test_count_sobjects__errors.yaml")["compositeResponse"];
  const Json refused = in_composite("/query/?q=select count() from XYZZY")["compositeResponse"][0];
  EXPECT_EQ(refused["body"], recorded[1]["body"]);
  EXPECT_EQ(refused["httpStatusCode"], recorded[1]["httpStatusCode"]);
  EXPECT_EQ(shape(in_composite("/query/?q=select count() from Account")["compositeResponse"][0]["body"]),
            shape(recorded[0]["body"]));
}

TEST_F(RecordedAnswersTest, NotModified) {
  const Json recorded =
      cassette("ManualEditTestCompositeParallelSalesforce.test_http_headers.yaml")["compositeResponse"][0];
  const Json answer =
      in_composite("/sobjects", {{"If-Modified-Since", http_date(org.now().value)}})["compositeResponse"][0];
  EXPECT_EQ(answer["httpStatusCode"], recorded["httpStatusCode"]);
  EXPECT_EQ(answer["body"], recorded["body"]);
  std::set<std::string> headers;
  for (const auto& [name, value] : answer["httpHeaders"].items()) headers.insert(name);
  EXPECT_EQ(headers, (std::set<std::string>{"ETag", "Last-Modified"}));
  for (const auto& [name, value] : recorded["httpHeaders"].items())
    EXPECT_TRUE(headers.contains(name)) << name;
}

TEST_F(RecordedAnswersTest, Versions) {
  ApiRequest request;
  request.method = "GET";
  request.path = "/services/data";
  EXPECT_EQ(shape(api.answer(request).body), shape(file("restforce/services_data_success_response.json")));
}

TEST_F(RecordedAnswersTest, MembersOfDescriptions) {
  const Json org_wide = call("GET", "/sobjects").body;
  for (const char* name : {"restforce/describe_sobjects_success_response.json",
                           "restforce/list_sobjects_success_response.json"}) {
    const Json recorded = file(name);
    expect_members(recorded, org_wide, name);
    expect_members(recorded["sobjects"][0], org_wide["sobjects"][0], name);
  }
  const Json recorded = file("restforce/sobject_describe_success_response.json");
  const Json described = call("GET", "/sobjects/Account/describe").body;
  expect_members(recorded, described, "Account");
  for (const Json& field : recorded["fields"]) {
    for (const Json& one : described["fields"]) {
      if (one["name"] == field["name"])
        expect_members(field, one, "Account." + field["name"].get<std::string>());
    }
  }
}

/// What a description says of a field must be what real orgs say, for the flags that the adapter goes by.
TEST_F(RecordedAnswersTest, Descriptions) {
  for (const std::string name : {"Contact", "Lead", "Opportunity", "OpportunityContactRole"}) {
    const Json recorded = cassette("GET_sobjects_" + name + "_describe.yaml");
    const Json described = call("GET", "/sobjects/" + name + "/describe").body;
    for (const auto& [member, value] : recorded.items())
      EXPECT_TRUE(described.contains(member)) << name << " " << member;
    std::map<std::string, Json> fields;
    for (const Json& field : recorded["fields"]) fields[field["name"].get<std::string>()] = field;
    for (const Json& field : described["fields"]) {
      const std::string field_name = name + "." + field["name"].get<std::string>();
      const auto found = fields.find(field["name"].get<std::string>());
      if (found == fields.end()) continue;  // an org without it
      for (const auto& [member, value] : found->second.items())
        EXPECT_TRUE(field.contains(member)) << field_name << " " << member;
      for (const char* flag : {"type", "length", "custom", "externalId", "unique", "idLookup", "calculated",
                               "soapType", "sortable", "filterable"})
        EXPECT_EQ(field[flag], found->second[flag]) << field_name << " " << flag;
    }
  }
}

}  // namespace
}  // namespace giftsync::tests::fake_org
