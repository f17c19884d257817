// cli: the CSV file of `item codes import`: one gift code per row. A file with faults is refused whole; fault
// messages never show a code.
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace giftsync::cli {

struct GiftCodeCsv {
  std::vector<std::string> codes;   ///< in the file's order
  std::vector<std::string> faults;  ///< "codes.csv:3: ..."; use the codes only if there are none
};

/// CSV with the single column `code`. `name` is the file name for fault messages.
GiftCodeCsv parse_gift_code_csv(std::istream& in, const std::string& name);

}  // namespace giftsync::cli
