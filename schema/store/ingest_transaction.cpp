#include "schema/store/ingest_transaction.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "schema/sql/bulk_insert.h"
#include "schema/sql/queries.h"
#include "schema/store/change_rows.h"
#include "schema/store/gift_inserts.h"
#include "schema/store/orphaned_payloads.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
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

/// A batch during its transaction.
class BatchIngest {
 public:
  BatchIngest(soci::session& session, sql::Dialect dialect, const InboundBatch& batch)
      : session_(session), dialect_(dialect), batch_(batch) {}

  IngestResult run(const std::vector<StatusChange>& with_ids, std::int64_t request_id,
                   std::int64_t quarantine_id) {
    if (is_duplicate_message()) return unchanged_result(IngestResult::Kind::replayed);
    if (is_superseded()) return unchanged_result(IngestResult::Kind::superseded);
    delete_reprocessed(with_ids);
    create_gifts(request_id);
    accept(with_ids);
    next_quarantine_id_ = quarantine_id;
    insert_quarantined(with_ids);
    insert_orphaned_payloads();
    count();
    return std::move(result_);
  }

 private:
  bool is_duplicate_message() {
    if (!batch_.message_id) return false;
    sql::BulkInsert row(dialect_, "source_message",
                        {{"source", Type::text}, {"message_id", Type::text}, {"received_at", Type::integer}},
                        "ON CONFLICT DO NOTHING");
    row.add({batch_.source, *batch_.message_id, batch_.now.value});
    return row.run(session_) == 0;
  }

  bool is_superseded() {
    if (!batch_.advance) return false;
    const InboundBatch::Advance& advance = *batch_.advance;
    const std::int64_t updated = sql::change_rows(
        session_,
        "UPDATE source SET cursor_state = :cursor_state, revision = revision + 1, failures = 0 "
        "WHERE name = :name AND lease_owner = :owner AND revision = :revision",
        use(advance.cursor_state), use(batch_.source), use(advance.owner), use(advance.revision));
    return updated == 0;
  }

  void delete_reprocessed(const std::vector<StatusChange>& with_ids) {
    if (batch_.reprocessed_ids.empty()) return;
    const std::string list = sql::list_of(dialect_, batch_.reprocessed_ids);
    delete_events(sql::in_list(dialect_, "id", "ids", false), with_ids, use(list));
  }

  /// With the changes that were derived from them.
  template <class... Used>
  void delete_events(const std::string& condition, const std::vector<StatusChange>& with_ids,
                     Used&&... used) {
    std::pair<std::int64_t, std::int64_t> row;
    std::vector<std::int64_t> derived_changes;
    for (const auto& [change, sent] : sql::select_rows(
             row, session_,
             "DELETE FROM quarantined_event WHERE " + condition + " RETURNING change_id, sent_id", used...,
             into(row.first), into(row.second))) {
      if (change != 0) derived_changes.push_back(change);
      if (sent != 0) derived_changes.push_back(sent);
    }
    withdraw_derived_changes(session_, dialect_, derived_changes, with_ids, batch_.now);
  }

  /// The gift_sources of the existing transactions.
  std::unordered_map<TransactionId, std::string> existing_gift_sources() {
    std::vector<TransactionId> ids;
    for (const InboundItem& item : batch_.items) {
      if (item.gift && !item.quarantined) ids.push_back(item.gift->id);
    }
    if (ids.empty()) return {};
    return find_gift_sources(session_, dialect_, ids);
  }

  void create_gifts(std::int64_t request_id) {
    std::unordered_map<TransactionId, std::string> gift_sources = existing_gift_sources();
    sql::BulkInsert requests = gift_request_rows(dialect_);
    sql::BulkInsert transactions =
        recipient_transaction_rows(dialect_, {{"phone", Type::text}, {"gift_source", Type::text}});
    std::vector<TransactionId> created;
    const std::int64_t zero = 0;
    for (const InboundItem& item : batch_.items) {
      if (!item.gift || item.quarantined) continue;
      const ExternalGift& gift = *item.gift;
      if (!gift_sources.emplace(gift.id, batch_.gift_source).second) continue;
      add_gift_request(requests, {request_id}, request_of(gift));
      transactions.add({gift.id.value, request_id, zero, gift.email, gift.first_name, gift.last_name,
                        gift.message, zero, to_word(Status::sent), gift.sent_at.value, std::int64_t{1},
                        gift.phone, batch_.gift_source});
      created.push_back(gift.id);
      ++request_id;
    }
    requests.run(session_);
    transactions.run(session_);
    enqueue_sync(session_, dialect_, created, batch_.now);
    result_.gifts = created.size();
  }

  void accept(const std::vector<StatusChange>& with_ids) {
    const std::vector<AcceptOutcome> outcomes = accept_changes(session_, dialect_, with_ids);
    find_gift_sources_of_conflicts(with_ids, outcomes);
    std::size_t next = 0;
    for (const InboundItem& item : batch_.items) {
      if (item.quarantined) {
        quarantined_.push_back(item.event);
      } else if (item.change) {
        const AcceptOutcome outcome = outcomes[next++];
        // An event needs capacity for its time of sending as well.
        const bool is_at_limit = item.sent && outcomes[next++] == AcceptOutcome::too_many_orphaned;
        classify(item, is_at_limit ? AcceptOutcome::too_many_orphaned : outcome);
      }
    }
  }

  void find_gift_sources_of_conflicts(const std::vector<StatusChange>& with_ids,
                                      const std::vector<AcceptOutcome>& outcomes) {
    std::vector<TransactionId> others;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i] == AcceptOutcome::other_source) others.push_back(with_ids[i].transaction);
    }
    if (!others.empty()) conflict_sources_ = find_gift_sources(session_, dialect_, others);
  }

  void classify(const InboundItem& item, AcceptOutcome outcome) {
    switch (outcome) {
      case AcceptOutcome::accepted:
        ++result_.accepted;
        return;
      case AcceptOutcome::duplicate:
        ++result_.duplicates;
        if (!item.orphan_detail.empty()) maybe_orphaned_.push_back(&item);
        return;
      case AcceptOutcome::orphaned:
        ++result_.orphaned;
        if (!item.orphan_detail.empty()) maybe_orphaned_.push_back(&item);
        return;
      case AcceptOutcome::too_many_orphaned:
        if (batch_.reprocessed_ids.empty()) throw QuotaExceeded{};
        // It was quarantined before and reuses its own row, so that the others of its batch are reprocessed.
        quarantined_.push_back(item.event);
        return;
      case AcceptOutcome::other_source:
        break;
    }
    QuarantinedEvent& event = quarantined_.emplace_back(item.event);
    event.reason = QuarantineReason::other_source;
    event.detail =
        describe_collision(item.change->transaction, conflict_sources_[item.change->transaction], batch_);
    result_.id_conflicts.push_back(event.detail);
  }

  sql::BulkInsert quarantine_rows() const {
    return {dialect_,
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

  /// `change`, `sent`: the orphaned changes that it was read as; 0: none.
  void add_quarantined(sql::BulkInsert& rows, const QuarantinedEvent& event, std::int64_t change = 0,
                       std::int64_t sent = 0) {
    rows.add({next_quarantine_id_++, batch_.source, event.digest, to_word(event.reason), event.status_word,
              event.detail, event.transaction, event.payload, event.received_at.value, change, sent});
  }

  void insert_quarantined(const std::vector<StatusChange>& with_ids) {
    if (quarantined_.empty()) return;
    replace_orphaned_payloads(with_ids);
    sql::BulkInsert rows = quarantine_rows();
    for (const QuarantinedEvent& event : quarantined_) add_quarantined(rows, event);
    result_.quarantined = static_cast<std::size_t>(rows.run(session_));
    // Reprocessing needs no further capacity.
    if (result_.quarantined > 0 && batch_.reprocessed_ids.empty() && is_over_quota()) throw QuotaExceeded{};
  }

  /// The same event was stored as an orphaned payload; now it is complete.
  void replace_orphaned_payloads(const std::vector<StatusChange>& with_ids) {
    std::vector<std::string> digests;
    for (const QuarantinedEvent& event : quarantined_) digests.push_back(event.digest);
    const std::string list = sql::list_of(dialect_, digests);
    delete_events(
        "source = :source AND reason = 'orphaned' AND " + sql::in_list(dialect_, "digest", "digests", true),
        with_ids, use(batch_.source), use(list));
  }

  /// The number of the source's quarantined events, counted in an index alone.
  std::int64_t count_stored() {
    return sql::select_value<std::int64_t>(
        session_, "SELECT count(*) FROM quarantined_event WHERE source = :source", use(batch_.source));
  }

  bool is_over_quota() {
    const std::int64_t stored = count_stored();
    if (stored <= kMaxQuarantined) return false;
    const auto beside = sql::select_value<std::int64_t>(
        session_, "SELECT count(*) FROM quarantined_event WHERE source = :source AND reason = 'orphaned'",
        use(batch_.source));
    return stored - beside > kMaxQuarantined;
  }

  /// Without capacity for its payload a change is orphaned without it. Reprocessing needs none.
  void insert_orphaned_payloads() {
    if (maybe_orphaned_.empty()) return;
    std::vector<TransactionId> ids;
    for (const InboundItem* item : maybe_orphaned_) ids.push_back(item->change->transaction);
    const std::vector<StatusChange> waiting = orphaned_changes(session_, dialect_, batch_.source, ids);
    if (waiting.empty()) return;
    std::map<Identity, std::int64_t> orphaned;
    for (const StatusChange& change : waiting) orphaned.emplace(identity_of(change), change.id.value);
    const auto id_of = [&](const std::optional<StatusChange>& change) -> std::int64_t {
      if (!change) return 0;
      const auto found = orphaned.find(
          {change->transaction, change->status, change->premise, change->occurred_at, batch_.source});
      return found == orphaned.end() ? 0 : found->second;
    };
    const auto reprocessed = static_cast<std::int64_t>(batch_.reprocessed_ids.size());
    std::int64_t capacity = std::max(kMaxQuarantined - count_stored(), reprocessed);
    sql::BulkInsert rows = quarantine_rows();
    for (const InboundItem* item : maybe_orphaned_) {
      const std::int64_t change = id_of(item->change);
      if (change == 0) continue;
      if (capacity-- <= 0) break;
      QuarantinedEvent payload = item->event;
      payload.reason = QuarantineReason::orphaned;
      payload.detail = item->orphan_detail;
      payload.transaction = std::to_string(
          item->change->transaction.value);  // in the form that delete_orphaned_payloads() compares
      add_quarantined(rows, payload, change, id_of(item->sent));
    }
    if (!rows.empty()) rows.run(session_);
  }

  /// Reprocessing stored events does not count as receiving from the source.
  void count() {
    const long long is_from_source = batch_.reprocessed_ids.empty() ? 1 : 0;
    const long long accepted =
        static_cast<long long>(result_.accepted) + static_cast<long long>(result_.orphaned);
    const long long duplicates = is_from_source * static_cast<long long>(result_.duplicates);
    const long long ignored = static_cast<long long>(batch_.ignored);
    const long long gifts = static_cast<long long>(result_.gifts);
    session_
        << "UPDATE source SET last_received_at = CASE WHEN :heard = 1 THEN :now ELSE last_received_at END, "
           "accepted = accepted + :accepted, duplicates = duplicates + :duplicates, "
           "ignored = ignored + :ignored, gifts = gifts + :gifts WHERE name = :name",
        use(is_from_source), use(batch_.now), use(accepted), use(duplicates), use(ignored), use(gifts),
        use(batch_.source);
  }

  soci::session& session_;
  const sql::Dialect dialect_;
  const InboundBatch& batch_;
  std::vector<QuarantinedEvent> quarantined_;
  std::unordered_map<TransactionId, std::string> conflict_sources_;  // of the gifts that are another's
  std::vector<const InboundItem*> maybe_orphaned_;  // in batch_; a repeat may be of a gift that is there
  std::int64_t next_quarantine_id_ = 0;
  IngestResult result_;
};

}  // namespace

IngestResult ingest_batch(soci::session& session, sql::Dialect dialect, const InboundBatch& batch,
                          const std::vector<StatusChange>& changes, std::int64_t request_id,
                          std::int64_t quarantine_id) {
  return BatchIngest(session, dialect, batch).run(changes, request_id, quarantine_id);
}

}  // namespace giftsync::schema::store
