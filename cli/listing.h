// cli: a listing: a text table, or with --json an array. Rows are read page by page and printed as they come,
// so that memory holds one page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/console.h"
#include "daemon/exports/export_values.h"
#include "platform/json.h"
#include "platform/time.h"
#include "schema/money.h"
#include "schema/record_fields.h"

namespace giftsync::cli {

// A text table: columns aligned by code points, cut to the width of the terminal; nothing is cut in a
// pipe or a file. It is written page by page, so that memory holds one page; the first page determines the
// widths.

/// The text on one line: white space as blanks, invisible characters escaped (platform/visible_text.h), so
/// that stored text cannot control the terminal.
std::string printable(std::string_view text);

/// "2026-11-21 12:31" in UTC; empty for no time.
std::string minute_text(const std::optional<UtcMillis>& time);

/// Sets the maximum width of tables on this stream; 0 (the default) means unlimited.
void set_line_width(std::ostream& out, long columns);

class TextTable {
 public:
  static constexpr std::size_t kPageRows = 200;

  enum class Kind {
    whole,        ///< never cut: ids, words
    number,       ///< never cut, right-aligned
    elastic,      ///< cut with "…" if the table is too wide
    elastic_last  ///< cut after the elastic columns
  };
  struct Column {
    std::string_view title;  ///< outlives the table
    Kind kind = Kind::whole;
  };
  struct Row {
    std::vector<std::string> cells;  ///< one per column
    std::string below = {};          ///< printed uncut and indented under the row, unless empty
  };

  TextTable(std::ostream& out, std::vector<Column> columns);
  /// One cell per column. A non-empty `below` is printed uncut and indented under the row.
  void add(std::vector<std::string> cells, const std::string& below = {});
  /// Writes the remaining rows. A table without rows writes nothing, not even its titles.
  void finish();

 private:
  void write_page();
  void compute_widths();
  std::size_t widest_of(Kind kind) const;
  void write_cells(const std::vector<std::string>& cells);

  std::ostream& out_;
  const std::vector<Column> columns_;
  std::vector<std::size_t> widths_;  // empty until the first page
  std::vector<Row> page_;
};

// --json output: an array written element by element, one per line, so that memory holds one element.

using exports::add_currency;
using exports::json_amount;
using exports::json_text;
using exports::json_time;
using exports::text_or_null;

class JsonArrayWriter {
 public:
  explicit JsonArrayWriter(std::ostream& out) : out_(out) {}
  void add(const Json& element);
  void finish();

 private:
  std::ostream& out_;
  bool empty_ = true;
};

/// One record of a listing, described once: with --json its values become the members of an object, else the
/// cells of a row, both in the order of the calls.
class ListedRow {
 public:
  using Kind = TextTable::Kind;
  using Title = TextTable::Column;

  explicit ListedRow(bool is_json) : is_json_(is_json) {}

  void add(const char* key, Title title, std::string_view text) {
    is_json_ ? add_json(key, text) : add_cell(title, std::string(text));
  }
  void add(const char* key, Title title, std::int64_t number) {
    is_json_ ? add_json(key, number) : add_cell(title, std::to_string(number));
  }
  /// Null or empty without a time or an amount.
  void add(const char* key, Title title, std::optional<UtcMillis> time) {
    is_json_ ? add_json(key, json_time(time)) : add_cell(title, minute_text(time));
  }
  void add(const char* key, Title title, std::optional<Money> amount) {
    is_json_ ? add_json(key, json_amount(amount)) : add_cell(title, to_decimal(amount));
  }
  /// With --json another value than in the table.
  void add(const char* key, Title title, Json value, std::string text) {
    add_json(key, std::move(value));
    add_cell(title, std::move(text));
  }
  void add_json(const char* key, Json value) {
    if (is_json_) json_[key] = std::move(value);
  }
  /// Of the amounts, for --json alone; nothing when it is empty.
  void add_currency(const std::string& currency) {
    if (is_json_) exports::add_currency(json_, currency);
  }
  void add_cell(Title title, std::string text) {
    if (is_json_) return;
    titles_.push_back(title);
    row_.cells.push_back(std::move(text));
  }
  /// For values that cost time and that only this output, or only the table, has.
  bool is_json() const { return is_json_; }
  /// The whole object.
  void set_json(Json json) { json_ = std::move(json); }
  /// Printed under the row.
  void set_below(std::string text) { row_.below = std::move(text); }

  const Json& json() const { return json_; }
  TextTable::Row& row() { return row_; }
  const std::vector<Title>& titles() const { return titles_; }

 private:
  const bool is_json_;
  Json json_ = Json::object();
  TextTable::Row row_;
  std::vector<Title> titles_;
};

class Listing {
 public:
  /// The first row brings the columns of the table.
  Listing(std::ostream& out, bool json) : out_(out), json_(json), array_(out) {}

  /// `describe` gives a ListedRow& the record's values.
  template <class Describe>
  void add(const Describe& describe) {
    ListedRow row(json_);
    describe(row);
    if (json_) {
      array_.add(row.json());
      return;
    }
    if (!table_) table_.emplace(out_, row.titles());
    table_->add(std::move(row.row().cells), row.row().below);
  }
  void finish() {
    if (json_) array_.finish();
    if (!json_ && table_) table_->finish();
  }

 protected:
  std::ostream& out_;
  const bool json_;

 private:
  JsonArrayWriter array_;
  std::optional<TextTable> table_;
};

/// A listing with a summary: with --json an object of the array, by `name`, and "summary".
class SummarizedListing : public Listing {
 public:
  /// Rows of a kind that the text output lists; further ones are only counted. --json has all.
  static constexpr std::size_t kMaxSamples = 20;

  SummarizedListing(std::ostream& out, bool json, const char* name) : Listing(out, json) {
    if (json) out << "{\"" << name << "\": ";
  }
  /// Adds a row unless the text output has enough of this kind.
  template <class Describe>
  void add_sample(std::string_view kind, const Describe& describe) {
    if (json_ || ++samples_[std::string(kind)] <= kMaxSamples) add(describe);
  }
  /// Prints one of the summaries.
  void finish(const Json& summary, const std::string& text) {
    Listing::finish();
    if (json_) {
      out_ << ", \"summary\": " << json_text(summary) << "}\n";
      return;
    }
    std::size_t omitted = 0;
    for (const auto& [kind, count] : samples_) omitted += count > kMaxSamples ? count - kMaxSamples : 0;
    if (omitted > 0) out_ << "... and " << omitted << " more (--json has them all)\n";
    out_ << text;
  }

 private:
  std::map<std::string, std::size_t> samples_;  // by kind
};

/// Calls `each` with every row of the pages, until a page is empty, the output fails, or after `limit` rows
/// (0: all). `next_page` returns the rows after those that it returned before. Returns the number of rows.
template <class NextPage, class Each>
std::int64_t each_row(const Console& console, std::int64_t limit, NextPage next_page, Each each) {
  std::int64_t rows = 0;
  const auto is_full = [&] { return limit > 0 && rows == limit; };
  while (console.out && !is_full()) {
    const auto page = next_page();
    if (page.empty()) break;
    for (const auto& row : page) {
      if (is_full()) break;
      ++rows;
      each(row);
    }
  }
  return rows;
}

}  // namespace giftsync::cli
