// crm: tells which texts of a CRM are numbers. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace giftsync::crm {

/// The number without an exponent: "-80000.50"; empty when the text is none. No leading zeros, which mark
/// codes such as "00501". At most 15 significant digits, or 18 when it is whole. Spreadsheets write large
/// numbers as "9.0E8": one digit before the point, so that a code such as "12E4" is none.
std::optional<std::string> normalize_number(std::string_view text);

}  // namespace giftsync::crm
