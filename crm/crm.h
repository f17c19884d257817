// crm: the CRM port. A CRM has parts, one interface each; a function takes the part that it needs.
// Batch-first, because a remote CRM charges per call: functions take up to as many rows as pace() allows and
// return one result per row; one bad row never blocks the others. The port assumes no more than upserts of
// 200 rows by external id. A CRM that cannot be reached throws DependencyError; one that is not to be called
// before a certain time throws DependencyPause, without a call. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crm/directory.h"
#include "crm/gift_records.h"
#include "crm/person_rows.h"
#include "crm/request_records.h"
#include "crm/row_reader.h"
#include "crm/tasks.h"
#include "platform/time.h"
#include "schema/ids.h"

namespace giftsync::crm {

// The old status log (SYNC-59), which backfills read. Any thread.

struct StatusLogSize {
  std::int64_t rows = 0;
  std::int64_t without_gift = 0;  ///< rows without a Transaction Id above 0
};

/// The rows of the old status log (SYNC-59) for one gift and one status text.
struct StatusLogGroup {
  TransactionId transaction;
  std::string status_text;  ///< as stored there
  std::optional<UtcMillis> earliest;
  std::optional<UtcMillis> latest;
  std::int64_t rows = 0;
  std::int64_t implausible = 0;  ///< the number of rows without a time within the requested bounds
};

class LegacyStatusLog {
 public:
  virtual ~LegacyStatusLog() = default;

  /// Throws DependencyError when the log lacks a required field.
  virtual StatusLogSize size() = 0;
  /// To be called before a long scan of the log: creates an index where giftsync owns the CRM.
  virtual void prepare() = 0;
  /// The log of gifts with a Transaction Id above `after`, ascending, at most `limit` spans. Times
  /// outside `from` to `to` count as implausible.
  virtual std::vector<StatusLogGroup> spans(TransactionId after, std::size_t limit, UtcMillis from,
                                            UtcMillis to) = 0;
};

/// How a CRM wants to be called.
struct CrmPace {
  std::size_t rows_per_write = 200;  ///< at most, in one call
  std::size_t rows_per_read = 200;   ///< at most, in one call; also the length of a page
  std::int64_t longest_call_millis = 5000;
  std::size_t writers = 2;  ///< threads that may write gift records at the same time
};

/// The calls of a CRM that grants a number of them for 24 hours.
struct CrmUsage {
  // Calls of everything that uses it; nothing before its first answer.
  std::optional<std::int64_t> used = {};
  std::optional<std::int64_t> limit = {};
  std::int64_t own_calls = 0;                  ///< giftsync's within the last 24 hours
  std::optional<std::int64_t> share = {};      ///< of the limit, for giftsync
  std::optional<UtcMillis> paused_until = {};  ///< not even gift records are written before
  std::string rest_reason = {};                ///< a sentence
};

class Crm {
 public:
  virtual ~Crm() = default;

  virtual CrmPace pace() const { return {}; }
  /// Makes no call. Nullopt when the CRM does not count them.
  virtual std::optional<CrmUsage> usage() const { return std::nullopt; }

  /// To be called before reads that only a person asks for, on a page: throws DependencyPause, without a
  /// call, when the calls that are left are kept for gifts. Never throws where calls are not counted.
  virtual void require_spare_calls() {}

  virtual Directory& directory() = 0;
  virtual GiftRecords& gift_records() = 0;
  virtual Tasks& tasks() = 0;
  /// Null when the CRM has no request records.
  virtual RequestRecords* request_records() { return nullptr; }
  /// Null when the CRM's rows cannot be read as a whole.
  virtual RowReader* rows() { return nullptr; }
  /// Null when the CRM is its owner's: giftsync erases no person there, and writes no record of an erased
  /// gift.
  virtual PersonRows* person_rows() { return nullptr; }
  /// Null when the CRM has no such object. Asks the CRM.
  virtual LegacyStatusLog* legacy_status_log() { return nullptr; }
};

}  // namespace giftsync::crm
