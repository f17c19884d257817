// schema/store: counts that are shown to people. They stop, so that a status report of ten million gifts
// takes no longer than one of ten thousand (OPS-33).
#pragma once

#include <cstdint>

namespace giftsync::store {

/// A count above it means "more than kMaxCounted".
inline constexpr std::int64_t kMaxCounted = 10'000;

}  // namespace giftsync::store
