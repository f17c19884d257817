// schema/store: which conditions that need an admin have begun and ended, and what of it was mailed to those
// who watch the installation (settings `alerts`). One row for each condition of the status, "crm.rejected".
// One daemon of a store at a time works on them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "platform/time.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

struct Alert {
  std::string condition;
  std::string what;       ///< the sentences of the status, as they were last seen
  std::string next_step;  ///< of these
  UtcMillis began_at;
  std::optional<UtcMillis> ended_at;         ///< null: it goes on
  std::optional<UtcMillis> begin_mailed_at;  ///< null: no mail has said that it began
};

/// Any thread.
class Alerts {
 public:
  explicit Alerts(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// Whether `owner` alone may work on the alerts until then: no one else may now. Renews an own claim.
  bool claim(const std::string& owner, UtcMillis until, UtcMillis now);
  /// Those that go on, or whose end was not mailed; by condition.
  std::vector<Alert> list();
  /// When the last mail left; null: none did.
  std::optional<UtcMillis> last_mailed_at();
  /// One transaction, without effect unless `owner` has the claim: inserts or replaces `kept`, deletes the
  /// rows of `ended`, and records the time of a mail, if one left. Returns whether it was done.
  bool save(const std::string& owner, std::span<const Alert> kept, std::span<const std::string> ended,
            std::optional<UtcMillis> mailed_at, UtcMillis now);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
