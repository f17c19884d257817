// cli: the verb `retry` of what waits for a retry of its own: of gifts by their ids, or of all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/cli_context.h"
#include "cli/command_tree.h"
#include "cli/console.h"
#include "schema/ids.h"

namespace giftsync::cli {

struct RetryOptions {
  std::vector<std::int64_t> gifts;
  bool all = false;
};

/// Adds the gifts and --all, which `all_help` describes.
void add_retry_options(Command& verb, const std::shared_ptr<RetryOptions>& options,
                       const std::string& all_help);

struct Retry {
  std::string what;  ///< of a gift: "record"
  /// Retries that of one gift now; returns why it does not wait for a retry, empty when it did.
  std::function<std::string(TransactionId)> one;
  /// Retries all; returns the sentence that says how many.
  std::function<std::string()> all;
};

/// Retries those of the gifts, then all with --all unless one of the gifts was refused. Returns an exit code.
int retry(const Console& console, const RetryOptions& options, const Retry& retry);

// Retries failed request records after a command that may have corrected what failed (REQ-53).

/// Says how many, unless there are none.
void retry_failed_requests(const Console& console, CliContext& ctx);

}  // namespace giftsync::cli
