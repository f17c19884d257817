// What a worker says about a step that fails, and the stop while it waits.
#include "platform/periodic_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "platform/dependency_error.h"
#include "tests/support/captured_log.h"

namespace giftsync {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The lines of a worker whose steps fail with these reasons, one after the other, and then succeed.
std::vector<std::string> lines_of(const std::vector<std::string>& reasons) {
  tests::CapturedLog log;
  std::promise<void> ended;
  std::size_t steps = 0;
  {
    PeriodicWorker worker({.name = "sync", .interval_millis = 1, .step = [&](PeriodicWorker&) {
                             if (steps < reasons.size()) throw DependencyError(true, reasons[steps++]);
                             if (steps++ == reasons.size() + 1) ended.set_value();
                             return false;
                           }});
    ended.get_future().wait();
  }
  return log.take_lines();
}

// ARCH-27
TEST(PeriodicWorker, LogsAFaultOnceAndItsEnd) {
  EXPECT_THAT(lines_of({"no connection", "no connection", "no connection"}),
              ElementsAre(HasSubstr("sync: no connection; retrying until it succeeds"),
                          HasSubstr("sync: recovered after 3 failed attempts")));
}

// ARCH-27
TEST(PeriodicWorker, LogsEachReasonOfAFaultOnce) {
  EXPECT_THAT(lines_of({"no connection", "the server is on timeline 1, and timeline 2 was in use",
                        "the server is on timeline 1, and timeline 2 was in use", "no connection"}),
              ElementsAre(HasSubstr("no connection"), HasSubstr("timeline 2"),
                          HasSubstr("recovered after 4 failed attempts")));
}

// ARCH-27
TEST(PeriodicWorker, OtherNumbersAreTheSameReason) {
  EXPECT_THAT(lines_of({"no response after 5001 ms", "no response after 5003 ms"}),
              ElementsAre(HasSubstr("5001"), HasSubstr("recovered after 2 failed attempts")));
}

// ARCH-27
TEST(PeriodicWorker, LogsTheSameReasonAgainAfterASuccess) {
  tests::CapturedLog log;
  std::promise<void> ended;
  int steps = 0;
  {
    PeriodicWorker worker({.name = "sync", .interval_millis = 1, .step = [&](PeriodicWorker&) {
                             if (++steps % 2 == 1) throw DependencyError(true, "no connection");
                             if (steps == 6) ended.set_value();
                             return false;
                           }});
    ended.get_future().wait();
  }
  EXPECT_GE(log.take_lines().size(), 5U);
}

}  // namespace
}  // namespace giftsync
