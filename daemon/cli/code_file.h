// daemon/cli: the file of `item import-codes`: gift codes, one a row, read whole or refused with every fault.
// What is said about a fault never shows a code.
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace giftsync::daemon {

struct CodeFile {
  std::vector<std::string> codes;   ///< in the file's order
  std::vector<std::string> faults;  ///< "codes.csv:3: ..."; codes count only without any
};

/// CSV with the one column code. `name` is the file's, for faults.
CodeFile read_code_file(std::istream& in, const std::string& name);

}  // namespace giftsync::daemon
