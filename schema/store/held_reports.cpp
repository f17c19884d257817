#include "schema/store/held_reports.h"

#include <utility>
#include <vector>

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
            "SELECT id, source, transaction_id FROM source_aside WHERE reason = 'no_gift' AND " +
                in_list(dialect, "transaction_id", "list", true),
            use(list), into(row.id), into(row.source), into(row.transaction));
  std::vector<KeptReport> found;
  each_row(statement, [&] { found.push_back(row); });
  return found;
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

std::set<TransactionId> awaited_transactions(soci::session& session, Dialect dialect,
                                             const std::string& source, std::span<const TransactionId> ids) {
  const std::string list = list_of(dialect, values_of(ids));
  TransactionId id;
  soci::statement statement =
      bound(session,
            "SELECT transaction_id FROM change_log WHERE held = 1 AND source = :source AND " +
                in_list(dialect, "transaction_id", "list", false) + " AND NOT " + exists_for("change_log"),
            use(source), use(list), into(id));
  std::set<TransactionId> awaited;
  each_row(statement, [&] { awaited.insert(id); });
  return awaited;
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

}  // namespace giftsync::schema::sql
