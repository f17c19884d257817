// The log's lines with members that programs look for, as text and as JSON.
#include "platform/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <array>

namespace giftsync {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class Logging : public testing::Test {
 protected:
  void TearDown() override { spdlog::set_default_logger(previous_); }
  /// What one line with these fields and one without print.
  static std::string log(bool json, std::string_view message, std::span<const LogField> fields,
                         const std::string& level = "info") {
    set_up_logging(level, json);
    testing::internal::CaptureStderr();
    log_info(message, fields);
    spdlog::warn("then");
    return testing::internal::GetCapturedStderr();
  }

 private:
  std::shared_ptr<spdlog::logger> previous_ = spdlog::default_logger();
};

const std::array<std::int64_t, 2> kGifts{3, 14};
const std::array<LogField, 5> kFields{{{"gift", std::span<const std::int64_t>(kGifts)},
                                       {"gifts", std::int64_t{2}},
                                       {"source", std::string_view()},
                                       {"request_id", std::string_view("ab12")},
                                       {"none", std::span<const std::int64_t>()}}};

// OPS-30
TEST_F(Logging, TextHasFieldsAfterTheMessage) {
  EXPECT_THAT(log(false, "gift request made", kFields),
              AllOf(HasSubstr("info    gift request made gift=3 gift=14 gifts=2 request_id=ab12\n"),
                    EndsWith("warning then\n")));
}

// OPS-30
TEST_F(Logging, JsonHasFieldsAsMembersOfTheirLineOnly) {
  EXPECT_THAT(log(true, "gift request made", kFields),
              AllOf(HasSubstr(R"("message":"gift request made","gift":[3,14],"gifts":2,"request_id":"ab12"}
)"),
                    EndsWith("\"level\":\"warning\",\"message\":\"then\"}\n")));
}

TEST_F(Logging, AValueCannotForgeALineOrAMember) {
  const std::array<LogField, 1> fields{{{"source", std::string_view("a\nb\",\"gift\":1")}}};
  EXPECT_THAT(log(false, "made", fields), HasSubstr("made source=a\\nb\",\"gift\":1\n"));
  EXPECT_THAT(log(true, "made", fields), HasSubstr(R"("source":"a\nb\",\"gift\":1"})"));
}

// SEC-1
TEST_F(Logging, InvisibleCharactersAreEscaped) {
  const char* reply = "550 no\u009b31m\u202e \u2028\U000E0041";
  EXPECT_THAT(log(false, reply, {}), HasSubstr("550 no\\u{9b}31m\\u{202e} \\u{2028}\\u{e0041}\n"));
  EXPECT_THAT(log(true, reply, {}), HasSubstr(R"(550 no\u009b31m\u202e \u2028\udb40\udc41")"));
}

TEST_F(Logging, NothingIsPrintedAboveInfo) {
  EXPECT_THAT(log(true, "gift request made", kFields, "warning"), Not(HasSubstr("gift")));
}

}  // namespace
}  // namespace giftsync
