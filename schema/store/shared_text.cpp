#include "schema/store/shared_text.h"

#include <utility>

#include "platform/text.h"
#include "platform/time.h"
#include "schema/sql/no_change.h"
#include "schema/sql/queries.h"
#include "schema/store/statements/metadata.h"

namespace giftsync::store {

SharedText::SharedText(const sql::Dsn& dsn, std::string name)
    : database_(sql::Database::shared(dsn)), name_(std::move(name)) {}

void SharedText::update(const Change& change) const {
  const sql::NoChange no_change;
  database_->write([&](soci::session& session) {
    // SQLite has one writer at a time; PostgreSQL locks by the name, since the row may not exist yet.
    if (sql::Dialect(session) == sql::Dialect::postgresql)
      sql::select_value<std::int64_t>(
          session, "SELECT count(*) FROM (SELECT pg_advisory_xact_lock(7208292, hashtext(:name))) locked",
          soci::use(name_));
    const std::optional<std::string> before = read_metadata(session, name_);
    const std::string after = change(before);
    if (before != after) write_metadata(session, name_, after);
  });
}

std::optional<std::string> SharedText::read() const {
  return database_->read([&](soci::session& session) { return read_metadata(session, name_); });
}

bool SharedText::begin_after(std::int64_t millis) const {
  const std::int64_t now = database_->read([&](soci::session& session) {
    return sql::select_value<std::int64_t>(session, "SELECT " + std::string(sql::database_now(session)));
  });
  bool has_started = false;
  update([&](const std::optional<std::string>& text) {
    const auto before = parse_number<std::int64_t>(text.value_or(""));
    has_started = !before || has_elapsed({*before}, millis, {now});
    return has_started ? std::to_string(now) : *text;
  });
  return has_started;
}

void SharedText::remove() const {
  database_->write([&](soci::session& session) {
    session << "DELETE FROM store_metadata WHERE name = :name", soci::use(name_);
  });
}

}  // namespace giftsync::store
