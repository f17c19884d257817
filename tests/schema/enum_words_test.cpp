#include <gtest/gtest.h>

#include "schema/enums.h"

namespace giftsync {
namespace {

enum class Colour { none, red, green };
constexpr auto kColours =
    enum_words<Colour>({{Colour::none, ""}, {Colour::red, "Red"}, {Colour::green, "g"}});

// Detects a value without a spelling.
static_assert(has_enumerator<Colour::none>() && has_enumerator<Colour::green>());
static_assert(!has_enumerator<static_cast<Colour>(3)>() && !has_enumerator<static_cast<Colour>(12)>());

TEST(EnumWords, ParsesTheWordsItFormats) {
  for (const Colour colour : {Colour::none, Colour::red, Colour::green})
    EXPECT_EQ(kColours.parse(kColours.word_of(colour)), colour);
  EXPECT_EQ(kColours.word_of(Colour::red), "Red");
  EXPECT_EQ(kColours.parse(""), Colour::none);
}

TEST(EnumWords, RejectsUnknownWords) {
  EXPECT_EQ(kColours.parse("red"), std::nullopt);
  EXPECT_EQ(kColours.parse("Redd"), std::nullopt);
  EXPECT_EQ(kColours.parse("none"), std::nullopt);
}

}  // namespace
}  // namespace giftsync
