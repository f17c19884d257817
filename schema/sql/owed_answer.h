// schema/sql: what this program waits for a PostgreSQL server to answer; see schema/answer_watch.h. Included
// by schema/'s .cpp files only.
#pragma once

#include <chrono>
#include <cstdint>

#include "schema/answer_watch.h"

namespace giftsync::schema::sql {

/// One transaction, for as long as it lives. A negative socket (SQLite) is not watched.
class OwedAnswer {
 public:
  OwedAnswer(int socket, bool foreign);
  ~OwedAnswer();
  OwedAnswer(const OwedAnswer&) = delete;
  OwedAnswer& operator=(const OwedAnswer&) = delete;

  /// It took too long: its connection was cut.
  bool was_cut() const;

 private:
  friend void cut_overdue(const AnswerWatch::Limits& limits);
  friend std::int64_t oldest_owed_millis();

  const int socket_;
  const bool foreign_;
  const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  bool was_cut_ = false;  // guarded by the list's mutex
};

void cut_overdue(const AnswerWatch::Limits& limits);
/// Of those with the store's server.
std::int64_t oldest_owed_millis();

}  // namespace giftsync::schema::sql
