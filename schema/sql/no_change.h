// schema/sql: writes that are no change of their own: what a process notes while it does something else.
#pragma once

namespace giftsync::schema::sql {

/// As long as it exists, this thread's writes are not what Database::add_to_next_change() waits for.
class NoChange {
 public:
  NoChange() { ++count(); }
  ~NoChange() { --count(); }
  NoChange(const NoChange&) = delete;
  NoChange& operator=(const NoChange&) = delete;
  static bool exists() { return count() > 0; }

 private:
  static int& count() {
    thread_local int open = 0;
    return open;
  }
};

}  // namespace giftsync::schema::sql
