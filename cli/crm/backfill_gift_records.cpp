// cli: `backfill gift-records`.
#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <map>

#include "cli/command_audit.h"
#include "cli/listing.h"
#include "cli/resumable_run.h"
#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/database_config.h"
#include "platform/text.h"
#include "sync/crm/crm_reconciliation.h"

namespace giftsync::cli {
namespace {

using Kind = sync::ReconciliationFinding::Kind;

struct Outcome {
  Kind kind;
  const char* text;
  const char* dry_run_text;
};

constexpr Outcome kOutcomes[] = {{Kind::unchanged, "unchanged", "unchanged"},
                                 {Kind::created, "created", "would be created"},
                                 {Kind::repaired, "repaired", "would be repaired"},
                                 {Kind::times_imported, "had times imported", "would have times imported"},
                                 {Kind::recreated, "recreated", "would be recreated"},
                                 {Kind::adopted, "adopted", "would be adopted"},
                                 {Kind::deleted_in_crm, "deleted in the CRM", "deleted in the CRM"},
                                 {Kind::skipped, "skipped, no match", "skipped, no match"},
                                 {Kind::queued, "queued", "queued"},
                                 {Kind::id_conflict, "with an id conflict", "with an id conflict"},
                                 {Kind::refused, "not adopted", "not adopted"}};

std::string outcome_text(Kind kind, bool dry_run) {
  const auto* found = std::find_if(std::begin(kOutcomes), std::end(kOutcomes),
                                   [&](const Outcome& outcome) { return outcome.kind == kind; });
  return dry_run ? found->dry_run_text : found->text;
}

Json json_of(const std::vector<sync::FieldDrift>& drifts) {
  Json fields = Json::object();
  for (const sync::FieldDrift& drift : drifts)
    fields[std::string(descriptor_of(drift.field).name)] = {{"crm", text_or_null(drift.in_crm)},
                                                            {"giftsync", text_or_null(drift.wanted)}};
  return fields;
}

std::string shown(const std::string& value) {
  return value.empty() ? "nothing" : "\"" + printable(value) + "\"";
}

std::string differences_text(const sync::ReconciliationFinding& finding) {
  std::string text = finding.detail;
  const auto add = [&](const std::vector<sync::FieldDrift>& drifts, const char* what) {
    for (const sync::FieldDrift& drift : drifts) {
      text += fmt::format("{}{} is {}, {} {}", text.empty() ? "" : "; ", descriptor_of(drift.field).label,
                          shown(drift.in_crm), what, shown(drift.wanted));
    }
  };
  for (const sync::FieldDrift& imported_time : finding.imported_times) {
    text += fmt::format("{}imported: {} {}", text.empty() ? "" : "; ",
                        descriptor_of(imported_time.field).label, shown(imported_time.in_crm));
  }
  add(finding.repaired, "should be");
  add(finding.differences, "kept; giftsync would write");
  for (const sync::FieldDrift& missing_lookup : finding.missing_lookups) {
    text += fmt::format("{}{} {} was deleted in the CRM", text.empty() ? "" : "; ",
                        descriptor_of(missing_lookup.field).label, shown(missing_lookup.in_crm));
  }
  return text;
}

/// The gifts by outcome.
struct Counts {
  std::map<Kind, std::int64_t> by_outcome;
  std::int64_t left = 0;  ///< with something that a person has to look at
  std::int64_t differing = 0;
  std::int64_t with_broken_lookups = 0;
  std::int64_t with_invalid_id = 0;  ///< records without a valid Transaction Id, which are not examined

  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const auto& [kind, count] : by_outcome) sum += count;
    return sum;
  }
  void add(const sync::ReconciliationFinding& finding) {
    ++by_outcome[finding.kind];
    if (!finding.differences.empty()) ++differing;
    if (!finding.missing_lookups.empty()) ++with_broken_lookups;
    if (!finding.differences.empty() || !finding.missing_lookups.empty() ||
        finding.kind == Kind::id_conflict || finding.kind == Kind::refused)
      ++left;
  }
};

Counts counts_from(const nlohmann::json& checkpoint) {
  Counts counts;
  for (const Outcome& outcome : kOutcomes)
    counts.by_outcome[outcome.kind] = checkpoint.value(std::string(to_word(outcome.kind)), std::int64_t{0});
  counts.left = checkpoint.value("left", std::int64_t{0});
  counts.differing = checkpoint.value("differing", std::int64_t{0});
  counts.with_broken_lookups = checkpoint.value("with_broken_lookups", std::int64_t{0});
  return counts;
}

nlohmann::json checkpoint_of(const Counts& counts) {
  nlohmann::json checkpoint = {{"left", counts.left},
                               {"differing", counts.differing},
                               {"with_broken_lookups", counts.with_broken_lookups}};
  for (const auto& [kind, count] : counts.by_outcome) checkpoint[std::string(to_word(kind))] = count;
  return checkpoint;
}

void describe(ListedRow& row, const sync::ReconciliationFinding& finding, bool dry_run) {
  row.add("recipient_transaction_id", {"GIFT", TextTable::Kind::number}, finding.transaction.value);
  row.add("outcome", {"OUTCOME"}, to_word(finding.kind), outcome_text(finding.kind, dry_run));
  row.add_json("repaired", json_of(finding.repaired));
  row.add_json("times_imported", json_of(finding.imported_times));
  row.add_json("differs", json_of(finding.differences));
  row.add_json("broken_lookups", json_of(finding.missing_lookups));
  row.add_json("note", text_or_null(finding.detail));
  row.set_below(differences_text(finding));
}

bool is_listed(const sync::ReconciliationFinding& finding) {
  return !finding.differences.empty() || !finding.missing_lookups.empty() || !finding.detail.empty() ||
         (finding.kind != Kind::unchanged && finding.kind != Kind::skipped && finding.kind != Kind::queued);
}

Json summary_json(const Counts& counts, bool dry_run) {
  Json summary = {{"dry_run", dry_run}, {"examined", counts.total()}};
  for (const Outcome& outcome : kOutcomes)
    summary[std::string(to_word(outcome.kind))] = counts.by_outcome.at(outcome.kind);
  summary["other_differences"] = counts.differing;
  summary["with_broken_lookups"] = counts.with_broken_lookups;
  summary["with_invalid_id"] = counts.with_invalid_id;
  return summary;
}

std::string summary_text(const Counts& counts, bool dry_run) {
  std::string text;
  for (const auto& [kind, count] : counts.by_outcome) {
    if (count == 0 && kind != Kind::unchanged) continue;
    text += fmt::format("{} {} {}", text.empty() ? "" : ",", count, outcome_text(kind, dry_run));
  }
  if (counts.differing > 0)
    text += fmt::format("; {} {} in fields that giftsync does not own", counts.differing,
                        plural_verb(counts.differing, "differs", "differ"));
  return fmt::format("gift-records: {} examined:{}{}", counts.total(), text,
                     dry_run ? ". Nothing was written." : ".");
}

RunTotals totals_of(const Counts& counts, bool dry_run) {
  RunTotals totals{counts.total(), 0, counts.left + counts.with_invalid_id, summary_text(counts, dry_run)};
  for (const Kind kind :
       {Kind::created, Kind::repaired, Kind::times_imported, Kind::recreated, Kind::adopted})
    totals.repaired += counts.by_outcome.at(kind);
  return totals;
}

/// What the administrator has to do.
void print_advice(const Console& console, const Counts& counts) {
  const auto advise = [&](std::int64_t count, const char* what, const char* singular, const char* plural,
                          const std::string& advice) {
    if (count == 0) return;
    console.info(
        fmt::format("{} {} {}", pluralize(count, what), plural_verb(count, singular, plural), advice));
  };
  advise(counts.with_broken_lookups, "gift", "is", "are",
         "linked to rows that were deleted in the CRM; see \"giftsyncctl rematch --unmatched --dry-run\".");
  advise(counts.by_outcome.at(Kind::id_conflict), "gift", "has", "have",
         "no record, because a record that giftsync did not write has the same Transaction Id; give that "
         "record a Transaction Id in the CRM that no gift has.");
  advise(counts.with_invalid_id, "gift record", "was", "were",
         fmt::format("not examined: the Transaction Id is not a whole number from 1 to {}; correct it in the "
                     "CRM.",
                     kMaxId));
}

}  // namespace

int backfill_gift_records(const Console& console, CliContext& ctx, const BackfillOptions& options) {
  if (const auto refusal = refuse_unusable_crm(ctx.settings)) return console.fail(*refusal);
  audit_object(console, "");
  ResumableRun run(console, ctx, "gift-records", options);
  const sync::ReconciliationRules rules{run.rules(), options.recreate, options.dry_run};
  Counts counts = counts_from(run.counts());
  SummarizedListing list(console.out, options.json, "gifts");
  run.carry_out(totals_of(counts, options.dry_run), [&] {
    counts.with_invalid_id = wiring::count_invalid_transaction_ids(ctx.settings);
    const std::int64_t records = run.repeat(nullptr, [&] { return ctx.crm->gift_records().count(); });
    const std::int64_t total = std::max(ctx.store.backfill.count_transactions(), records);
    WorkProgress progress(console, "gifts", total, counts.total());
    for (bool done = false; !done;) {
      const sync::ReconciliationBatch chunk = run.repeat(&progress, [&] {
        return sync::reconcile_gift_records(ctx.store, *ctx.crm, rules, run.after(), console.now());
      });
      for (const sync::ReconciliationFinding& finding : chunk.findings) {
        counts.add(finding);
        if (!is_listed(finding)) continue;
        list.add_sample(to_word(finding.kind),
                        [&](ListedRow& row) { describe(row, finding, options.dry_run); });
      }
      run.chunk_done({chunk.last, chunk.to_write, chunk.done}, checkpoint_of(counts),
                     totals_of(counts, options.dry_run), progress);
      progress.update(counts.total());
      done = chunk.done;
    }
    run.finish(totals_of(counts, options.dry_run));
    progress.clear();
  });
  audit_total(console, summary_text(counts, options.dry_run));
  list.finish(summary_json(counts, options.dry_run), summary_text(counts, options.dry_run) + "\n");
  if (!options.json) print_advice(console, counts);
  run.print_queued_for_daemon();
  return EX_OK;
}

}  // namespace giftsync::cli
