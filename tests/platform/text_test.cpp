// Text without case, whatever its script.
#include "platform/text.h"

#include <gtest/gtest.h>

namespace giftsync::platform {
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

}  // namespace
}  // namespace giftsync::platform
