#include "platform/clock.h"

#include <gtest/gtest.h>

namespace giftsync {
namespace {

TEST(Clock, BoottimeIsMonotonic) {
  const auto before = boottime_millis();
  EXPECT_GT(before, 0);
  EXPECT_GE(boottime_millis(), before);
}

}  // namespace
}  // namespace giftsync
