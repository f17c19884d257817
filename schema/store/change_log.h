// schema/store: the log of status changes. Accepting a change is one durable row; what it means is decided
// later, by the sync room's fold. A repeat is the same (source, transaction, status, time): it is listed once
// (design 3.1).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/ids.h"
#include "schema/store/gift_ledger.h"
#include "schema/time.h"
#include "schema/words.h"

namespace giftsync::schema {

struct StatusChange {
  ChangeId id;  ///< allotted by the log
  std::string source;
  TransactionId transaction;
  Status status = Status::delivered;
  UtcMillis occurred_at;
  UtcMillis received_at;
  std::vector<std::string> event_ids;
  std::string origin{};  ///< of the transactions it may apply to: empty for ours, else the source's name
};

enum class AcceptOutcome {
  accepted,
  repeated,       ///< known already; nothing changed (a new event id is noted beside the old ones)
  held,           ///< its transaction is not known; applied when that appears
  too_many_held,  ///< the source holds kMaxHeldChanges already; not accepted
  other_origin,   ///< its transaction is another's (ours, or some other source's); not accepted
};
inline constexpr std::int64_t kMaxHeldChanges = 100'000;

class ChangeLog {
 public:
  explicit ChangeLog(std::shared_ptr<sql::Database> database);

  /// One outcome each, in one transaction: durable on return. Marks the transactions for the sync loop.
  std::vector<AcceptOutcome> accept(std::span<const StatusChange> changes);

  /// All changes of those transactions, by transaction and id, without event ids.
  std::vector<StatusChange> changes_of(std::span<const TransactionId> transactions);
  /// The changes of one transaction with their event ids, by the time they occurred.
  std::vector<StatusChange> history(TransactionId transaction);

  /// Takes held changes whose transaction has appeared into the queue; returns how many.
  std::int64_t release_held(UtcMillis now);
  std::int64_t count_held();

 private:
  friend class DeliveryQueue;  // which accepts its changes in the transaction of their delivery
  friend class SourceBook;     // likewise, with the message or page that they came in
  std::vector<StatusChange> numbered(std::span<const StatusChange> changes);

  std::shared_ptr<sql::Database> database_;
  IdBlock change_ids_;
};

}  // namespace giftsync::schema
