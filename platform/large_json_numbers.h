// platform: finds the numbers of a JSON text that giftsync cannot represent. A source cannot correct its JSON
// on request, and a refused page delays all later ones. So a number that RFC 8259 allows becomes the text of
// its digits (SRC-10). Part of strict_json; pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace giftsync::platform {

/// `text[begin]` is a quotation mark. Returns the position after the closing one, or the end of `text` when
/// there is none. A backslash escapes the next character.
std::size_t end_of_quoted(std::string_view text, std::size_t begin);

/// Whole numbers that do not fit signed 64 bits, and other numbers that a double changes: parts of `text`, in
/// their order.
std::vector<std::string_view> find_large_numbers(std::string_view text);

/// `text` with each of these parts in quotation marks.
std::string with_quoted_parts(std::string_view text, const std::vector<std::string_view>& parts);

/// `text` with a zero of the same length instead of each part, so that positions stay the same.
std::string with_zeroed_parts(std::string_view text, const std::vector<std::string_view>& parts);

}  // namespace giftsync::platform
