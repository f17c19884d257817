// Large numbers as text: a number that is too large blocks nothing, and no invalid JSON is accepted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/strict_json.h"

namespace giftsync {
namespace {

using ::testing::HasSubstr;

constexpr JsonOptions kOptions{.may_be_ambiguous = true, .large_numbers_as_text = true};

JsonError parse_failure(const std::string& text) {
  const auto read = parse_json(text, kOptions);
  if (read) ADD_FAILURE() << "accepted: " << text;
  return read ? JsonError() : read.error();
}

// SRC-10
TEST(LargeJsonNumbers, BecomeTexts) {
  for (const std::string number :
       {"9223372036854775808", "18446744073709551616", "-9223372036854775809", "1e400", "-1.5E+9999",
        "123456789012345678901234567890", "1763830000.12345678901", "9007199254740993.0"}) {
    for (const auto& [before, after] :
         std::vector<std::pair<std::string, std::string>>{{"[", "]"},
                                                          {"[ ", ",1]"},
                                                          {"[1,", "\n]"},
                                                          {R"([{"a":)", "}]"},
                                                          {R"([{"a" : )", R"( ,"b":2}])"}}) {
      const std::string text = before + number + after;
      const auto read = parse_json(text, kOptions);
      ASSERT_TRUE(read.has_value()) << text;
      const JsonValue& root = read->root();
      const JsonValue* value = &root.elements()[before == "[1," ? 1 : 0];
      if (value->is_object()) value = value->find("a");
      EXPECT_EQ(value->text(), number) << text;
    }
    EXPECT_TRUE(parse_json(number, kOptions).has_value()) << number;
  }
}

TEST(LargeJsonNumbers, OtherValuesAreUnchanged) {
  const auto read = parse_json(
      R"([9223372036854775807,-9223372036854775808,1.5,-0,"18446744073709551616","a\\",18446744073709551616,"\"1e999,"])",
      kOptions);
  ASSERT_TRUE(read.has_value());
  const auto values = read->root().elements();
  EXPECT_EQ(values[0].integer(), INT64_MAX);
  EXPECT_EQ(values[1].integer(), INT64_MIN);
  EXPECT_EQ(values[2].real(), 1.5);
  EXPECT_EQ(values[3].integer(), 0);
  EXPECT_EQ(values[4].text(), "18446744073709551616");
  EXPECT_EQ(values[5].text(), "a\\");
  EXPECT_EQ(values[7].text(), "\"1e999,");
}

TEST(LargeJsonNumbers, InvalidJsonWithALargeNumberIsRefused) {
  const std::string large = "18446744073709551616";
  for (const std::string& text :
       {"{" + large + ":1}", "{" + large + "}", "{\"a\":1," + large + ":2}", "{\"a\":1, " + large + " : 2}",
        "[0" + large + "]", "[+" + large + "]", "[" + large + ".]", "[" + large + "e]", "[--" + large + "]",
        "[" + large + "x]", "[x" + large + "]", "[" + large + " " + large + "]", "[1" + large + "\"\"]",
        "[\"\"" + large + "]", "[" + large, large + "]", "[" + large + "\"]"})
    parse_failure(text);
}

TEST(LargeJsonNumbers, TheErrorColumnRefersToTheOriginalText) {
  const JsonError fault = parse_failure(R"([18446744073709551616,1e400,nul])");
  EXPECT_EQ(fault.code, "syntax");
  EXPECT_EQ(fault.message, parse_failure(R"([1000000000000000.000,1e100,nul])").message);
}

TEST(LargeJsonNumbers, DuplicateNamesAreLeftToTheCaller) {
  const auto read = parse_json(R"({"page":1,"data":[{"a":{"b":1,"b":2}},{"c":"\u0000"}]})", kOptions);
  ASSERT_TRUE(read.has_value());
  const JsonValue& root = read->root();
  const JsonValue* data = root.find("data");
  EXPECT_THAT(find_ambiguity(root)->message, HasSubstr("\"b\" appears twice at \"data[0].a\""));
  EXPECT_THAT(find_ambiguity(data->elements()[0])->message, HasSubstr("\"b\" appears twice at \"a\";"));
  EXPECT_EQ(find_ambiguity(data->elements()[1])->code, "nul_character");
}

}  // namespace
}  // namespace giftsync
