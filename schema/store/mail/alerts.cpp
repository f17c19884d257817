#include "schema/store/mail/alerts.h"

#include "platform/text.h"
#include "schema/sql/queries.h"
#include "schema/store/statements/metadata.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

constexpr const char* kLastMailedFact = "alerts_mailed_at";

}  // namespace

std::vector<Alert> Alerts::list() {
  return database_->read([](soci::session& session) {
    Alert alert;
    return sql::select_rows(
        alert, session,
        "SELECT name, what, next_step, began_at, ended_at, begin_mailed_at FROM alert ORDER BY name",
        into(alert.name), into(alert.what), into(alert.next_step), into(alert.began_at), into(alert.ended_at),
        into(alert.begin_mailed_at));
  });
}

std::optional<UtcMillis> Alerts::last_mailed_at() {
  const auto stored =
      database_->read([](soci::session& session) { return read_metadata(session, kLastMailedFact); });
  const auto millis = parse_number<std::int64_t>(stored.value_or(""));
  return millis ? std::optional(UtcMillis{*millis}) : std::nullopt;
}

void Alerts::save(std::span<const Alert> kept, std::span<const std::string> ended,
                  std::optional<UtcMillis> mailed_at) {
  database_->write([&](soci::session& session) {
    for (const Alert& alert : kept) {
      session << "INSERT INTO alert (name, what, next_step, began_at, ended_at, begin_mailed_at) VALUES "
                 "(:name, :what, :next, :began, :ended, :mailed) ON CONFLICT (name) DO UPDATE SET what = "
                 "excluded.what, next_step = excluded.next_step, began_at = excluded.began_at, ended_at = "
                 "excluded.ended_at, begin_mailed_at = excluded.begin_mailed_at",
          use(alert.name), use(alert.what), use(alert.next_step), use(alert.began_at), use(alert.ended_at),
          use(alert.begin_mailed_at);
    }
    for (const std::string& name : ended) session << "DELETE FROM alert WHERE name = :name", use(name);
    if (mailed_at) write_metadata(session, kLastMailedFact, std::to_string(mailed_at->value));
  });
}

}  // namespace giftsync::store
