#include "schema/spelling.h"

#include <gtest/gtest.h>

namespace giftsync::schema {
namespace {

enum class Colour { none, red, green };
constexpr auto kColours = spelling<Colour>({{Colour::none, ""}, {Colour::red, "Red"}, {Colour::green, "g"}});

// What a value without a word is found by.
static_assert(is_named<Colour::none>() && is_named<Colour::green>());
static_assert(!is_named<static_cast<Colour>(3)>() && !is_named<static_cast<Colour>(12)>());

TEST(Spelling, ReadsWhatItWrites) {
  for (const Colour colour : {Colour::none, Colour::red, Colour::green})
    EXPECT_EQ(kColours.read(kColours.of(colour)), colour);
  EXPECT_EQ(kColours.of(Colour::red), "Red");
  EXPECT_EQ(kColours.read(""), Colour::none);
}

TEST(Spelling, KnowsNoOtherWord) {
  EXPECT_EQ(kColours.read("red"), std::nullopt);
  EXPECT_EQ(kColours.read("Redd"), std::nullopt);
  EXPECT_EQ(kColours.read("none"), std::nullopt);
}

}  // namespace
}  // namespace giftsync::schema
