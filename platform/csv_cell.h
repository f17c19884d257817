// platform: the cells of CSV that people open in spreadsheets. Pure.
#pragma once

#include <string>
#include <string_view>

namespace giftsync::platform {

/// A cell of RFC 4180, quoted where it needs to be. A text that a spreadsheet would read as a formula, also
/// after a semicolon, blanks or characters that cannot be seen, gets an apostrophe before it; invisible
/// characters but line ends and tabs are escaped (SEC-1).
std::string csv_cell(std::string_view text);

}  // namespace giftsync::platform
