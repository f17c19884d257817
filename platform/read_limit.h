// platform: how long a read of the store may take on a thread whose caller prefers no answer to a late one (a
// page of the console). The reads themselves hold to it: schema/sql/database.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "platform/dependency_error.h"

namespace giftsync::platform {

/// A read took longer than its limit. The store is well.
class ReadTooLong : public DependencyError {
 public:
  explicit ReadTooLong(const std::string& what) : DependencyError(true, what) {}
};

/// While it exists, each read of the store on this thread that takes longer than `millis` throws ReadTooLong.
/// Writes are not limited. A CRM of its own database has ThreadCallDeadline. At most one for each thread.
class ReadLimit {
 public:
  explicit ReadLimit(std::int64_t millis) { millis_ = millis; }
  ~ReadLimit() { millis_ = 0; }
  ReadLimit(const ReadLimit&) = delete;
  ReadLimit& operator=(const ReadLimit&) = delete;

  /// Of this thread; 0: none.
  static std::int64_t millis() { return millis_; }

 private:
  static inline thread_local std::int64_t millis_ = 0;
};

}  // namespace giftsync::platform
