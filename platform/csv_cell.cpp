#include "platform/csv_cell.h"

#include <algorithm>
#include <array>

#include "platform/spreadsheet_text.h"
#include "platform/visible_text.h"

namespace giftsync::platform {
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

}  // namespace giftsync::platform
