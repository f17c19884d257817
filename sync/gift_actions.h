// sync: an admin's actions on a gift: resend and cancel. Both are decided from everything accepted so far,
// under the gift's lock, so that no timer and no mail being sent interferes. A refusal names what happened
// before.
#pragma once

#include <optional>
#include <string>

#include "schema/store/store.h"
#include "sync/status_rules.h"

namespace giftsync::sync {

struct ResendAction {
  schema::TransactionId gift;
  std::optional<std::string>
      email;  ///< another address: the gift gets new links, the old ones become invalid
  std::string who;
  std::optional<schema::store::AuditEvent> audit = std::nullopt;  ///< inserted with the action
};

struct ActionResult {
  enum class Kind {
    done,
    unknown,    ///< there is no such gift
    refused,    ///< the gift's state does not allow it
    try_later,  ///< its mail is being sent; try again later
  };
  Kind kind = Kind::unknown;
  std::string reason;           ///< a sentence that says why it was not done
  FoldedStatus state;           ///< the gift's state afterwards
  bool is_readdressed = false;  ///< it was sent to another address and has to be matched again
  std::string previous_email;
};

/// Why the gift cannot be mailed again, to its address or to another one; nothing when it can. Pure: resend()
/// decides by it under the gift's lock.
std::optional<ActionResult> resend_obstacle(const schema::store::MailContext& view, bool to_other_address);

/// Why the gift cannot be cancelled; empty when it can. Pure: cancel() decides the same under its lock.
std::string cancel_obstacle(const schema::store::MailContext& view);

/// Why the gift's record is not tried now on demand; empty when it rests and can be. `wait`: of the sync
/// queue; `state`: of the record, none before the first sync.
std::string retry_obstacle(const std::optional<schema::store::SyncWait>& wait,
                           const std::optional<schema::store::CrmSyncStatus>& state, platform::UtcMillis now);
/// The same, read from the store.
std::string retry_obstacle(schema::store::Store& store, schema::TransactionId gift, platform::UtcMillis now);

/// Enqueues the gift's mail again, with a new Message-ID. Only for a gift that giftsync mailed itself, that
/// is not opened and has not ended.
ActionResult resend(schema::store::Store& store, const ResendAction& action, platform::UtcMillis now);

/// Cancels a gift: it is refunded, its links become invalid, and a mail that is still queued is not sent.
ActionResult cancel(schema::store::Store& store, schema::TransactionId gift, const std::string& who,
                    platform::UtcMillis now, const std::optional<schema::store::AuditEvent>& audit = {});

}  // namespace giftsync::sync
