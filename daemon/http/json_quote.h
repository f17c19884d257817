// daemon/http: where a quoted text of a JSON document ends, for whoever looks at what stands outside of
// them before it is parsed. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace giftsync::daemon {

/// `text[begin]` is a quotation mark: the place behind the one that ends the text it begins, or `text`'s end
/// when none does. A backslash takes the next character's meaning.
inline std::size_t behind_quoted(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i + 1;
  }
  return text.size();
}

}  // namespace giftsync::daemon
