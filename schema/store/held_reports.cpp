#include "schema/store/held_reports.h"

#include <set>
#include <utility>

#include "schema/sql/database.h"
#include "schema/store/change_rows.h"
#include "schema/store/gift_rows.h"

namespace giftsync::schema::sql {
namespace {

using soci::into;
using soci::use;

struct KeptReport {
  long long id = 0;
  std::string source;
  std::string transaction;  ///< the number as this folder writes it
};

std::vector<KeptReport> reports_on(soci::session& session, Dialect dialect,
                                   std::span<const TransactionId> ids) {
  std::vector<std::string> numbers;
  numbers.reserve(ids.size());
  for (const TransactionId id : ids) numbers.push_back(std::to_string(id.value));
  const std::string list = list_of(dialect, numbers);
  KeptReport row;
  soci::statement statement =
      bound(session,
            "SELECT id, source, transaction_id FROM source_aside WHERE reason = 'no_gift' AND source " +
                is_one_of(dialect, "SELECT name FROM source WHERE to_judge = ''") + " AND " +
                in_list(dialect, "transaction_id", "list", true),
            use(list), into(row.id), into(row.source), into(row.transaction));
  std::vector<KeptReport> found;
  each_row(statement, [&] { found.push_back(row); });
  return found;
}

/// The rows of change_log c of which the condition is true; `bind` binds its parameters.
template <class Bind>
std::vector<StatusChange> changes_where(soci::session& session, const std::string& condition,
                                        const Bind& bind) {
  ChangeRow row;
  soci::statement statement(session);
  bind(statement);
  row.bind(statement);
  statement.alloc();
  statement.prepare("SELECT " + std::string(ChangeRow::kColumns) + " FROM change_log c WHERE " + condition,
                    kRunOnce);
  statement.define_and_bind();
  std::vector<StatusChange> changes;
  each_row(statement, [&] { changes.push_back(row.value()); });
  return changes;
}

/// Source and transaction of what is held still.
std::set<std::pair<std::string, std::string>> held_still(soci::session& session, Dialect dialect,
                                                         std::span<const TransactionId> ids) {
  const std::string list = list_of(dialect, values_of(ids));
  std::string source;
  TransactionId id;
  soci::statement statement = bound(session,
                                    "SELECT source, transaction_id FROM change_log WHERE held = 1 AND " +
                                        in_list(dialect, "transaction_id", "list", false),
                                    use(list), into(source), into(id));
  std::set<std::pair<std::string, std::string>> held;
  each_row(statement, [&] { held.emplace(source, std::to_string(id.value)); });
  return held;
}

}  // namespace

std::vector<StatusChange> waiting_changes(soci::session& session, Dialect dialect, const std::string& source,
                                          std::span<const TransactionId> ids) {
  const std::string list = list_of(dialect, values_of(ids));
  return changes_where(session,
                       "c.held = 1 AND c.source = :source AND " +
                           in_list(dialect, "c.transaction_id", "list", false) + " AND NOT " +
                           exists_for("c"),
                       [&](soci::statement& statement) {
                         statement.exchange(use(source));
                         statement.exchange(use(list));
                       });
}

void withdraw_readings(soci::session& session, Dialect dialect, const std::vector<std::int64_t>& changes,
                       std::span<const StatusChange> now_read, UtcMillis now) {
  if (changes.empty()) return;
  const std::string list = list_of(dialect, changes);
  const std::vector<StatusChange> held = changes_where(
      session,
      in_list(dialect, "c.id", "list", false) +
          " AND c.held = 1 AND NOT EXISTS (SELECT 1 FROM source_aside a WHERE a.source = c.source AND "
          "a.transaction_id = cast(c.transaction_id AS text) AND a.reason = 'no_gift' AND c.id IN "
          "(a.change_id, a.sent_id))",
      [&](soci::statement& statement) { statement.exchange(use(list)); });
  std::set<Identity> stay;
  for (const StatusChange& change : now_read) stay.insert(identity_of(change));
  std::vector<std::int64_t> withdrawn;
  std::vector<TransactionId> transactions;
  for (const StatusChange& change : held) {
    if (stay.contains(identity_of(change))) continue;
    withdrawn.push_back(change.id.value);
    transactions.push_back(change.transaction);
  }
  if (withdrawn.empty()) return;
  const std::string ids = list_of(dialect, withdrawn);
  session << "DELETE FROM change_log WHERE " + in_list(dialect, "id", "ids", false), use(ids);
  forget_traces(session, dialect, withdrawn);
  // One whose gift has come already has counted meanwhile.
  for (const auto& [id, origin] : known_transactions(session, dialect, transactions))
    reckon_anew(session, dialect, id, now);
}

void forget_held_reports(soci::session& session, Dialect dialect, std::span<const TransactionId> ids) {
  const std::vector<KeptReport> reports = reports_on(session, dialect, ids);
  if (reports.empty()) return;
  const std::set<std::pair<std::string, std::string>> held = held_still(session, dialect, ids);
  std::vector<std::int64_t> done;
  for (const KeptReport& report : reports) {
    if (!held.contains({report.source, report.transaction})) done.push_back(report.id);
  }
  const std::string list = list_of(dialect, done);
  session << "DELETE FROM source_aside WHERE " + in_list(dialect, "id", "list", false), use(list);
}

std::int64_t forget_reports_of_none_held(soci::session& session, const std::string& source, UtcMillis before,
                                         std::size_t limit) {
  soci::statement statement =
      bound(session,
            "DELETE FROM source_aside WHERE id IN (SELECT a.id FROM source_aside a WHERE a.source = :source "
            "AND a.reason = 'no_gift' AND a.received_at < :before AND NOT EXISTS (SELECT 1 FROM change_log c "
            "WHERE c.id IN (a.change_id, a.sent_id) AND c.held = 1) ORDER BY a.id LIMIT " +
                std::to_string(limit) + ")",
            use(source), use(before));
  statement.execute(true);
  return static_cast<std::int64_t>(statement.get_affected_rows());
}

}  // namespace giftsync::schema::sql
