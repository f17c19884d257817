#include "cli/resumable_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "daemon/wiring/database_config.h"
#include "daemon/wiring/server_secret.h"
#include "platform/clock.h"
#include "platform/text.h"
#include "platform/time.h"
#include "sync/gift/gift_links.h"

namespace giftsync::cli {

struct SyncDrainer::Links {
  explicit Links(const CliContext& ctx, sync::LinkSigner link_signer)
      : signer(std::move(link_signer)), links(ctx.settings.server.base_url, signer) {}
  const sync::LinkSigner signer;
  const sync::GiftLinks links;
};

SyncDrainer::SyncDrainer(const Console& console, CliContext& ctx)
    : console_(console),
      ctx_(ctx),
      rules_(wiring::sync_rules(ctx.settings)),
      owner_(fmt::format("giftsyncctl {}", ::getpid())) {
  if (ctx.store.is_unused()) return;  // the first daemon creates the secret
  try {
    links_ =
        std::make_unique<Links>(ctx, sync::LinkSigner(wiring::load_server_secret(ctx.settings, ctx.store)));
    rules_.link_of = [this](const store::RecipientTransaction& gift) {
      return links_->links.crm_record_url(gift);
    };
    rules_.links_since = wiring::links_since(ctx.store);
  } catch (const wiring::ConfigError&) {
    // This user cannot read the secret: the daemon writes the records.
  }
}

SyncDrainer::~SyncDrainer() = default;

SyncDrainer::Result SyncDrainer::write(const std::vector<TransactionId>& gifts) {
  Result result;
  while (true) {
    result.left = ctx_.store.backfill.find_queued(gifts).size();
    if (result.left == 0 || !links_) return result;
    const sync::SyncStepStats report = step();
    for (const LogLine& warning : report.warnings) result.messages.push_back(warning.message);
    if (report.claimed == 0) return result;
  }
}

/// A failed step leaves its gifts to the daemon, or to the next one here.
sync::SyncStepStats SyncDrainer::step() {
  try {
    return sync::sync_step(ctx_.store, *ctx_.crm, rules_, {owner_, sync::sync_lease_millis(ctx_.crm->pace())},
                           console_.now());
  } catch (const DependencyError&) {
    ctx_.store.sync.release_leases({owner_});
    throw;
  }
}

void print_queued_for_daemon(const Console& console, std::size_t count) {
  if (count == 0) return;
  console.info(
      fmt::format("{} of these records {} queued for the daemon.", count, plural_verb(count, "is", "are")));
}

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
      drainer_(console, ctx),
      owns_checkpoint_(!options.dry_run) {
  record_.name = name_;
  record_.started_at = console.now();
  if (options_.dry_run) return;
  const store::BackfillCheckpoint position = ctx_.store.backfill.begin(name_, run_, options_.restart);
  after_ = position.after;
  if (!position.counts.empty()) counts_ = nlohmann::json::parse(position.counts, nullptr, false);
  if (!counts_.is_object()) counts_ = nlohmann::json::object();
  if (after_.value > 0)
    console_.info(fmt::format("Resumes after gift {}, where the last run stopped; --restart starts over.",
                              after_.value));
}

/// Of two runs of one name the one that began last has the record, as it has the checkpoint.
void ResumableRun::record(const RunTotals& totals, std::optional<UtcMillis> ended_at) {
  record_.examined = totals.examined;
  record_.repaired = totals.repaired;
  record_.differing = totals.differing;
  record_.summary = totals.summary;
  record_.ended_at = ended_at;
  recorded_at_ = console_.now();
  if (owns_checkpoint_) ctx_.store.backfill.record_run(record_);
}

void ResumableRun::record_failure(const std::string& reason) {
  record_.ended_at = console_.now();
  record_.error = reason;
  try {
    if (owns_checkpoint_) ctx_.store.backfill.record_run(record_);
  } catch (const DependencyError&) {
    // The store's own fault ended the run. Without a further sign of it the run counts as killed.
  }
}

void ResumableRun::keep_record() {
  if (!owns_checkpoint_ || !has_elapsed(recorded_at_, kMinuteMillis, console_.now())) return;
  recorded_at_ = console_.now();
  try {
    ctx_.store.backfill.record_run(record_);
  } catch (const DependencyError&) {
    // A store that does not respond for a while ends no wait for the CRM.
  }
}

void ResumableRun::chunk_done(const Chunk& chunk, const nlohmann::json& counts, const RunTotals& totals,
                              WorkProgress& progress) {
  after_ = chunk.last;
  if (has_elapsed(recorded_at_, kMinuteMillis, console_.now())) record(totals);
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
    const SyncDrainer::Result written = repeat(&progress, [&] { return drainer_.write(chunk.to_write); });
    queued_for_daemon_ += written.left;
    if (!written.messages.empty()) progress.clear();
    for (const std::string& message : written.messages) console_.info(message);
  }
  if (ctx_.settings.store.backend == config::StoreBackend::sqlite)
    std::this_thread::sleep_for(kPauseBetweenChunks);
}

void ResumableRun::finish(const RunTotals& totals) {
  if (!options_.dry_run) ctx_.store.backfill.finish(name_, run_);
  record(totals, console_.now());
}

namespace {

/// Clock and mark are looked at again after it: the clock may be set, and the computer may have slept.
constexpr std::int64_t kLongestSleepMillis = 2 * kSecondMillis;

}  // namespace

std::optional<std::string> wake_mark(store::Store& store) {
  try {
    return store.metadata(store::kCrmWakeFact).value_or("");
  } catch (const DependencyError&) {
    return std::nullopt;
  }
}

void wait_for_crm(const Console& console, store::Store& store, std::optional<std::string> seen,
                  const DependencyPause& pause, const std::function<void()>& while_waiting) {
  console.info(
      fmt::format("{}. Waiting; this command goes on at {}, and tries again within seconds after "
                  "\"giftsyncctl crm retry --all\".",
                  pause.what(), to_rfc3339(pause.until())));
  while (true) {
    // By the clock that the CRM's pauses are made with.
    const std::int64_t left = pause.until().value - system_now().value;
    const std::optional<std::string> mark = wake_mark(store);
    if (left <= 0 || (mark && seen && *mark != *seen)) return;
    if (!seen) seen = mark;
    while_waiting();
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(left, kLongestSleepMillis)));
  }
}

}  // namespace giftsync::cli
