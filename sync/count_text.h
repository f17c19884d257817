// sync: bounded counts of the store in words (OPS-33).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "platform/plural.h"
#include "schema/store/bounded_count.h"

namespace giftsync::sync {

/// "17", or "more than 10000".
inline std::string count_text(std::int64_t count) {
  if (count <= schema::store::kMaxCounted) return std::to_string(count);
  return "more than " + std::to_string(schema::store::kMaxCounted);
}

/// "1 gift", "17 gifts", "more than 10000 gifts".
inline std::string count_text(std::int64_t count, std::string_view singular) {
  if (count <= schema::store::kMaxCounted) return platform::pluralize(count, singular);
  return count_text(count) + " " + std::string(singular) + "s";
}

}  // namespace giftsync::sync
