// schema/store: change events of a CRM that reports them by messages (MSG-7): the Ids of records that were
// inserted or changed there, each at most once, until a worker has looked the record up. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/store/statements/id_block.h"

namespace giftsync::store {

/// Beyond it no new one is stored: the CRM keeps its messages, and a poll sees the records anyway.
inline constexpr std::size_t kMaxCrmChangeEvents = 50'000;

struct CrmChangeEvent {
  std::int64_t id = 0;  ///< another one after each further message about the record
  std::string record_id = {};
  UtcMillis received_at = {};  ///< of the first message since the record was looked up
};

struct CrmChangeBacklog {
  std::int64_t count = 0;  ///< at most kMaxCounted + 1
  std::optional<UtcMillis> oldest = {};
};

class CrmChangeEvents {
 public:
  explicit CrmChangeEvents(std::shared_ptr<sql::Database> database);

  /// Stores an event of each record, or none of them: false when there are too many. A record that has an
  /// event already keeps its place and gets another id, so that a worker that is looking the record up does
  /// not acknowledge what it has not seen. `record_ids` are different and in ascending order. Notes the use
  /// of the token. Durable on return.
  bool add(std::span<const std::string> record_ids, std::int64_t token_id, UtcMillis now);
  /// Those that are not acknowledged, the oldest first.
  std::vector<CrmChangeEvent> list(std::size_t limit);
  /// Deletes events whose records were looked up; one that has another id by now stays.
  void acknowledge(std::span<const std::int64_t> ids);
  /// Up to the limit of stored ones.
  std::int64_t count();
  /// For people, see bounded_count.h.
  CrmChangeBacklog backlog();
  /// Deletes all of them: they are of another CRM than the present one.
  void clear();

 private:
  std::shared_ptr<sql::Database> database_;
  IdBlock ids_;
};

// The audit event of a retry of refused gift records, which a command and the console write and
// the console reads (CON-50).

inline constexpr const char* kCrmRetryAction = "crm.retry";
/// The object's id is the number of a class of failures; without one all classes were retried.
inline constexpr const char* kFailuresObject = "failures";
/// The detail where no class is named, before the number of records: "records: 2".
inline constexpr const char* kRetriedRecords = "records";

}  // namespace giftsync::store
