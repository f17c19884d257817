#include "tests/salesforce/fake_org/soql.h"

#include <algorithm>

#include "platform/text.h"
#include "platform/time.h"
#include "tests/salesforce/fake_org/objects.h"
#include "tests/salesforce/fake_org/soql_tokens.h"

namespace giftsync::tests::fake_org {
namespace {

/// The tokens before the place that a message shows.
constexpr std::size_t kShownTokens = 6;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), tokens_(soql_tokens(text)) {}

  SoqlQuery query() {
    SoqlQuery made;
    made.text = text_;
    expect("SELECT");
    fields(made);
    expect("FROM");
    made.object_at = now().at;
    made.object = word();
    if (take("WHERE")) made.where = conditions();
    if (take("ORDER")) {
      expect("BY");
      do {
        made.order.push_back(order());
      } while (take_sign(","));
    }
    if (take("LIMIT")) made.limit = count();
    if (take("OFFSET")) made.offset = count();
    if (now().kind != SoqlToken::Kind::end) unexpected();
    return made;
  }

 private:
  const SoqlToken& now() const { return tokens_[at_]; }

  [[noreturn]] void unexpected() const {
    const std::string token = now().kind == SoqlToken::Kind::end ? "<EOF>" : now().text;
    throw ApiError(400, "MALFORMED_QUERY", message_at(text_, now().at, "unexpected token: '" + token + "'"));
  }

  bool is_word(std::string_view keyword) const {
    return now().kind == SoqlToken::Kind::word && equal_names(now().text, keyword);
  }
  bool take(std::string_view keyword) {
    if (!is_word(keyword)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view keyword) {
    if (!take(keyword)) unexpected();
  }
  bool take_sign(std::string_view sign) {
    if (now().kind != SoqlToken::Kind::sign || now().text != sign) return false;
    ++at_;
    return true;
  }
  void expect_sign(std::string_view sign) {
    if (!take_sign(sign)) unexpected();
  }

  std::string word() {
    if (now().kind != SoqlToken::Kind::word) unexpected();
    return tokens_[at_++].text;
  }

  std::size_t count() {
    const auto number = parse_number<std::size_t>(now().text);
    if (now().kind != SoqlToken::Kind::number || !number) unexpected();
    ++at_;
    return *number;
  }

  SoqlPath path() {
    SoqlPath made{{}, now().at};
    const std::string text = word();
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('.', begin), text.size());
      made.parts.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return made;
  }

  void fields(SoqlQuery& made) {
    if (is_word("COUNT") && tokens_[at_ + 1].text == "(" && tokens_[at_ + 2].text == ")") {
      at_ += 3;
      made.is_count = true;
      return;
    }
    do {
      made.fields.push_back(path());
    } while (take_sign(","));
  }

  /// AND and OR on one level need parentheses.
  SoqlCondition conditions() {
    SoqlCondition first = condition();
    if (!is_word("AND") && !is_word("OR")) return first;
    const std::string keyword = is_word("AND") ? "AND" : "OR";
    SoqlCondition made{keyword == "AND" ? SoqlCondition::Kind::all : SoqlCondition::Kind::any,
                       {std::move(first)}};
    while (take(keyword)) made.children.push_back(condition());
    if (is_word("AND") || is_word("OR")) unexpected();
    return made;
  }

  SoqlCondition condition() {
    if (take("NOT")) return {SoqlCondition::Kind::negation, {condition()}};
    if (take_sign("(")) {
      SoqlCondition inside = conditions();
      expect_sign(")");
      return inside;
    }
    SoqlCondition made;
    made.path = path();
    made.operation = operation();
    if (made.operation == "IN" || made.operation == "NOT IN") {
      expect_sign("(");
      do {
        made.literals.push_back(literal());
      } while (take_sign(","));
      expect_sign(")");
    } else {
      made.literals.push_back(literal());
    }
    return made;
  }

  std::string operation() {
    if (take("IN")) return "IN";
    if (take("LIKE")) return "LIKE";
    if (take("NOT")) {
      expect("IN");
      return "NOT IN";
    }
    constexpr std::string_view kSigns[] = {"=", "!=", "<", "<=", ">", ">="};
    if (now().kind != SoqlToken::Kind::sign || std::ranges::find(kSigns, now().text) == std::end(kSigns))
      unexpected();
    return tokens_[at_++].text;
  }

  SoqlLiteral literal() {
    const SoqlToken token = now();
    SoqlLiteral made{SoqlLiteral::Kind::text, token.text, token.at};
    if (token.kind == SoqlToken::Kind::number)
      made = number_or_time(token);
    else if (is_word("NULL"))
      made.kind = SoqlLiteral::Kind::null;
    else if (is_word("TRUE") || is_word("FALSE"))
      made = {SoqlLiteral::Kind::checkbox, is_word("TRUE") ? "1" : "0", token.at};
    else if (token.kind != SoqlToken::Kind::text)
      unexpected();
    ++at_;
    return made;
  }

  SoqlLiteral number_or_time(const SoqlToken& token) const {
    if (parse_number<double>(token.text)) return {SoqlLiteral::Kind::number, token.text, token.at};
    if (const auto time = from_rfc3339(token.text))
      return {SoqlLiteral::Kind::date_time, std::to_string(time->value / 1000), token.at};
    if (token.text.size() != 10 || !from_rfc3339(token.text + "T00:00:00Z")) unexpected();
    return {SoqlLiteral::Kind::date, token.text, token.at};
  }

  SoqlOrder order() {
    SoqlOrder made{path()};
    if (take("DESC"))
      made.is_descending = true;
    else
      take("ASC");
    if (take("NULLS")) {
      made.has_nulls_last = take("LAST");
      if (!made.has_nulls_last) expect("FIRST");
    }
    return made;
  }

  std::string_view text_;
  std::vector<SoqlToken> tokens_;
  std::size_t at_ = 0;
};

}  // namespace

SoqlQuery parse_soql(std::string_view text) {
  return Parser(text).query();
}

std::string message_at(std::string_view query, std::size_t at, const std::string& words) {
  const std::vector<SoqlToken> tokens = soql_tokens(query);
  std::size_t index = 0;
  while (index + 1 < tokens.size() && tokens[index].at < at) ++index;
  const std::size_t begin = tokens[index - std::min(index, kShownTokens)].at;
  const std::size_t end = tokens[std::min(index + kShownTokens, tokens.size() - 1)].at;
  const auto row = 1 + std::count(query.begin(), query.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  const std::size_t line = query.rfind('\n', at == 0 ? 0 : at - 1);
  const std::size_t column = line == std::string_view::npos || line >= at ? at + 1 : at - line;
  return "\n" + std::string(query.substr(begin, end - begin)) + "\n" + std::string(at - begin, ' ') +
         "^\nERROR at Row:" + std::to_string(row) + ":Column:" + std::to_string(column) + "\n" + words;
}

}  // namespace giftsync::tests::fake_org
