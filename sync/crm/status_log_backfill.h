// sync: fills timestamps from the old status log into gift records that lack them, one batch of gifts at a
// time (SYNC-59). Only empty fields are filled: delivered and undelivered with the latest time of the log,
// all others with the earliest; of redeemed and donated only the earlier, and none if the record has one of
// them. For gifts in the store the times go through the change log, as changes of the source "status_log",
// and the sync step writes the record. Any other record is filled directly, and a later backfill of gift
// records adopts it. Repeating a batch is harmless, also concurrently.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "crm/crm.h"
#include "crm/gift_records.h"
#include "schema/store/store.h"

namespace giftsync::sync {

/// Spans of the log per read: some thousand gifts, a few MB, about ten milliseconds of writing.
inline constexpr std::size_t kLogSpansPerBatch = 8000;
/// Different status texts of one gift. They are read at once, so that each row is counted. About 100 MB.
inline constexpr std::size_t kMaxLogSpansPerGift = kLogSpansPerBatch * 128;

/// Every row of the log is counted once.
struct LogRowCounts {
  std::int64_t used = 0;          ///< supplied a timestamp that was filled in
  std::int64_t not_needed = 0;    ///< the time was there already, or "sent" of a gift in the store
  std::int64_t no_record = 0;     ///< the CRM has no record of the gift
  std::int64_t unknown_word = 0;  ///< not a status of giftsync
  std::int64_t implausible = 0;   ///< no time, before 2000 or more than 24 h in the future
};

struct FilledTime {
  TransactionId transaction;
  Status status = Status::delivered;
  UtcMillis time;
};

struct StatusLogBatch {
  LogRowCounts rows;
  std::map<std::string, std::int64_t> unknown_words;  ///< with their numbers of rows
  std::vector<FilledTime> filled;
  std::int64_t gifts = 0;               ///< with at least one filled timestamp
  std::vector<TransactionId> to_write;  ///< filled gifts that the sync step writes
  TransactionId last;                   ///< the next batch begins after it
  bool done = false;
};

/// Processes the log of the gifts after `after`. With dry_run nothing is written and the result says what
/// would be filled. Throws DependencyError when the log is not ordered by gift.
StatusLogBatch backfill_status_log(store::BackfillStore& backfill, store::ChangeLog& changes,
                                   crm::GiftRecords& records, crm::LegacyStatusLog& log, TransactionId after,
                                   bool dry_run, UtcMillis now);

}  // namespace giftsync::sync
