// schema/store: which conditions that need an admin have begun and ended, and what of it was mailed to those
// who watch the installation (settings `alerts`). One daemon of a store at a time works on them.
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
  std::string name;       ///< the condition of the status, with its object: "sources.failing vendor"
  std::string what;       ///< the sentences of the status, as they were last seen; one a line
  std::string next_step;  ///< of each of them; one a line
  UtcMillis began_at;
  std::optional<UtcMillis> ended_at;         ///< null: it goes on
  std::optional<UtcMillis> begin_mailed_at;  ///< null: no mail has said that it began
  friend bool operator==(const Alert&, const Alert&) = default;
};

/// Any thread. Throws DependencyError.
class Alerts {
 public:
  explicit Alerts(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// Those that go on, or whose end was not mailed; by name.
  std::vector<Alert> list();
  /// When the last mail left; null: none did.
  std::optional<UtcMillis> last_mailed_at();
  /// In one transaction inserts or replaces `kept`, deletes those with the names `ended`, and records when a
  /// mail left, if one did.
  void save(std::span<const Alert> kept, std::span<const std::string> ended,
            std::optional<UtcMillis> mailed_at = {});

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
