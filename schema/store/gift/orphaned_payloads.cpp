#include "schema/store/gift/orphaned_payloads.h"

#include <set>
#include <utility>

#include "schema/sql/queries.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

struct StoredPayload {
  long long id = 0;
  std::string source;
  std::string transaction;  ///< the number as this folder writes it
};

std::vector<StoredPayload> select_payloads(soci::session& session, std::span<const TransactionId> ids) {
  std::vector<std::string> numbers;
  numbers.reserve(ids.size());
  for (const TransactionId id : ids) numbers.push_back(std::to_string(id.value));
  const std::string list = sql::list_of(session, numbers);
  StoredPayload row;
  return sql::select_rows(
      row, session,
      "SELECT id, source, transaction_id FROM inbound_event WHERE state = 'orphaned' AND source " +
          sql::in_subquery(session, "SELECT name FROM source WHERE reprocess_fingerprint = ''") + " AND " +
          sql::in_list(session, "transaction_id", "list", true),
      use(list), into(row.id), into(row.source), into(row.transaction));
}

/// Source and transaction of the remaining orphaned changes.
std::set<std::pair<std::string, std::string>> still_orphaned(soci::session& session,
                                                             std::span<const TransactionId> ids) {
  const std::string list = sql::list_of(session, ids);
  std::string source;
  TransactionId id;
  soci::statement statement =
      sql::bound(session,
                 "SELECT source, transaction_id FROM change_log WHERE orphaned = 1 AND " +
                     sql::in_list(session, "transaction_id", "list", false),
                 use(list), into(source), into(id));
  std::set<std::pair<std::string, std::string>> orphaned;
  sql::each_row(statement, [&] { orphaned.emplace(source, std::to_string(id.value)); });
  return orphaned;
}

}  // namespace

std::vector<StatusChange> orphaned_changes(soci::session& session, const std::string& source,
                                           std::span<const TransactionId> ids) {
  const std::string list = sql::list_of(session, ids);
  soci::statement statement(session);
  statement.exchange(use(source));
  statement.exchange(use(list));
  return read_changes(statement, "c.orphaned = 1 AND c.source = :source AND " +
                                     sql::in_list(session, "c.transaction_id", "list", false) + " AND NOT " +
                                     gift_exists_condition("c"));
}

void withdraw_derived_changes(soci::session& session, const std::vector<std::int64_t>& changes,
                              std::span<const StatusChange> current_changes, UtcMillis now) {
  if (changes.empty()) return;
  const std::string list = sql::list_of(session, changes);
  soci::statement statement(session);
  statement.exchange(use(list));
  const std::vector<StatusChange> orphaned = read_changes(
      statement,
      sql::in_list(session, "c.id", "list", false) +
          " AND c.orphaned = 1 AND NOT EXISTS (SELECT 1 FROM inbound_event a WHERE a.source = c.source "
          "AND "
          "a.transaction_id = cast(c.transaction_id AS text) AND a.state = 'orphaned' AND c.id IN "
          "(a.change_id, a.sent_id))");
  std::set<Identity> stay;
  for (const StatusChange& change : current_changes) stay.insert(identity_of(change));
  std::vector<std::int64_t> withdrawn;
  std::vector<TransactionId> transactions;
  for (const StatusChange& change : orphaned) {
    if (stay.contains(identity_of(change))) continue;
    withdrawn.push_back(change.id.value);
    transactions.push_back(change.transaction);
  }
  if (withdrawn.empty()) return;
  const std::string ids = sql::list_of(session, withdrawn);
  session << "DELETE FROM change_log WHERE " + sql::in_list(session, "id", "ids", false), use(ids);
  delete_change_details(session, withdrawn);
  // One whose gift has come already has counted meanwhile.
  std::set<TransactionId> existing;
  for (const auto& [id, gift_source] : find_gift_sources(session, transactions)) existing.insert(id);
  // All gifts before the first mark, each in the order of their ids (ARCH-40).
  std::vector<std::int64_t> gifts;
  for (const TransactionId id : existing) gifts.push_back(id.value);
  lock_gifts(session, gifts);
  for (const TransactionId id : existing) refold(session, id, now);
}

void delete_orphaned_payloads(soci::session& session, std::span<const TransactionId> ids) {
  const std::vector<StoredPayload> reports = select_payloads(session, ids);
  if (reports.empty()) return;
  const std::set<std::pair<std::string, std::string>> orphaned = still_orphaned(session, ids);
  std::vector<std::int64_t> done;
  for (const StoredPayload& report : reports) {
    if (!orphaned.contains({report.source, report.transaction})) done.push_back(report.id);
  }
  const std::string list = sql::list_of(session, done);
  session << "DELETE FROM inbound_event WHERE " + sql::in_list(session, "id", "list", false), use(list);
}

std::int64_t delete_unreferenced_payloads(soci::session& session, const std::string& source, UtcMillis before,
                                          std::size_t limit) {
  return sql::change_rows(
      session,
      "DELETE FROM inbound_event WHERE id IN (SELECT a.id FROM inbound_event a WHERE a.source = "
      ":source "
      "AND a.state = 'orphaned' AND a.received_at < :before AND NOT EXISTS (SELECT 1 FROM change_log c "
      "WHERE c.id IN (a.change_id, a.sent_id) AND c.orphaned = 1) ORDER BY a.id LIMIT " +
          std::to_string(limit) + ")",
      use(source), use(before));
}

}  // namespace giftsync::store
