// Literals and identifiers of SOQL: nothing from outside can leave its literal.
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "crm/salesforce/calls/soql.h"

namespace giftsync::salesforce {
namespace {

// ORG-21
TEST(SoqlText, EscapesWhatWouldEndOrChangeTheLiteral) {
  const std::pair<std::string, std::string> kCases[] = {
      {"", "''"},
      {"a@b.c", "'a@b.c'"},
      {"O'Brien", R"('O\'Brien')"},
      {R"(\')", R"('\\\'')"},
      {R"(say "hi")", R"('say \"hi\"')"},
      {"a\nb\rc\td\be\ff", R"('a\nb\rc\td\be\ff')"},
      {"bell\x07 del\x7f", R"('bell\u0007 del\u007F')"},
      {"' OR Name != '", R"('\' OR Name != \'')"},
      {"100%_", "'100%_'"},
      {"x@{name} {y}", R"('x@\u007Bname} {y}')"},
      {"grün 🎁", "'grün 🎁'"},
  };
  for (const auto& [text, literal] : kCases) EXPECT_EQ(text_literal(text), literal) << text;
}

TEST(SoqlText, RefusesWhatNoFieldCanHold) {
  EXPECT_FALSE(text_literal(std::string("a\0b", 3)));
  EXPECT_FALSE(text_literal("\xed\xa0\xbd")) << "a lone surrogate";
  EXPECT_FALSE(text_literal("\xff"));
  EXPECT_TRUE(text_literal(std::string(kMaxLiteralLength, 'x')));
  EXPECT_FALSE(text_literal(std::string(kMaxLiteralLength + 1, 'x')));
}

/// Reads a literal as Salesforce's grammar does; empty when it is none.
std::optional<std::string> read_literal(std::string_view literal) {
  if (literal.size() < 2 || literal.front() != '\'' || literal.back() != '\'') return std::nullopt;
  literal = literal.substr(1, literal.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] == '\'' || static_cast<unsigned char>(literal[i]) < 0x20) return std::nullopt;
    if (literal[i] != '\\') {
      text += literal[i];
      continue;
    }
    if (++i == literal.size()) return std::nullopt;
    constexpr std::string_view kFrom = "nrtbf\\'\"";
    constexpr std::string_view kTo = "\n\r\t\b\f\\'\"";
    if (literal[i] == 'u') {
      text += static_cast<char>(std::stoi(std::string(literal.substr(i + 1, 4)), nullptr, 16));
      i += 4;
    } else if (kFrom.find(literal[i]) != std::string_view::npos) {
      text += kTo[kFrom.find(literal[i])];
    } else {
      return std::nullopt;
    }
  }
  return text;
}

TEST(SoqlText, EveryLiteralReadsBackAsItsText) {
  std::mt19937 random(20261124);
  constexpr std::string_view kAlphabet = "'\"\\\n\r\t\b\f\x01\x1f\x7f%_(){}:a0 ";
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::size_t i = random() % 12; i > 0; --i) text += kAlphabet[random() % kAlphabet.size()];
    const auto literal = text_literal(text);
    ASSERT_TRUE(literal);
    EXPECT_EQ(read_literal(*literal), text);
  }
}

TEST(SoqlText, IdsHave15Or18LettersAndDigits) {
  EXPECT_EQ(id_literal("0035g00000AbCdE"), "'0035g00000AbCdE'");
  EXPECT_EQ(id_literal("0035g00000AbCdEAAV"), "'0035g00000AbCdEAAV'");
  for (const char* text : {"", "0035g00000AbCd", "0035g00000AbCdEA", "0035g00000AbC'E", "0035g00000AbCd ",
                           "0035g00000AbCdEAAVX", "0035g00000Äb", "0035g00000AbCdEAAX"})
    EXPECT_FALSE(id_literal(text)) << text;
}

TEST(SoqlText, ATextIsCutBetweenCharacters) {
  const std::string text = "a\xC3\xA9\xF0\x9F\x8E\x81z";  // 1, 1, 2 and 1 units
  EXPECT_EQ(cut_to_utf16(text, 5), text);
  EXPECT_EQ(cut_to_utf16(text, 4), text.substr(0, 7));
  EXPECT_EQ(cut_to_utf16(text, 3), text.substr(0, 3)) << "no half of a pair";
  EXPECT_EQ(cut_to_utf16(text, 1), "a");
  EXPECT_EQ(cut_to_utf16(text, 0), "");
}

TEST(SoqlText, TimesAreTheSecondTheyLieIn) {
  EXPECT_EQ(time_literal({1'795'341'600'999}), "2026-11-22T10:00:00Z");
  EXPECT_EQ(time_literal({0}), "1970-01-01T00:00:00Z");
}

TEST(SoqlText, IdentifiersAreNamesAndPaths) {
  for (const char* text : {"Id", "ns__Item_Cost__c", "Opportunity.Account.Name", "a.b"})
    EXPECT_TRUE(is_identifier(text)) << text;
  for (const char* text : {"", "1a", "_a", "a.", ".a", "a..b", "a b", "a;b", "COUNT()", "a'b", "é"})
    EXPECT_FALSE(is_identifier(text)) << text;
}

TEST(SoqlText, LengthsCountUtf16Units) {
  EXPECT_EQ(utf16_length("aü€"), 3U);
  EXPECT_EQ(utf16_length("🎁"), 2U);
}

}  // namespace
}  // namespace giftsync::salesforce
