// schema/store: the pause of all mail by an admin (MAIL-36). It holds for every daemon of the store until it
// is ended. The pauses that a relay's faults begin are in delivery_queue.h.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "platform/time.h"
#include "schema/store/statements/audit_log.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

struct MailPause {
  UtcMillis since;
  std::string by;           ///< the admin: one line
  std::string reason = {};  ///< may be empty
};

struct MailPauseState {
  std::optional<MailPause> pause;  ///< of now
  UtcMillis last_ended_at{0};      ///< 0: none has ended
};

/// Any thread. Throws DependencyError.
class MailPauses {
 public:
  explicit MailPauses(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  MailPauseState state();
  /// False, without a change, when mail is paused already: the first pause stays as it is. The event is
  /// inserted with the change.
  bool begin(const MailPause& pause, const std::optional<AuditEvent>& audit = {});
  /// The pause that it ended; nothing, without a change, when mail is not paused, or since another time than
  /// `since`. The event is inserted with the change.
  std::optional<MailPause> end(UtcMillis now, const std::optional<AuditEvent>& audit = {},
                               std::optional<UtcMillis> since = {});

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
