#include "schema/sql/read_deadline.h"

#include "schema/sql/session.h"

namespace giftsync::schema::sql {
namespace {

/// Of SQLite's virtual machine: less than a millisecond.
constexpr int kStepsBetweenLooks = 10'000;

sqlite_api::sqlite3* connection_of(soci::session& session) {
  return static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_;
}

}  // namespace

ReadDeadline::ReadDeadline(soci::session& session, std::int64_t millis)
    : session_(session),
      is_sqlite_(millis > 0 && Session::of(session).is_sqlite()),
      ends_at_(std::chrono::steady_clock::now() + std::chrono::milliseconds(millis)) {
  if (is_sqlite_)
    sqlite_api::sqlite3_progress_handler(connection_of(session), kStepsBetweenLooks, has_passed, this);
  else if (millis > 0)
    session << "SET LOCAL statement_timeout TO " + std::to_string(millis);
}

ReadDeadline::~ReadDeadline() {
  if (is_sqlite_) sqlite_api::sqlite3_progress_handler(connection_of(session_), 0, nullptr, nullptr);
}

int ReadDeadline::has_passed(void* deadline) {
  return std::chrono::steady_clock::now() >= static_cast<const ReadDeadline*>(deadline)->ends_at_ ? 1 : 0;
}

bool is_interrupted(const soci::soci_error& error) {
  if (const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error))
    return (sqlite->result() & 0xff) == SQLITE_INTERRUPT;
  const auto* postgresql = dynamic_cast<const soci::postgresql_soci_error*>(&error);
  return postgresql != nullptr && postgresql->sqlstate() == "57014";
}

}  // namespace giftsync::schema::sql
