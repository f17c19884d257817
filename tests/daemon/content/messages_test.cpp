// Languages and colors of pages and mails.
#include "daemon/content/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "daemon/content/branding.h"
#include "daemon/mail/gift_mail.h"

namespace giftsync::content {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::Ge;
using testing::Not;

std::multiset<std::string> placeholders(const std::string& text) {
  static const std::regex name("\\{[^}]*\\}");
  return {std::sregex_token_iterator(text.begin(), text.end(), name), std::sregex_token_iterator()};
}

// PAGE-20
TEST(Messages, AllLanguagesHaveTheSameKeysAndPlaceholders) {
  const Messages& english = messages_in("en");
  std::vector<std::string> languages;
  for (const Messages& messages : all_messages()) {
    SCOPED_TRACE(messages.language());
    languages.push_back(messages.language());
    for (const auto& [key, text] : english.all()) {
      const auto found = messages.all().find(key);
      ASSERT_NE(found, messages.all().end()) << key << " is missing";
      EXPECT_EQ(placeholders(found->second), placeholders(text)) << key;
      EXPECT_FALSE(found->second.empty()) << key;
      EXPECT_THAT(found->second, Not(testing::ContainsRegex("[<>]|[{][^a-z]|^ | $"))) << key;
    }
    EXPECT_EQ(messages.all().size(), english.all().size()) << "a key that English lacks";
    const std::string months = messages.text("months");
    EXPECT_EQ(std::count(months.begin(), months.end(), ' '), 11);
  }
  EXPECT_THAT(languages, testing::IsSupersetOf({"en", "de", "es"}));
}

TEST(Messages, DatesAreReadable) {
  const UtcMillis time{1'795'264'267'042};
  EXPECT_EQ(messages_in("en").date(time), "21 November 2026, 12:31 UTC");
  EXPECT_EQ(messages_in("de").date(time), "21. November 2026, 12:31 Uhr UTC");
  EXPECT_EQ(messages_in("es").date({1'767'312'000'000}), "2 de enero de 2026, 00:00 UTC");
}

TEST(Messages, ValuesAreIsolatedAndNotExpanded) {
  EXPECT_EQ(messages_in("en").html("for_recipient", {{"recipient", "<b>{sender}"}}),
            "For <bdi>&lt;b&gt;{sender}</bdi>");
  EXPECT_EQ(messages_in("en").text("for_recipient", {{"recipient", "{recipient}"}}), "For {recipient}");
}

TEST(Messages, PicksTheLanguageByAcceptLanguage) {
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
    EXPECT_EQ(messages_for(header, "es").language(), expected) << header;
  EXPECT_EQ(messages_for("", "xx").language(), "en");
}

// PAGE-19
TEST(ColorScheme, EveryTextIsReadableForEveryColour) {
  for (const char* colour : {"#000000", "#ffffff", "#0a6650", "#ffcc00", "#ff0000", "#808080", "#0000ff",
                             "#00ff00", "#767676", "#f5f3ee", "#1d2125", "#ff69b4"}) {
    const ColorScheme color_scheme = color_scheme_of(colour);
    for (const Colors& colors : {color_scheme.light, color_scheme.dark}) {
      for (const std::string& background : {colors.background, colors.surface, colors.highlight}) {
        EXPECT_GE(contrast(colors.text, background), 4.5) << colour;
        EXPECT_GE(contrast(colors.muted_text, background), 4.5) << colour;
        EXPECT_GE(contrast(colors.accent, background), 4.5) << colour;
      }
      EXPECT_GE(contrast(colors.button_text, colors.button), 4.5) << colour;
      EXPECT_GE(contrast(colors.button, colors.highlight), 3.0) << colour;
    }
  }
  EXPECT_EQ(color_scheme_of("#0a6650").light.button, "#0a6650") << "a visible colour is unchanged";
  EXPECT_DOUBLE_EQ(contrast("#000000", "#ffffff"), 21);
}

}  // namespace
}  // namespace giftsync::content
