// daemon/cli: `backfill status-timestamps`.
#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>

#include "daemon/cli/backfill_run.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/text_table.h"
#include "daemon/counted.h"
#include "schema/broken_world.h"
#include "sync/status_log_backfill.h"

namespace giftsync::daemon {
namespace {

/// Unknown words that are named; a log of garbage has no end of them.
constexpr std::size_t kMostWords = 50;

class StatusLogReport {
 public:
  StatusLogReport(const Console& console, const BackfillWords& words, std::int64_t without_gift,
                  const nlohmann::json& kept)
      : console_(console),
        words_(words),
        without_gift_(without_gift),
        list_(console.out),
        table_(console.out, {{"GIFT", TextTable::Kind::number}, {"STATUS"}, {"TIME"}}) {
    const auto count = [&](const char* name) { return kept.value(name, std::int64_t{0}); };
    rows_ = {count("used"), count("not_needed"), count("no_record"), count("unknown_word"),
             count("unbelievable")};
    filled_ = count("filled");
    gifts_ = count("gifts");
    if (kept.contains("words")) unknown_ = kept["words"].get<std::map<std::string, std::int64_t>>();
    if (words_.json) console_.out << "{\"filled\": ";
  }

  void add(const sync::StatusLogChunk& chunk) {
    rows_.used += chunk.rows.used;
    rows_.not_needed += chunk.rows.not_needed;
    rows_.no_record += chunk.rows.no_record;
    rows_.unknown_word += chunk.rows.unknown_word;
    rows_.unbelievable += chunk.rows.unbelievable;
    gifts_ += chunk.gifts;
    for (const auto& [word, rows] : chunk.unknown_words) {
      if (unknown_.contains(word) || unknown_.size() < kMostWords) unknown_[word] += rows;
    }
    filled_ += static_cast<std::int64_t>(chunk.filled.size());
    for (const sync::FilledTime& one : chunk.filled) add(one);
  }

  std::int64_t rows() const {
    return rows_.used + rows_.not_needed + rows_.no_record + rows_.unknown_word + rows_.unbelievable;
  }
  nlohmann::json kept() const {
    return {{"used", rows_.used},
            {"not_needed", rows_.not_needed},
            {"no_record", rows_.no_record},
            {"unknown_word", rows_.unknown_word},
            {"unbelievable", rows_.unbelievable},
            {"filled", filled_},
            {"gifts", gifts_},
            {"words", unknown_}};
  }

  void finish() {
    if (words_.json) {
      finish_json();
      return;
    }
    table_.finish();
    if (shown_ > kMostSamples)
      console_.out << fmt::format("... and {} more (--json has them all)\n", shown_ - kMostSamples);
    console_.out << fmt::format(
        "status-timestamps: {}: {} used, {} not needed, {} of gifts without a record, {} with "
        "unknown "
        "words, {} without a believable time, {} without a gift; {} of {} {}{}\n",
        counted(rows() + without_gift_, "log row"), rows_.used, rows_.not_needed, rows_.no_record,
        rows_.unknown_word, rows_.unbelievable, without_gift_, counted(filled_, "timestamp"),
        counted(gifts_, "gift"), words_.dry_run ? "would be filled" : "filled",
        words_.dry_run ? ". Nothing was written." : ".");
    for (const auto& [word, rows] : unknown_)
      console_.out << fmt::format("unknown word \"{}\": {}\n", printable(word), counted(rows, "row"));
  }

 private:
  void add(const sync::FilledTime& one) {
    ++shown_;
    if (words_.json) {
      list_.add({{"recipient_transaction_id", one.transaction.value},
                 {"status", to_word(one.status)},
                 {"time", schema::to_rfc3339(one.time)}});
    } else if (shown_ <= kMostSamples) {
      table_.add({std::to_string(one.transaction.value), std::string(to_word(one.status)),
                  schema::to_rfc3339(one.time)});
    }
  }

  void finish_json() {
    list_.finish();
    Json summary = {{"dry_run", words_.dry_run},
                    {"rows", rows() + without_gift_},
                    {"used", rows_.used},
                    {"not_needed", rows_.not_needed},
                    {"no_record", rows_.no_record},
                    {"unknown_word", rows_.unknown_word},
                    {"unbelievable", rows_.unbelievable},
                    {"without_gift", without_gift_},
                    {"timestamps", filled_},
                    {"gifts", gifts_},
                    {"unknown_words", Json::object()}};
    for (const auto& [word, rows] : unknown_) summary["unknown_words"][word] = rows;
    console_.out << ", \"summary\": " << json_text(summary) << "}\n";
  }

  const Console& console_;
  const BackfillWords words_;
  const std::int64_t without_gift_;
  JsonList list_;
  TextTable table_;
  sync::LogRowCounts rows_;
  std::map<std::string, std::int64_t> unknown_;
  std::int64_t filled_ = 0;
  std::int64_t gifts_ = 0;
  std::size_t shown_ = 0;
};

}  // namespace

int backfill_status_timestamps(const Console& console, Installation& place, const BackfillWords& words) {
  if (const auto refusal = refuse_unusable_crm(place.settings)) return refuse(console, *refusal);
  std::optional<schema::StatusLogSize> size;
  try {
    size = place.crm->status_log_size();
  } catch (const schema::BrokenWorld& fault) {
    if (fault.transient()) throw;
    return console.fail(EX_CONFIG, fmt::format("{}: {}", place.settings.file, fault.what()));
  }
  if (!size) {
    return console.fail(
        EX_CONFIG, fmt::format("{}: there is no status log {}; crm.status_log.object says which table it is",
                               place.settings.file, place.settings.crm.status_log.object));
  }
  if (!words.dry_run) place.crm->prepare_status_log();
  BackfillRun run(console, place, "status-timestamps", words);
  StatusLogReport report(console, words, size->without_gift, run.counts());
  WorkProgress progress(console, "rows", size->rows - size->without_gift, report.rows());
  for (bool done = false; !done;) {
    const sync::StatusLogChunk chunk =
        sync::backfill_status_log(place.store, *place.crm, run.after(), words.dry_run, console.now());
    report.add(chunk);
    run.chunk_done({std::max(chunk.last, run.after()), chunk.to_write, chunk.done}, report.kept(), progress);
    progress.at(report.rows());
    done = chunk.done;
  }
  run.finish();
  progress.clear();
  report.finish();
  run.say_left();
  return EX_OK;
}

}  // namespace giftsync::daemon
