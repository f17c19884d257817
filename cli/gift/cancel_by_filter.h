// cli: `gift cancel` of many gifts: those of a key, a request, a campaign or a time.
#pragma once

#include <optional>
#include <string>

#include "cli/cli_context.h"
#include "cli/command_tree.h"
#include "cli/gift/cancel_search.h"

namespace giftsync::cli {

/// The words of the options. Without any of the first four no gift is meant.
struct CancelFilterOptions {
  std::string key;
  std::optional<std::int64_t> request;
  std::string campaign;
  std::string since;
  bool dry_run = false;
  bool json = false;

  bool is_given() const { return !key.empty() || request || !campaign.empty() || !since.empty(); }
};

/// `id`: the argument that names one gift.
void add_cancel_filter(Command& verb, CancelFilterOptions& options, Option* id);

/// Prints what is found, asks, and cancels each gift as a command of its own would. A gift that ended
/// meanwhile is named and left out. Ends after the present gift when it is interrupted. Returns an exit code.
int cancel_by_filter(const Console& console, CliContext& ctx, const CancelFilterOptions& options, bool yes);

}  // namespace giftsync::cli
