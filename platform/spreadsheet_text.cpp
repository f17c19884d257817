#include "platform/spreadsheet_text.h"

#include <algorithm>
#include <array>
#include <regex>

#include "platform/visible_text.h"

namespace giftsync {
namespace {

constexpr std::array<std::string_view, 24> kBlanks{
    " ",      "\t",     "\r",     "\n",     "\v",     "\f",     "\u0085", "\u00A0",
    "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
    "\u2007", "\u2008", "\u2009", "\u200A", "\u2028", "\u202F", "\u205F", "\u3000"};

/// In English, German, French, Spanish, Italian and Portuguese.
constexpr std::array<std::string_view, 35> kFormulaErrors{
    "#N/A",          "#REF!",  "#VALUE!",  "#NAME?",      "#DIV/0!",       "#NULL!",         "#NUM!",
    "#SPILL!",       "#CALC!", "#FIELD!",  "#BUSY!",      "#CONNECT!",     "#BLOCKED!",      "#UNKNOWN!",
    "#ERROR!",       "#NV",    "#BEZUG!",  "#WERT!",      "#ZAHL!",        "#VALEUR!",       "#NOM?",
    "#NOMBRE!",      "#NUL!",  "#N/D",     "#\u00A1REF!", "#\u00A1VALOR!", "#\u00BFNOMBRE?", "#\u00A1NUM!",
    "#\u00A1DIV/0!", "#RIF!",  "#VALORE!", "#VALOR!",     "#NOME?",        "#N\u00DAM!",     "#GETTING_DATA"};

}  // namespace

std::string_view without_blanks(std::string_view text) {
  const auto is_no_blank = [](char c) { return c > ' ' && c < '\x7F'; };
  if (!text.empty() && is_no_blank(text.front()) && is_no_blank(text.back())) return text;
  for (std::size_t before = 0; before != text.size();) {
    before = text.size();
    for (const std::string_view blank : kBlanks) {
      if (text.starts_with(blank)) text.remove_prefix(blank.size());
      if (text.ends_with(blank)) text.remove_suffix(blank.size());
    }
  }
  return text;
}

std::optional<std::string_view> formula_error(std::string_view cell) {
  if (cell.find('#') == std::string_view::npos) return std::nullopt;
  cell = without_blanks(cell);
  const bool is_too_narrow = cell.size() >= 3 && cell.find_first_not_of('#') == std::string_view::npos;
  if (is_too_narrow)
    return "which a spreadsheet writes for a column that is too narrow; widen it and save again";
  if (std::find(kFormulaErrors.begin(), kFormulaErrors.end(), cell) == kFormulaErrors.end())
    return std::nullopt;
  return "which a spreadsheet writes for a formula without a result; correct or empty the cell";
}

std::optional<std::string_view> rounded_number(std::string_view cell) {
  static const std::regex kForm("-?[0-9]([.,][0-9]+)?[eE][+][0-9]{2,}");
  cell = without_blanks(cell);
  if (cell.find('+') == std::string_view::npos || !std::regex_match(cell.begin(), cell.end(), kForm))
    return std::nullopt;
  return "to which a spreadsheet has rounded a number; export it again, and import the column as text before "
         "a spreadsheet saves it";
}

bool has_day_month_order(std::string_view cell) {
  static const std::regex kForm("[0-9]{1,2}([./-])[0-9]{1,2}\\1[0-9]{2,4}([ ,T].*)?");
  cell = without_blanks(cell);
  return std::regex_match(cell.begin(), cell.end(), kForm);
}

namespace {

/// Starts of formulas; the full-width forms are those of Japanese spreadsheets.
constexpr std::array<std::string_view, 8> kFormulaStarts{"=",      "+",      "-",      "@",
                                                         "\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"};

/// A spreadsheet would run the text as a formula, which can send other cells to a foreign server. It skips
/// blanks and what cannot be seen before it.
bool looks_like_formula(std::string_view text) {
  for (std::size_t before = 0; before != text.size();) {
    before = text.size();
    text = without_leading_invisible(without_blanks(text));
  }
  return std::any_of(kFormulaStarts.begin(), kFormulaStarts.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

/// An apostrophe makes a cell a text, also where a spreadsheet that separates by semicolons begins a cell.
std::string without_formulas(std::string_view text) {
  std::string safe;
  for (;;) {
    const std::size_t end = std::min(text.find(';'), text.size());
    safe.append(looks_like_formula(text.substr(0, end)) ? "'" : "").append(text.substr(0, end));
    if (end == text.size()) return safe;
    safe += ';';
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string csv_cell(std::string_view text) {
  std::string cell = visible_text(without_formulas(text), "\t\r\n");
  if (cell.find_first_of(",;\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

}  // namespace giftsync
