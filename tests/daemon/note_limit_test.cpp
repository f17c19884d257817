// Of notes that differ only in a gift or an address the first are told, and how many more there were.
#include "daemon/note_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace giftsync::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr schema::UtcMillis kNow{1'800'000'000'000};

std::vector<std::string> notes_from(std::size_t first, std::size_t count) {
  std::vector<std::string> notes;
  for (std::size_t i = first; i < first + count; ++i)
    notes.push_back("no CRM user has the address user" + std::to_string(i) +
                    "@example.com: Sender stays empty");
  return notes;
}

TEST(NoteLimit, TellsAFewNotesAsTheyAre) {
  NoteLimit limit;
  const auto notes = notes_from(0, NoteLimit::kMostOfKind - 1);
  EXPECT_EQ(limit.lines(notes, kNow), notes);
  EXPECT_THAT(limit.lines({}, kNow + schema::kHourMillis), IsEmpty()) << "none was left out";
}

TEST(NoteLimit, CountsTheRestOfAKindForAnHour) {
  NoteLimit limit;
  const auto told = limit.lines(notes_from(0, 500), kNow);
  ASSERT_THAT(told, SizeIs(NoteLimit::kMostOfKind));
  EXPECT_THAT(told.back(), HasSubstr("user19@example.com"));
  EXPECT_THAT(told.back(), HasSubstr("(more of the kind are only counted for an hour)"));
  EXPECT_THAT(limit.lines({"gift 7: its record was deleted"}, kNow + 1),
              ElementsAre("gift 7: its record was deleted"))
      << "another kind";
  EXPECT_THAT(limit.lines(notes_from(500, 2), kNow + schema::kHourMillis - 1), IsEmpty());
  EXPECT_THAT(limit.lines({}, kNow + schema::kHourMillis),
              ElementsAre("482 more of the kind in an hour, the last one: no CRM user has the address "
                          "user501@example.com: Sender stays empty"));
  EXPECT_EQ(limit.lines(notes_from(600, 1), kNow + schema::kHourMillis), notes_from(600, 1)) << "anew";
}

TEST(NoteLimit, AClockThatWasSetBackEndsTheHour) {
  NoteLimit limit;
  limit.lines(notes_from(0, 21), kNow);
  EXPECT_THAT(limit.lines({}, kNow + -1), ElementsAre(HasSubstr("1 more of the kind")));
}

TEST(NoteLimit, CountlessKindsAreOneInTheEnd) {
  NoteLimit limit;
  std::vector<std::string> notes;
  for (const char a : std::string("abcdefghijklmnopqrst")) {
    for (std::size_t i = 0; i < 100; ++i) notes.push_back(a + std::string(i + 1, 'x'));
  }
  EXPECT_THAT(notes, SizeIs(2'000));
  EXPECT_THAT(limit.lines(notes, kNow), SizeIs(1'000 + NoteLimit::kMostOfKind));
}

}  // namespace
}  // namespace giftsync::daemon
