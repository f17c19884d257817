// The CSV reader: its rows are printed, with every cell in quotes, and read again.
#include <sstream>

#include "cli/csv_reader.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "tests/fuzz/fuzz.h"

namespace giftsync::fuzz {
namespace {

struct Table {
  std::vector<cli::CsvRow> rows;
  std::string fault;
};

Table read(const std::string& text) {
  std::istringstream stream(text);
  cli::CsvReader reader(stream, "f.csv");
  Table table;
  while (auto row = reader.next()) table.rows.push_back(std::move(*row));
  table.fault = reader.fault();
  return table;
}

/// The first line says which separator is meant, so that no cell of the header can.
std::string print(const std::vector<cli::CsvRow>& rows) {
  std::string out = "sep=,\r\n";
  for (const cli::CsvRow& row : rows) {
    for (const std::string& cell : row.cells) {
      out += '"';
      for (const char c : cell) out.append(c == '"' ? 2 : 1, c);
      out += "\",";
    }
    out.pop_back();
    out += "\r\n";
  }
  return out;
}

void check_table(const Table& table) {
  std::size_t line = 0;
  for (const cli::CsvRow& row : table.rows) {
    require(row.line > line, "lines of rows ascend");
    line = row.line;
  }
  const Table again = read(print(table.rows));
  require(again.fault.empty(), "rows are printed and read again", again.fault);
  require(again.rows.size() == table.rows.size(), "no row is missing", print(table.rows));
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    require(again.rows[i].cells == table.rows[i].cells, "cells are read again as they were",
            print(table.rows));
}

/// A cell as giftsync writes it.
void check_cell(const std::string& text) {
  const std::string cell = csv_cell(text);
  require(visible_text(cell, "\t\r\n") == cell, "a cell is visible text", cell);
  const Table table = read("sep=,\r\na,b\r\n" + cell + ",x\r\n");
  require(table.fault.empty() && table.rows.size() == 2 && table.rows[1].cells.size() == 2,
          "a written cell is one cell", cell);
  const std::string& seen = table.rows[1].cells[0];
  require(seen.empty() ||
              std::string_view("=+-@").find(without_blanks(seen).substr(0, 1)) == std::string::npos ||
              without_blanks(seen).empty(),
          "a written cell is no formula", cell);
}

}  // namespace
}  // namespace giftsync::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace giftsync;
  const std::string text = fuzz::text_of(bytes, size);
  const fuzz::Table table = fuzz::read(text);
  fuzz::check_table(table);
  fuzz::check_cell(text);
  for (const cli::CsvRow& row : table.rows) {
    for (const std::string& cell : row.cells) {
      formula_error(cell);
      rounded_number(cell);
      has_day_month_order(cell);
    }
  }
  return 0;
}
