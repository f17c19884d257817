#include <gtest/gtest.h>

#include <string>

#include "platform/visible_text.h"

namespace giftsync {
namespace {

TEST(SpreadsheetText, BlanksOfAllKindsAreRemovedAtBothEnds) {
  EXPECT_EQ(without_blanks("\u00A0 \u3000a\u00A0b\u2003\t"), "a\u00A0b");
  EXPECT_EQ(without_blanks("a"), "a");
  EXPECT_EQ(without_blanks("\u00A0"), "");
  EXPECT_EQ(without_blanks("a\xA0"), "a\xA0") << "not UTF-8: left as it is";
}

TEST(SpreadsheetText, CellsWithoutAValueOfTheirOwnAreRecognised) {
  for (const char* cell : {"#N/A", " #REF! ", "#VALUE!", "#NAME?", "#DIV/0!", "#NV", "###", "########"})
    EXPECT_TRUE(formula_error(cell)) << cell;
  for (const char* cell : {"", "#", "##", "#1", "#thanks", "see #N/A", "N/A"})
    EXPECT_FALSE(formula_error(cell)) << cell;
  for (const char* cell : {"2.06555E+09", "2,06555E+09", "-1e+15", " 3E+10\u00A0"})
    EXPECT_TRUE(rounded_number(cell)) << cell;
  for (const char* cell :
       {"", "206E555", "2.5E9", "+1 206 555", "12E+10", "1E+1", "a1E+10", "1.E+10", "1E+10x"})
    EXPECT_FALSE(rounded_number(cell)) << cell;
  EXPECT_FALSE(rounded_number("1." + std::string(1'000'000, '1') + "+"));
}

TEST(SpreadsheetText, DatesOfWhichDayAndMonthAreNotCertainAreRecognised) {
  for (const char* cell : {"11/28/2026 9:15 AM", "28.11.2026", "1-2-26", "5/6/2026, 10:00"})
    EXPECT_TRUE(has_day_month_order(cell)) << cell;
  for (const char* cell : {"", "2026-11-28", "2026/11/28", "11/28", "1.2-2026", "28.11.2026x", "11:28:26",
                           "1.2.3", "1.2.20261", "1.2.2026 a\nb"})
    EXPECT_FALSE(has_day_month_order(cell)) << cell;
  EXPECT_TRUE(has_day_month_order("1.2.2026 " + std::string(1'000'000, 'a')));
}

}  // namespace
}  // namespace giftsync
