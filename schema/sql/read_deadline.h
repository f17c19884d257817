// schema/sql: holds one read to platform::ReadLimit. Included by schema/'s .cpp files only.
#pragma once

#include <soci/soci.h>

#include <chrono>
#include <cstdint>

namespace giftsync::schema::sql {

/// From its construction on, statements of the session are interrupted once `millis` have passed. 0: no
/// limit. On PostgreSQL it counts for each statement, and for the rest of the transaction.
class ReadDeadline {
 public:
  ReadDeadline(soci::session& session, std::int64_t millis);
  ~ReadDeadline();
  ReadDeadline(const ReadDeadline&) = delete;
  ReadDeadline& operator=(const ReadDeadline&) = delete;

 private:
  static int has_passed(void* deadline);

  soci::session& session_;
  const bool is_sqlite_;  ///< and limited
  const std::chrono::steady_clock::time_point ends_at_;
};

/// The error is that of an interrupted statement.
bool is_interrupted(const soci::soci_error& error);

}  // namespace giftsync::schema::sql
