#include "cli/listing.h"

#include <algorithm>
#include <numeric>

#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::cli {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::size_t kMinElastic = 12;

std::string cut_to(const std::string& text, std::size_t width) {
  if (count_code_points(text) <= width) return text;
  return std::string(truncated(text, width - 1)) + "…";
}

/// The slot of the width in a stream.
int width_slot() {
  static const int slot = std::ios_base::xalloc();
  return slot;
}

}  // namespace

void set_line_width(std::ostream& out, long columns) {
  out.iword(width_slot()) = columns;
}

std::string printable(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
  return visible_text(line);
}

std::string minute_text(const std::optional<UtcMillis>& time) {
  return time ? giftsync::minute_text(*time) : "";
}

TextTable::TextTable(std::ostream& out, std::vector<Column> columns)
    : out_(out), columns_(std::move(columns)) {}

void TextTable::add(std::vector<std::string> cells, const std::string& below) {
  for (std::string& cell : cells) cell = printable(cell);
  page_.push_back({std::move(cells), printable(below)});
  if (page_.size() == kPageRows) write_page();
}

void TextTable::finish() {
  if (!page_.empty()) write_page();
}

void TextTable::compute_widths() {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = count_code_points(columns_[c].title);
    for (const Row& row : page_) width = std::max(width, count_code_points(row.cells[c]));
    widths_.push_back(width);
  }
  const auto total = [&] {
    return std::accumulate(widths_.begin(), widths_.end(), kGap.size() * (widths_.size() - 1));
  };
  const auto max_width = static_cast<std::size_t>(out_.iword(width_slot()));
  // Shrink the widest column of a kind first.
  for (const Kind kind : {Kind::elastic, Kind::elastic_last}) {
    while (max_width > 0 && total() > max_width) {
      const std::size_t widest = widest_of(kind);
      if (widest == columns_.size()) break;
      --widths_[widest];
    }
  }
}

/// The widest column of this kind that can still shrink; columns_.size() if there is none.
std::size_t TextTable::widest_of(Kind kind) const {
  std::size_t widest = columns_.size();
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const bool can_shrink = columns_[c].kind == kind && widths_[c] > kMinElastic;
    if (can_shrink && (widest == columns_.size() || widths_[c] > widths_[widest])) widest = c;
  }
  return widest;
}

void TextTable::write_cells(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (c > 0) line += kGap;
    const bool can_shrink = columns_[c].kind == Kind::elastic || columns_[c].kind == Kind::elastic_last;
    const bool is_cut = can_shrink && out_.iword(width_slot()) > 0;
    const std::string cell = is_cut ? cut_to(cells[c], widths_[c]) : cells[c];
    const std::size_t width = count_code_points(cell);
    const std::string padding(width < widths_[c] ? widths_[c] - width : 0, ' ');
    line += columns_[c].kind == Kind::number ? padding + cell : cell + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out_ << line << '\n';
}

void TextTable::write_page() {
  if (widths_.empty()) {
    compute_widths();
    std::vector<std::string> titles;
    for (const Column& column : columns_) titles.emplace_back(column.title);
    write_cells(titles);
  }
  for (const Row& row : page_) {
    write_cells(row.cells);
    if (!row.below.empty()) out_ << "    " << row.below << '\n';
  }
  page_.clear();
}

void JsonArrayWriter::add(const Json& element) {
  out_ << (empty_ ? "[\n  " : ",\n  ") << json_text(element);
  empty_ = false;
}

void JsonArrayWriter::finish() {
  out_ << (empty_ ? "[]\n" : "\n]\n");
}

}  // namespace giftsync::cli
