// schema/store: stores one batch of a source inside its transaction. Included by this folder's .cpp files
// only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/store/event/inbound_event_rows.h"
#include "schema/store/event/sources.h"

namespace soci {
class session;
}

namespace giftsync::store {

/// A batch with its ids, ready for repeated write attempts.
struct PreparedBatch {
  const InboundBatch* batch;
  std::vector<StatusChange> changes;  ///< of the items that are not quarantined
  std::int64_t request_id = 0;        ///< the first one of as many as there may be gifts
  std::int64_t event_id = 0;          ///< the first one of as many as there are items and ignored events
  OrphanCapacity* orphan_capacity = nullptr;
};

/// What the batches of one transaction leave for its end, where all of it is written in one order, so that no
/// two transactions wait for each other (ARCH-40).
class IngestEnd {
 public:
  /// Adds the counts of a stored batch and its ignored events.
  void add(const PreparedBatch& prepared, const IngestResult& result);
  void enqueue(std::span<const TransactionId> transactions) {
    to_sync_.insert(to_sync_.end(), transactions.begin(), transactions.end());
  }
  void merge(const IngestEnd& other);
  /// Inserts the ignored events and who gets no more gifts, enqueues the transactions for the sync workers,
  /// then updates the sources' counts.
  void write(soci::session& session, UtcMillis now) const;

 private:
  struct Counts {
    long long messages = 0;  ///< from the source: reprocessing stored events is not receiving
    UtcMillis received_at;
    long long accepted = 0;
    long long duplicates = 0;
    long long ignored = 0;
    long long gifts = 0;
  };
  std::vector<TransactionId> to_sync_;
  std::map<std::string, Counts> counts_;  // by source
  std::vector<IgnoredEvent> ignored_;
  std::vector<DoNotSendEntry> do_not_send_;
};

/// Locks the ids of the gifts that the batches may create, in one order (ARCH-40); to be called first.
void lock_new_gifts(soci::session& session, std::span<const PreparedBatch> batches);

/// As Sources::accept, except for what is left to `end`; throws QuotaExceeded.
IngestResult ingest_batch(soci::session& session, const PreparedBatch& prepared, IngestEnd& end);

/// Stores the batches that only report changes of existing gifts of their sources, all together with the same
/// statements; nullopt for the others, of which nothing is stored.
std::vector<std::optional<IngestResult>> ingest_plain(soci::session& session,
                                                      std::span<const PreparedBatch> batches, IngestEnd& end);

/// The changes of the items that are not quarantined, in their order, without ids.
std::vector<StatusChange> changes_in(const InboundBatch& batch);

/// As Sources::foresee.
std::vector<PreviewItem> preview_batch(soci::session& session, const InboundBatch& batch);

}  // namespace giftsync::store
