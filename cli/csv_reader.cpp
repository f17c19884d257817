#include "cli/csv_reader.h"

#include <csv.h>
#include <fmt/format.h>

#include <new>
#include <utility>

namespace giftsync::cli {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

/// libcsv's parser calls back for each cell and row: feed it line by line and fetch rows in between.
class CsvReader::Parser {
 public:
  Parser() {
    if (csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) != 0) throw std::bad_alloc();
  }
  ~Parser() { csv_free(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  /// At most one line. False at a fault.
  bool feed(std::string_view text, std::size_t line) {
    // State 0 is between rows; a quoted cell may contain line ends.
    if (parser_.pstate == 0) row_.line = line;
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
    parser.row_bytes_ = 0;
  }

  csv_parser parser_{};
  CsvRow row_;  // incomplete
  std::size_t row_bytes_ = 0;
  std::optional<CsvRow> finished_row_;
};

CsvReader::CsvReader(std::istream& in, std::string name)
    : in_(in), name_(std::move(name)), parser_(std::make_unique<Parser>()) {
  if (fill() && buffer_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
}

CsvReader::~CsvReader() = default;

void CsvReader::set_fault(std::size_t line, const std::string& what) {
  fault_ = fmt::format("{}:{}: {}", name_, line, what);
}

bool CsvReader::fill() {
  buffer_.resize(kReadBytes);
  in_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_.resize(static_cast<std::size_t>(in_.gcount()));
  at_ = 0;
  return !buffer_.empty();
}

void CsvReader::feed_line() {
  const std::size_t newline = buffer_.find('\n', at_);
  const std::size_t end = newline == std::string::npos ? buffer_.size() : newline + 1;
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
  if (newline != std::string::npos) ++line_;
  at_ = end;
}

std::optional<CsvRow> CsvReader::next() {
  while (fault_.empty() && !ended_) {
    if (at_ < buffer_.size() || fill()) {
      feed_line();
    } else {
      ended_ = true;
      if (in_.bad())
        set_fault(line_, "the file cannot be read further");
      else if (!parser_->finish())
        set_fault(parser_->row_line(), "this row opens a quotation mark that is never closed");
    }
    if (auto row = parser_->pop_row(); row && fault_.empty()) return row;
  }
  return std::nullopt;
}

}  // namespace giftsync::cli
