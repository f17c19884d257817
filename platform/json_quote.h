// platform: finds the end of a quoted text in JSON, for code that scans a document before it is parsed. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace giftsync::platform {

/// `text[begin]` is a quotation mark. Returns the position after the closing one, or the end of `text` when
/// there is none. A backslash escapes the next character.
inline std::size_t end_of_quoted(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i + 1;
  }
  return text.size();
}

}  // namespace giftsync::platform
