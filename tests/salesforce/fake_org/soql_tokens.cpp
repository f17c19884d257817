#include "tests/salesforce/fake_org/soql_tokens.h"

#include <cctype>
#include <cstdint>

#include "tests/salesforce/fake_org/api_error.h"

namespace giftsync::tests::fake_org {
namespace {

constexpr std::size_t kLongestQuery = 100'000;
constexpr std::size_t kLongestLiteral = 4'000;

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

[[noreturn]] void malformed(const std::string& words) {
  throw ApiError(400, "MALFORMED_QUERY", words);
}

void append_utf8(std::string& text, std::uint32_t point) {
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xC0 | (point >> 6));
    text += static_cast<char>(0x80 | (point & 0x3F));
  } else {
    text += static_cast<char>(0xE0 | (point >> 12));
    text += static_cast<char>(0x80 | ((point >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (point & 0x3F));
  }
}

class Reader {
 public:
  explicit Reader(std::string_view query) : query_(query) {}

  SoqlToken next() {
    while (at_ < query_.size() && std::isspace(static_cast<unsigned char>(query_[at_])) != 0) ++at_;
    const std::size_t begin = at_;
    if (at_ == query_.size()) return {SoqlToken::Kind::end, {}, begin};
    const char first = query_[at_];
    if (first == '\'') return {SoqlToken::Kind::text, literal(), begin};
    if (std::isdigit(static_cast<unsigned char>(first)) != 0 || first == '-' || first == '+')
      return {SoqlToken::Kind::number,
              take_while([](char c) { return is_word_character(c) || c == '-' || c == '+' || c == ':'; }),
              begin};
    if (is_word_character(first)) return {SoqlToken::Kind::word, take_while(is_word_character), begin};
    return {SoqlToken::Kind::sign, sign(), begin};
  }

 private:
  template <class Condition>
  std::string take_while(Condition condition) {
    const std::size_t begin = at_;
    while (at_ < query_.size() && condition(query_[at_])) ++at_;
    return std::string(query_.substr(begin, at_ - begin));
  }

  std::string sign() {
    for (const std::string_view two : {"!=", "<>", "<=", ">="}) {
      if (!query_.substr(at_).starts_with(two)) continue;
      at_ += two.size();
      return two == "<>" ? "!=" : std::string(two);
    }
    return std::string(1, query_[at_++]);
  }

  std::string literal() {
    std::string text;
    const std::size_t begin = ++at_;
    while (at_ < query_.size() && query_[at_] != '\'') {
      if (query_[at_] == '\n' || query_[at_] == '\r') malformed("line breaks not allowed in string literals");
      if (query_[at_] == '\\')
        escape(text);
      else
        text += query_[at_++];
    }
    if (at_ == query_.size()) malformed("unexpected token: '<EOF>'");
    if (at_ - begin > kLongestLiteral) malformed("string literal is longer than 4000 characters");
    ++at_;
    return text;
  }

  void escape(std::string& text) {
    const char kind = at_ + 1 < query_.size() ? query_[at_ + 1] : '\0';
    constexpr std::string_view kNames = "'\"\\nNrRtTbBfF";
    constexpr std::string_view kMeanings = "'\"\\\n\n\r\r\t\t\b\b\f\f";
    at_ += 2;
    if (const std::size_t found = kNames.find(kind); kind != '\0' && found != std::string_view::npos)
      text += kMeanings[found];
    else if (kind == 'u' || kind == 'U')
      append_utf8(text, code_point());
    else if (kind == '_' || kind == '%')
      text += std::string("\\") + kind;  // for LIKE
    else
      malformed(std::string("Illegal character sequence '\\") + kind + "' in string literal");
  }

  std::uint32_t code_point() {
    std::uint32_t point = 0;
    for (int digit = 0; digit < 4; ++digit, ++at_) {
      const char c = at_ < query_.size() ? query_[at_] : '\0';
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0)
        malformed("Illegal character sequence '\\u' in string literal");
      const int value = std::isdigit(static_cast<unsigned char>(c)) != 0 ? c - '0' : (c | 0x20) - 'a' + 10;
      point = point * 16 + static_cast<std::uint32_t>(value);
    }
    return point;
  }

  std::string_view query_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<SoqlToken> soql_tokens(std::string_view query) {
  if (query.size() > kLongestQuery) malformed("SOQL statements cannot be longer than 100000 characters.");
  Reader reader(query);
  std::vector<SoqlToken> tokens;
  do {
    tokens.push_back(reader.next());
  } while (tokens.back().kind != SoqlToken::Kind::end);
  return tokens;
}

}  // namespace giftsync::tests::fake_org
