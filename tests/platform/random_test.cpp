#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/digest.h"

namespace giftsync {
namespace {

using ::testing::MatchesRegex;

TEST(Random, ReturnsTheRequestedLengthAndDiffersEachTime) {
  EXPECT_EQ(random_hex(0), "");
  EXPECT_THAT(random_hex(16), MatchesRegex("[0-9a-f]{32}"));
  EXPECT_NE(random_hex(16), random_hex(16));
}

}  // namespace
}  // namespace giftsync
