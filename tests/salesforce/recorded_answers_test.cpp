// The fake org's answers against those of real orgs: members, types, statuses and words. The recordings lie
// beside the checkout, or where GIFTSYNC_SALESFORCE_RECORDED says.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/salesforce/fake_org_fixture.h"

namespace giftsync::tests::fake_org {
namespace {

namespace fs = std::filesystem;

fs::path recorded_folder() {
  const char* given = std::getenv("GIFTSYNC_SALESFORCE_RECORDED");
  return given != nullptr ? fs::path(given)
                          : fs::path(kSourceFolder) / ".." / "shared" / "data" / "salesforce-recorded";
}

/// Members and types; of a list, those of its first element.
Json shape(const Json& value) {
  if (value.is_object()) {
    std::map<std::string, Json> members;
    for (const auto& [name, one] : value.items()) members[name] = shape(one);
    return Json(members);
  }
  if (value.is_array()) return value.empty() ? Json::array() : Json::array({shape(value.front())});
  return value.is_number() ? Json("number") : Json(value.type_name());
}

class RecordedAnswersTest : public FakeOrgTest {
 protected:
  void SetUp() override {
    if (!fs::exists(recorded_folder())) GTEST_SKIP() << "no recordings in " << recorded_folder();
  }
  static Json file(const std::string& name) {
    std::ifstream stream(recorded_folder() / name, std::ios::binary);
    return Json::parse(std::string(std::istreambuf_iterator<char>(stream), {}));
  }
  /// The answer of one interaction, or of the file's only one.
  static Json cassette(const std::string& name, std::size_t at = 0) {
    const YAML::Node root = YAML::LoadFile((recorded_folder() / "cumulusci" / name).string());
    const YAML::Node one = root["interactions"] ? root["interactions"][at] : root;
    return Json::parse(one["response"]["body"]["string"].as<std::string>());
  }
  Json in_composite(const std::string& address, const Json& headers = Json::object()) {
    const Json part{{"method", "GET"},
                    {"referenceId", "r"},
                    {"url", "/services/data/v62.0" + address},
                    {"httpHeaders", headers}};
    return call("POST", "/composite", {{"compositeRequest", Json::array({part})}}).body;
  }
};

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

TEST_F(RecordedAnswersTest, SingleRecords) {
  EXPECT_EQ(shape(call("POST", "/sobjects/Account", {{"Name", "Acme"}}).body),
            shape(file("amp-labs/create-ok.json")));
  EXPECT_EQ(call("PATCH", "/sobjects/Account/" + id_of_new("Account", {{"Name", "A"}}),
                 {{"MasterRecordId", "001000000000001AAA"}})
                .body,
            file("amp-labs/invalid-field-upsert.json"));
}

TEST_F(RecordedAnswersTest, Refusals) {
  EXPECT_EQ(query("SELECT Id,Name,BillingCity,IsDeleted FROM Accout"), file("amp-labs/unknown-object.json"));
  EXPECT_EQ(call("POST", "/sobjects/Account", {{"Name", "A"}, {"AccountNumer", "1"}}).body[0]["message"],
            file("amp-labs/unknown-field.json")[0]["message"]);
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
  EXPECT_TRUE(answer["httpHeaders"].contains("Last-Modified"));
}

TEST_F(RecordedAnswersTest, Versions) {
  ApiRequest request;
  request.method = "GET";
  request.path = "/services/data";
  EXPECT_EQ(shape(api.answer(request).body), shape(file("restforce/services_data_success_response.json")));
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
