// schema/sql: writes that are no change of their own: what a process notes while it does something else.
#pragma once

#include <cstdint>

namespace giftsync::sql {

/// As long as it exists, this thread's writes are not what Database::add_to_next_change() waits for.
class NoChange {
 public:
  NoChange() { ++count(); }
  ~NoChange() { --count(); }
  NoChange(const NoChange&) = delete;
  NoChange& operator=(const NoChange&) = delete;
  static bool exists() { return count() > 0; }

  /// Rows that this thread changed to allot ids. An id that nothing got is no change either.
  static std::int64_t& id_rows() {
    thread_local std::int64_t rows = 0;
    return rows;
  }

 private:
  static int& count() {
    thread_local int open = 0;
    return open;
  }
};

}  // namespace giftsync::sql
