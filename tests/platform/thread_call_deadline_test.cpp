#include <gtest/gtest.h>

#include <thread>

#include "platform/dependency_error.h"

namespace giftsync {
namespace {

// ORG-16
TEST(ThreadCallDeadline, EndsTheCallsOfItsThreadAlone) {
  EXPECT_TRUE(ThreadCallDeadline::may_continue());
  {
    const ThreadCallDeadline ended(0);
    EXPECT_FALSE(ThreadCallDeadline::may_continue());
    {
      const ThreadCallDeadline later(kMinuteMillis);
      EXPECT_FALSE(ThreadCallDeadline::may_continue()) << "the earlier end counts";
    }
    bool may_another = false;
    std::thread([&] { may_another = ThreadCallDeadline::may_continue(); }).join();
    EXPECT_TRUE(may_another);
  }
  EXPECT_TRUE(ThreadCallDeadline::may_continue());
  const ThreadCallDeadline later(kMinuteMillis);
  EXPECT_TRUE(ThreadCallDeadline::may_continue());
}

}  // namespace
}  // namespace giftsync
