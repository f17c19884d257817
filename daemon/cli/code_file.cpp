#include "daemon/cli/code_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "daemon/cli/csv_reader.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kMostCodePoints = 255;
constexpr const char* kAllowed = "1 to 255 printable characters of UTF-8";

bool is_code(std::string_view text) {
  if (text.empty() || !schema::is_storable_text(text)) return false;
  const bool is_printable = std::none_of(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return is_printable && schema::count_code_points(text) <= kMostCodePoints;
}

}  // namespace

CodeFile read_code_file(std::istream& in, const std::string& name) {
  CodeFile file;
  CsvReader csv(in, name);
  const auto blame = [&](std::size_t line, const std::string& what) {
    file.faults.push_back(fmt::format("{}:{}: {}", name, line, what));
  };
  const auto header = csv.next();
  if (header &&
      (header->cells.size() != 1 || schema::ascii_lower(schema::trimmed(header->cells.front())) != "code")) {
    blame(header->line, "found another header; allowed: the one column code");
    return file;
  }
  std::unordered_map<std::string, std::size_t> lines;
  while (const auto row = csv.next()) {
    const std::string code(row->cells.size() == 1 ? schema::trimmed(row->cells.front()) : "");
    if (!is_code(code)) {
      blame(row->line, row->cells.size() == 1
                           ? fmt::format("code: found something else; allowed: {}", kAllowed)
                           : fmt::format("found {} cells; allowed: 1", row->cells.size()));
      continue;
    }
    const auto [known, is_new] = lines.emplace(code, row->line);
    if (is_new)
      file.codes.push_back(code);
    else
      blame(row->line,
            fmt::format("code: found the code of line {} again; allowed: each once", known->second));
  }
  if (!csv.fault().empty()) file.faults.push_back(csv.fault());
  if (file.faults.empty() && file.codes.empty())
    blame(1, "found no codes; allowed: a line \"code\" and below it one code a line");
  return file;
}

}  // namespace giftsync::daemon
