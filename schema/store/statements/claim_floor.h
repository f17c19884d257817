// schema/store: where the claims of a queue on PostgreSQL begin to read. A row that left the queue stays in
// its index as long as any transaction of the database might still see it, for example pg_dump for an hour; a
// claim that reads from the beginning walks over all of them (ARCH-44). Rows come in with a time near now. So
// most looks begin at the smallest time that the queue had, and one each few seconds begins at the beginning
// and finds what came in late or from a slow clock, and expired leases. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "platform/time.h"

namespace giftsync::store {

class ClaimLowerBound {
 public:
  /// Reads the smallest time in the queue, from that time on or from the beginning; nullopt: none.
  using ReadSmallest = std::function<std::optional<UtcMillis>(std::optional<UtcMillis>)>;
  /// The time from which a claim reads; nullopt: from the beginning. It calls `read` now and then.
  std::optional<UtcMillis> find(UtcMillis now, const ReadSmallest& read);
  /// Rows that left or will leave the queue: without many of them every look is a whole one.
  void count(std::size_t rows);

  static constexpr std::size_t kManyRows = 1'000;
  static constexpr std::int64_t kWholeLookMillis = 5'000;
  static constexpr std::int64_t kLookMillis = 1'000;
  /// How late a row may come in: its time is that of its request, and its transaction takes a while.
  static constexpr std::int64_t kLateMillis = 10'000;

 private:
  std::mutex mutex_;
  std::size_t rows_ = 0;  // guarded by mutex_, as the others
  std::optional<UtcMillis> floor_;
  UtcMillis whole_look_at_;
  UtcMillis look_at_;
};

}  // namespace giftsync::store
