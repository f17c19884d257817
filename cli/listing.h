// cli: a listing: a text table, or with --json an array. Rows are read page by page and printed as they come,
// so that memory holds one page.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/console.h"
#include "cli/json_array_writer.h"
#include "cli/text_table.h"

namespace giftsync::cli {

class Listing {
 public:
  Listing(std::ostream& out, bool json, std::vector<TextTable::Column> columns)
      : json_(json), array_(out), table_(out, std::move(columns)) {}

  /// Calls one of the functions: `to_json` returns an object, `to_row` a TextTable::Row.
  template <class ToJson, class ToRow>
  void add(const ToJson& to_json, const ToRow& to_row) {
    if (json_) {
      array_.add(to_json());
      return;
    }
    TextTable::Row row = to_row();
    table_.add(std::move(row.cells), row.below);
  }
  void finish() { json_ ? array_.finish() : table_.finish(); }

 private:
  const bool json_;
  JsonArrayWriter array_;
  TextTable table_;
};

/// A listing with a summary: with --json an object of the array, by `name`, and "summary".
class SummarizedListing : public Listing {
 public:
  /// Rows of a kind that the text output lists; further ones are only counted. --json has all.
  static constexpr std::size_t kMaxSamples = 20;

  SummarizedListing(std::ostream& out, bool json, const char* name, std::vector<TextTable::Column> columns)
      : Listing(out, json, std::move(columns)), out_(out), json_(json) {
    if (json) out << "{\"" << name << "\": ";
  }
  /// Adds a row unless the text output has enough of this kind.
  template <class ToJson, class ToRow>
  void add_sample(std::string_view kind, const ToJson& to_json, const ToRow& to_row) {
    if (json_ || ++samples_[std::string(kind)] <= kMaxSamples) add(to_json, to_row);
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
  std::ostream& out_;
  const bool json_;
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
