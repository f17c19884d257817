// sync: store and CRM side by side, in the order of the Transaction Ids, a chunk at a time (design 4,
// backfill; 3.2 for what giftsync owns of a record). A chunk
//
//   - has records made that are missing: of gifts that were skipped and are not to be any more (they are
//     matched anew), and, with `recreate`, of those that somebody deleted in the CRM;
//   - has records written again where a field that giftsync owns is not as it should be;
//   - tells where another field differs, and leaves it;
//   - tells which records link to rows that were deleted or merged since, and lists their gifts for a
//   rematch;
//   - takes over records that the store does not know ("adopts" them): from then on changes apply to them;
//   - learns times that somebody filled into adopted records, and has Status follow.
//
// It writes to the store alone: what is to be written to the CRM is put into the sync queue, and the sync
// step does it under the records' versions. A gift that is in the queue already is left to it. Repeating a
// chunk is harmless, and so is doing it twice at once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/store/store.h"
#include "sync/sync_step.h"

namespace giftsync::sync {

struct RecordBackfillRules {
  SyncRules sync;         ///< link_of may be empty: then Link is not compared
  bool recreate = false;  ///< records that were deleted in the CRM are made again
  bool dry_run = false;   ///< nothing is written; the findings say what would be
};

struct FieldDrift {
  schema::GiftField field = schema::GiftField::status;
  std::string in_crm;  ///< as text; empty when absent
  std::string wanted;
};

struct RecordFinding {
  enum class Kind {
    unchanged,
    created,    ///< has no record and gets one
    repaired,   ///< a field that giftsync owns differs
    learnt,     ///< adopted, and somebody filled times into its record; nothing else of it changes
    recreated,  ///< was deleted in the CRM and gets its record again
    adopted,    ///< the store did not know it
    gone,       ///< was deleted in the CRM
    skipped,    ///< nobody matches and the settings want no record for such gifts
    waiting,    ///< the sync loop is about to do it, or did it just now
    blocked,    ///< a record that giftsync did not write has its Transaction Id; `note` says what to do
    refused,    ///< cannot be adopted; `note` says why
  };
  schema::TransactionId transaction;
  Kind kind = Kind::unchanged;
  std::vector<FieldDrift> repaired;  ///< fields that giftsync owns
  std::vector<FieldDrift> learnt;    ///< times of an adopted record that the store did not know
  std::vector<FieldDrift> differs;   ///< other fields: told and left
  std::vector<FieldDrift> lost;      ///< lookups that lead to no row of the CRM any more: told and left
  std::string note;
};
std::string_view to_word(RecordFinding::Kind kind);

struct RecordChunk {
  std::vector<RecordFinding> findings;          ///< by transaction
  std::vector<schema::TransactionId> to_write;  ///< what is in the sync queue because of this chunk
  schema::TransactionId last;                   ///< the next chunk begins after it
  bool done = false;                            ///< there is no next one
};

/// The gifts and records after `after`, up to schema::kCrmBatch of each.
RecordChunk backfill_records(schema::Store& store, schema::Crm& crm, const RecordBackfillRules& rules,
                             schema::TransactionId after, schema::UtcMillis now);

}  // namespace giftsync::sync
