// Text from outside as it is shown: nothing invisible, nothing that turns a line or controls a terminal.
#include "platform/visible_text.h"

#include <gtest/gtest.h>

#include "tests/support/json.h"

namespace giftsync {
namespace {

// SEC-1
TEST(VisibleText, EscapesWhatCannotBeSeen) {
  const struct {
    const char* text;
    const char* shown;
  } cases[] = {{"", ""},
               {"José 日本 🎁", "José 日本 🎁"},
               {"a\nb\tc\x1b[31m\x7f", "a\\nb\\x09c\\x1b[31m\\x7f"},
               {"\u0080\u009b\u009f\u00a0", "\\u{80}\\u{9b}\\u{9f}\u00a0"},
               {"\u061c\u200e\u200f", "\\u{61c}\\u{200e}\\u{200f}"},
               {"\u202a\u202e\u2066\u2069", "\\u{202a}\\u{202e}\\u{2066}\\u{2069}"},
               {"\u2028\u2029", "\\u{2028}\\u{2029}"},
               {"\u00ad\u200b\u200d\u2060\ufeff", "\\u{ad}\\u{200b}\\u{200d}\\u{2060}\\u{feff}"},
               {"\U000E0041\U000E007F", "\\u{e0041}\\u{e007f}"},
               {"\u2027\u202f\u2070", "\u2027\u202f\u2070"},
               {"\u034f\u115f\u1160\u17b4\u17b5", "\\u{34f}\\u{115f}\\u{1160}\\u{17b4}\\u{17b5}"},
               {"\u2800\u3164\uffa0", "\\u{2800}\\u{3164}\\u{ffa0}"},
               {"\ufe00\ufe0f\U000E0100\U000E01EF", "\\u{fe00}\\u{fe0f}\\u{e0100}\\u{e01ef}"},
               {"\U0001D173\U0001D17A", "\\u{1d173}\\u{1d17a}"},
               {"\u0350\u115e\u1161\u2801", "\u0350\u115e\u1161\u2801"},
               {"\ufe10\uffa1\U0001D172", "\ufe10\uffa1\U0001D172"},
               {"a\xff\xe2\x80", "a\\xff\\xe2\\x80"}};
  for (const auto& one : cases) EXPECT_EQ(visible_text(one.text), one.shown) << one.text;
  EXPECT_EQ(visible_text("a\nb\x1b", "\n\t"), "a\nb\\x1b");
}

// SEC-1
TEST(VisibleText, JsonKeepsItsMeaning) {
  const std::string text = "é \u009b \u202e \u2028 \U000E0041 \x7f \\ \" \n";
  const std::string shown = visible_json(nlohmann::json{{"a", text}}.dump(2));
  EXPECT_EQ(tests::parse_json(shown)["a"], text);
  EXPECT_EQ(shown, "{\n  \"a\": \"é \\u009b \\u202e \\u2028 \\udb40\\udc41 \\u007f \\\\ \\\" \\n\"\n}");
}

// SEC-2
TEST(VisibleText, ANameIsOnePlainLine) {
  for (const char* name : {"", "Ana Lima", "O’Brien", "عائشة\u200f", "می\u200cخواهم", "👩\u200d💻",
                           "🏴\U000E0067", "❤\ufe0f", "\u845b\U000E0100"})
    EXPECT_TRUE(is_plain_line(name)) << name;
  for (const char* name : {"a\nb", "a\tb", "Bob\x1b[31m", "a\x7f", "a\u0085", "a\u009b", "A\u202egpj.exe",
                           "a\u2066", "a\u2069", "a\u2028b", "a\xff"})
    EXPECT_FALSE(is_plain_line(name)) << visible_text(name);
}

// SEC-1
TEST(VisibleText, QuotesAreEscapedToo) {
  EXPECT_EQ(in_quotes("a\"b\\\u202e\n"), R"("a\"b\\\u{202e}\n")");
}

TEST(VisibleText, TheFirstVisibleCharacter) {
  EXPECT_EQ(without_leading_invisible("\u200b\ufeff\t=1\u200b"), "=1\u200b");
  EXPECT_EQ(without_leading_invisible("\u200b"), "");
  EXPECT_EQ(without_leading_invisible(" a"), " a");
}

}  // namespace
}  // namespace giftsync
