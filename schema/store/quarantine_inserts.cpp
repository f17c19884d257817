#include "schema/store/quarantine_inserts.h"

#include <algorithm>
#include <map>
#include <string>

#include "schema/sql/bulk_insert.h"
#include "schema/sql/queries.h"
#include "schema/store/change_rows.h"
#include "schema/store/orphaned_payloads.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
using soci::use;
using Type = sql::BulkInsert::Type;

/// The orphaned changes that an event was read as; 0: none.
struct DerivedChanges {
  std::int64_t change = 0;
  std::int64_t sent = 0;
};

sql::BulkInsert quarantine_rows(sql::Dialect dialect) {
  return {dialect,
          "quarantined_event",
          {{"id", Type::integer},
           {"source", Type::text},
           {"digest", Type::text},
           {"reason", Type::text},
           {"status_word", Type::text},
           {"detail", Type::text},
           {"transaction_id", Type::text},
           {"payload", Type::text},
           {"received_at", Type::integer},
           {"change_id", Type::integer},
           {"sent_id", Type::integer}},
          "ON CONFLICT DO NOTHING"};
}

void add_quarantined(sql::BulkInsert& rows, std::int64_t id, const std::string& source,
                     const QuarantinedEvent& event, DerivedChanges derived) {
  rows.add({id, source, event.digest, to_word(event.reason), event.status_word, event.detail,
            event.transaction, event.payload, event.received_at.value, derived.change, derived.sent});
}

/// With the changes that were derived from them.
template <class... Used>
void delete_events(soci::session& session, sql::Dialect dialect, const std::string& condition,
                   platform::UtcMillis now, std::span<const StatusChange> with_ids, Used&&... used) {
  DerivedChanges row;
  std::vector<std::int64_t> derived_changes;
  for (const auto& [change, sent] : sql::select_rows(
           row, session, "DELETE FROM quarantined_event WHERE " + condition + " RETURNING change_id, sent_id",
           used..., into(row.change), into(row.sent))) {
    if (change != 0) derived_changes.push_back(change);
    if (sent != 0) derived_changes.push_back(sent);
  }
  withdraw_derived_changes(session, dialect, derived_changes, with_ids, now);
}

/// The number of the source's quarantined events, counted in an index alone.
std::int64_t count_stored(soci::session& session, const std::string& source) {
  return sql::select_value<std::int64_t>(
      session, "SELECT count(*) FROM quarantined_event WHERE source = :source", use(source));
}

bool is_over_quota(soci::session& session, const std::string& source) {
  const std::int64_t stored = count_stored(session, source);
  if (stored <= kMaxQuarantined) return false;
  const auto payloads = sql::select_value<std::int64_t>(
      session, "SELECT count(*) FROM quarantined_event WHERE source = :source AND reason = 'orphaned'",
      use(source));
  return stored - payloads > kMaxQuarantined;
}

std::vector<TransactionId> transactions_of(std::span<const InboundItem* const> items) {
  std::vector<TransactionId> ids;
  for (const InboundItem* item : items) ids.push_back(item->change->transaction);
  return ids;
}

/// Refers to `changes`.
std::map<Identity, std::int64_t> ids_by_identity(std::span<const StatusChange> changes) {
  std::map<Identity, std::int64_t> ids;
  for (const StatusChange& change : changes) ids.emplace(identity_of(change), change.id.value);
  return ids;
}

std::int64_t find_change(const std::map<Identity, std::int64_t>& orphaned,
                         const std::optional<StatusChange>& change, const std::string& source) {
  if (!change) return 0;
  const auto found =
      orphaned.find({change->transaction, change->status, change->premise, change->occurred_at, source});
  return found == orphaned.end() ? 0 : found->second;
}

QuarantinedEvent payload_of(const InboundItem& item) {
  QuarantinedEvent payload = item.event;
  payload.reason = QuarantineReason::orphaned;
  payload.detail = item.orphan_detail;
  // In the form that delete_orphaned_payloads() compares.
  payload.transaction = std::to_string(item.change->transaction.value);
  return payload;
}

}  // namespace

void delete_reprocessed(soci::session& session, sql::Dialect dialect, const InboundBatch& batch,
                        std::span<const StatusChange> with_ids) {
  if (batch.reprocessed_ids.empty()) return;
  const std::string list = sql::list_of(dialect, batch.reprocessed_ids);
  delete_events(session, dialect, sql::in_list(dialect, "id", "ids", false), batch.now, with_ids, use(list));
}

std::size_t insert_quarantined(soci::session& session, sql::Dialect dialect, const InboundBatch& batch,
                               std::span<const QuarantinedEvent> events,
                               std::span<const StatusChange> with_ids, std::int64_t& next_id) {
  if (events.empty()) return 0;
  std::vector<std::string> digests;
  for (const QuarantinedEvent& event : events) digests.push_back(event.digest);
  const std::string list = sql::list_of(dialect, digests);
  // The same event was stored as an orphaned payload; now it is complete.
  delete_events(
      session, dialect,
      "source = :source AND reason = 'orphaned' AND " + sql::in_list(dialect, "digest", "digests", true),
      batch.now, with_ids, use(batch.source), use(list));
  sql::BulkInsert rows = quarantine_rows(dialect);
  for (const QuarantinedEvent& event : events) add_quarantined(rows, next_id++, batch.source, event, {});
  const auto inserted = static_cast<std::size_t>(rows.run(session));
  // Reprocessing needs no further capacity.
  if (inserted > 0 && batch.reprocessed_ids.empty() && is_over_quota(session, batch.source))
    throw QuotaExceeded{};
  return inserted;
}

void insert_orphaned_payloads(soci::session& session, sql::Dialect dialect, const InboundBatch& batch,
                              std::span<const InboundItem* const> items, std::int64_t next_id) {
  if (items.empty()) return;
  const std::vector<StatusChange> changes =
      orphaned_changes(session, dialect, batch.source, transactions_of(items));
  if (changes.empty()) return;
  const std::map<Identity, std::int64_t> orphaned = ids_by_identity(changes);
  // Reprocessing needs no further capacity.
  std::int64_t capacity = std::max(kMaxQuarantined - count_stored(session, batch.source),
                                   static_cast<std::int64_t>(batch.reprocessed_ids.size()));
  sql::BulkInsert rows = quarantine_rows(dialect);
  for (const InboundItem* item : items) {
    const std::int64_t change = find_change(orphaned, item->change, batch.source);
    if (change == 0) continue;
    if (capacity-- <= 0) break;
    add_quarantined(rows, next_id++, batch.source, payload_of(*item),
                    {change, find_change(orphaned, item->sent, batch.source)});
  }
  if (!rows.empty()) rows.run(session);
}

}  // namespace giftsync::schema::store
