// The log lines of gifts: each gift is named in a normal day, and load is counted.
#include "daemon/gift_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/captured_journal.h"
#include "tests/support/captured_log.h"

namespace giftsync::daemon {
namespace {

using sync::GiftEvent;
using sync::GiftEventKind;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

std::vector<store::RecipientTransaction> gifts(std::int64_t count) {
  std::vector<store::RecipientTransaction> all;
  for (std::int64_t id = 1; id <= count; ++id) {
    store::RecipientTransaction gift;
    gift.id = {id};
    gift.email = "kim@example.com";
    all.push_back(gift);
  }
  return all;
}

// OPS-30
TEST(GiftLog, ARequestNamesItsGiftsCallAndKey) {
  tests::CapturedLog log;
  GiftLog gift_log;
  const auto two = gifts(2);
  gift_log.log_request({{5}, two, "ab12", "gsk_live_abcd"}, kNow);
  gift_log.log_request({.request = {6}, .gifts = std::span(two).first(1), .request_record = "R-000007"},
                       kNow);
  EXPECT_THAT(
      log.take_lines(),
      ElementsAre("info gift request made gift=1 gift=2 gifts=2 request=5 request_id=ab12 key=gsk_live_abcd",
                  "info gift request made gift=1 gifts=1 request=6 request_record=R-000007"));
}

// OPS-30
TEST(GiftLog, TheMatchesOfACampaignShareLines) {
  tests::CapturedLog log;
  GiftLog gift_log;
  std::vector<GiftEvent> events;
  for (std::int64_t i = 1; i <= 40; ++i)
    events.push_back({GiftEventKind::matched_contact, {i}, {5}, "", "", "003" + std::to_string(i)});
  gift_log.log_events(events, kNow);
  EXPECT_THAT(log.take_lines(), ElementsAre(testing::AllOf(testing::HasSubstr("gift=1 "),
                                                           testing::HasSubstr("gift=40 gifts=40"),
                                                           testing::Not(testing::HasSubstr("contact=")))));
}

// OPS-30
TEST(GiftLog, EventsOfOneRequestShareALine) {
  tests::CapturedLog log;
  GiftLog gift_log;
  const std::vector<GiftEvent> events{{GiftEventKind::matched_contact, {1}, {5}, "ab12", "", "003A"},
                                      {GiftEventKind::matched_contact, {2}, {5}, "ab12", "", "003A"},
                                      {GiftEventKind::matched_contact, {7}, {5}, "ab12", "", "003B"},
                                      {GiftEventKind::matched_lead, {3}, {5}, "ab12", "", "00QA"},
                                      {GiftEventKind::unmatched, {4}, {6}, "", "shop"},
                                      {GiftEventKind::record_created, {1}, {5}, "ab12", ""},
                                      {GiftEventKind::record_updated, {3}, {5}, "ab12", ""},
                                      {GiftEventKind::mailed, {1}, {5}, "ab12", ""},
                                      {GiftEventKind::reminded, {1}, {5}, "ab12", ""}};
  gift_log.log_events(events, kNow);
  EXPECT_THAT(
      log.take_lines(),
      ElementsAre("info matched to a contact gift=1 gift=2 gifts=2 request=5 contact=003A request_id=ab12",
                  "info matched to a contact gift=7 gifts=1 request=5 contact=003B request_id=ab12",
                  "info matched to a lead gift=3 gifts=1 request=5 lead=00QA request_id=ab12",
                  "info no contact or lead matches gift=4 gifts=1 request=6 source=shop",
                  "info gift record created in the CRM gift=1 gifts=1 request=5 request_id=ab12",
                  "info gift record updated in the CRM gift=3 gifts=1 request=5 request_id=ab12",
                  "info mail handed to the relay gift=1 gifts=1 request=5 request_id=ab12",
                  "info reminder handed to the relay gift=1 gifts=1 request=5 request_id=ab12"));
}

// OPS-30, OPS-47
TEST(GiftLog, TheJournalFindsEachGiftByItsTransaction) {
  tests::CapturedJournal journal;
  GiftLog gift_log;
  const auto two = gifts(2);
  gift_log.log_request({{5}, two, "ab12", "gsk_live_abcd"}, kNow);
  const std::vector<GiftEvent> events{{GiftEventKind::matched_contact, {2}, {5}, "ab12", "", "003A"},
                                      {GiftEventKind::matched_lead, {2}, {5}, "ab12", "", "00QA"},
                                      {GiftEventKind::unmatched, {2}, {5}, "ab12", "shop"},
                                      {GiftEventKind::record_created, {2}, {5}, "ab12", ""},
                                      {GiftEventKind::record_updated, {2}, {5}, "ab12", ""},
                                      {GiftEventKind::mailed, {2}, {5}, "ab12", ""},
                                      {GiftEventKind::reminded, {2}, {5}, "ab12", ""}};
  gift_log.log_events(events, kNow);
  std::vector<std::string> found;
  for (const tests::JournalEntry& entry : journal.take_entries()) {
    for (const LogEventKind& kind : log_event_kinds())
      if (tests::values_of(entry, "MESSAGE_ID") == kind.id) found.emplace_back(kind.name);
    found.back() += " " + tests::values_of(entry, "TRANSACTION") + " " +
                    tests::values_of(entry, "GIFT_REQUEST") + " " + tests::values_of(entry, "REQUEST_ID") +
                    tests::values_of(entry, "SOURCE");
  }
  EXPECT_THAT(found, ElementsAre("gift_request_made 1,2 5 ab12", "gift_matched 2 5 ab12",
                                 "gift_matched 2 5 ab12", "gift_unmatched 2 5 ab12shop",
                                 "gift_record_created 2 5 ab12", "gift_record_updated 2 5 ab12",
                                 "mail_accepted 2 5 ab12", "reminder_accepted 2 5 ab12"));
}

TEST(GiftLog, ALargeRequestIsSeveralLines) {
  tests::CapturedLog log;
  GiftLog gift_log;
  const auto many = gifts(120);
  gift_log.log_request({.request = {5}, .gifts = many}, kNow);
  const auto lines = log.take_lines();
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0], HasSubstr(" gift=50 gifts=50 "));
  EXPECT_THAT(lines[2], HasSubstr(" gift=120 gifts=20 "));
}

// OPS-30
TEST(GiftLog, UnderLoadLinesAreDroppedAndCounted) {
  tests::CapturedLog log;
  GiftLog gift_log;
  const auto one = gifts(1);
  for (int i = 0; i < GiftLog::kMaxBurst + 1234; ++i)
    gift_log.log_request({.request = {5}, .gifts = one}, kNow);
  EXPECT_THAT(log.take_lines(), SizeIs(GiftLog::kMaxBurst));
  const GiftEvent mailed{GiftEventKind::mailed, {1}, {5}, "", ""};
  gift_log.log_events(std::span(&mailed, 1), kNow);
  EXPECT_THAT(log.take_lines(), SizeIs(1)) << "the other kinds of lines have their own limit";
  gift_log.log_dropped();
  EXPECT_THAT(log.take_lines(), ElementsAre("info 1234 more gifts requested, not named: more than 50 lines a "
                                            "second gifts=1234"));
  gift_log.log_dropped();
  EXPECT_THAT(log.take_lines(), IsEmpty());
  for (int i = 0; i < 60; ++i) gift_log.log_request({.request = {5}, .gifts = one}, kNow + 1000);
  EXPECT_THAT(log.take_lines(), SizeIs(GiftLog::kLinesPerSecond));
  gift_log.log_request({.request = {5}, .gifts = one}, kNow - 5000);
  EXPECT_THAT(log.take_lines(), IsEmpty()) << "a clock that is set back adds nothing";
}

TEST(GiftLog, NothingIsLoggedAboveInfo) {
  tests::CapturedLog log(spdlog::level::warn);
  GiftLog gift_log;
  const auto one = gifts(1);
  gift_log.log_request({.request = {5}, .gifts = one}, kNow);
  gift_log.log_dropped();
  EXPECT_THAT(log.take_lines(), IsEmpty());
}

}  // namespace
}  // namespace giftsync::daemon
