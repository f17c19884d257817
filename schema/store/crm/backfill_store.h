// schema/store: what backfills need of the store (SYNC-62): the position of a run, transactions in the
// order of their ids, adoption of the CRM's gift records, and gifts whose record has to be written again.
// Every change is a few rows in a short transaction, guarded by the values that were read, so that two
// backfills and a daemon may run at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/ids.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/gift/sync_queue.h"
#include "schema/store/statements/id_block.h"

namespace giftsync::store {

struct BackfillCheckpoint {
  TransactionId after{0};
  std::string counts;  ///< the command's own text; empty at the start
};

/// What the store knows of a transaction's status.
struct TransactionState {
  TransactionId transaction;
  Status status = Status::sent;
  StatusTimes times;
  std::string gift_source;
};

/// A gift record of the CRM that the store does not know, as it will be stored. Its transaction's
/// gift_source is kAdoptedGiftSource.
struct Adoption {
  Gift gift;
  std::vector<StatusChange> facts;  ///< its timestamps as changes; not with_ids
  CrmSyncState sync_state;
  bool write = false;  ///< the record differs from what it should be: the sync step writes it
};

/// A gift whose record is written again, with all fields that giftsync owns.
struct RecordRewrite {
  TransactionId transaction;
  std::int64_t from_version = 0;  ///< applied only while this is still its version
  std::int64_t above = 0;         ///< the record's version, which the new one has to exceed
};

/// The latest run of a backfill that was no dry one (SYNC-72).
struct BackfillRun {
  std::string name;  ///< "gift-records"
  UtcMillis started_at;
  std::optional<UtcMillis> ended_at;  ///< null: it is running
  std::int64_t examined = 0;
  std::int64_t repaired = 0;   ///< records that it created, repaired, recreated, adopted or filled
  std::int64_t differing = 0;  ///< it found a difference that it left, and that a person has to look at
  std::string summary;         ///< the sentence that the command printed
  std::string error;           ///< why it ended before its end, also of a killed one; empty: it did not
};

class BackfillStore {
 public:
  explicit BackfillStore(const std::shared_ptr<sql::Database>& database);

  /// The position of the interrupted backfill of that name, or its start; `run` owns the position from
  /// now on.
  BackfillCheckpoint begin(const std::string& name, const std::string& run, bool restart);
  /// False when another run has taken over the position and continues for both.
  bool save(const std::string& name, const std::string& run, const BackfillCheckpoint& position);
  /// Deletes the position: the next backfill starts from the beginning.
  void finish(const std::string& name, const std::string& run);

  /// Replaces the run of that name. A run that goes on is recorded each minute.
  void record_run(const BackfillRun& run);
  /// One for each name that has run, by name. One that is silent for 15 minutes was killed when last seen.
  std::vector<BackfillRun> latest_runs();

  std::int64_t count_transactions();
  /// Ids above `after`, ascending.
  std::vector<TransactionId> transactions(TransactionId after, std::size_t limit);
  /// The existing ones, in any order.
  std::vector<TransactionState> find_states(std::span<const TransactionId> transactions);
  /// The transactions that are in the sync queue.
  std::vector<TransactionId> find_queued(std::span<const TransactionId> transactions);

  /// Adopts those that the store still does not know; returns them.
  std::vector<TransactionId> adopt(std::span<const Adoption> adoptions, UtcMillis now);
  /// Puts them into the sync queue under a new version; returns those that had not changed meanwhile.
  std::vector<TransactionId> rewrite(std::span<const RecordRewrite> rewrites, UtcMillis now);
  /// Records that the gift records of these gifts were deleted, if the sync state is unchanged since it
  /// was read.
  void mark_deleted(std::span<const CrmSyncState> sync_states, const std::string& reason);
  /// Marks these gifts for a rematch, with the given warnings, if the decision is unchanged since it
  /// was read.
  void mark_needs_relink(std::span<const CrmSyncState> sync_states);
  /// Enqueues deleted records for recreation with the stored decision; returns those that are deleted.
  std::vector<TransactionId> recreate(std::span<const CrmSyncState> sync_states, UtcMillis now);

 private:
  std::shared_ptr<sql::Database> database_;
  IdBlock request_ids_;
  IdBlock change_ids_;
};

}  // namespace giftsync::store
