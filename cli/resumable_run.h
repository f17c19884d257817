// cli: the common part of both backfills: a checkpoint in the store, so that an interrupted run resumes,
// pauses for a concurrent daemon, and the progress. A dry run has no checkpoint and writes nothing.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/cli_context.h"
#include "cli/progress.h"
#include "cli/sync_drainer.h"

namespace giftsync::cli {

/// The command line options of a backfill.
struct BackfillOptions {
  bool recreate = false;
  bool restart = false;
  bool dry_run = false;
  bool json = false;
};

class ResumableRun {
 public:
  ResumableRun(const Console& console, CliContext& ctx, std::string name, const BackfillOptions& options);

  schema::TransactionId after() const { return after_; }
  /// The counts of the interrupted run; an empty object at the beginning.
  nlohmann::json counts() const { return counts_; }
  struct Chunk {
    schema::TransactionId last;  ///< the greatest id that was examined
    std::vector<schema::TransactionId> to_write;
    bool is_end = false;  ///< the last chunk
  };
  /// Saves the checkpoint after a chunk and writes the records that the chunk queued. Saves none after the
  /// last chunk: a run that is interrupted there examines it again.
  void chunk_done(const Chunk& chunk, const nlohmann::json& counts, WorkProgress& progress);
  void finish();

  const sync::SyncRules& rules() const { return drainer_.rules(); }
  /// Prints how many records are left for the daemon, if any.
  void print_queued_for_daemon() const { cli::print_queued_for_daemon(console_, queued_for_daemon_); }

 private:
  const Console& console_;
  CliContext& ctx_;
  const std::string name_;
  const std::string run_;
  const BackfillOptions options_;
  SyncDrainer drainer_;
  schema::TransactionId after_{0};
  nlohmann::json counts_ = nlohmann::json::object();
  std::size_t queued_for_daemon_ = 0;
  bool owns_checkpoint_ = true;  // no other run has taken the checkpoint
};

/// The two commands.
int backfill_gift_records(const Console& console, CliContext& ctx, const BackfillOptions& options);
int backfill_status_timestamps(const Console& console, CliContext& ctx, const BackfillOptions& options);

}  // namespace giftsync::cli
