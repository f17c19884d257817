// Languages and shades of pages and mails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "daemon/mail/gift_mail.h"
#include "daemon/pages/logo.h"
#include "daemon/pages/page_face.h"
#include "daemon/pages/palette.h"
#include "daemon/pages/words.h"

namespace giftsync::daemon {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::Ge;
using testing::Not;

std::multiset<std::string> placeholders(const std::string& text) {
  static const std::regex name("\\{[^}]*\\}");
  return {std::sregex_token_iterator(text.begin(), text.end(), name), std::sregex_token_iterator()};
}

TEST(Words, AllLanguagesSayTheSameThings) {
  const Words& english = words_in("en");
  std::vector<std::string> languages;
  for (const Words& words : all_words()) {
    SCOPED_TRACE(words.language());
    languages.push_back(words.language());
    for (const auto& [key, text] : english.all()) {
      const auto found = words.all().find(key);
      ASSERT_NE(found, words.all().end()) << key << " is missing";
      EXPECT_EQ(placeholders(found->second), placeholders(text)) << key;
      EXPECT_FALSE(found->second.empty()) << key;
      EXPECT_THAT(found->second, Not(testing::ContainsRegex("[<>]|[{][^a-z]|^ | $"))) << key;
    }
    EXPECT_EQ(words.all().size(), english.all().size()) << "a key that English has not";
    const std::string months = words.text("months");
    EXPECT_EQ(std::count(months.begin(), months.end(), ' '), 11);
  }
  EXPECT_THAT(languages, testing::IsSupersetOf({"en", "de", "es"}));
}

TEST(Words, DatesAreReadable) {
  const schema::UtcMillis time{1'795'264'267'042};
  EXPECT_EQ(words_in("en").date(time), "21 November 2026, 12:31 UTC");
  EXPECT_EQ(words_in("de").date(time), "21. November 2026, 12:31 Uhr UTC");
  EXPECT_EQ(words_in("es").date({1'767'312'000'000}), "2 de enero de 2026, 00:00 UTC");
}

TEST(Words, ValuesAreSetApartAndNeverRead) {
  EXPECT_EQ(words_in("en").html("for", {{"recipient", "<b>{sender}"}}), "For <bdi>&lt;b&gt;{sender}</bdi>");
  EXPECT_EQ(words_in("en").text("for", {{"recipient", "{recipient}"}}), "For {recipient}");
}

TEST(Words, TheBestOfWhatABrowserAsksFor) {
  const std::vector<std::pair<std::string, std::string>> cases{{"", "es"},
                                                               {"de", "de"},
                                                               {"DE-at", "de"},
                                                               {"fr", "es"},
                                                               {"fr, de;q=0.3, en;q=0.4", "en"},
                                                               {"en;q=0.5,de;q=0.50,es;q=0.1", "en"},
                                                               {"*", "es"},
                                                               {"fr,*;q=0.1", "es"},
                                                               {"de;q=0", "es"},
                                                               {"de;q=0,en;q=0.001", "en"},
                                                               {"de;q=2", "es"},
                                                               {"de;q=x", "es"},
                                                               {" de ; Q=1.0 ", "de"},
                                                               {",,;q=1,de", "de"},
                                                               {"en-GB-oed,de", "en"},
                                                               {std::string(5000, ',') + "de", "es"}};
  for (const auto& [header, expected] : cases)
    EXPECT_EQ(words_for(header, "es").language(), expected) << header;
  EXPECT_EQ(words_for("", "xx").language(), "en");
}

TEST(Palette, EveryTextCanBeReadInEveryColour) {
  for (const char* colour : {"#000000", "#ffffff", "#0a6650", "#ffcc00", "#ff0000", "#808080", "#0000ff",
                             "#00ff00", "#767676", "#f5f3ee", "#1d2125", "#ff69b4"}) {
    const Palette palette = palette_of(colour);
    for (const Shades& shades : {palette.light, palette.dark}) {
      for (const std::string& ground : {shades.ground, shades.card, shades.tint}) {
        EXPECT_GE(contrast(shades.text, ground), 4.5) << colour;
        EXPECT_GE(contrast(shades.quiet, ground), 4.5) << colour;
        EXPECT_GE(contrast(shades.accent, ground), 4.5) << colour;
      }
      EXPECT_GE(contrast(shades.on_button, shades.button), 4.5) << colour;
      EXPECT_GE(contrast(shades.button, shades.tint), 3.0) << colour;
    }
  }
  EXPECT_EQ(palette_of("#0a6650").light.button, "#0a6650") << "a colour that can be seen stays";
  EXPECT_DOUBLE_EQ(contrast("#000000", "#ffffff"), 21);
}

}  // namespace
}  // namespace giftsync::daemon
