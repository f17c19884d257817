#include "schema/store/event/inbound_event_rows.h"

#include <algorithm>
#include <map>
#include <set>

#include "schema/sql/queries.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/orphaned_payloads.h"

namespace giftsync::store {

using Type = sql::BulkInsert::Type;

sql::BulkInsert inbound_event_rows(sql::Dialect dialect, std::string_view on_conflict) {
  return {dialect,
          "inbound_event",
          {{"id", Type::integer},
           {"source", Type::text},
           {"digest", Type::text},
           {"state", Type::text},
           {"reason", Type::text},
           {"status_word", Type::text},
           {"detail", Type::text},
           {"transaction_id", Type::text},
           {"payload", Type::text},
           {"received_at", Type::integer},
           {"change_id", Type::integer},
           {"sent_id", Type::integer}},
          on_conflict};
}

void add_inbound_event(sql::BulkInsert& rows, std::int64_t id, const std::string& source,
                       const UnappliedEvent& event, DerivedChanges derived) {
  const sql::Cell reason = event.reason ? sql::Cell(to_word(*event.reason)) : sql::Cell();
  rows.add({id, source, event.digest, to_word(event.state), reason, event.status_word, event.detail,
            event.transaction, event.payload, event.received_at.value, derived.change, derived.sent});
}

namespace {

using soci::use;

using IgnoredBySource = std::map<std::string, std::vector<IgnoredEvent>>;

/// In the order of sources and digests everywhere, so that no two transactions wait for each other (ARCH-40).
/// The last events of each source, as many as are kept.
IgnoredBySource in_insert_order(const std::vector<IgnoredEvent>& events) {
  IgnoredBySource by_source;
  for (const IgnoredEvent& ignored_event : events) by_source[*ignored_event.source].push_back(ignored_event);
  for (auto& [source, own] : by_source) {
    const auto excess = static_cast<std::int64_t>(own.size()) - kMaxIgnored;
    if (excess > 0) own.erase(own.begin(), own.begin() + excess);
    std::stable_sort(own.begin(), own.end(), [](const IgnoredEvent& a, const IgnoredEvent& b) {
      return a.event->digest < b.event->digest;
    });
  }
  return by_source;
}

void delete_oldest(soci::session& session, const std::string& source) {
  session
      << "DELETE FROM inbound_event WHERE source = :source AND state = 'ignored' AND (received_at, id) <= "
         "(SELECT received_at, id FROM inbound_event WHERE source = :same AND state = 'ignored' ORDER BY "
         "received_at DESC, id DESC LIMIT 1 OFFSET " +
             std::to_string(kMaxIgnored) + ")",
      use(source), use(source);
}

}  // namespace

void insert_ignored_events(soci::session& session, const std::vector<IgnoredEvent>& events) {
  if (events.empty()) return;
  const IgnoredBySource by_source = in_insert_order(events);
  sql::BulkInsert rows = inbound_event_rows(session);
  for (const auto& [source, own] : by_source) {
    for (const IgnoredEvent& ignored_event : own)
      add_inbound_event(rows, ignored_event.id, source, *ignored_event.event);
  }
  if (rows.run(session) == 0) return;
  for (const auto& [source, own] : by_source) delete_oldest(session, source);
}

namespace {

using soci::into;

/// An event that was ignored before, under other settings, takes the new state.
constexpr std::string_view kReplaceIgnored =
    "ON CONFLICT (source, digest) DO UPDATE SET state = excluded.state, detail = excluded.detail, "
    "transaction_id = excluded.transaction_id, payload = excluded.payload, received_at = "
    "excluded.received_at, "
    "change_id = excluded.change_id, sent_id = excluded.sent_id WHERE inbound_event.state = 'ignored'";

/// With the changes that were derived from them.
template <class... Used>
void delete_events(soci::session& session, const std::string& condition, UtcMillis now,
                   std::span<const StatusChange> with_ids, Used&&... used) {
  DerivedChanges row;
  std::vector<std::int64_t> derived_changes;
  for (const auto& [change, sent] : sql::select_rows(
           row, session, "DELETE FROM inbound_event WHERE " + condition + " RETURNING change_id, sent_id",
           used..., into(row.change), into(row.sent))) {
    if (change != 0) derived_changes.push_back(change);
    if (sent != 0) derived_changes.push_back(sent);
  }
  withdraw_derived_changes(session, derived_changes, with_ids, now);
}

/// The number of the source's events in `states`, counted in an index alone.
std::int64_t count_events(soci::session& session, const std::string& source, const std::string& states) {
  return sql::select_value<std::int64_t>(
      session, "SELECT count(*) FROM inbound_event WHERE source = :source AND state IN (" + states + ")",
      use(source));
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

UnappliedEvent payload_of(const InboundItem& item) {
  UnappliedEvent payload = item.event;
  payload.state = EventState::orphaned;
  payload.reason.reset();
  payload.detail = item.orphan_detail;
  // In the form that delete_orphaned_payloads() compares.
  payload.transaction = std::to_string(item.change->transaction.value);
  return payload;
}

}  // namespace

void delete_reprocessed(soci::session& session, const InboundBatch& batch,
                        std::span<const StatusChange> with_ids) {
  if (batch.reprocessed_ids.empty()) return;
  const std::string list = sql::list_of(session, batch.reprocessed_ids);
  delete_events(session, sql::in_list(session, "id", "ids", false), batch.now, with_ids, use(list));
}

std::size_t insert_quarantined(soci::session& session, const InboundBatch& batch,
                               std::span<const UnappliedEvent> events, std::span<const StatusChange> with_ids,
                               std::int64_t& next_id) {
  if (events.empty()) return 0;
  std::vector<std::string> digests;
  for (const UnappliedEvent& event : events) digests.push_back(event.digest);
  const std::string list = sql::list_of(session, digests);
  // The same event was read otherwise before: as an orphaned change, or ignored. The condition is written so
  // that SQLite finds it by its digest.
  delete_events(
      session,
      "source = :source AND state <> 'quarantined' AND " + sql::in_list(session, "digest", "digests", true),
      batch.now, with_ids, use(batch.source), use(list));
  sql::BulkInsert rows = inbound_event_rows(session);
  for (const UnappliedEvent& event : events) add_inbound_event(rows, next_id++, batch.source, event);
  const auto inserted = static_cast<std::size_t>(rows.run(session));
  // Reprocessing needs no further capacity.
  if (inserted > 0 && batch.reprocessed_ids.empty() &&
      count_events(session, batch.source, "'quarantined'") > kMaxQuarantined)
    throw QuotaExceeded{};
  return inserted;
}

void insert_orphaned_payloads(soci::session& session, const InboundBatch& batch,
                              std::span<const InboundItem* const> items, std::int64_t next_id) {
  if (items.empty()) return;
  const std::vector<StatusChange> changes = orphaned_changes(session, batch.source, transactions_of(items));
  if (changes.empty()) return;
  const std::map<Identity, std::int64_t> orphaned = ids_by_identity(changes);
  // Reprocessing needs no further capacity.
  std::int64_t capacity =
      std::max(kMaxQuarantined - count_events(session, batch.source, "'quarantined', 'orphaned'"),
               static_cast<std::int64_t>(batch.reprocessed_ids.size()));
  sql::BulkInsert rows = inbound_event_rows(session, kReplaceIgnored);
  std::set<std::string_view> digests;  // PostgreSQL replaces a row once per statement
  for (const InboundItem* item : items) {
    const std::int64_t change = find_change(orphaned, item->change, batch.source);
    if (change == 0 || !digests.insert(item->event.digest).second) continue;
    if (capacity-- <= 0) break;
    add_inbound_event(rows, next_id++, batch.source, payload_of(*item),
                      {change, find_change(orphaned, item->sent, batch.source)});
  }
  if (!rows.empty()) rows.run(session);
}

}  // namespace giftsync::store
