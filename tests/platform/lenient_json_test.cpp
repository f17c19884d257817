// What is read leniently of JSON that senders cannot correct, and what stays a fault.
#include "platform/lenient_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace giftsync {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

/// The text at `pointer` in a document that only the lenient reader accepts.
std::string text_in(const std::string& json, const std::string& pointer) {
  EXPECT_FALSE(parse_json(json).has_value()) << json;
  const auto document = parse_lenient_json(json);
  if (!document) {
    ADD_FAILURE() << json << ": " << document.error().message;
    return {};
  }
  const JsonValue* value = JsonPointer::parse(pointer)->resolve(document->root());
  return value == nullptr ? "nothing" : std::string(value->text().value_or("no text"));
}

std::string repeated(const std::string& part, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += part;
  return all;
}

struct ReadText {
  std::string json;  ///< between the quotation marks
  std::string text;
};

// READ-3
TEST(LenientJson, ReplacesWhatCannotBeReadInATextOrAName) {
  const std::string mark = "\xEF\xBF\xBD";
  const std::vector<ReadText> table{
      {R"(see you \ud83d)", "see you " + mark},
      {R"(\ude00 a)", mark + " a"},
      {R"(\ude00\ud83d)", mark + mark},
      {R"(\ud83d\ud83d\ude00)", mark + "\xF0\x9F\x98\x80"},
      {R"(\ud83dx)", mark + "x"},
      {R"(\ud83d\n)", mark + "\n"},
      {R"(\ud83d\u0041)", mark + "A"},
      {"Ren\xE9", "Ren" + mark},
      {"caf\xC3", "caf" + mark},
      {"\xC0\xAF", mark + mark},
      {"\xED\xA0\xBD", mark + mark + mark},
      {"\xF4\x90\x80\x80", mark + mark + mark + mark},
      {"\xF0\x9F\x98", mark + mark + mark},
      {"\x80 \xFF", mark + " " + mark},
      {R"(it\'s)", "it" + mark + "'s"},
      {R"(\u12 and \u-001)", mark + "u12 and " + mark + "u-001"},
      {"two\nlines\tand \x01", "two\nlines\tand \x01"},
      {"a\\\"b\\\\\xFF", "a\"b\\" + mark},
  };
  for (const ReadText& row : table) {
    EXPECT_EQ(text_in("{\"a\":{\"note\":\"" + row.json + "\"},\"b\":[1]}", "/a/note"), row.text) << row.json;
    EXPECT_EQ(text_in("[{\"" + row.json + "\":1,\"id\":\"x\"}]", "/0/id"), "x") << row.json;
  }
  EXPECT_EQ(text_in("[\"a\0b\"]"s, "/0"), "a\0b"s) << "describe_unreadable_value() finds the NUL";
}

// READ-3
TEST(LenientJson, PrunesWhatIsTooDeep) {
  const std::string deep = repeated("[", 100) + "\"]\"" + repeated("]", 100);
  const std::string objects = repeated(R"({"a":[)", 50'000) + repeated("]}", 50'000);
  for (const std::string& json : {deep, objects}) {
    EXPECT_EQ(text_in("[{\"note\":" + json + ",\"id\":\"x\"}]", "/0/id"), "x");
    EXPECT_EQ(text_in("[{\"note\":" + json + ",\"id\":\"\xFF\"}]", "/0/id"), "\xEF\xBF\xBD") << "two faults";
  }
  for (const std::string& json :
       {repeated("[", 100'000), repeated("[", 100) + repeated("}", 100), "[" + repeated("[", 100) + "]"})
    EXPECT_EQ(parse_lenient_json("[" + json + "]").error().code, "too_deep") << json.substr(0, 300);
}

// READ-1, READ-2
TEST(LenientJson, IgnoresOneByteOrderMark) {
  EXPECT_EQ(text_in("\xEF\xBB\xBF[\"a\"]", "/0"), "a");
  EXPECT_EQ(parse_lenient_json("\xEF\xBB\xBF\xEF\xBB\xBF[]").error().code, "byte_order_mark");
  EXPECT_EQ(parse_lenient_json("\xEF\xBB\xBF").error().code, "empty_text");
  EXPECT_EQ(parse_json("\xEF\xBB\xBF[]").error().code, "byte_order_mark") << "the strict reader";
}

TEST(LenientJson, AFaultOfTheStructureStaysOne) {
  for (const std::string& json : {"[\"\xFF\",]"s, "[\"\xFF\" \"b\"]"s, "[1 \xFF]"s, "{\"a\":\"\xFF"s,
                                  "[\"\\ud83d\"}"s, "[\"\xFF\\\"]"s, "\"\xFF\\"s, "\""s, "[\"a\",\xFF\"b\"]"s,
                                  "{\"a\":1,\xC3\xA9:2}"s, "[\"\\ud83d\",nul]"s, "[\"\xFF\"]\0"s})
    EXPECT_FALSE(parse_lenient_json(json).has_value()) << json;
}

TEST(LenientJson, TheErrorIsTheOneThatStays) {
  const auto message = [](const std::string& json) { return parse_lenient_json(json).error().message; };
  EXPECT_EQ(message("[\"\xFF\xFE \\ud83d\", nul]"), message("[\"?? ??????\", nul]"));
  EXPECT_THAT(message("[\"a\",\n\"\xFF\",\nnul]"), HasSubstr("line 3"));
  for (const std::string& wide :
       {"\xFF\xFE[\0]\0"s, "\xFE\xFF\0[\0]"s, "[\0]\0"s, "\0[\0]"s, "\0\0\xFE\xFF\0\0\0["s})
    EXPECT_THAT(message(wide), HasSubstr("UTF-16 or UTF-32")) << wide;
}

// READ-3
TEST(LenientJson, NamesWhatIsUnreadableAtAPointer) {
  const auto document = parse_lenient_json(
      R"({"a":1,"a":1,"o":{"b":"x","b":"y"},"nul":"a\u0000b","cut":"\ud83d","good":"x","l":[{"c":1},{"c":1,"c":2}]})");
  ASSERT_TRUE(document.has_value());
  const auto fault = [&](const std::string& pointer, ValueUse use = ValueUse::exact) {
    return describe_unreadable_value(*JsonPointer::parse(pointer), document->root(), use);
  };
  EXPECT_EQ(fault("/a"), "The name \"a\" appears twice at the top level; which one counts is not clear");
  EXPECT_EQ(fault("/o/b"), "The name \"b\" appears twice at \"/o\"; which one counts is not clear");
  EXPECT_EQ(fault("/l/1/c"), "The name \"c\" appears twice at \"/l/1\"; which one counts is not clear");
  EXPECT_EQ(fault("/nul"), "The text at \"/nul\" contains the NUL character (\\u0000)");
  EXPECT_EQ(fault("/nul", ValueUse::free_text), fault("/nul"));
  EXPECT_EQ(fault("/cut"), "The text at \"/cut\" has a character that cannot be read");
  EXPECT_EQ(fault("/cut", ValueUse::free_text), "");
  for (const char* pointer : {"", "/o", "/good", "/l/0/c", "/none", "/good/none", "/l/7"})
    EXPECT_EQ(fault(pointer), "") << pointer;
}

TEST(LenientJson, AnErrorBehindManyLineEndsIsLocated) {
  const auto error = parse_json("[" + std::string(4, '\n') + "\t\r\n \"a\tb\"]").error();
  EXPECT_THAT(error.message, HasSubstr("at line 6, column 4"));
  EXPECT_THAT(parse_json("[1," + std::string(1000, '\n') + "x]").error().message,
              HasSubstr("line 1001, column 1"));
}

}  // namespace
}  // namespace giftsync
