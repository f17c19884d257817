// Of messages that differ only in a gift or an address the first are logged, the others counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/logging.h"
#include "tests/support/log_lines.h"

namespace giftsync {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

std::vector<LogLine> lines_from(std::size_t first, std::size_t count) {
  std::vector<LogLine> lines;
  for (std::size_t i = first; i < first + count; ++i)
    lines.push_back(
        {LogEvent::gift_sender_unknown,
         "no CRM user has the address user" + std::to_string(i) + "@example.com: Sender stays empty",
         {gift_field(static_cast<std::int64_t>(i)).not_in_text()}});
  return lines;
}

/// The messages of the lines to log now.
std::vector<std::string> logged(LogThrottle& throttle, const std::vector<LogLine>& lines, UtcMillis now) {
  return tests::messages_of(throttle.lines_to_log(lines, now));
}

TEST(LogThrottle, LogsFewMessagesUnchanged) {
  LogThrottle throttle;
  const auto lines = lines_from(0, LogThrottle::kMaxLinesPerKind - 1);
  EXPECT_EQ(logged(throttle, lines, kNow), tests::messages_of(lines));
  EXPECT_THAT(logged(throttle, {}, kNow + kHourMillis), IsEmpty()) << "none was suppressed";
}

// OPS-14
TEST(LogThrottle, SuppressesFurtherMessagesOfAKindForAnHour) {
  LogThrottle throttle;
  const auto first = logged(throttle, lines_from(0, 500), kNow);
  ASSERT_THAT(first, SizeIs(LogThrottle::kMaxLinesPerKind));
  EXPECT_THAT(first.back(), HasSubstr("user19@example.com"));
  EXPECT_THAT(first.back(), HasSubstr("(similar messages suppressed for 1 h)"));
  EXPECT_THAT(logged(throttle, {{LogEvent::gift_record_deleted, "gift 7: its record was deleted"}}, kNow + 1),
              ElementsAre("gift 7: its record was deleted"))
      << "another kind";
  EXPECT_THAT(logged(throttle, lines_from(500, 2), kNow + kHourMillis - 1), IsEmpty());
  const auto counts = throttle.lines_to_log({}, kNow + kHourMillis);
  EXPECT_THAT(tests::messages_of(counts),
              ElementsAre("482 similar messages suppressed within an hour, the last one: no CRM user has the "
                          "address user501@example.com: Sender stays empty"));
  EXPECT_EQ(tests::fields_text(counts.front()), "gift=501") << "those of the line that it repeats";
  EXPECT_EQ(counts.front().event, LogEvent::gift_sender_unknown);
  EXPECT_EQ(logged(throttle, lines_from(600, 1), kNow + kHourMillis), tests::messages_of(lines_from(600, 1)))
      << "a new window";
}

TEST(LogThrottle, AClockSetBackEndsTheHour) {
  LogThrottle throttle;
  throttle.lines_to_log(lines_from(0, 21), kNow);
  EXPECT_THAT(logged(throttle, {}, kNow + -1), ElementsAre(HasSubstr("1 similar messages suppressed")));
}

TEST(LogThrottle, FurtherKindsShareOneEntryAtTheLimit) {
  LogThrottle throttle;
  std::vector<LogLine> lines;
  for (const char a : std::string("abcdefghijklmnopqrst")) {
    for (std::size_t i = 0; i < 100; ++i)
      lines.push_back({LogEvent::worker_failing, a + std::string(i + 1, 'x')});
  }
  EXPECT_THAT(lines, SizeIs(2'000));
  EXPECT_THAT(throttle.lines_to_log(lines, kNow), SizeIs(1'000 + LogThrottle::kMaxLinesPerKind));
}

}  // namespace
}  // namespace giftsync
