#include "cli/gift_code_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "cli/csv_reader.h"
#include "platform/text.h"

namespace giftsync::cli {
namespace {

constexpr std::size_t kMaxCodePoints = 255;
constexpr const char* kAllowed = "1 to 255 printable characters of UTF-8";

bool is_code(std::string_view text) {
  if (text.empty() || !platform::is_storable_text(text)) return false;
  const bool is_printable = std::none_of(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return is_printable && platform::count_code_points(text) <= kMaxCodePoints;
}

}  // namespace

GiftCodeCsv parse_gift_code_csv(std::istream& in, const std::string& name) {
  GiftCodeCsv file;
  CsvReader csv(in, name);
  const auto add_fault = [&](std::size_t line, const std::string& what) {
    file.faults.push_back(fmt::format("{}:{}: {}", name, line, what));
  };
  const auto header = csv.next();
  if (header && (header->cells.size() != 1 ||
                 platform::ascii_lower(platform::trimmed(header->cells.front())) != "code")) {
    add_fault(header->line, "found another header; allowed: the single column code");
    return file;
  }
  std::unordered_map<std::string, std::size_t> lines;
  while (const auto row = csv.next()) {
    const std::string code(row->cells.size() == 1 ? platform::trimmed(row->cells.front()) : "");
    if (!is_code(code)) {
      add_fault(row->line, row->cells.size() == 1
                               ? fmt::format("code: found an invalid code; allowed: {}", kAllowed)
                               : fmt::format("found {} cells; allowed: 1", row->cells.size()));
      continue;
    }
    const auto [known, is_new] = lines.emplace(code, row->line);
    if (is_new)
      file.codes.push_back(code);
    else
      add_fault(row->line,
                fmt::format("code: found the code of line {} again; allowed: each once", known->second));
  }
  if (!csv.fault().empty()) file.faults.push_back(csv.fault());
  if (file.faults.empty() && file.codes.empty())
    add_fault(1, "found no codes; allowed: a line \"code\", then one code per line");
  return file;
}

}  // namespace giftsync::cli
