// cli: `backfill status-timestamps`.
#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>

#include "cli/command_audit.h"
#include "cli/listing.h"
#include "cli/resumable_run.h"
#include "platform/dependency_error.h"
#include "platform/text.h"
#include "sync/crm/status_log_backfill.h"

namespace giftsync::cli {
namespace {

/// Unknown status values that are listed one by one; a corrupt log could hold any number of them.
constexpr std::size_t kMaxUnknownStatuses = 50;

struct Counts {
  sync::LogRowCounts rows;
  std::int64_t without_gift = 0;  ///< rows that are not examined
  std::int64_t filled = 0;
  std::int64_t gifts = 0;
  std::map<std::string, std::int64_t> unknown_statuses;

  std::int64_t checked() const {
    return rows.used + rows.not_needed + rows.no_record + rows.unknown_word + rows.implausible;
  }
  void add(const sync::StatusLogBatch& chunk) {
    rows.used += chunk.rows.used;
    rows.not_needed += chunk.rows.not_needed;
    rows.no_record += chunk.rows.no_record;
    rows.unknown_word += chunk.rows.unknown_word;
    rows.implausible += chunk.rows.implausible;
    gifts += chunk.gifts;
    filled += static_cast<std::int64_t>(chunk.filled.size());
    for (const auto& [word, count] : chunk.unknown_words) {
      if (unknown_statuses.contains(word) || unknown_statuses.size() < kMaxUnknownStatuses)
        unknown_statuses[word] += count;
    }
  }
};

Counts counts_from(const nlohmann::json& checkpoint) {
  const auto count = [&](const char* name) { return checkpoint.value(name, std::int64_t{0}); };
  Counts counts;
  counts.rows = {count("used"), count("not_needed"), count("no_record"), count("unknown_status"),
                 count("invalid_time")};
  counts.filled = count("filled");
  counts.gifts = count("gifts");
  if (checkpoint.contains("unknown_statuses"))
    counts.unknown_statuses = checkpoint["unknown_statuses"].get<std::map<std::string, std::int64_t>>();
  return counts;
}

nlohmann::json checkpoint_of(const Counts& counts) {
  return {{"used", counts.rows.used},
          {"not_needed", counts.rows.not_needed},
          {"no_record", counts.rows.no_record},
          {"unknown_status", counts.rows.unknown_word},
          {"invalid_time", counts.rows.implausible},
          {"filled", counts.filled},
          {"gifts", counts.gifts},
          {"unknown_statuses", counts.unknown_statuses}};
}

Json summary_json(const Counts& counts, bool dry_run) {
  return {{"dry_run", dry_run},
          {"rows", counts.checked() + counts.without_gift},
          {"used", counts.rows.used},
          {"not_needed", counts.rows.not_needed},
          {"no_record", counts.rows.no_record},
          {"unknown_status", counts.rows.unknown_word},
          {"invalid_time", counts.rows.implausible},
          {"without_gift", counts.without_gift},
          {"timestamps", counts.filled},
          {"gifts", counts.gifts},
          {"unknown_statuses", counts.unknown_statuses}};
}

std::string summary_line(const Counts& counts, bool dry_run) {
  return fmt::format(
      "status-timestamps: {}: {} used, {} not needed, {} of gifts without a record, {} with unknown "
      "statuses, {} with an invalid time, {} without a gift; {} of {} {}",
      pluralize(counts.checked() + counts.without_gift, "log row"), counts.rows.used, counts.rows.not_needed,
      counts.rows.no_record, counts.rows.unknown_word, counts.rows.implausible, counts.without_gift,
      pluralize(counts.filled, "timestamp"), pluralize(counts.gifts, "gift"),
      dry_run ? "would be filled. Nothing was written." : "filled.");
}

std::string summary_text(const Counts& counts, bool dry_run) {
  std::string text = summary_line(counts, dry_run) + "\n";
  for (const auto& [word, rows] : counts.unknown_statuses)
    text += fmt::format("unknown status \"{}\": {}\n", printable(word), pluralize(rows, "row"));
  return text;
}

RunTotals totals_of(const Counts& counts, bool dry_run) {
  return {counts.checked() + counts.without_gift, counts.filled,
          counts.rows.unknown_word + counts.rows.implausible, summary_line(counts, dry_run)};
}

struct FoundStatusLog {
  crm::LegacyStatusLog& log;
  crm::StatusLogSize size;
};

/// Refuses a CRM without a status log (exit 78).
tl::expected<FoundStatusLog, Refusal> find_status_log(CliContext& ctx) {
  const auto refusal = [&](const std::string& fault) {
    return tl::unexpected(refuse_faults(ctx.settings, {fault}));
  };
  try {
    if (crm::LegacyStatusLog* log = ctx.crm->legacy_status_log()) return FoundStatusLog{*log, log->size()};
  } catch (const DependencyError& fault) {
    if (fault.transient()) throw;
    return refusal(fault.what());
  }
  const bool is_remote = wiring::crm_capabilities(ctx.settings).is_remote;
  return refusal(fmt::format(
      "there is no status log {}; set crm.status_log.object to its {}", ctx.settings.crm.status_log.object,
      is_remote ? "API name, and let the integration user read it by a permission set" : "table"));
}

}  // namespace

int backfill_status_timestamps(const Console& console, CliContext& ctx, const BackfillOptions& options) {
  if (const auto refusal = refuse_unusable_crm(ctx.settings)) return console.fail(*refusal);
  const auto found = repeat_after_pauses(console, ctx.store, nullptr, [&] { return find_status_log(ctx); });
  if (!found) return console.fail(found.error());
  crm::LegacyStatusLog& log = found->log;
  const crm::StatusLogSize& size = found->size;
  if (!options.dry_run) log.prepare();
  audit_object(console, "");
  ResumableRun run(console, ctx, "status-timestamps", options);
  Counts counts = counts_from(run.counts());
  counts.without_gift = size.without_gift;
  SummarizedListing list(console.out, options.json, "filled");
  run.carry_out(totals_of(counts, options.dry_run), [&] {
    WorkProgress progress(console, "rows", size.rows - size.without_gift, counts.checked());
    for (bool done = false; !done;) {
      const sync::StatusLogBatch chunk = run.repeat(&progress, [&] {
        return sync::backfill_status_log(ctx.store.backfill, ctx.store.changes, ctx.crm->gift_records(), log,
                                         run.after(), options.dry_run, console.now());
      });
      counts.add(chunk);
      for (const sync::FilledTime& filled_time : chunk.filled) {
        list.add_sample("", [&](ListedRow& row) {
          row.add("recipient_transaction_id", {"GIFT", TextTable::Kind::number},
                  filled_time.transaction.value);
          row.add("status", {"STATUS"}, to_word(filled_time.status));
          row.add("time", {"TIME"}, to_rfc3339(filled_time.time));
        });
      }
      run.chunk_done({std::max(chunk.last, run.after()), chunk.to_write, chunk.done}, checkpoint_of(counts),
                     totals_of(counts, options.dry_run), progress);
      progress.update(counts.checked());
      done = chunk.done;
    }
    run.finish(totals_of(counts, options.dry_run));
    progress.clear();
  });
  audit_total(console, summary_text(counts, options.dry_run));
  list.finish(summary_json(counts, options.dry_run), summary_text(counts, options.dry_run));
  run.print_queued_for_daemon();
  return EX_OK;
}

}  // namespace giftsync::cli
