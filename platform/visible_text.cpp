#include "platform/visible_text.h"

#include <fmt/format.h>
#include <utf8.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "platform/text.h"

namespace giftsync {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, char32_t code_point) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

/// What no name needs: it ends the line, controls a terminal, or turns the order of what follows.
constexpr std::array<Range, 5> kNeverInNames{
    {{0x00, 0x1F}, {0x7F, 0x9F}, {0x2028, 0x2029}, {0x202A, 0x202E}, {0x2066, 0x2069}}};

/// Further characters without a shape of their own, or with an empty one: fillers, the blank Braille pattern
/// and variation selectors too.
constexpr std::array<Range, 17> kUnseen{{{0x00AD, 0x00AD},
                                         {0x034F, 0x034F},
                                         {0x061C, 0x061C},
                                         {0x115F, 0x1160},
                                         {0x17B4, 0x17B5},
                                         {0x180E, 0x180E},
                                         {0x200B, 0x200F},
                                         {0x2060, 0x206F},
                                         {0x2800, 0x2800},
                                         {0x3164, 0x3164},
                                         {0xFE00, 0xFE0F},
                                         {0xFEFF, 0xFEFF},
                                         {0xFFA0, 0xFFA0},
                                         {0xFFF9, 0xFFFB},
                                         {0x1D173, 0x1D17A},
                                         {0xE0000, 0xE007F},
                                         {0xE0100, 0xE01EF}}};

/// The code point at `at`, which moves behind it; nullopt, and one byte further, for a byte that is not
/// UTF-8.
std::optional<char32_t> next_code_point(std::string_view::iterator& at, std::string_view::iterator end) {
  try {
    return utf8::next(at, end);
  } catch (const utf8::exception&) {
    ++at;
    return std::nullopt;
  }
}

void append_escaped(std::string& shown, char32_t code_point) {
  if (code_point == '\n')
    shown += "\\n";
  else if (code_point < 0x80)
    fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<unsigned>(code_point));
  else
    fmt::format_to(std::back_inserter(shown), "\\u{{{:x}}}", static_cast<unsigned>(code_point));
}

void append_json_escape(std::string& json, char32_t code_point) {
  const auto add = [&](unsigned unit) { fmt::format_to(std::back_inserter(json), "\\u{:04x}", unit); };
  if (code_point < 0x10000) return add(static_cast<unsigned>(code_point));
  const auto above = static_cast<unsigned>(code_point) - 0x10000;
  add(0xD800 + (above >> 10));
  add(0xDC00 + (above & 0x3FF));
}

bool is_printable_ascii(char c) {
  return c >= ' ' && c <= '~';
}

}  // namespace

bool is_invisible(char32_t code_point) {
  return is_in(kNeverInNames, code_point) || is_in(kUnseen, code_point);
}

std::string visible_text(std::string_view text, std::string_view kept) {
  if (std::all_of(text.begin(), text.end(), is_printable_ascii)) return std::string(text);
  std::string shown;
  for (auto at = text.begin(); at != text.end();) {
    const auto begin = at;
    const std::optional<char32_t> code_point = next_code_point(at, text.end());
    if (!code_point)
      fmt::format_to(std::back_inserter(shown), "\\x{:02x}", static_cast<unsigned char>(*begin));
    else if (is_invisible(*code_point) && kept.find(*begin) == std::string_view::npos)
      append_escaped(shown, *code_point);
    else
      shown.append(begin, at);
  }
  return shown;
}

std::string visible_json(std::string_view json) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x7F; };
  if (std::all_of(json.begin(), json.end(), is_ascii)) return std::string(json);
  std::string shown;
  for (auto at = json.begin(); at != json.end();) {
    const auto begin = at;
    const std::optional<char32_t> code_point = next_code_point(at, json.end());
    if (code_point && *code_point >= 0x7F && is_invisible(*code_point))
      append_json_escape(shown, *code_point);
    else
      shown.append(begin, at);
  }
  return shown;
}

bool is_plain_line(std::string_view text) {
  if (!is_storable_text(text)) return false;
  for (auto at = text.begin(); at != text.end();) {
    if (is_in(kNeverInNames, utf8::unchecked::next(at))) return false;
  }
  return true;
}

std::string_view without_leading_invisible(std::string_view text) {
  auto at = text.begin();
  while (at != text.end()) {
    auto next = at;
    const std::optional<char32_t> code_point = next_code_point(next, text.end());
    if (!code_point || !is_invisible(*code_point)) break;
    at = next;
  }
  return text.substr(static_cast<std::size_t>(at - text.begin()));
}

namespace {

constexpr std::size_t kShownCodePoints = 80;

constexpr const char* kRedacted = "********";

/// User, password and query of a URL may be secrets.
std::string without_url_secrets(std::string_view text) {
  const std::size_t scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) return std::string(text);
  const std::size_t at = text.rfind('@');
  const bool has_user = at != std::string_view::npos && at > scheme_end;
  const std::size_t host = has_user ? at : scheme_end + 3;
  const std::size_t query = text.find('?', host);
  const bool has_query = query != std::string_view::npos && query + 1 < text.size();
  return std::string(text.substr(0, scheme_end + 3)) + (has_user ? kRedacted : "") +
         std::string(text.substr(host, has_query ? query + 1 - host : text.size())) +
         (has_query ? kRedacted : "");
}

}  // namespace

std::string in_quotes(std::string_view text) {
  const std::string safe = without_url_secrets(text);
  const std::string_view shown = truncated(safe, kShownCodePoints);
  std::string escaped;
  for (const char c : shown) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return "\"" + visible_text(escaped) + (shown.size() < safe.size() ? "...\"" : "\"");
}

std::string shell_word(std::string_view text) {
  const auto is_plain = [](char c) {
    return is_ascii_letter_or_digit(c) || std::string_view("@%_-+=:,./").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) c == '\'' ? word.append("'\\''") : word.append(1, c);
  return word + "'";
}

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

/// Removes the digits at the beginning and returns their number.
std::size_t consume_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(count);
  return count;
}

/// Removes the first character if it is one of `characters`, and returns it; else NUL.
char consume(std::string_view& text, std::string_view characters) {
  if (text.empty() || characters.find(text.front()) == std::string_view::npos) return '\0';
  const char taken = text.front();
  text.remove_prefix(1);
  return taken;
}

/// -2.06555E+09: a single digit before the decimals.
bool has_exponent_form(std::string_view cell) {
  consume(cell, "-");
  if (consume_digits(cell) != 1) return false;
  if (consume(cell, ".,") != '\0' && consume_digits(cell) == 0) return false;
  if (consume(cell, "eE") == '\0' || consume(cell, "+") == '\0') return false;
  return consume_digits(cell) >= 2 && cell.empty();
}

/// A number of one or two digits.
bool consume_day_or_month(std::string_view& text) {
  const std::size_t digits = consume_digits(text);
  return digits == 1 || digits == 2;
}

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
  if (!has_exponent_form(without_blanks(cell))) return std::nullopt;
  return "to which a spreadsheet has rounded a number; export it again, and import the column as text before "
         "a spreadsheet saves it";
}

bool has_day_month_order(std::string_view cell) {
  cell = without_blanks(cell);
  if (!consume_day_or_month(cell)) return false;
  const char separator = consume(cell, "./-");
  if (separator == '\0' || !consume_day_or_month(cell) || !cell.starts_with(separator)) return false;
  cell.remove_prefix(1);
  const std::size_t digits = consume_digits(cell);
  if (digits < 2 || digits > 4) return false;
  return cell.empty() ||
         (consume(cell, " ,T") != '\0' && cell.find_first_of("\r\n") == std::string_view::npos);
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
