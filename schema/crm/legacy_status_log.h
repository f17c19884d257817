// schema/crm: the old status log (SYNC-59), which backfills read. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/ids.h"

namespace giftsync::schema::crm {

struct StatusLogSize {
  std::int64_t rows = 0;
  std::int64_t without_gift = 0;  ///< rows without a Transaction Id above 0
};

/// The rows of the old status log (SYNC-59) for one gift and one status text.
struct StatusLogGroup {
  TransactionId transaction;
  std::string status_text;  ///< as stored there
  std::optional<platform::UtcMillis> earliest;
  std::optional<platform::UtcMillis> latest;
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
  virtual std::vector<StatusLogGroup> spans(TransactionId after, std::size_t limit, platform::UtcMillis from,
                                            platform::UtcMillis to) = 0;
};

}  // namespace giftsync::schema::crm
