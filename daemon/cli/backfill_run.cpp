#include "daemon/cli/backfill_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "daemon/counted.h"

namespace giftsync::daemon {
namespace {

/// SQLite does not queue its writers: those of another process look again every few milliseconds.
constexpr std::chrono::milliseconds kPauseBetweenChunks{5};

}  // namespace

BackfillRun::BackfillRun(const Console& console, Installation& place, std::string name,
                         const BackfillWords& words)
    : console_(console),
      place_(place),
      name_(std::move(name)),
      run_(fmt::format("{} {}", ::getpid(), console.now().value)),
      words_(words),
      hand_(console, place) {
  if (words_.dry_run) return;
  const schema::BackfillPosition position = place_.store.backfill.begin(name_, run_, words_.restart);
  after_ = position.after;
  if (!position.counts.empty()) counts_ = nlohmann::json::parse(position.counts, nullptr, false);
  if (!counts_.is_object()) counts_ = nlohmann::json::object();
  if (after_.value > 0)
    console_.note(fmt::format("Goes on after gift {}, where the last run stopped; --restart begins anew.",
                              after_.value));
}

void BackfillRun::chunk_done(const Chunk& chunk, const nlohmann::json& counts, WorkProgress& progress) {
  after_ = chunk.last;
  if (words_.dry_run) return;
  // Before the CRM is written: what is in the queue is written whatever becomes of this run, and the next one
  // could not tell it from the daemon's own work.
  if (is_ours_ && !chunk.is_end && !place_.store.backfill.keep(name_, run_, {chunk.last, counts.dump()})) {
    is_ours_ = false;
    progress.clear();
    console_.note("Another run has begun and keeps the position from now on; this one goes on beside it.");
  }
  if (!chunk.to_write.empty()) {
    const SyncHand::Result written = hand_.write(chunk.to_write);
    left_ += written.left;
    if (!written.notes.empty()) progress.clear();
    for (const std::string& note : written.notes) console_.note(note);
  }
  if (place_.settings.store.backend == StoreBackend::sqlite) std::this_thread::sleep_for(kPauseBetweenChunks);
}

void BackfillRun::finish() {
  if (!words_.dry_run) place_.store.backfill.finish(name_, run_);
}

void BackfillRun::say_left() const {
  if (left_ == 0) return;
  console_.note(
      fmt::format("{} of these records {} left to the daemon.", left_, verb_for(left_, "is", "are")));
}

}  // namespace giftsync::daemon
