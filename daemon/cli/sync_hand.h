// daemon/cli: writes what a backfill has put into the sync queue, chunk by chunk, by the same step that the
// daemon's sync loop runs and under leases of its own. A daemon beside it may be faster; both are right.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/cli/installation.h"
#include "sync/sync_step.h"

namespace giftsync::daemon {

class SyncHand {
 public:
  SyncHand(const Console& console, Installation& place);
  ~SyncHand();

  /// As the daemon's; link_of is empty when the server secret, which links need, cannot be read by this user.
  const sync::SyncRules& rules() const { return rules_; }

  struct Result {
    std::size_t left = 0;            ///< to the daemon, or until the CRM takes them
    std::vector<std::string> notes;  ///< what the steps had to say
  };
  /// Runs sync steps until these gifts are written or nothing more can be done here.
  Result write(const std::vector<schema::TransactionId>& gifts);

 private:
  struct Links;
  const Console& console_;
  Installation& place_;
  std::unique_ptr<Links> links_;  // null without the secret
  sync::SyncRules rules_;
  const std::string owner_;
};

}  // namespace giftsync::daemon
