// Recorded answers of real orgs beside the fake org's, for tests that compare them. The recordings lie beside
// the checkout, or where GIFTSYNC_SALESFORCE_RECORDED says; without them the tests are skipped.
#pragma once

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "tests/salesforce/fake_org_fixture.h"
#include "tests/support/json.h"

namespace giftsync::tests::fake_org {

inline std::filesystem::path recorded_folder() {
  const char* given = std::getenv("GIFTSYNC_SALESFORCE_RECORDED");
  return given != nullptr
             ? std::filesystem::path(given)
             : std::filesystem::path(kSourceFolder) / ".." / "shared" / "data" / "salesforce-recorded";
}

/// Members and types; of a list, those of its first element.
inline Json shape(const Json& value) {
  if (value.is_object()) {
    std::map<std::string, Json> members;
    for (const auto& [name, one] : value.items()) members[name] = shape(one);
    return Json(members);
  }
  if (value.is_array()) return value.empty() ? Json::array() : Json::array({shape(value.front())});
  return value.is_number() ? Json("number") : Json(value.type_name());
}

/// Every member of the recorded object is in the other with the same type; null has the type of anything.
inline void expect_members(const Json& recorded, const Json& ours, const std::string& what) {
  for (const auto& [name, value] : recorded.items()) {
    ASSERT_TRUE(ours.contains(name)) << what << " lacks " << name;
    if (value.is_null() || ours[name].is_null()) continue;
    EXPECT_EQ(shape(ours[name]).type(), shape(value).type()) << what << " " << name;
  }
}

class RecordedAnswersTest : public FakeOrgTest {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(recorded_folder())) GTEST_SKIP() << "no recordings in " << recorded_folder();
  }

  static std::string bytes(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static Json file(const std::string& name) { return parse_ordered_json(bytes(recorded_folder() / name)); }

  static YAML::Node recording(const std::string& name) {
    return YAML::LoadFile((recorded_folder() / "cumulusci" / name).string());
  }
  /// The answer of one interaction, or of the file's only one.
  static Json cassette(const std::string& name, std::size_t at = 0) {
    const YAML::Node root = recording(name);
    const YAML::Node one = root["interactions"] ? root["interactions"][at] : root;
    return parse_ordered_json(one["response"]["body"]["string"].as<std::string>());
  }

  Json in_composite(const std::string& address, const Json& headers = Json::object()) {
    const Json part{{"method", "GET"},
                    {"referenceId", "r"},
                    {"url", "/services/data/v62.0" + address},
                    {"httpHeaders", headers}};
    return call("POST", "/composite", {{"compositeRequest", Json::array({part})}}).body;
  }
};

}  // namespace giftsync::tests::fake_org
