#include "cli/csv_reader.h"

#include <Poco/StreamConverter.h>
#include <Poco/UTF16Encoding.h>
#include <Poco/UTF8Encoding.h>
#include <csv.h>
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::cli {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr std::string_view kSeparatorLine = "sep=";  // the first line of a file for Excel

bool has_separator_line(std::string_view text) {
  if (text.starts_with('"')) text.remove_prefix(1);
  return text.size() > kSeparatorLine.size() &&
         ascii_lower(text.substr(0, kSeparatorLine.size())) == kSeparatorLine &&
         std::string_view(",;\t|").find(text[kSeparatorLine.size()]) != std::string_view::npos;
}

/// A comma, unless the header has only semicolons or only tabs outside of quotes: no name that a command
/// takes has them.
char separator_of(std::string_view text) {
  if (has_separator_line(text)) return text[text.find('=') + 1];
  bool is_quoted = false;
  std::string found;
  for (const char c : text) {
    if (c == '"') is_quoted = !is_quoted;
    if (is_quoted) continue;
    if (c == '\r' || c == '\n') break;
    if ((c == ',' || c == ';' || c == '\t') && found.find(c) == std::string::npos) found += c;
  }
  return found.size() == 1 ? found.front() : ',';
}

}  // namespace

struct CsvReader::Utf16 {
  Utf16(std::istream& in, Poco::UTF16Encoding::ByteOrderType order)
      : encoding(order), stream(in, encoding, utf8) {}
  Poco::UTF16Encoding encoding;
  Poco::UTF8Encoding utf8;
  Poco::InputStreamConverter stream;
};

/// libcsv's parser calls back for each cell and row: feed it line by line and fetch rows in between.
class CsvReader::Parser {
 public:
  Parser() {
    if (csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) != 0) throw std::bad_alloc();
  }
  ~Parser() { csv_free(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  void set_separator(char separator) { csv_set_delim(&parser_, static_cast<unsigned char>(separator)); }

  /// At most one line. False at a fault.
  bool feed(std::string_view text, std::size_t line) {
    // State 0 is between rows; a quoted cell may contain line ends.
    if (parser_.pstate == 0) {
      row_.line = line;
      row_bytes_ = 0;
    }
    row_bytes_ += text.size();
    return csv_parse(&parser_, text.data(), text.size(), on_cell, on_row, this) == text.size();
  }
  bool finish() { return csv_fini(&parser_, on_cell, on_row, this) == 0; }
  std::optional<CsvRow> pop_row() { return std::exchange(finished_row_, std::nullopt); }
  std::size_t row_line() const { return row_.line; }
  bool row_is_too_long() const { return row_bytes_ > kMaxRowBytes; }
  bool is_out_of_memory() { return csv_error(&parser_) == CSV_ENOMEM; }

 private:
  static void on_cell(void* text, std::size_t size, void* self) {
    static_cast<Parser*>(self)->row_.cells.emplace_back(static_cast<const char*>(text), size);
  }
  static void on_row(int, void* self) {
    Parser& parser = *static_cast<Parser*>(self);
    parser.finished_row_ = CsvRow{parser.row_.line, std::exchange(parser.row_.cells, {})};
  }

  csv_parser parser_{};
  CsvRow row_;  // incomplete
  std::size_t row_bytes_ = 0;
  std::optional<CsvRow> finished_row_;
};

CsvReader::CsvReader(std::istream& in, std::string name)
    : file_(in), in_(&in), name_(std::move(name)), parser_(std::make_unique<Parser>()) {
  begin();
}

/// Reads the first part: what the file says of its encoding and its separator is there.
void CsvReader::begin() {
  const int first = in_->peek();
  if (first == 0xFF || first == 0xFE) {
    utf16_ = std::make_unique<Utf16>(*in_, first == 0xFF ? Poco::UTF16Encoding::LITTLE_ENDIAN_BYTE_ORDER
                                                         : Poco::UTF16Encoding::BIG_ENDIAN_BYTE_ORDER);
    in_ = &utf16_->stream;
  }
  if (!fill()) return;
  while (std::string_view(buffer_).substr(at_).starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
  const std::string_view text =
      std::string_view(buffer_).substr(std::min(buffer_.find_first_not_of("\r\n", at_), buffer_.size()));
  if (text.substr(0, 2).find('\0') != std::string_view::npos)
    set_fault(1, "found UTF-16 without a byte order mark; save the file as \"CSV UTF-8\"");
  names_separator_ = has_separator_line(text);
  parser_->set_separator(separator_of(text));
}

CsvReader::~CsvReader() = default;

void CsvReader::set_fault(std::size_t line, const std::string& what) {
  fault_ = fmt::format("{}:{}: {}", name_, line, what);
}

bool CsvReader::fill() {
  buffer_.resize(kReadBytes);
  in_->read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_.resize(static_cast<std::size_t>(in_->gcount()));
  at_ = 0;
  if (utf16_ && utf16_->stream.errors() > 0)
    set_fault(line_, "begins like UTF-16, but has characters that are none; save the file as \"CSV UTF-8\"");
  return !buffer_.empty();
}

void CsvReader::feed_line() {
  if (buffer_[at_] == '\n' && after_cr_) --line_;  // one line end
  const std::size_t line_end = buffer_.find_first_of("\r\n", at_);
  const std::size_t end = line_end == std::string::npos ? buffer_.size() : line_end + 1;
  const std::string_view text = std::string_view(buffer_).substr(at_, end - at_);
  if (!parser_->feed(text, line_)) {
    if (parser_->is_out_of_memory()) throw std::bad_alloc();
    set_fault(
        line_,
        "found a quotation mark where CSV allows none; put the cell in quotes and double the quotation marks "
        "inside it");
  } else if (parser_->row_is_too_long()) {
    set_fault(parser_->row_line(),
              fmt::format("this row is longer than {} bytes; is a quotation mark not closed?", kMaxRowBytes));
  }
  if (line_end != std::string::npos) ++line_;
  after_cr_ = text.ends_with('\r');
  at_ = end;
}

bool CsvReader::is_row(CsvRow& row) {
  if (std::exchange(names_separator_, false)) return false;
  if (row.cells.size() == 1 && row.cells.front().empty()) return true;  // "" has its quotes
  for (std::string& cell : row.cells) {
    if (const std::string_view text = without_blanks(cell); text != trimmed(cell)) cell = std::string(text);
  }
  const auto is_empty = [](const std::string& cell) { return trimmed(cell).empty(); };
  if (std::all_of(row.cells.begin(), row.cells.end(), is_empty)) return false;
  while (row.cells.size() > columns_ && is_empty(row.cells.back())) row.cells.pop_back();
  if (columns_ == 0) columns_ = row.cells.size();
  return true;
}

std::optional<CsvRow> CsvReader::next() {
  while (fault_.empty() && !ended_) {
    if (at_ < buffer_.size() || fill()) {
      feed_line();
    } else {
      ended_ = true;
      if (in_->bad() || file_.bad())
        set_fault(line_, "the file cannot be read further");
      else if (!parser_->finish())
        set_fault(parser_->row_line(), "this row opens a quotation mark that is never closed");
    }
    if (auto row = parser_->pop_row(); row && fault_.empty() && is_row(*row)) return row;
  }
  return std::nullopt;
}

CsvHeader read_csv_header(const std::vector<std::string>& cells, const std::vector<std::string>& required,
                          const std::vector<std::string>& optional) {
  CsvHeader header;
  std::vector<std::string> known = required;
  known.insert(known.end(), optional.begin(), optional.end());
  for (const std::string& written : cells) {
    const std::string column = ascii_lower(trimmed(written));
    if (std::find(known.begin(), known.end(), column) == known.end()) {
      const std::string nearest = suggestion_for(column, known);
      header.faults.push_back(fmt::format("found a column {}{}; allowed: {}", in_quotes(written),
                                          nearest.empty() ? "" : "; did you mean " + nearest + "?",
                                          fmt::join(known, ", ")));
    } else if (!header.column_at.emplace(column, header.columns).second) {
      header.faults.push_back(fmt::format("found the column {} twice; allowed: once", column));
    }
    ++header.columns;
  }
  for (const std::string& column : required) {
    if (!header.column_at.contains(column))
      header.faults.push_back(fmt::format("{}: found no such column; it is required", column));
  }
  return header;
}

std::optional<std::string> CsvHeader::row_fault(const std::vector<std::string>& cells) const {
  if (cells.size() == columns) return std::nullopt;
  return fmt::format("found {} cells; allowed: {}, as in the header", cells.size(), columns);
}

std::string CsvHeader::cell(const std::vector<std::string>& cells, const std::string& column) const {
  const auto at = column_at.find(column);
  return at == column_at.end() ? std::string() : std::string(trimmed(cells[at->second]));
}

}  // namespace giftsync::cli
