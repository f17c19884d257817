// The switches of the fake org's answers.
#include "tests/salesforce/fake_org/switches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/salesforce/fake_org_fixture.h"

namespace giftsync::tests::fake_org {
namespace {

class SwitchesTest : public FakeOrgTest {};

TEST_F(SwitchesTest, ANameThatNoSwitchHasIsRefused) {
  EXPECT_FALSE(org.is_on("production"));
  org.set("production", "true");
  EXPECT_TRUE(org.is_on("production"));
  EXPECT_TRUE(org.is_on("strict_ids")) << "a new org's";
  EXPECT_THROW(org.set("prodution", "true"), std::runtime_error);
  EXPECT_THROW(org.is_on("prodution"), std::runtime_error);
}

TEST_F(SwitchesTest, EachIsDescribed) {
  std::ifstream file(std::string(kSourceFolder) + "/tests/salesforce/fake_org/README.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const Switch& one : switches())
    EXPECT_THAT(text, ::testing::HasSubstr("`" + std::string(one.name) + "`"));
}

}  // namespace
}  // namespace giftsync::tests::fake_org
