#include "tests/salesforce/fake_org/formula.h"

#include <cctype>

#include "platform/text.h"

namespace giftsync::tests::fake_org {
namespace {

struct Function {
  const char* name;
  std::size_t least;
  std::size_t most;
};
constexpr std::size_t kAny = 100;
constexpr Function kFunctions[] = {{"AND", 1, kAny},  {"OR", 1, kAny},      {"NOT", 1, 1},
                                   {"ISNEW", 0, 0},   {"ISCHANGED", 1, 1},  {"PRIORVALUE", 1, 1},
                                   {"ISBLANK", 1, 1}, {"BLANKVALUE", 2, 2}, {"ISPICKVAL", 2, 2},
                                   {"TRUE", 0, 0},    {"FALSE", 0, 0}};

class Parser {
 public:
  Parser(std::string_view text, const Object& object) : text_(text), object_(object) {}

  Formula whole() {
    Formula formula = comparison();
    skip();
    if (at_ < text_.size()) fail("Syntax error. Extra '" + std::string(text_.substr(at_)) + "'");
    return formula;
  }

 private:
  [[noreturn]] void fail(const std::string& words) const {
    throw FormulaError(words + " in: " + std::string(text_));
  }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  bool take(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  Formula comparison() {
    Formula left = operand();
    for (const char* name : {"<=", ">=", "<>", "!=", "==", "<", ">", "="}) {
      if (!take(name)) continue;
      const std::string operation = name == std::string_view("!=")   ? "<>"
                                    : name == std::string_view("==") ? "="
                                                                     : name;
      return {Formula::Kind::comparison, operation, 0, {std::move(left), operand()}};
    }
    return left;
  }

  Formula operand() {
    skip();
    if (at_ >= text_.size()) fail("Syntax error. Missing value");
    const char next = text_[at_];
    if (take("(")) {
      Formula inside = comparison();
      if (!take(")")) fail("Syntax error. Missing ')'");
      return inside;
    }
    if (next == '"' || next == '\'') return text_literal(next);
    if (std::isdigit(static_cast<unsigned char>(next)) != 0 || next == '-') return number_literal();
    return name_or_call();
  }

  Formula text_literal(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("Syntax error. Missing quote");
    Formula literal{Formula::Kind::text, std::string(text_.substr(at_ + 1, end - at_ - 1)), 0, {}};
    at_ = end + 1;
    return literal;
  }

  Formula number_literal() {
    const std::size_t end = text_.find_first_not_of("0123456789.-", at_);
    const auto number = parse_number<double>(text_.substr(at_, end - at_));
    if (!number) fail("Syntax error. No number");
    at_ = end == std::string_view::npos ? text_.size() : end;
    return {Formula::Kind::number, {}, *number, {}};
  }

  Formula name_or_call() {
    std::size_t end = at_;
    while (end < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_'))
      ++end;
    const std::string name(text_.substr(at_, end - at_));
    if (name.empty()) fail("Syntax error. Found '" + std::string(text_.substr(at_, 1)) + "'");
    at_ = end;
    std::string upper = name;
    for (char& letter : upper) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    if (take("(")) return call(upper);
    if (upper == "TRUE" || upper == "FALSE") return {Formula::Kind::call, upper, 0, {}};
    const Field* field = object_.find(name);
    if (field == nullptr) fail("Field " + name + " does not exist. Check spelling.");
    return {Formula::Kind::field, field->name, 0, {}};
  }

  Formula call(const std::string& name) {
    Formula formula{Formula::Kind::call, name, 0, {}};
    if (!take(")")) {
      do {
        formula.arguments.push_back(comparison());
      } while (take(","));
      if (!take(")")) fail("Syntax error. Missing ')'");
    }
    check(formula);
    return formula;
  }

  void check(const Formula& formula) const {
    for (const Function& function : kFunctions) {
      if (formula.name != function.name) continue;
      if (formula.arguments.size() < function.least || formula.arguments.size() > function.most)
        fail("Incorrect number of parameters for function '" + formula.name + "()'");
      const bool needs_field = formula.name == "ISCHANGED" || formula.name == "PRIORVALUE";
      if (needs_field && formula.arguments[0].kind != Formula::Kind::field)
        fail("The function " + formula.name + " accepts a field only");
      check_picklists(formula);
      return;
    }
    fail("Unknown function " + formula.name + ". Check spelling.");
  }

  /// A picklist is compared by ISPICKVAL only.
  void check_picklists(const Formula& formula) const {
    if (formula.name != "ISPICKVAL") return;
    const Formula& first = formula.arguments[0];
    const Formula& field =
        first.name == "PRIORVALUE" && !first.arguments.empty() ? first.arguments[0] : first;
    const Field* found = field.kind == Formula::Kind::field ? object_.find(field.name) : nullptr;
    if (found == nullptr || found->kind != fake_org::Kind::picklist)
      fail("ISPICKVAL accepts a picklist only");
    if (formula.arguments[1].kind != Formula::Kind::text) fail("ISPICKVAL accepts a text only");
  }

  std::string_view text_;
  const Object& object_;
  std::size_t at_ = 0;
};

bool is_blank(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return std::holds_alternative<std::monostate>(value) || (text != nullptr && text->empty());
}

Value value_in(const Values& record, const std::string& field) {
  const auto found = record.find(field);
  return found == record.end() ? Value() : found->second;
}

/// An order with a blank is never true; equality tells blank from everything else.
bool compares(const std::string& operation, const Value& left, const Value& right) {
  const bool has_blank = is_blank(left) || is_blank(right);
  if (operation == "=") return has_blank ? is_blank(left) == is_blank(right) : left == right;
  if (operation == "<>") return !compares("=", left, right);
  if (has_blank || left.index() != right.index()) return false;
  if (operation == "<") return left < right;
  if (operation == "<=") return left <= right;
  if (operation == ">") return left > right;
  return left >= right;
}

class Evaluation {
 public:
  explicit Evaluation(const RecordChange& change) : change_(change) {}

  Value of(const Formula& formula) const {
    switch (formula.kind) {
      case Formula::Kind::text:
        return formula.name;
      case Formula::Kind::number:
        return formula.number;
      case Formula::Kind::field:
        return value_in(change_.now, formula.name);
      case Formula::Kind::comparison:
        return compares(formula.name, of(formula.arguments[0]), of(formula.arguments[1]));
      case Formula::Kind::call:
        return call(formula);
    }
    return {};
  }

  bool is_true(const Formula& formula) const {
    const Value value = of(formula);
    const auto* yes = std::get_if<bool>(&value);
    return yes != nullptr && *yes;
  }

 private:
  Value call(const Formula& formula) const {
    const std::vector<Formula>& arguments = formula.arguments;
    if (formula.name == "AND" || formula.name == "OR") {
      const bool stop_at = formula.name == "OR";
      for (const Formula& argument : arguments) {
        if (is_true(argument) == stop_at) return stop_at;
      }
      return !stop_at;
    }
    if (formula.name == "NOT") return !is_true(arguments[0]);
    if (formula.name == "TRUE" || formula.name == "FALSE") return formula.name == "TRUE";
    if (formula.name == "ISNEW") return change_.before == nullptr;
    if (formula.name == "ISCHANGED") return is_changed(arguments[0].name);
    if (formula.name == "PRIORVALUE") return prior(arguments[0].name);
    if (formula.name == "ISBLANK") return is_blank(of(arguments[0]));
    if (formula.name == "ISPICKVAL") return compares("=", of(arguments[0]), of(arguments[1]));
    Value value = of(arguments[0]);
    return is_blank(value) ? of(arguments[1]) : value;
  }

  /// Never of a new record.
  bool is_changed(const std::string& field) const {
    return change_.before != nullptr && !compares("=", value_in(change_.now, field), prior(field));
  }

  /// The value itself for a new record.
  Value prior(const std::string& field) const {
    return value_in(change_.before == nullptr ? change_.now : *change_.before, field);
  }

  const RecordChange& change_;
};

std::string joined_sql(const Formula& formula, const Object& object, std::string_view alias) {
  std::string text = "(";
  for (const Formula& argument : formula.arguments) {
    if (text.size() > 1) text += " " + formula.name + " ";
    text += formula_sql(argument, object, alias);
  }
  return text + ")";
}

}  // namespace

Formula parse_formula(std::string_view text, const Object& object) {
  return Parser(text, object).whole();
}

bool is_true(const Formula& formula, const RecordChange& change) {
  return Evaluation(change).is_true(formula);
}

std::string formula_sql(const Formula& formula, const Object& object, std::string_view alias) {
  if (formula.kind == Formula::Kind::field) {
    const Field& field = *object.find(formula.name);
    const std::string column = std::string(alias) + "." + field.column;
    return field.kind == Kind::date_time ? "CAST(strftime('%s'," + column + ") AS INTEGER)" : column;
  }
  if (formula.kind == Formula::Kind::comparison)
    return "(" + formula_sql(formula.arguments[0], object, alias) + " " + formula.name + " " +
           formula_sql(formula.arguments[1], object, alias) + ")";
  if (formula.name == "AND" || formula.name == "OR") return joined_sql(formula, object, alias);
  if (formula.name == "NOT") return "NOT " + formula_sql(formula.arguments[0], object, alias);
  if (formula.name == "ISBLANK")
    return "(coalesce(" + formula_sql(formula.arguments[0], object, alias) + ",'')='')";
  throw FormulaError("a formula field cannot have " + formula.name);
}

}  // namespace giftsync::tests::fake_org
