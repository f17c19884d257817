// The log's lines with members that programs look for, as text, as JSON and in the journal.
#include "platform/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <array>
#include <chrono>

#include "tests/support/captured_journal.h"

namespace giftsync {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;
using tests::CapturedJournal;
using tests::values_of;

class Logging : public testing::Test {
 protected:
  void TearDown() override { spdlog::set_default_logger(previous_); }
  /// What one line with these fields and one without print.
  static std::string log(bool json, std::string_view message, std::span<const LogField> fields,
                         const std::string& level = "info") {
    set_up_logging(level, json);
    testing::internal::CaptureStderr();
    log_event(LogEvent::timers_applied, message, fields);
    log_event(LogEvent::settings_warning, "then");
    return testing::internal::GetCapturedStderr();
  }

 private:
  std::shared_ptr<spdlog::logger> previous_ = spdlog::default_logger();
};

const std::vector<LogField> kFields{{"gift", std::vector<std::int64_t>{3, 14}},
                                    {"gifts", std::int64_t{2}},
                                    {"source", ""},
                                    {"request_id", "ab12"},
                                    {"none", std::vector<std::int64_t>()}};

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

// OPS-47
TEST_F(Logging, TextDoesNotRepeatWhatTheSentenceHas) {
  const std::vector<LogField> fields{gift_field(3).not_in_text()};
  EXPECT_THAT(log(false, "gift 3: undelivered: 550", fields), HasSubstr(" gift 3: undelivered: 550\n"));
  EXPECT_THAT(log(true, "gift 3: undelivered: 550", fields),
              HasSubstr(R"("gift 3: undelivered: 550","gift":[3]})"));
}

TEST_F(Logging, AValueCannotForgeALineOrAMember) {
  const std::vector<LogField> fields{{"source", "a\nb\",\"gift\":1"}};
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

// OPS-10, OPS-47
TEST(JournalLog, AnEntryHasMessagePriorityEventAndFields) {
  CapturedJournal journal;
  log_event(LogEvent::timers_applied, "gift request made", kFields);
  log_event({LogEvent::mail_undelivered, "gift 3: undelivered: 550", {gift_field(3).not_in_text()}});
  log_event(LogEvent::request_records_sent, "requests: 2 sent");
  const auto entries = journal.take_entries();
  ASSERT_THAT(entries, SizeIs(3));
  EXPECT_THAT(entries[0],
              UnorderedElementsAre(
                  Pair("MESSAGE", "info    gift request made gift=3 gift=14 gifts=2 request_id=ab12"),
                  Pair("PRIORITY", "6"), Pair("SYSLOG_IDENTIFIER", program_invocation_short_name),
                  Pair("MESSAGE_ID", kind_of(LogEvent::timers_applied).id), Pair("TRANSACTION", "3"),
                  Pair("TRANSACTION", "14"), Pair("GIFTS", "2"), Pair("REQUEST_ID", "ab12")));
  EXPECT_EQ(values_of(entries[1], "MESSAGE"), "warning gift 3: undelivered: 550");
  EXPECT_EQ(values_of(entries[1], "PRIORITY"), "4");
  EXPECT_EQ(values_of(entries[1], "TRANSACTION"), "3");
  EXPECT_EQ(values_of(entries[2], "PRIORITY"), "6");
  EXPECT_THAT(journal.take_stderr(), IsEmpty());
}

TEST(JournalLog, JsonIsTheMessageAndTheFieldsAreThereToo) {
  CapturedJournal journal(true, "debug");
  log_debug("Salesforce was called", {{"request", std::int64_t{5}}});
  const auto entries = journal.take_entries();
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_THAT(values_of(entries[0], "MESSAGE"),
              AllOf(StartsWith("{\"time\":"), EndsWith(R"("message":"Salesforce was called","request":5})")));
  EXPECT_EQ(values_of(entries[0], "GIFT_REQUEST"), "5");
  EXPECT_EQ(values_of(entries[0], "PRIORITY"), "7");
  EXPECT_EQ(values_of(entries[0], "MESSAGE_ID"), "");
}

// SEC-1
TEST(JournalLog, AValueCannotForgeAField) {
  CapturedJournal journal;
  log_event(LogEvent::source_failing, "no\nPRIORITY=0", {{"source", "a\nTRANSACTION=9"}});
  const auto entries = journal.take_entries();
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(values_of(entries[0], "PRIORITY"), "4");
  EXPECT_EQ(values_of(entries[0], "TRANSACTION"), "");
  EXPECT_EQ(values_of(entries[0], "SOURCE"), "a\\nTRANSACTION=9");
}

TEST(JournalLog, AMessageTooLargeForTheSocketComesAsAFile) {
  CapturedJournal journal;
  const std::string large(1 << 20, 'x');
  log_event(LogEvent::source_failing, large, {{"source", "vendor"}});
  const auto entries = journal.take_entries();
  ASSERT_THAT(entries, SizeIs(1));
  const bool is_whole = values_of(entries[0], "MESSAGE") == "warning " + large + " source=vendor";
  EXPECT_TRUE(is_whole);
  EXPECT_EQ(values_of(entries[0], "SOURCE"), "vendor");
}

// OPS-10
TEST(JournalLog, WithoutTheJournalStandardErrorHasTheLines) {
  CapturedJournal journal;
  journal.close(true);
  log_event(LogEvent::codes_low, "one");
  journal.close();
  log_event(LogEvent::codes_low, "two", {{"item", std::int64_t{7}}});
  EXPECT_EQ(journal.take_stderr(), "<4>warning one\n<4>warning two item=7\n");
  journal.open();
  log_event(LogEvent::codes_low, "three");
  const auto entries = journal.take_entries();
  ASSERT_THAT(entries, SizeIs(1)) << "none was lost";
  EXPECT_EQ(values_of(entries[0], "MESSAGE"), "warning three");
}

// OPS-10
TEST(JournalLog, AJournalThatReadsNothingDelaysOneLineAndLosesNoneUnseen) {
  constexpr std::size_t kLines = 400;
  CapturedJournal journal;
  const std::string text(2'000, 'x');
  const auto started = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < kLines; ++i) log_event(LogEvent::codes_low, text);
  // Each line waiting would take 40 s.
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(10));
  const std::size_t taken = journal.take_entries().size();
  const std::string printed = journal.take_stderr();
  const std::size_t complete = static_cast<std::size_t>(std::count(printed.begin(), printed.end(), '\n'));
  EXPECT_GT(taken, 0U);
  EXPECT_GT(complete, 0U);
  ASSERT_LT(taken + complete, kLines) << "both are full";
  log_event(LogEvent::codes_low, "then");
  const auto entries = journal.take_entries();
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(values_of(entries[0], "MESSAGE"), "warning then");
  EXPECT_THAT(values_of(entries[1], "MESSAGE"),
              StartsWith("warning " + std::to_string(kLines - taken - complete) +
                         " earlier lines of the log were lost"));
  EXPECT_EQ(values_of(entries[1], "MESSAGE_ID"), kind_of(LogEvent::log_lines_lost).id);
  log_event(LogEvent::codes_low, "after");
  EXPECT_THAT(journal.take_entries(), SizeIs(1)) << "said once";
}

}  // namespace
}  // namespace giftsync
