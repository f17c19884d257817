// The plain messages of a group: nearly all of a busy source's messages report changes of gifts that exist.
// They are stored with the same few statements, however many they are.
#include <set>
#include <unordered_map>

#include "schema/sql/bulk_rows.h"
#include "schema/store/change_rows.h"
#include "schema/store/ingest_transaction.h"

namespace giftsync::schema::store {
namespace {

using Type = sql::BulkRows::Type;
using GiftSources = std::unordered_map<TransactionId, std::string>;
using MessageKey = std::pair<std::string_view, std::string_view>;

MessageKey key_of(const InboundBatch& batch) {
  return {batch.source, *batch.message_id};
}

/// Each item has a change, and nothing else has to be decided or replaced.
bool has_changes_only(const InboundBatch& batch) {
  if (batch.advance || !batch.reprocessed_ids.empty()) return false;
  for (const InboundItem& item : batch.items) {
    if (item.quarantined || !item.change) return false;
  }
  return true;
}

bool are_applicable(const std::vector<StatusChange>& changes, const GiftSources& known) {
  for (const StatusChange& change : changes) {
    const auto gift = known.find(change.transaction);
    if (gift == known.end() || !is_applicable(change, gift->second)) return false;
  }
  return true;
}

/// Those that have changes only. Of two with one message id only the first: the second one is a replay if the
/// first is stored.
std::vector<std::size_t> find_candidates(std::span<const PreparedBatch> batches) {
  std::set<MessageKey> ids;
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const InboundBatch& batch = *batches[i].batch;
    const bool is_first = !batch.message_id || ids.insert(key_of(batch)).second;
    if (is_first && has_changes_only(batch)) candidates.push_back(i);
  }
  return candidates;
}

GiftSources known_of(soci::session& session, sql::Dialect dialect, std::span<const PreparedBatch> batches,
                     const std::vector<std::size_t>& candidates) {
  std::vector<StatusChange> changes;
  for (const std::size_t i : candidates)
    changes.insert(changes.end(), batches[i].changes.begin(), batches[i].changes.end());
  return known_transactions(session, dialect, changes);
}

/// Inserts the ids of those messages that have one, in one order everywhere; returns which were there before.
std::set<std::size_t> insert_message_ids(soci::session& session, sql::Dialect dialect,
                                         std::span<const PreparedBatch> batches,
                                         const std::vector<std::size_t>& plain) {
  std::map<MessageKey, std::size_t> messages;
  for (const std::size_t i : plain) {
    if (batches[i].batch->message_id) messages.emplace(key_of(*batches[i].batch), i);
  }
  sql::BulkRows rows(dialect, {{"number", Type::integer},
                               {"source", Type::text},
                               {"message_id", Type::text},
                               {"received_at", Type::integer}});
  std::set<std::size_t> known;
  for (const auto& [key, i] : messages) {
    rows.add({static_cast<std::int64_t>(i), key.first, key.second, batches[i].batch->now.value});
    known.insert(i);
  }
  const std::string insert = "INSERT INTO source_message (source, message_id, received_at) ";
  const std::vector<std::int64_t> inserted = rows.run_returning_keys(
      session, insert + "VALUES (:source, :message_id, :received_at) ON CONFLICT DO NOTHING",
      "WITH input AS (SELECT * FROM " + rows.as_table() + "), stored AS (" + insert +
          "SELECT source, message_id, received_at FROM input ON CONFLICT DO NOTHING RETURNING source, "
          "message_id) SELECT number FROM input JOIN stored USING (source, message_id)");
  for (const std::int64_t number : inserted) known.erase(static_cast<std::size_t>(number));
  return known;
}

/// The result of a batch whose changes have those outcomes, each accepted or a duplicate.
IngestResult result_of(const InboundBatch& batch, std::span<const AcceptOutcome> outcomes) {
  IngestResult result;
  std::size_t next = 0;
  for (const InboundItem& item : batch.items) {
    ++(outcomes[next] == AcceptOutcome::accepted ? result.accepted : result.duplicates);
    next += item.sent ? 2 : 1;
  }
  return result;
}

}  // namespace

std::vector<std::optional<IngestResult>> ingest_plain(soci::session& session, sql::Dialect dialect,
                                                      std::span<const PreparedBatch> batches,
                                                      IngestEnd& end) {
  std::vector<std::optional<IngestResult>> results(batches.size());
  std::vector<std::size_t> plain = find_candidates(batches);
  const GiftSources known = known_of(session, dialect, batches, plain);
  std::erase_if(plain, [&](std::size_t i) { return !are_applicable(batches[i].changes, known); });
  const std::set<std::size_t> replayed = insert_message_ids(session, dialect, batches, plain);
  std::vector<StatusChange> changes;
  for (const std::size_t i : plain) {
    if (!replayed.contains(i))
      changes.insert(changes.end(), batches[i].changes.begin(), batches[i].changes.end());
  }
  const AcceptedChanges accepted = accept_without_sync(session, dialect, changes, known);
  end.enqueue(accepted.to_sync);
  std::span<const AcceptOutcome> outcomes = accepted.outcomes;
  for (const std::size_t i : plain) {
    IngestResult& result = results[i].emplace();
    if (replayed.contains(i)) {
      result.kind = IngestResult::Kind::replayed;
      continue;
    }
    result = result_of(*batches[i].batch, outcomes.first(batches[i].changes.size()));
    outcomes = outcomes.subspan(batches[i].changes.size());
    end.add(batches[i], result);
  }
  return results;
}

}  // namespace giftsync::schema::store
