// Whole recorded conversations with real orgs, sent again to the fake org: each answer has the recorded
// status, type of content, members and types. And no recording is forgotten.
#include <algorithm>
#include <vector>

#include "platform/text.h"
#include "tests/salesforce/recorded_answers.h"
#include "tests/support/json.h"

namespace giftsync::tests::fake_org {
namespace {

namespace fs = std::filesystem;

struct Interaction {
  std::string method;
  std::string address;  ///< "/query/?q=..."
  Json body;
  int status = 0;
  std::string content_type;
  Json answer;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// "vxx.0" and "v49.0" are the version of the calls here.
std::string with_version(std::string text) {
  return replaced(replaced(std::move(text), "/vxx.0/", "/v62.0/"), "/v49.0/", "/v62.0/");
}

std::vector<Interaction> interactions_of(const YAML::Node& recording) {
  std::vector<Interaction> made;
  for (const YAML::Node& one : recording["interactions"]) {
    if (one["include_file"]) continue;  // descriptions, which are compared elsewhere
    const YAML::Node request = one["request"];
    const YAML::Node response = one["response"];
    Interaction interaction;
    interaction.method = request["method"].as<std::string>();
    const std::string uri = with_version(request["uri"].as<std::string>());
    interaction.address = uri.substr(uri.find("/v62.0") + 6);
    if (request["body"] && !request["body"].IsNull())
      interaction.body = parse_ordered_json(with_version(request["body"].as<std::string>()));
    interaction.status = response["status"]["code"].as<int>();
    YAML::Node headers = response["headers"];
    if (headers["Response-Headers"] && headers["Response-Headers"].IsMap())
      headers = headers["Response-Headers"];
    if (headers.IsMap() && headers["Content-Type"])
      interaction.content_type = headers["Content-Type"][0].as<std::string>();
    interaction.answer = parse_ordered_json(response["body"]["string"].as<std::string>());
    made.push_back(std::move(interaction));
  }
  return made;
}

/// Records of other times were in those orgs, so lists may be longer or empty; their elements are alike.
void expect_shape(const Json& recorded, const Json& ours, const std::string& where) {
  if (recorded.is_array() && ours.is_array()) {
    for (std::size_t at = 0; at < std::min(recorded.size(), ours.size()); ++at)
      expect_shape(recorded[at], ours[at], where + "[" + std::to_string(at) + "]");
    return;
  }
  if (!recorded.is_object()) {
    EXPECT_EQ(shape(ours), shape(recorded)) << where;
    return;
  }
  ASSERT_TRUE(ours.is_object()) << where << ": " << ours.dump();
  for (const auto& [name, value] : recorded.items()) {
    ASSERT_TRUE(ours.contains(name)) << where << " lacks " << name;
    expect_shape(value, ours[name], where + "." + name);
  }
  for (const auto& [name, value] : ours.items())
    EXPECT_TRUE(recorded.contains(name)) << where << " has " << name << ", which no real org answers";
}

class RecordedReplaysTest : public RecordedAnswersTest, public ::testing::WithParamInterface<const char*> {
 protected:
  ApiAnswer send(const Interaction& interaction) {
    std::string text = interaction.body.dump();
    for (const auto& [theirs, our_id] : ids_) text = replaced(text, theirs, our_id);
    return call(interaction.method, interaction.address, parse_ordered_json(text));
  }
  /// Later requests name the records that earlier ones made.
  void learn_ids(const Json& recorded, const Json& ours) {
    if (!recorded.is_array() || !ours.is_array()) return;
    for (std::size_t at = 0; at < std::min(recorded.size(), ours.size()); ++at) {
      if (recorded[at].contains("id") && ours[at].contains("id"))
        ids_[recorded[at]["id"].get<std::string>()] = ours[at]["id"].get<std::string>();
    }
  }

 private:
  std::map<std::string, std::string> ids_;
};

TEST_P(RecordedReplaysTest, AnswersAsRealOrgsDid) {
  const std::vector<Interaction> interactions = interactions_of(recording(GetParam()));
  ASSERT_FALSE(interactions.empty());
  std::size_t compared = 0;
  for (const Interaction& interaction : interactions) {
    if (interaction.address.find("%28select") != std::string::npos)
      continue;  // nested queries are not offered
    const ApiAnswer answer = send(interaction);
    const std::string where = interaction.method + " " + interaction.address;
    EXPECT_EQ(answer.status, interaction.status) << where;
    if (!interaction.content_type.empty()) {
      EXPECT_EQ(answer.content_type, interaction.content_type) << where;
    }
    expect_shape(interaction.answer, answer.body, where);
    learn_ids(interaction.answer, answer.body);
    ++compared;
  }
  EXPECT_GT(compared, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    cumulusci, RecordedReplaysTest,
    ::testing::Values("TestCompositeParallelSalesforce.test_composite_parallel_salesforce.yaml",
                      "TestCompositeParallelSalesforce.test_errors.yaml",
                      "TestCompositeParallelSalesforce.test_reference_ids.yaml",
                      "TestCountSObjects.test_count_sobjects__errors.yaml",
                      "TestCountSObjects.test_count_sobjects_simple.yaml",
                      "TestUpsert.test_simple_upsert__rest.yaml", "TestUpsert.test_upsert__rest.yaml",
                      "TestUpsert.test_upsert_complex_external_id_field__rest.yaml",
                      "TestUpsert.test_upsert_complex_external_id_field_rest__duplicate_error.yaml"));

/// Recordings of what the fake org does not offer, since the adapter never asks for it.
const std::map<std::string, std::string> kWithoutCounterpart{
    {"amp-labs/bulk_info_complete-failure.json", "no Bulk API"},
    {"amp-labs/bulk_info_in-progress.json", "no Bulk API"},
    {"amp-labs/bulk_info_partial-failure.csv", "no Bulk API"},
    {"amp-labs/bulk_info_partial-failure.json", "no Bulk API"},
    {"amp-labs/bulk_info_success.json", "no Bulk API"},
    {"amp-labs/metadata_write_err-duplicate-permission-assignment.json", "admins assign permission sets"},
    {"amp-labs/read-opportunity-with-contacts.json", "no nested queries"},
    {"cumulusci/ManualEdit_TestCountSObjects.test_count_sobjects__network_errors.yaml",
     "a status that was written by hand"},
    {"restforce/error-codes.txt", "a list of codes, no answer"},
    {"restforce/get_deleted_success_response.json", "changes are found by queries"},
    {"restforce/get_updated_success_response.json", "changes are found by queries"},
    {"restforce/query_aggregate_success_response.json", "no aggregates but count()"},
    {"restforce/recent_success_response.json", "no recent records"},
    {"restforce/search_error_response.json", "no SOSL"},
    {"restforce/search_success_response.json", "no SOSL"},
    {"restforce/upsert_updated_success_response.json", "204 is of API versions before 46"},
};

TEST_F(RecordedAnswersTest, LeaveOutNoRecording) {
  std::string sources;
  for (const char* name : {"recorded_answers_test.cpp", "recorded_replays_test.cpp"})
    sources += bytes(fs::path(kSourceFolder) / "tests" / "salesforce" / name);
  std::size_t found = 0;
  for (const char* folder : {"amp-labs", "cumulusci", "restforce"}) {
    for (const auto& entry : fs::directory_iterator(recorded_folder() / folder)) {
      const std::string name = entry.path().filename().string();
      if (name == "LICENSE" || kWithoutCounterpart.contains(folder + ("/" + name))) continue;
      const bool is_description = name.starts_with("GET_sobjects_");  // named by their objects
      EXPECT_TRUE(is_description || sources.find(name) != std::string::npos)
          << folder << "/" << name << " is neither compared nor in kWithoutCounterpart";
      ++found;
    }
  }
  EXPECT_GT(found, 40U);
  for (const auto& [name, reason] : kWithoutCounterpart)
    EXPECT_TRUE(fs::exists(recorded_folder() / name)) << name;
}

}  // namespace
}  // namespace giftsync::tests::fake_org
