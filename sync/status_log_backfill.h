// sync: timestamps from the old status log (Spec 9.2) into gift records that lack them, a chunk of gifts at a
// time. Only what is empty is filled: delivered and undelivered with the latest time of the log, all others
// with the earliest; of redeemed and donated the earlier, and none beside one that stands. For a gift that
// the store knows the times go through the change log, as reports of the source "status_log", and the sync
// step writes the record; any other record is filled at once, and a later backfill of gift records adopts it
// as it is then. Repeating a chunk is harmless, and so is doing it twice at once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/store/store.h"

namespace giftsync::sync {

/// Spans of the log that are read at a time: some thousand gifts, a few MB, a write of some ten milliseconds.
inline constexpr std::size_t kLogSpansAChunk = 8000;
/// Different words of one gift: they are read in one piece, so that each row is counted. A hundred MB.
inline constexpr std::size_t kLogSpansAGiftMax = kLogSpansAChunk * 128;

/// Every row of the log is counted once.
struct LogRowCounts {
  std::int64_t used = 0;          ///< tell of a timestamp that was filled
  std::int64_t not_needed = 0;    ///< tell of one that was there, or of "sent" of a gift that the store knows
  std::int64_t no_record = 0;     ///< the CRM has no record of the gift
  std::int64_t unknown_word = 0;  ///< not one of our status words
  std::int64_t unbelievable = 0;  ///< no time, before 2000 or more than 24 h in the future
};

struct FilledTime {
  schema::TransactionId transaction;
  schema::Status status = schema::Status::delivered;
  schema::UtcMillis time;
};

struct StatusLogChunk {
  LogRowCounts rows;
  std::map<std::string, std::int64_t> unknown_words;  ///< with their rows
  std::vector<FilledTime> filled;
  std::int64_t gifts = 0;                       ///< with at least one filled timestamp
  std::vector<schema::TransactionId> to_write;  ///< of the filled ones, those that the sync step writes
  schema::TransactionId last;                   ///< the next chunk begins after it
  bool done = false;
};

/// The log of the gifts after `after`. With dry_run nothing is written and the chunk says what would be
/// filled. Throws BrokenWorld when the log does not come in the order of its gifts.
StatusLogChunk backfill_status_log(schema::Store& store, schema::Crm& crm, schema::TransactionId after,
                                   bool dry_run, schema::UtcMillis now);

}  // namespace giftsync::sync
