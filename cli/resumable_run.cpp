#include "cli/resumable_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "cli/crm_pause.h"

namespace giftsync::cli {
namespace {

/// SQLite does not queue writers: another process retries every few milliseconds.
constexpr std::chrono::milliseconds kPauseBetweenChunks{5};

}  // namespace

ResumableRun::ResumableRun(const Console& console, CliContext& ctx, std::string name,
                           const BackfillOptions& options)
    : console_(console),
      ctx_(ctx),
      name_(std::move(name)),
      run_(fmt::format("{} {}", ::getpid(), console.now().value)),
      options_(options),
      drainer_(console, ctx) {
  if (options_.dry_run) return;
  const schema::store::BackfillCheckpoint position = ctx_.store.backfill.begin(name_, run_, options_.restart);
  after_ = position.after;
  if (!position.counts.empty()) counts_ = nlohmann::json::parse(position.counts, nullptr, false);
  if (!counts_.is_object()) counts_ = nlohmann::json::object();
  if (after_.value > 0)
    console_.info(fmt::format("Resumes after gift {}, where the last run stopped; --restart starts over.",
                              after_.value));
}

void ResumableRun::chunk_done(const Chunk& chunk, const nlohmann::json& counts, WorkProgress& progress) {
  after_ = chunk.last;
  if (options_.dry_run) return;
  // Save before writing to the CRM: the queued records are written even if this run is interrupted, and the
  // next run cannot distinguish them from the daemon's own work.
  if (owns_checkpoint_ && !chunk.is_end &&
      !ctx_.store.backfill.save(name_, run_, {chunk.last, counts.dump()})) {
    owns_checkpoint_ = false;
    progress.clear();
    console_.info(
        "Another run has started and now owns the checkpoint; this run continues without saving its "
        "position.");
  }
  if (!chunk.to_write.empty()) {
    const SyncDrainer::Result written =
        repeat_after_pauses(console_, ctx_.store, &progress, [&] { return drainer_.write(chunk.to_write); });
    queued_for_daemon_ += written.left;
    if (!written.messages.empty()) progress.clear();
    for (const std::string& message : written.messages) console_.info(message);
  }
  if (ctx_.settings.store.backend == daemon::config::StoreBackend::sqlite)
    std::this_thread::sleep_for(kPauseBetweenChunks);
}

void ResumableRun::finish() {
  if (!options_.dry_run) ctx_.store.backfill.finish(name_, run_);
}

}  // namespace giftsync::cli
