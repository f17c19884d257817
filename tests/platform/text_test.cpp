// Text without case, whatever its script, and numbers in text.
#include "platform/text.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace giftsync {
namespace {

TEST(Text, LettersOfEveryScriptHaveALowerCase) {
  const struct {
    const char* text;
    const char* lower;
  } cases[] = {{"", ""},          {"Rose 7_Z", "rose 7_z"}, {"Émile", "émile"}, {"ÄÖÜ ß", "äöü ß"},
               {"ЖУК", "жук"},    {"ΔΟΜΗ", "δομη"},         {"日本", "日本"},   {"🎁 X", "🎁 x"},
               {"a\xffZ", "a?z"}, {"ab\xe2\x82", "ab?"}};
  for (const auto& one : cases) EXPECT_EQ(lower_case(one.text), one.lower) << one.text;
}

TEST(Text, LettersOfEveryScriptHaveAnUpperCase) {
  for (const auto& [text, upper] : {std::pair{"Rose 7_z", "ROSE 7_Z"}, std::pair{"émile", "ÉMILE"},
                                    std::pair{"жук", "ЖУК"}, std::pair{"日本", "日本"}, std::pair{"", ""}})
    EXPECT_EQ(upper_case(text), upper) << text;
}

TEST(Text, ANumberIsTheWholeText) {
  const struct {
    const char* text;
    std::optional<int> number;
  } cases[] = {{"0", 0},           {"007", 7}, {"-5", -5},  {"2147483647", 2147483647},
               {"2147483648", {}}, {"", {}},   {"+5", {}},  {" 5", {}},
               {"5 ", {}},         {"5x", {}}, {"0x5", {}}, {"5.0", {}}};
  for (const auto& one : cases) EXPECT_EQ(parse_number<int>(one.text), one.number) << one.text;
}

TEST(Suggestion, IsTheWordWithTheSmallestEditDistance) {
  const std::vector<std::string> known{"base_url", "admin_url", "listen"};
  EXPECT_EQ(suggestion_for("base-url", known), "base_url");
  EXPECT_EQ(suggestion_for("lisetn", known), "listen");
  EXPECT_EQ(suggestion_for("adminurl", known), "admin_url");
  EXPECT_EQ(suggestion_for("recipients", known), "");
  EXPECT_EQ(suggestion_for("", known), "");
  EXPECT_EQ(suggestion_for("ab", {"xy"}), "") << "nothing in common";
}

}  // namespace
}  // namespace giftsync
