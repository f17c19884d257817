// cli: writes the gift records that a command has queued, so that the command is done when it ends, with or
// without a running daemon. Runs the same sync step as the daemon's sync worker, under its own leases.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/cli_context.h"
#include "sync/sync_step.h"

namespace giftsync::cli {

class SyncDrainer {
 public:
  SyncDrainer(const Console& console, CliContext& ctx);
  ~SyncDrainer();

  /// The daemon's rules. link_of is empty if this user cannot read the server secret, which signs the links.
  const sync::SyncRules& rules() const { return rules_; }

  struct Result {
    std::size_t left = 0;               ///< for the daemon: leased by it, failed in the CRM, or no secret
    std::vector<std::string> messages;  ///< warnings of the sync steps
  };
  /// Runs sync steps until these gifts are written or no step makes progress.
  Result write(const std::vector<schema::TransactionId>& gifts);

 private:
  sync::SyncStepStats step();

  struct Links;
  const Console& console_;
  CliContext& ctx_;
  std::unique_ptr<Links> links_;  // null without the secret
  sync::SyncRules rules_;
  const std::string owner_;
};

/// Prints how many records are left for the daemon, if any.
void print_queued_for_daemon(const Console& console, std::size_t count);

}  // namespace giftsync::cli
