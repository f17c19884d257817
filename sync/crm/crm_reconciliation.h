// sync: compares store and CRM in the order of the Transaction Ids, one batch at a time (SYNC-51). SYNC-4
// lists the fields of a record that giftsync owns. A batch
//
//   - creates missing records: of gifts that were skipped and no longer are (they are matched again) and,
//     with `recreate`, of gifts whose record was deleted in the CRM;
//   - rewrites records in which a field that giftsync owns is wrong;
//   - reports differences in other fields and leaves them;
//   - reports records with lookups to deleted or merged rows and lists their gifts for a rematch;
//   - adopts records that the store does not know: from then on changes apply to them;
//   - imports times that were filled into adopted records; Status follows.
//
// It writes to the store only: what must be written to the CRM is put into the CRM outbox, and the sync step
// writes it under the records' versions. A gift that is in the outbox already is left to the sync step.
// Repeating a batch is harmless, also concurrently.
#pragma once

#include <string>
#include <vector>

#include "crm/crm.h"
#include "schema/store/store.h"
#include "sync/crm/record_comparison.h"
#include "sync/crm/sync_step.h"

namespace giftsync::sync {

struct ReconciliationRules {
  SyncRules sync;         ///< link_of may be empty: Link is not compared then
  bool recreate = false;  ///< create records again that were deleted in the CRM
  bool dry_run = false;   ///< nothing is written; the findings say what would be
};

struct ReconciliationFinding {
  enum class Kind {
    unchanged,
    created,         ///< had no record and gets one
    repaired,        ///< a field that giftsync owns differs
    times_imported,  ///< adopted, and times were filled into its record; nothing else of it changes
    recreated,       ///< was deleted in the CRM and gets its record again
    adopted,         ///< was unknown to the store
    deleted_in_crm,  ///< was deleted in the CRM
    skipped,         ///< has no match, and the settings want no record for such gifts
    queued,          ///< in the CRM outbox, or written a moment ago
    id_conflict,  ///< a record that giftsync did not write has its Transaction Id; `detail` says what to do
    refused,      ///< cannot be adopted; `detail` says why
  };
  TransactionId transaction;
  Kind kind = Kind::unchanged;
  std::vector<FieldDrift> repaired;        ///< fields that giftsync owns
  std::vector<FieldDrift> imported_times;  ///< times of an adopted record that the store did not have
  std::vector<FieldDrift> differences;     ///< other fields: reported, not changed
  std::vector<FieldDrift>
      missing_lookups;  ///< lookups to rows that the CRM no longer has: reported, not changed
  std::string detail;
};
std::string_view to_word(ReconciliationFinding::Kind kind);

struct ReconciliationBatch {
  std::vector<ReconciliationFinding> findings;  ///< by transaction
  std::vector<TransactionId> to_write;          ///< put into the CRM outbox by this batch
  TransactionId last;                           ///< the next batch begins after it
  bool done = false;                            ///< this was the last batch
};

/// The gifts and records after `after`, up to CrmPace::rows_per_read of each.
ReconciliationBatch reconcile_gift_records(store::Store& store, crm::Crm& crm,
                                           const ReconciliationRules& rules, TransactionId after,
                                           UtcMillis now);

}  // namespace giftsync::sync
