// What the fuzz targets share: a promise that does not hold ends the program, and libFuzzer keeps the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace giftsync::fuzz {

/// `details` is shown as it is.
inline void require(bool holds, std::string_view promise, std::string_view details = {}) {
  if (holds) return;
  std::fprintf(stderr, "This does not hold: %s\n%s\n", std::string(promise).c_str(),
               std::string(details).c_str());
  std::abort();
}

inline std::string text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

}  // namespace giftsync::fuzz
