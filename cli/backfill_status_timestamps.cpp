// cli: `backfill status-timestamps`.
#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>

#include "cli/json_array_writer.h"
#include "cli/resumable_run.h"
#include "cli/text_table.h"
#include "platform/dependency_error.h"
#include "platform/plural.h"
#include "sync/status_log_backfill.h"

namespace giftsync::cli {
namespace {

/// Unknown status values that are listed one by one; a corrupt log could hold any number of them.
constexpr std::size_t kMaxUnknownStatuses = 50;

class StatusLogReport {
 public:
  StatusLogReport(const Console& console, const BackfillOptions& options, std::int64_t without_gift,
                  const nlohmann::json& checkpoint)
      : console_(console),
        options_(options),
        without_gift_(without_gift),
        list_(console.out),
        table_(console.out, {{"GIFT", TextTable::Kind::number}, {"STATUS"}, {"TIME"}}) {
    const auto count = [&](const char* name) { return checkpoint.value(name, std::int64_t{0}); };
    rows_ = {count("used"), count("not_needed"), count("no_record"), count("unknown_status"),
             count("invalid_time")};
    filled_ = count("filled");
    gifts_ = count("gifts");
    if (checkpoint.contains("unknown_statuses"))
      unknown_ = checkpoint["unknown_statuses"].get<std::map<std::string, std::int64_t>>();
    if (options_.json) console_.out << "{\"filled\": ";
  }

  void add(const sync::StatusLogBatch& chunk) {
    rows_.used += chunk.rows.used;
    rows_.not_needed += chunk.rows.not_needed;
    rows_.no_record += chunk.rows.no_record;
    rows_.unknown_word += chunk.rows.unknown_word;
    rows_.implausible += chunk.rows.implausible;
    gifts_ += chunk.gifts;
    for (const auto& [word, rows] : chunk.unknown_words) {
      if (unknown_.contains(word) || unknown_.size() < kMaxUnknownStatuses) unknown_[word] += rows;
    }
    filled_ += static_cast<std::int64_t>(chunk.filled.size());
    for (const sync::FilledTime& one : chunk.filled) add(one);
  }

  std::int64_t rows() const {
    return rows_.used + rows_.not_needed + rows_.no_record + rows_.unknown_word + rows_.implausible;
  }
  nlohmann::json checkpoint() const {
    return {{"used", rows_.used},
            {"not_needed", rows_.not_needed},
            {"no_record", rows_.no_record},
            {"unknown_status", rows_.unknown_word},
            {"invalid_time", rows_.implausible},
            {"filled", filled_},
            {"gifts", gifts_},
            {"unknown_statuses", unknown_}};
  }

  void finish() {
    if (options_.json) {
      finish_json();
      return;
    }
    table_.finish();
    if (shown_ > kMaxSamples)
      console_.out << fmt::format("... and {} more (--json has them all)\n", shown_ - kMaxSamples);
    console_.out << fmt::format(
        "status-timestamps: {}: {} used, {} not needed, {} of gifts without a record, {} with "
        "unknown "
        "statuses, {} with an invalid time, {} without a gift; {} of {} {}{}\n",
        platform::pluralize(rows() + without_gift_, "log row"), rows_.used, rows_.not_needed, rows_.no_record,
        rows_.unknown_word, rows_.implausible, without_gift_, platform::pluralize(filled_, "timestamp"),
        platform::pluralize(gifts_, "gift"), options_.dry_run ? "would be filled" : "filled",
        options_.dry_run ? ". Nothing was written." : ".");
    for (const auto& [word, rows] : unknown_)
      console_.out << fmt::format("unknown status \"{}\": {}\n", printable(word),
                                  platform::pluralize(rows, "row"));
  }

 private:
  void add(const sync::FilledTime& one) {
    ++shown_;
    if (options_.json) {
      list_.add({{"recipient_transaction_id", one.transaction.value},
                 {"status", to_word(one.status)},
                 {"time", platform::to_rfc3339(one.time)}});
    } else if (shown_ <= kMaxSamples) {
      table_.add({std::to_string(one.transaction.value), std::string(to_word(one.status)),
                  platform::to_rfc3339(one.time)});
    }
  }

  void finish_json() {
    list_.finish();
    Json summary = {{"dry_run", options_.dry_run},
                    {"rows", rows() + without_gift_},
                    {"used", rows_.used},
                    {"not_needed", rows_.not_needed},
                    {"no_record", rows_.no_record},
                    {"unknown_status", rows_.unknown_word},
                    {"invalid_time", rows_.implausible},
                    {"without_gift", without_gift_},
                    {"timestamps", filled_},
                    {"gifts", gifts_},
                    {"unknown_statuses", Json::object()}};
    for (const auto& [word, rows] : unknown_) summary["unknown_statuses"][word] = rows;
    console_.out << ", \"summary\": " << json_text(summary) << "}\n";
  }

  const Console& console_;
  const BackfillOptions options_;
  const std::int64_t without_gift_;
  JsonArrayWriter list_;
  TextTable table_;
  sync::LogRowCounts rows_;
  std::map<std::string, std::int64_t> unknown_;
  std::int64_t filled_ = 0;
  std::int64_t gifts_ = 0;
  std::size_t shown_ = 0;
};

}  // namespace

int backfill_status_timestamps(const Console& console, CliContext& ctx, const BackfillOptions& options) {
  if (const auto refusal = refuse_unusable_crm(ctx.settings)) return refuse(console, *refusal);
  schema::crm::LegacyStatusLog* log = nullptr;
  schema::crm::StatusLogSize size;
  try {
    log = ctx.crm->legacy_status_log();
    if (log) size = log->size();
  } catch (const platform::DependencyError& fault) {
    if (fault.transient()) throw;
    return console.fail(EX_CONFIG, fmt::format("{}: {}", ctx.settings.file, fault.what()));
  }
  if (!log) {
    return console.fail(EX_CONFIG,
                        fmt::format("{}: there is no status log {}; set crm.status_log.object to its table",
                                    ctx.settings.file, ctx.settings.crm.status_log.object));
  }
  if (!options.dry_run) log->prepare();
  ResumableRun run(console, ctx, "status-timestamps", options);
  StatusLogReport report(console, options, size.without_gift, run.counts());
  WorkProgress progress(console, "rows", size.rows - size.without_gift, report.rows());
  for (bool done = false; !done;) {
    const sync::StatusLogBatch chunk = sync::backfill_status_log(ctx.store, ctx.crm->gift_records(), *log,
                                                                 run.after(), options.dry_run, console.now());
    report.add(chunk);
    run.chunk_done({std::max(chunk.last, run.after()), chunk.to_write, chunk.done}, report.checkpoint(),
                   progress);
    progress.update(report.rows());
    done = chunk.done;
  }
  run.finish();
  progress.clear();
  report.finish();
  run.print_queued_for_daemon();
  return EX_OK;
}

}  // namespace giftsync::cli
