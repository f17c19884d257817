// Who has one link cannot fill the log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/pages/gift_page_handler.h"
#include "tests/support/captured_log.h"

namespace giftsync::pages {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

// OPS-32
TEST(VisitLog, OneLineOfAGiftInAMinuteAndTheCountOfTheRest) {
  UtcMillis now{1'800'000'000'000};
  tests::CapturedLog captured;
  VisitLog log([&now] { return now; });
  for (int i = 0; i < 5'000; ++i) log.record(VisitLog::Event::visit, {3}, "192.0.2.1");
  EXPECT_THAT(captured.take_lines(),
              ElementsAre("info gift page opened in a browser gift=3 client=192.0.2.1"));
  log.record(VisitLog::Event::visit, {4}, "192.0.2.9");
  log.record(VisitLog::Event::foreign_post, {3}, "192.0.2.1");
  EXPECT_THAT(captured.take_lines(), ElementsAre(HasSubstr("gift=4"), StartsWith("warning a decision")))
      << "another gift, another event";
  log.flush();
  EXPECT_THAT(captured.take_lines(), IsEmpty()) << "the minute is not over";
  now = now + kMinuteMillis;
  log.flush();
  EXPECT_THAT(
      captured.take_lines(),
      ElementsAre("info gift page opened in a browser gift=3 client=192.0.2.1 more_in_a_minute=4999"));
  log.record(VisitLog::Event::visit, {3}, "192.0.2.1");
  EXPECT_THAT(captured.take_lines(), SizeIs(1));
}

TEST(VisitLog, NoCountIsLostAtTheEnd) {
  tests::CapturedLog captured;
  {
    VisitLog log([] { return UtcMillis{1}; });
    for (int i = 0; i < 3; ++i) log.record(VisitLog::Event::foreign_post, {3}, "192.0.2.1");
  }
  EXPECT_THAT(captured.take_lines(),
              ElementsAre(testing::_, AllOf(StartsWith("warning"), HasSubstr("more_in_a_minute=2"))));
}

}  // namespace
}  // namespace giftsync::pages
