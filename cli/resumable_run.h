// cli: the common part of both backfills: a checkpoint in the store, so that an interrupted run resumes,
// pauses for a concurrent daemon, the progress, and what the store tells of the latest run (SYNC-72). A dry
// run has no checkpoint and writes nothing.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli_context.h"
#include "cli/console.h"
#include "platform/dependency_error.h"
#include "platform/json.h"
#include "schema/store/store.h"
#include "sync/crm/sync_step.h"

namespace giftsync::cli {

// Writes the gift records that a command has queued, so that the command is done when it ends, with or
// without a running daemon. Runs the same sync step as the daemon's sync worker, under its own leases.

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
  Result write(const std::vector<TransactionId>& gifts);

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

/// The command line options of a backfill.
struct BackfillOptions {
  bool recreate = false;
  bool restart = false;
  bool dry_run = false;
  bool json = false;
};

/// What a run has found so far, of store::BackfillRun.
struct RunTotals {
  std::int64_t examined = 0;
  std::int64_t repaired = 0;
  std::int64_t differing = 0;
  std::string summary;
};

class ResumableRun {
 public:
  ResumableRun(const Console& console, CliContext& ctx, std::string name, const BackfillOptions& options);

  /// `work` is the whole run, from `at_start` to finish(). What it throws is stored as the reason why the run
  /// ended.
  template <class Work>
  void carry_out(const RunTotals& at_start, const Work& work) {
    record(at_start);
    try {
      work();
    } catch (const std::exception& fault) {
      record_failure(fault.what());
      throw;
    }
  }

  TransactionId after() const { return after_; }
  /// The counts of the interrupted run; an empty object at the beginning.
  nlohmann::json counts() const { return counts_; }
  struct Chunk {
    TransactionId last;  ///< the greatest id that was examined
    std::vector<TransactionId> to_write;
    bool is_end = false;  ///< the last chunk
  };
  /// Saves the checkpoint after a chunk and writes the records that the chunk queued. Saves none after the
  /// last chunk: a run that is interrupted there examines it again.
  void chunk_done(const Chunk& chunk, const nlohmann::json& counts, const RunTotals& totals,
                  WorkProgress& progress);
  void finish(const RunTotals& totals);

  /// As repeat_after_pauses(); meanwhile the store keeps that the run goes on.
  template <class Action>
  auto repeat(WorkProgress* progress, const Action& action);

  const sync::SyncRules& rules() const { return drainer_.rules(); }
  /// Prints how many records are left for the daemon, if any.
  void print_queued_for_daemon() const { cli::print_queued_for_daemon(console_, queued_for_daemon_); }

 private:
  void record(const RunTotals& totals, std::optional<UtcMillis> ended_at = {});
  void record_failure(const std::string& reason);
  /// Once a minute.
  void keep_record();
  const Console& console_;
  CliContext& ctx_;
  const std::string name_;
  const std::string run_;
  const BackfillOptions options_;
  SyncDrainer drainer_;
  TransactionId after_{0};
  nlohmann::json counts_ = nlohmann::json::object();
  std::size_t queued_for_daemon_ = 0;
  bool owns_checkpoint_;  // false: a dry run, or another run has taken the checkpoint
  store::BackfillRun record_;
  UtcMillis recorded_at_;
};

/// The two commands.
int backfill_gift_records(const Console& console, CliContext& ctx, const BackfillOptions& options);
int backfill_status_timestamps(const Console& console, CliContext& ctx, const BackfillOptions& options);

// A command that a CRM may keep waiting: it says until when, waits and goes on by itself, or when
// another command has the CRM asked again (SYNC-70).

/// What schema/store/store.h leaves in the store; nullopt while the store does not respond.
std::optional<std::string> wake_mark(store::Store& store);

/// Says why the command waits and until when, and returns at that time, or within seconds when the store has
/// another mark than `seen`. A command that is ended meanwhile loses nothing. `while_waiting` is called every
/// few seconds.
void wait_for_crm(const Console& console, store::Store& store, std::optional<std::string> seen,
                  const DependencyPause& pause, const std::function<void()>& while_waiting);

/// The result of `action`, which is begun again each time when the CRM's pause ends. `progress` may be null.
template <class Action>
auto repeat_after_pauses(
    const Console& console, store::Store& store, WorkProgress* progress, Action action,
    const std::function<void()>& while_waiting = [] {}) {
  while (true) {
    const std::optional<std::string> seen = wake_mark(store);
    try {
      return action();
    } catch (const DependencyPause& pause) {
      if (!pause.transient()) throw;  // time alone does not help
      if (progress) progress->clear();
      wait_for_crm(console, store, seen, pause, while_waiting);
    }
  }
}

template <class Action>
auto ResumableRun::repeat(WorkProgress* progress, const Action& action) {
  return repeat_after_pauses(console_, ctx_.store, progress, action, [this] { keep_record(); });
}

}  // namespace giftsync::cli
