// Of messages that differ only in a gift or an address the first are logged, the others counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/logging.h"

namespace giftsync {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

std::vector<std::string> messages_from(std::size_t first, std::size_t count) {
  std::vector<std::string> messages;
  for (std::size_t i = first; i < first + count; ++i)
    messages.push_back("no CRM user has the address user" + std::to_string(i) +
                       "@example.com: Sender stays empty");
  return messages;
}

TEST(LogThrottle, LogsFewMessagesUnchanged) {
  LogThrottle throttle;
  const auto messages = messages_from(0, LogThrottle::kMaxLinesPerKind - 1);
  EXPECT_EQ(throttle.lines_to_log(messages, kNow), messages);
  EXPECT_THAT(throttle.lines_to_log({}, kNow + kHourMillis), IsEmpty()) << "none was suppressed";
}

// OPS-14
TEST(LogThrottle, SuppressesFurtherMessagesOfAKindForAnHour) {
  LogThrottle throttle;
  const auto logged = throttle.lines_to_log(messages_from(0, 500), kNow);
  ASSERT_THAT(logged, SizeIs(LogThrottle::kMaxLinesPerKind));
  EXPECT_THAT(logged.back(), HasSubstr("user19@example.com"));
  EXPECT_THAT(logged.back(), HasSubstr("(similar messages suppressed for 1 h)"));
  EXPECT_THAT(throttle.lines_to_log({"gift 7: its record was deleted"}, kNow + 1),
              ElementsAre("gift 7: its record was deleted"))
      << "another kind";
  EXPECT_THAT(throttle.lines_to_log(messages_from(500, 2), kNow + kHourMillis - 1), IsEmpty());
  EXPECT_THAT(
      throttle.lines_to_log({}, kNow + kHourMillis),
      ElementsAre("482 similar messages suppressed within an hour, the last one: no CRM user has the address "
                  "user501@example.com: Sender stays empty"));
  EXPECT_EQ(throttle.lines_to_log(messages_from(600, 1), kNow + kHourMillis), messages_from(600, 1))
      << "a new window";
}

TEST(LogThrottle, AClockSetBackEndsTheHour) {
  LogThrottle throttle;
  throttle.lines_to_log(messages_from(0, 21), kNow);
  EXPECT_THAT(throttle.lines_to_log({}, kNow + -1), ElementsAre(HasSubstr("1 similar messages suppressed")));
}

TEST(LogThrottle, FurtherKindsShareOneEntryAtTheLimit) {
  LogThrottle throttle;
  std::vector<std::string> messages;
  for (const char a : std::string("abcdefghijklmnopqrst")) {
    for (std::size_t i = 0; i < 100; ++i) messages.push_back(a + std::string(i + 1, 'x'));
  }
  EXPECT_THAT(messages, SizeIs(2'000));
  EXPECT_THAT(throttle.lines_to_log(messages, kNow), SizeIs(1'000 + LogThrottle::kMaxLinesPerKind));
}

}  // namespace
}  // namespace giftsync
