#include "schema/store/event/ingest_transaction.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

#include "schema/contact_normalization.h"
#include "schema/sql/bulk_rows.h"
#include "schema/sql/queries.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/statements/feed_marks.h"
#include "schema/store/statements/rollup_deltas.h"

namespace giftsync::store {
namespace {

using soci::use;
using Type = sql::BulkInsert::Type;

IngestResult unchanged_result(IngestResult::Kind why) {
  IngestResult result;
  result.kind = why;
  return result;
}

/// Not requested by an account: it has none; its sender is known by address only.
GiftRequest request_of(const ExternalGift& gift) {
  GiftRequest request;
  request.mode = SendMode::external;
  request.gift = gift.gift;
  request.item_name = gift.item_name;
  request.item_description = gift.item_description;
  request.costs = gift.costs;
  request.sender_email = gift.sender_email;
  request.created_at = gift.sent_at;
  return request;
}

/// Describes which gift an event was refused for, and what to do about it. `owner`: the gift's gift_source.
std::string describe_collision(TransactionId id, const std::string& owner, const InboundBatch& batch) {
  const std::string gift = "transaction " + std::to_string(id.value);
  if (owner.empty())
    return gift +
           " is a gift that giftsync sent, but this source reports only its own gifts; if it is to "
           "report on giftsync's, set transactions: own";
  if (owner == batch.source)
    return gift + " belongs to this source since it had transactions: external; set that again";
  return gift + " belongs to source " + owner + ": gifts belong to a source by its name; if " + owner +
         " was renamed to " + batch.source + ", restore its old name";
}

using GiftSources = std::unordered_map<TransactionId, std::string>;

bool is_duplicate_message(soci::session& session, const InboundBatch& batch) {
  if (!batch.message_id) return false;
  sql::BulkInsert row(session, "source_message",
                      {{"source", Type::text}, {"message_id", Type::text}, {"received_at", Type::integer}},
                      "ON CONFLICT DO NOTHING");
  row.add({batch.source, *batch.message_id, batch.now.value});
  return row.run(session) == 0;
}

/// Advances the cursor of the poll that read the batch; true: another process has claimed that poll.
bool is_superseded(soci::session& session, const InboundBatch& batch) {
  if (!batch.advance) return false;
  const InboundBatch::Advance& advance = *batch.advance;
  const std::int64_t updated = sql::change_rows(
      session,
      "UPDATE source SET cursor_state = :cursor_state, revision = revision + 1, failures = 0 "
      "WHERE name = :name AND lease_owner = :owner AND revision = :revision",
      use(advance.cursor_state), use(batch.source), use(advance.owner), use(advance.revision));
  return updated == 0;
}

/// The sources of those of the batch's gifts that exist.
GiftSources existing_gift_sources(soci::session& session, const InboundBatch& batch) {
  std::vector<TransactionId> ids;
  for (const InboundItem& item : batch.items) {
    if (item.gift && !item.quarantined) ids.push_back(item.gift->id);
  }
  if (ids.empty()) return {};
  return find_gift_sources(session, ids);
}

/// Creates the batch's gifts that do not exist, their requests with ids from `request_id` on; returns how
/// many. Rows are inserted in the order of their ids: of two batches with the same new gifts one waits for
/// the other and then finds them.
std::size_t create_gifts(soci::session& session, const InboundBatch& batch, std::int64_t request_id,
                         IngestEnd& end) {
  const GiftSources existing = existing_gift_sources(session, batch);
  std::map<TransactionId, const ExternalGift*> fresh;
  for (const InboundItem& item : batch.items) {
    if (item.gift && !item.quarantined && !existing.contains(item.gift->id))
      fresh.emplace(item.gift->id, &*item.gift);
  }
  if (fresh.empty()) return 0;
  sql::BulkInsert transactions = recipient_transaction_rows(
      session, {{"phone", Type::text}, {"gift_source", Type::text}, {"external_id", Type::text}},
      "ON CONFLICT (id) DO NOTHING");
  std::map<TransactionId, std::int64_t> request_ids;
  const std::int64_t zero = 0;
  for (const auto& [id, gift] : fresh) {
    const std::string email = email_to_store(gift->email);
    transactions.add({id.value, request_id, zero, email, gift->first_name, gift->last_name, gift->message,
                      zero, to_word(Status::sent), gift->sent_at.value, std::int64_t{1}, gift->phone,
                      batch.gift_source, gift->external_id});
    request_ids[id] = request_id++;
  }
  sql::BulkInsert requests = gift_request_rows(session);
  RollupDeltas deltas;
  std::vector<TransactionId> created;
  for (const std::int64_t id : transactions.run_returning_keys(session)) {
    created.push_back({id});
    const ExternalGift& gift = *fresh.at({id});
    const GiftRequest request = request_of(gift);
    add_gift_request(requests, {request_ids.at({id})}, request);
    RecipientTransaction transaction;
    transaction.times[Status::sent] = gift.sent_at;
    transaction.gift_source = batch.gift_source;
    if (const auto counted = counted_gift(request, transaction)) deltas.add(*counted);
  }
  if (created.empty()) return 0;
  requests.run(session);
  deltas.rows(session, false).run(session);
  mark_for_feed(session, created, feed_reason::kMade, batch.now);
  end.enqueue(created);
  return created.size();
}

GiftSources gift_sources_of_conflicts(soci::session& session, const std::vector<StatusChange>& with_ids,
                                      const std::vector<AcceptOutcome>& outcomes) {
  std::vector<TransactionId> others;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i] == AcceptOutcome::other_source) others.push_back(with_ids[i].transaction);
  }
  if (others.empty()) return {};
  return find_gift_sources(session, others);
}

/// What became of the batch's events.
struct Classified {
  IngestResult counts;
  std::vector<UnappliedEvent> quarantined;
  std::vector<const InboundItem*> maybe_orphaned;  ///< in the batch; a repeat may be of a gift that is there
};

void classify(const InboundBatch& batch, const InboundItem& item, AcceptOutcome outcome,
              const GiftSources& conflicts, Classified& classified) {
  switch (outcome) {
    case AcceptOutcome::accepted:
      ++classified.counts.accepted;
      return;
    case AcceptOutcome::duplicate:
    case AcceptOutcome::orphaned:
      ++(outcome == AcceptOutcome::orphaned ? classified.counts.orphaned : classified.counts.duplicates);
      if (!item.orphan_detail.empty()) classified.maybe_orphaned.push_back(&item);
      return;
    case AcceptOutcome::too_many_orphaned:
      if (batch.reprocessed_ids.empty()) throw QuotaExceeded{};
      // It was quarantined before and reuses its own row, so that the others of its batch are reprocessed.
      classified.quarantined.push_back(item.event);
      return;
    case AcceptOutcome::other_source:
      break;
  }
  const TransactionId id = item.change->transaction;
  const auto owner = conflicts.find(id);
  UnappliedEvent& event = classified.quarantined.emplace_back(item.event);
  event.state = EventState::quarantined;
  event.reason = QuarantineReason::other_source;
  event.detail = describe_collision(id, owner == conflicts.end() ? std::string() : owner->second, batch);
  classified.counts.id_conflicts.push_back(event.detail);
}

/// Accepts the changes and classifies the events by the outcomes.
Classified accept(soci::session& session, const PreparedBatch& prepared, IngestEnd& end) {
  const InboundBatch& batch = *prepared.batch;
  const std::vector<StatusChange>& with_ids = prepared.changes;
  const auto [outcomes, to_sync] =
      accept_without_sync(session, with_ids, known_transactions(session, with_ids), prepared.orphan_capacity);
  end.enqueue(to_sync);
  const GiftSources conflicts = gift_sources_of_conflicts(session, with_ids, outcomes);
  Classified classified;
  std::size_t next = 0;
  for (const InboundItem& item : batch.items) {
    if (item.quarantined) {
      classified.quarantined.push_back(item.event);
    } else if (item.change) {
      const AcceptOutcome outcome = outcomes[next++];
      // An event needs capacity for its time of sending as well.
      const bool is_at_limit = item.sent && outcomes[next++] == AcceptOutcome::too_many_orphaned;
      classify(batch, item, is_at_limit ? AcceptOutcome::too_many_orphaned : outcome, conflicts, classified);
    }
  }
  return classified;
}

}  // namespace

void IngestEnd::add(const PreparedBatch& prepared, const IngestResult& result) {
  const InboundBatch& batch = *prepared.batch;
  const bool is_from_source = batch.reprocessed_ids.empty();
  Counts& counts = counts_[batch.source];
  if (is_from_source) {
    ++counts.messages;
    counts.received_at = std::max(counts.received_at, batch.now);
    counts.duplicates += static_cast<long long>(result.duplicates);
  }
  counts.accepted += static_cast<long long>(result.accepted + result.orphaned);
  counts.ignored += static_cast<long long>(batch.ignored.size());
  counts.gifts += static_cast<long long>(result.gifts);
  std::int64_t id = prepared.event_id + static_cast<std::int64_t>(batch.items.size());
  for (const UnappliedEvent& event : batch.ignored) ignored_.push_back({id++, &batch.source, &event});
  do_not_send_.insert(do_not_send_.end(), batch.do_not_send.begin(), batch.do_not_send.end());
}

void IngestEnd::merge(const IngestEnd& other) {
  enqueue(other.to_sync_);
  ignored_.insert(ignored_.end(), other.ignored_.begin(), other.ignored_.end());
  do_not_send_.insert(do_not_send_.end(), other.do_not_send_.begin(), other.do_not_send_.end());
  for (const auto& [source, added] : other.counts_) {
    Counts& counts = counts_[source];
    counts.messages += added.messages;
    counts.received_at = std::max(counts.received_at, added.received_at);
    counts.accepted += added.accepted;
    counts.duplicates += added.duplicates;
    counts.ignored += added.ignored;
    counts.gifts += added.gifts;
  }
}

void IngestEnd::write(soci::session& session, UtcMillis now) const {
  insert_ignored_events(session, ignored_);
  upsert_reported_do_not_send(session, do_not_send_);
  enqueue_sync(session, to_sync_, now);
  for (const auto& [source, counts] : counts_) {
    session
        << "UPDATE source SET last_received_at = CASE WHEN :heard > 0 THEN :now ELSE last_received_at END, "
           "refused_in_row = CASE WHEN :from_source > 0 THEN 0 ELSE refused_in_row END, "
           "accepted = accepted + :accepted, duplicates = duplicates + :duplicates, "
           "ignored = ignored + :ignored, gifts = gifts + :gifts WHERE name = :name",
        use(counts.messages), use(counts.received_at), use(counts.messages), use(counts.accepted),
        use(counts.duplicates), use(counts.ignored), use(counts.gifts), use(source);
  }
}

void lock_new_gifts(soci::session& session, std::span<const PreparedBatch> batches) {
  std::vector<std::int64_t> ids;
  for (const PreparedBatch& prepared : batches) {
    for (const InboundItem& item : prepared.batch->items) {
      if (item.gift && !item.quarantined) ids.push_back(item.gift->id.value);
    }
  }
  lock_new_gifts(session, ids);
}

IngestResult ingest_batch(soci::session& session, const PreparedBatch& prepared, IngestEnd& end) {
  const InboundBatch& batch = *prepared.batch;
  if (is_duplicate_message(session, batch)) return unchanged_result(IngestResult::Kind::replayed);
  if (is_superseded(session, batch)) return unchanged_result(IngestResult::Kind::superseded);
  delete_reprocessed(session, batch, prepared.changes);
  const std::size_t gifts = create_gifts(session, batch, prepared.request_id, end);
  Classified classified = accept(session, prepared, end);
  IngestResult result = std::move(classified.counts);
  result.gifts = gifts;
  std::int64_t event_id = prepared.event_id;
  result.quarantined = insert_quarantined(session, batch, classified.quarantined, prepared.changes, event_id);
  insert_orphaned_payloads(session, batch, classified.maybe_orphaned, event_id);
  end.add(prepared, result);
  return result;
}

std::vector<StatusChange> changes_in(const InboundBatch& batch) {
  std::vector<StatusChange> changes;
  for (const InboundItem& item : batch.items) {
    if (item.quarantined || !item.change) continue;
    changes.push_back(*item.change);
    if (item.sent) changes.push_back(*item.sent);
  }
  for (StatusChange& change : changes) {
    change.source = batch.source;
    change.gift_source = batch.gift_source;
  }
  return changes;
}

std::vector<PreviewItem> preview_batch(soci::session& session, const InboundBatch& batch) {
  const std::vector<StatusChange> changes = changes_in(batch);
  std::vector<TransactionId> ids;
  for (const StatusChange& change : changes) ids.push_back(change.transaction);
  const GiftSources existing = ids.empty() ? GiftSources() : find_gift_sources(session, ids);
  GiftSources known = existing;
  for (const InboundItem& item : batch.items) {
    if (item.gift && !item.quarantined) known.emplace(item.gift->id, batch.gift_source);
  }
  const std::vector<AcceptOutcome> outcomes = preview_changes(session, changes, known);
  std::vector<PreviewItem> previewed;
  std::size_t next = 0;
  for (const InboundItem& item : batch.items) {
    PreviewItem& preview_item = previewed.emplace_back();
    if (item.quarantined || !item.change) continue;
    const TransactionId id = item.change->transaction;
    preview_item.outcome = outcomes[next++];
    if (item.sent && outcomes[next++] == AcceptOutcome::too_many_orphaned)
      preview_item.outcome = AcceptOutcome::too_many_orphaned;
    preview_item.gift_exists = existing.contains(id);
    preview_item.creates_gift = item.gift && !preview_item.gift_exists;
    preview_item.gift_known = known.contains(id);
    if (preview_item.outcome == AcceptOutcome::other_source)
      preview_item.conflict = describe_collision(id, known.at(id), batch);
  }
  return previewed;
}

// The plain messages of a group: nearly all of a busy source's messages report changes of gifts that exist.
// They are stored with the same few statements, however many they are.

namespace {

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

GiftSources known_of(soci::session& session, std::span<const PreparedBatch> batches,
                     const std::vector<std::size_t>& candidates) {
  std::vector<StatusChange> changes;
  for (const std::size_t i : candidates)
    changes.insert(changes.end(), batches[i].changes.begin(), batches[i].changes.end());
  return known_transactions(session, changes);
}

/// Inserts the ids of those messages that have one, in one order everywhere; returns which were there before.
std::set<std::size_t> insert_message_ids(soci::session& session, std::span<const PreparedBatch> batches,
                                         const std::vector<std::size_t>& plain) {
  std::map<MessageKey, std::size_t> messages;
  for (const std::size_t i : plain) {
    if (batches[i].batch->message_id) messages.emplace(key_of(*batches[i].batch), i);
  }
  sql::BulkRows rows(session, {{"number", Type::integer},
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

std::vector<std::optional<IngestResult>> ingest_plain(soci::session& session,
                                                      std::span<const PreparedBatch> batches,
                                                      IngestEnd& end) {
  std::vector<std::optional<IngestResult>> results(batches.size());
  std::vector<std::size_t> plain = find_candidates(batches);
  const GiftSources known = known_of(session, batches, plain);
  std::erase_if(plain, [&](std::size_t i) { return !are_applicable(batches[i].changes, known); });
  const std::set<std::size_t> replayed = insert_message_ids(session, batches, plain);
  std::vector<StatusChange> changes;
  for (const std::size_t i : plain) {
    if (!replayed.contains(i))
      changes.insert(changes.end(), batches[i].changes.begin(), batches[i].changes.end());
  }
  const AcceptedChanges accepted = accept_without_sync(session, changes, known);
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

}  // namespace giftsync::store
