#include "platform/strict_json.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace giftsync {
namespace {

using namespace std::string_literals;

std::string repeated(std::string_view part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}

JsonDocument accepted(std::string_view text) {
  auto result = parse_json(text);
  if (!result) {
    ADD_FAILURE() << "refused: " << text << "\n" << result.error().code << ": " << result.error().message;
    return *parse_json("null");
  }
  return *std::move(result);
}

JsonError refused(std::string_view text) {
  const auto result = parse_json(text);
  if (result) {
    ADD_FAILURE() << "accepted: " << text.substr(0, 200);
    return {};
  }
  EXPECT_FALSE(result.error().message.empty());
  EXPECT_LT(result.error().message.size(), 600u) << "a message must not carry the body";
  return result.error();
}

TEST(StrictJson, ReadsEveryKindOfValue) {
  const JsonDocument document = accepted(
      R"( {"n":null,"t":true,"f":false,"i":-7,"d":1.5,"s":"caf\u00e9 \ud83d\ude00\n","a":[1,[2]],"o":{"x":{}}} )");
  const JsonValue& root = document.root();
  ASSERT_TRUE(root.is_object());
  EXPECT_EQ(root.members().size(), 8u);
  EXPECT_EQ(root.members()[3].name, "i");
  EXPECT_TRUE(root.find("n")->is_null());
  EXPECT_EQ(root.find("t")->boolean(), true);
  EXPECT_EQ(root.find("f")->boolean(), false);
  EXPECT_EQ(root.find("i")->integer(), -7);
  EXPECT_EQ(root.text_of("s"), root.find("s")->text());
  EXPECT_EQ(root.text_of("i"), "") << "no text";
  EXPECT_EQ(root.text_of("missing"), "");
  EXPECT_EQ(root.find("d")->real(), 1.5);
  EXPECT_EQ(root.find("s")->text(), "caf\xC3\xA9 \xF0\x9F\x98\x80\n");
  ASSERT_EQ(root.find("a")->elements().size(), 2u);
  EXPECT_EQ(root.find("a")->elements()[1].elements()[0].integer(), 2);
  EXPECT_TRUE(root.find("o")->find("x")->is_object());
  EXPECT_EQ(root.find("missing"), nullptr);
}

TEST(StrictJson, AccessorsOfOtherKindsReturnNothing) {
  const JsonDocument document = accepted(R"(["7",7,7.0,7e0])");
  const auto values = document.root().elements();
  EXPECT_EQ(values[0].integer(), std::nullopt);
  EXPECT_EQ(values[1].text(), std::nullopt);
  EXPECT_EQ(values[2].integer(), std::nullopt) << "7.0 is not written as a whole number";
  EXPECT_EQ(values[3].integer(), std::nullopt);
  EXPECT_EQ(values[2].real(), 7.0);
  EXPECT_TRUE(values[1].elements().empty());
  EXPECT_TRUE(values[1].members().empty());
  EXPECT_EQ(values[1].find("x"), nullptr);
  EXPECT_EQ(values[0].kind_name(), "text");
}

TEST(StrictJson, ValuesSurviveTheTextAndMovesOfTheDocument) {
  auto text = std::make_unique<std::string>(R"({"key":"a text that is too long for any small buffer"})");
  JsonDocument first = accepted(*text);
  const JsonValue* value = first.root().find("key");
  text.reset();
  const JsonDocument second = std::move(first);
  EXPECT_EQ(value, second.root().find("key"));
  EXPECT_EQ(value->text(), "a text that is too long for any small buffer");
}

TEST(StrictJson, AcceptsWhatTheGrammarAllows) {
  const std::vector<std::string> texts{"[]",
                                       "{}",
                                       "null",
                                       "true",
                                       "false",
                                       "0",
                                       "-0",
                                       "-1",
                                       "1e5",
                                       "1E+2",
                                       "1e-2",
                                       "123.456e78",
                                       "\"\"",
                                       "\"asd\"",
                                       " [] ",
                                       "\t\r\n[\n1\r,\t2 ]\n",
                                       "[[] ]",
                                       "[\"\"]",
                                       "[1,null,\"1\",{}]",
                                       "[-0.0]",
                                       "[1E22]",

                                       "[20e1]",
                                       "[4.9406564584124654e-324]",
                                       "[1e-400]",
                                       "[9223372036854775807]",
                                       "[-9223372036854775808]",
                                       "[18446744073709551615]",
                                       R"(["\"\\\/\b\f\n\r\t"])",
                                       R"(["\u0060\u012a\u12AB"])",
                                       R"(["\ud801\udc37"])",
                                       R"(["\uDBFF\uDFFF"])",
                                       R"(["\u0022\u005c"])",
                                       R"(["a/*b*/c//d"])",
                                       R"(["\uFFFF\uFDD0"])",
                                       "[\"\x7F\"]",
                                       "[\"\xE2\x80\xA8\xE2\x80\xA9\"]",
                                       "[\"\xF0\x9D\x84\x9E\"]",
                                       "[\"\xF4\x8F\xBF\xBF\"]",
                                       "[\"\xEF\xBB\xBF\"]",
                                       R"({"":0})",
                                       R"({"a":"b","c":"d"})",
                                       R"({"a":{"a":{"a":1}}})",
                                       R"([{"a":1},{"a":1}])",
                                       R"({"a":1,"A":2})",
                                       R"({"min":-1.0e+28,"max":1.0e+28})",
                                       R"({"asd\\":1})"};
  for (const std::string& text : texts) accepted(text);
}

// HTTP-20
TEST(StrictJson, RejectsWhatTheGrammarForbids) {
  const std::vector<std::string> texts{
      // lists and objects
      "[1 true]", "[a\xC3\xA5]", "[\"\": 1]", "[\"\"],", "[,1]", "[1,,2]", "[1,]", "[\"x\"]]", "[\"\",]", "[",
      "]", "[x", "[3[4]]", "[1:2]", "[,]", "[-]", "[   , \"\"]", "[\"a\",\n4\n,1,", "[1,\n1\n,1", "[{}",
      "[\"x\", truth]", "{", "}", "{]", "{,}", "{[: \"x\"}", "{\"x\", null}", "{\"x\"::\"b\"}",
      "{\"a\":\"a\" 123}", "{key: 'value'}", "{\"a\" b}", "{:\"b\"}", "{\"a\"}", "{\"a\":", "{\"a\"", "{1:1}",
      "{9999E9999:1}", "{null:null,null:null}", "{\"id\":0,,,,,}", "{'a':0}", "{\"id\":0,}",
      "{\"a\":\"b\"}/**/", "{\"a\":\"b\"}//", "{\"a\":/*comment*/\"b\"}", "{\"a\":\"b\",,\"c\":\"d\"}",
      "{a: \"b\"}", "{\"a\":\"a", "{ \"foo\" : \"bar\", \"a\" }", "{\"a\":\"b\"}#", "*", "[*]", "{*}",
      // literals and numbers
      "[nul]", "[tru]", "[fals]", "[True]", "[NULL]", "[nulls]", "[NaN]", "[Infinity]", "[-Infinity]",
      "[Inf]", "[-NaN]", "[++1234]", "[+1]", "[-01]", "[01]", "[-012]", "[012]", "[0.e1]", "[1.]", "[.5]",
      "[-.5]", "[2.e3]", "[1eE2]", "[0e]", "[0e+]", "[1.0e]", "[1.0e-]", "[1.0e+]", "[1 000.0]", "[0x1]",
      "[0x42]", "[1+2]", "[1-2]", "[-2.]", "[1a]", "[1.2a-3]", "[- 1]", "[--1]", "[\xEF\xBC\x91]", "[1,2",
      "-", "0.1.2", "[1.8011670033376514H-308]",
      // texts
      "\"", "'single'", "abc", "\\n", "[\"", "[\"a", "[\"\\", "[\"\\\"]", "[\"\\x00\"]",
      "[\"\\\xF0\x9F\x8C\x80\"]", "[\"\\a\"]", "[\"\\\t\"]", "[\"\\u00A\"]", "[\"\\u{41}\"]", "[\"\\U0041\"]",
      "[\"\\uqqqq\"]", "[\"\\uD834\\uDd\"]", "[\"\\uD800\\u1\"]", "[\"a\nb\"]", "[\"a\tb\"]", "[\"\x1F\"]",
      "[\\u0020\"asd\"]", "\"\"x", "[\"a\" \"b\"]",
      // whitespace, markup, several documents
      "[\f1]", "[\x0B]", "[\xC2\xA0]", "\xE2\x81\xA0", "[\xE2\x81\xA0]", "<.>", "[<null>]", "1]", "{}}",
      "[][]", "{} {}", "1 2", "null null", "[1]x", "{\"a\":1}\n{\"b\":2}", "\xEF\xBB\xBF", "\xEF\xBB\xBF{}",
      "\xEF", "\xFF\xFE[\0\"\0"s, "\0"s, "[1]\0"s, "{}\0"s, "1\0"s, "\0{}"s, "[\0]"s, "[\"a\0a\"]"s, "", " ",
      "\n\t\r "};
  for (const std::string& text : texts) refused(text);
}

// HTTP-20
TEST(StrictJson, RejectsInvalidUtf8) {
  const std::vector<std::string> texts{"[\"\xFF\"]",
                                       "[\"\x80\"]",
                                       "[\"\xC0\xAF\"]",
                                       "[\"\xE0\x80\xAF\"]",
                                       "[\"\xFC\x80\x80\x80\x80\xAF\"]",
                                       "[\"\xED\xA0\x80\"]",
                                       "[\"\xED\xBF\xBF\"]",
                                       "[\"\xF4\x90\x80\x80\"]",
                                       "[\"\xE9\"]",
                                       "[\"\xE2\x82\"]",
                                       "[\"a\xC3\"",
                                       "[\xFF]",
                                       "[1\xE5]",
                                       "\xE5"};
  for (const std::string& text : texts) refused(text);
  const JsonError error = refused("{\"name\":\"Ren\xE9\"}");
  EXPECT_EQ(error.code, "invalid_utf8");
  EXPECT_NE(error.message.find("column 14"), std::string::npos) << error.message;
}

// HTTP-20
TEST(StrictJson, RejectsLoneSurrogates) {
  for (const std::string text : {R"(["\uD800"])", R"(["\uDC00"])", R"(["\uD800\uD800"])", R"(["\uDd1ea"])",
                                 R"(["\uDADA"])", R"(["\ud800abc"])", R"(["\uDFAA"])", R"(["\uDd1e\uD834"])",
                                 R"(["\uD888\u1234"])", R"({"\uD800":1})", R"(["\uD800\n"])"}) {
    EXPECT_EQ(refused(text).code, "lone_surrogate") << text;
  }
}

// HTTP-20
TEST(StrictJson, RejectsNulInTextsAndNames) {
  const JsonError in_text = refused(R"({"recipients":[{"message":"a"},{"message":"a\u0000b"}]})");
  EXPECT_EQ(in_text.code, "nul_character");
  EXPECT_NE(in_text.message.find("\"recipients[1].message\""), std::string::npos) << in_text.message;
  EXPECT_EQ(refused(R"({"a\u0000b":1})").code, "nul_character");
  EXPECT_EQ(refused(R"("\u0000")").code, "nul_character");
}

// HTTP-20
TEST(StrictJson, RejectsDuplicateNamesAtEveryLevel) {
  EXPECT_EQ(refused(R"({"a":1,"a":1})").code, "duplicate_key");
  EXPECT_EQ(refused(R"({"a":1,"b":2,"\u0061":3})").code, "duplicate_key") << "equal after unescaping";
  EXPECT_EQ(refused(R"({"":1,"":2})").code, "duplicate_key");
  const JsonError deep = refused(R"({"recipients":[{},{"email":"x","email":"y"}]})");
  EXPECT_EQ(deep.code, "duplicate_key");
  EXPECT_NE(deep.message.find("\"email\""), std::string::npos) << deep.message;
  EXPECT_NE(deep.message.find("\"recipients[1]\""), std::string::npos) << deep.message;
}

TEST(StrictJson, RejectsDuplicateNamesAmongMany) {
  std::string members;
  for (int i = 0; i < 50000; ++i) members += "\"member " + std::to_string(i) + "\":0,";
  accepted("{" + members + "\"last\":0}");
  EXPECT_EQ(refused("{" + members + "\"member 17\":0}").code, "duplicate_key");
}

// HTTP-20
TEST(StrictJson, LimitsTheDepth) {
  const auto lists = [](std::size_t depth, const std::string& inside) {
    return repeated("[", depth) + inside + repeated("]", depth);
  };
  for (const std::string inside : {"", "1", "\"x\""}) {
    accepted(lists(kMaxJsonDepth, inside));
    EXPECT_EQ(refused(lists(kMaxJsonDepth + 1, inside)).code, "too_deep") << inside;
  }
  accepted(lists(kMaxJsonDepth - 1, "{}"));
  EXPECT_EQ(refused(lists(kMaxJsonDepth, "{}")).code, "too_deep");
  EXPECT_EQ(refused(lists(100000, "")).code, "too_deep");
  EXPECT_EQ(refused(repeated("[", 100000)).code, "too_deep");
  EXPECT_EQ(refused(repeated("{\"\":", 100000)).code, "too_deep");
  EXPECT_EQ(refused(repeated("[{\"a\":", 50000)).code, "too_deep");
  EXPECT_NE(refused(repeated("[", 100000)).message.find("64"), std::string::npos);
}

TEST(StrictJson, RejectsNumbersOutOfRange) {
  for (const std::string number :
       {"18446744073709551616", "-9223372036854775809", "123456789012345678901234567890", "1e400", "-1e400",
        "1.5e+9999", "0.4e00669999", "-123123123123123123123123123123"}) {
    EXPECT_EQ(refused("{\"gift_id\":" + number + "}").code, "number_out_of_range") << number;
  }
  refused("[" + repeated("9", 100000) + "]");
  const JsonDocument document = accepted("[9223372036854775808]");
  EXPECT_EQ(document.root().elements()[0].integer(), std::nullopt);
  EXPECT_EQ(document.root().elements()[0].real(), 9223372036854775808.0);
}

TEST(StrictJson, ReportsTheLocation) {
  const JsonError one_line = refused(R"({"gift_id": 7,})");
  EXPECT_EQ(one_line.code, "syntax");
  EXPECT_NE(one_line.message.find("at column 15"), std::string::npos) << one_line.message;
  EXPECT_EQ(one_line.message.find("line"), std::string::npos)
      << "may be a line of a file: " << one_line.message;
  const JsonError several = refused("{\n  \"gift_id\": 7\n  \"recipients\": []\n}");
  EXPECT_NE(several.message.find("line 3, column "), std::string::npos) << several.message;
  EXPECT_EQ(refused("").code, "empty_text");
  EXPECT_EQ(refused(" \n").code, "empty_text");
  EXPECT_EQ(refused("\xEF\xBB\xBF{}").code, "byte_order_mark");
}

TEST(StrictJson, MessagesAreBounded) {
  refused("[\"" + std::string(1 << 20, 'x'));
  refused("[\"" + std::string(1 << 20, 'x') + "\\q\"]");
  refused("{\"" + std::string(1 << 20, 'x') + "\":1,\"" + std::string(1 << 20, 'x') + "\":1}");
  refused("{\"" + std::string(1 << 20, 'x') + "\":{\"" + std::string(1 << 20, 'x') + "\":\"\\u0000\"}}");
}

TEST(StrictJson, LimitsTheLength) {
  EXPECT_EQ(refused(std::string(kMaxJsonBytes + 1, ' ') + "1").code, "too_long");
  EXPECT_EQ(accepted(std::string(1 << 20, ' ') + "1").root().integer(), 1);
}

TEST(StrictJson, LimitsTheNumberOfValues) {
  const auto zeros = [](std::size_t count) { return "[0" + repeated(",0", count - 1) + "]"; };
  accepted(zeros(kMaxJsonValues - 1));  // and the list itself
  const JsonError error = refused(zeros(kMaxJsonValues));
  EXPECT_EQ(error.code, "too_many_values");
  EXPECT_NE(error.message.find("holds 1000001 values; at most 1000000"), std::string::npos) << error.message;
  EXPECT_EQ(refused(repeated("[{", kMaxJsonValues)).code, "too_many_values");
  accepted("[\"" + repeated("\\\",[{", kMaxJsonValues) + "\"]");
}

TEST(StrictJson, ReadsLongLists) {
  constexpr std::size_t kCount = 500000;
  const JsonDocument document = accepted("[0" + repeated(",1", kCount - 1) + "]");
  EXPECT_EQ(document.root().elements().size(), kCount);
  EXPECT_EQ(document.root().elements().back().integer(), 1);
}

TEST(StrictJson, EveryPrefixOfADocumentIsRejected) {
  const std::string whole =
      R"({"gift_id":7,"recipients":[{"email":"a@b.example","message":"caf\u00e9 \ud83d\ude00 )"
      "\xC3\xA9"
      R"(","n":[1.5e3,true,null]}]})";
  for (std::size_t length = 0; length < whole.size(); ++length)
    refused(std::string_view(whole).substr(0, length));
  accepted(whole);
}

}  // namespace
}  // namespace giftsync
