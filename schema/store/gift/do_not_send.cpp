#include "schema/store/gift/do_not_send.h"

#include <set>
#include <utility>

#include "platform/digest.h"
#include "schema/sql/record_rows.h"
#include "schema/store/gift/erased_address.h"
#include "schema/store/statements/claims.h"
#include "schema/store/statements/metadata.h"
#include "schema/store/statements/word_conversions.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

/// Smaller for a stronger reason.
std::string strength(const std::string& column) {
  std::string text = "CASE " + column;
  for (const DoNotSendReason reason : kAllDoNotSendReasons)
    text += " WHEN '" + std::string(to_word(reason)) + "' THEN " + std::to_string(static_cast<int>(reason));
  return text + " END";
}

/// What is there with an end is to end later, or not at all.
constexpr const char* kIsLonger =
    "do_not_send.expires_at IS NOT NULL AND (excluded.expires_at IS NULL OR do_not_send.expires_at < "
    "excluded.expires_at)";

/// An admin's block brings a new comment or end. A recipient's wish never ends earlier than before, and what
/// is no news about it, such as an older list, leaves who recorded it and when (GUARD-4).
std::string is_news() {
  return "CASE WHEN do_not_send.reason IN ('opted_out', 'complained') THEN " + std::string(kIsLonger) +
         " ELSE do_not_send.comment <> excluded.comment OR coalesce(do_not_send.expires_at, 0) <> "
         "coalesce(excluded.expires_at, 0) OR do_not_send.expires_at <= excluded.added_at END";
}

/// In the store's metadata.
constexpr const char* kRevision = "do_not_send_revision";
/// A condition on the entries that count: they have not ended, and their pattern has no stronger one. Bind
/// :now.
std::string counts() {
  return "(d.expires_at IS NULL OR d.expires_at > cast(:now AS bigint)) AND NOT EXISTS (SELECT 1 FROM "
         "do_not_send s WHERE s.pattern = d.pattern AND (s.expires_at IS NULL OR s.expires_at > cast(:now AS "
         "bigint)) AND " +
         strength("s.reason") + " < " + strength("d.reason") + ")";
}

/// The entries that count and fulfil the conditions. `rest`: what follows the conditions.
std::vector<DoNotSendEntry> find_counting(soci::session& session, sql::Conditions conditions, UtcMillis now,
                                          const std::string& rest = "") {
  conditions.add(counts(), "now", std::to_string(now.value));
  return sql::select_records(kDoNotSendFields, session,
                             "SELECT " + sql::select_list(kDoNotSendFields, "d") +
                                 " FROM do_not_send d WHERE " + conditions.text + rest,
                             conditions);
}

/// `replaces`: the condition under which an entry takes the place of the one with its pattern and reason.
std::int64_t upsert(soci::session& session, std::span<const DoNotSendEntry> entries,
                    const std::string& replaces) {
  // Each key once, and in one order: two transactions must not wait for each other.
  std::map<std::pair<std::string, DoNotSendReason>, const DoNotSendEntry*> by_key;
  for (const DoNotSendEntry& entry : entries) by_key[{entry.pattern, entry.reason}] = &entry;
  if (by_key.empty()) return 0;
  // Daemons of several hosts read the newest entries, so their clocks must not matter.
  const auto now = sql::select_value<UtcMillis>(session, "SELECT " + std::string(sql::database_now(session)));
  sql::BulkInsert rows(session, kDoNotSendFields.table, sql::bulk_columns(kDoNotSendFields),
                       "ON CONFLICT (pattern, reason) DO UPDATE SET comment = excluded.comment, "
                       "transaction_id = excluded.transaction_id, added_at = excluded.added_at, added_by = "
                       "excluded.added_by, expires_at = excluded.expires_at WHERE " +
                           replaces);
  for (const auto& [key, entry] : by_key) {
    DoNotSendEntry row = *entry;
    row.added_at = now;
    rows.add(sql::cells_of(kDoNotSendFields, row));
  }
  const std::int64_t changed = rows.run(session);
  if (changed > 0) write_metadata(session, kRevision, random_hex(8));
  return changed;
}

/// Those of the gifts whose person was erased, and test gifts, of which nothing is listed (TEST-2).
std::set<TransactionId> unlisted_gifts(soci::session& session, std::span<const DoNotSendEntry> entries) {
  std::set<TransactionId> ids;
  for (const DoNotSendEntry& entry : entries)
    if (entry.transaction) ids.insert(*entry.transaction);
  if (ids.empty()) return {};
  const std::string list = sql::list_of(session, ids);
  RecipientTransaction row;
  const auto rows = sql::select_rows(row, session,
                                     "SELECT id, email, is_test FROM recipient_transaction WHERE " +
                                         sql::in_list(session, "id", "ids", false),
                                     use(list), into(row.id), into(row.email), into(row.is_test));
  std::set<TransactionId> left_out;
  for (const RecipientTransaction& gift : rows)
    if (gift.is_test || is_erased_address(gift.email)) left_out.insert(gift.id);
  return left_out;
}

}  // namespace

std::int64_t upsert_do_not_send(soci::session& session, std::span<const DoNotSendEntry> entries) {
  return upsert(session, entries, is_news());
}

void upsert_reported_do_not_send(soci::session& session, std::span<const DoNotSendEntry> entries) {
  if (entries.empty()) return;
  const std::set<TransactionId> unlisted = unlisted_gifts(session, entries);
  std::vector<DoNotSendEntry> kept;
  for (const DoNotSendEntry& entry : entries)
    if (!entry.transaction || !unlisted.contains(*entry.transaction)) kept.push_back(entry);
  upsert(session, kept, kIsLonger);
}

std::int64_t erase_do_not_send(soci::session& session, const std::string& address_key,
                               const std::string& address_hash) {
  std::vector<DoNotSendEntry> entries =
      sql::find_records(kDoNotSendFields, session, "WHERE pattern = :pattern", use(address_key));
  for (DoNotSendEntry& entry : entries) {
    entry.pattern = erased_address_mark(address_hash);
    entry.pattern_hash = address_hash;
    entry.comment.clear();
  }
  upsert_do_not_send(session, entries);
  sql::change_rows(session, "DELETE FROM do_not_send WHERE pattern = :pattern", use(address_key));
  return static_cast<std::int64_t>(entries.size());
}

std::string DoNotSend::hash_of(std::string_view address_key) const {
  return has_erased_address_key() ? erased_address_hash(erased_address_key_, address_key) : std::string();
}

std::string DoNotSend::mark_of(std::string_view address_key) const {
  return has_erased_address_key() ? erased_address_mark(hash_of(address_key)) : std::string();
}

bool DoNotSend::has_erased_entries() {
  return database_->read(
      [](soci::session& session) { return sql::has_row(session, "do_not_send WHERE pattern_hash <> ''"); });
}

std::int64_t DoNotSend::add(std::span<const DoNotSendEntry> entries, const std::optional<AuditEvent>& audit) {
  return database_->write([&](soci::session& session) {
    const std::int64_t changed = upsert_do_not_send(session, entries);
    insert_counted_event(session, audit, changed);
    return changed;
  });
}

TransactionEffect DoNotSend::add_effect(std::vector<DoNotSendEntry> entries,
                                        const std::optional<AuditEvent>& audit) {
  return [entries = std::move(entries), audit](soci::session& session) {
    insert_counted_event(session, audit, upsert_do_not_send(session, entries));
    return true;
  };
}

bool DoNotSend::remove(const std::string& pattern, DoNotSendReason reason,
                       const std::optional<AuditEvent>& audit) {
  const std::string word(to_word(reason));
  return database_->write([&](soci::session& session) {
    const std::int64_t removed =
        sql::change_rows(session, "DELETE FROM do_not_send WHERE pattern = :pattern AND reason = :reason",
                         use(pattern), use(word));
    if (removed > 0 && audit) insert_audit_event(session, *audit);
    return removed > 0;
  });
}

std::map<std::string, DoNotSendEntry> DoNotSend::find(std::span<const std::string> patterns, UtcMillis now) {
  std::map<std::string, DoNotSendEntry> found;
  if (patterns.empty()) return found;
  std::vector<std::string> stored(patterns.begin(), patterns.end());
  std::map<std::string, std::string> by_mark;  // the pattern that was asked for
  for (const std::string& pattern : patterns) {
    if (!has_erased_address_key() || pattern.find('@') == std::string::npos) continue;
    stored.push_back(mark_of(pattern));
    by_mark.emplace(stored.back(), pattern);
  }
  database_->read([&](soci::session& session) {
    sql::Conditions conditions;
    conditions.add(sql::in_list(session, "d.pattern", "patterns", true), "patterns",
                   sql::list_of(session, stored));
    found.clear();
    for (DoNotSendEntry& entry : find_counting(session, std::move(conditions), now)) {
      const auto asked = by_mark.find(entry.pattern);
      const std::string pattern = asked == by_mark.end() ? entry.pattern : asked->second;
      if (asked != by_mark.end() && entry.pattern_hash != hash_of(pattern)) continue;
      const auto [kept, is_first] = found.try_emplace(pattern, entry);
      if (!is_first && entry.reason < kept->second.reason) kept->second = std::move(entry);
    }
  });
  return found;
}

std::vector<DoNotSendEntry> DoNotSend::entries_of(const std::string& address_key) {
  std::vector<std::string> patterns{address_key};
  if (has_erased_address_key()) patterns.push_back(mark_of(address_key));
  return database_->read([&](soci::session& session) {
    const std::string list = sql::list_of(session, patterns);
    return sql::find_records(
        kDoNotSendFields, session,
        "WHERE " + sql::in_list(session, "pattern", "patterns", true) + " ORDER BY pattern, reason",
        use(list, "patterns"));
  });
}

std::string DoNotSend::revision() {
  return database_->read(
      [](soci::session& session) { return read_metadata(session, kRevision).value_or(""); });
}

std::vector<std::string> DoNotSend::patterns(std::optional<std::int64_t> of_last_millis) {
  return database_->read([&](soci::session& session) {
    std::string query = "SELECT pattern FROM do_not_send";
    if (of_last_millis)
      query += " WHERE added_at >= " + std::string(sql::database_now(session)) + " - " +
               std::to_string(*of_last_millis);
    return sql::select_column<std::string>(session, query);
  });
}

std::vector<DoNotSendEntry> DoNotSend::list(const DoNotSendFilter& filter, const std::string& after,
                                            std::size_t limit, UtcMillis now) {
  sql::Conditions conditions;
  conditions.add("d.pattern > :after", "after", after);
  if (!filter.text.empty())
    conditions.add("d.pattern LIKE :text ESCAPE '!'", "text", "%" + sql::like_pattern(filter.text) + "%");
  if (filter.reason) conditions.add("d.reason = :reason", "reason", std::string(to_word(*filter.reason)));
  return database_->read([&](soci::session& session) {
    return find_counting(session, conditions, now, " ORDER BY d.pattern LIMIT " + std::to_string(limit));
  });
}

std::map<DoNotSendReason, std::int64_t> DoNotSend::count(UtcMillis now) {
  return database_->read([&](soci::session& session) {
    sql::Conditions conditions;
    conditions.add(counts(), "now", std::to_string(now.value));
    DoNotSendReason reason{};
    std::int64_t entries = 0;
    std::map<DoNotSendReason, std::int64_t> by_reason;
    soci::statement statement = sql::bound(
        session,
        "SELECT d.reason, count(*) FROM do_not_send d WHERE " + conditions.text + " GROUP BY d.reason",
        conditions, into(reason), into(entries));
    sql::each_row(statement, [&] { by_reason.emplace(reason, entries); });
    return by_reason;
  });
}

void DoNotSend::prune(UtcMillis before) {
  const auto has_ended = [&](soci::session& session) {
    return sql::has_row(session, "do_not_send WHERE expires_at < :before", use(before));
  };
  write_if_any(*database_, has_ended, [&](soci::session& session) {
    session << "DELETE FROM do_not_send WHERE expires_at < :before", use(before);
  });
}

}  // namespace giftsync::store
