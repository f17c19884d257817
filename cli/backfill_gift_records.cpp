// cli: `backfill gift-records`.
#include <fmt/format.h>
#include <sysexits.h>

#include <array>
#include <map>

#include "cli/json_array_writer.h"
#include "cli/resumable_run.h"
#include "cli/text_table.h"
#include "platform/plural.h"
#include "sync/crm_reconciliation.h"
#include "wiring/crm_config.h"
#include "wiring/database_config.h"

namespace giftsync::cli {
namespace {

using Kind = sync::ReconciliationFinding::Kind;

constexpr std::array kKinds{Kind::unchanged, Kind::created,     Kind::repaired,       Kind::times_imported,
                            Kind::recreated, Kind::adopted,     Kind::deleted_in_crm, Kind::skipped,
                            Kind::queued,    Kind::id_conflict, Kind::refused};

std::string outcome_text(Kind kind, bool dry_run) {
  switch (kind) {
    case Kind::unchanged:
      return "unchanged";
    case Kind::created:
      return dry_run ? "would be created" : "created";
    case Kind::repaired:
      return dry_run ? "would be repaired" : "repaired";
    case Kind::times_imported:
      return dry_run ? "would have times imported" : "had times imported";
    case Kind::recreated:
      return dry_run ? "would be recreated" : "recreated";
    case Kind::adopted:
      return dry_run ? "would be adopted" : "adopted";
    case Kind::deleted_in_crm:
      return "deleted in the CRM";
    case Kind::skipped:
      return "skipped, no match";
    case Kind::queued:
      return "queued";
    case Kind::id_conflict:
      return "with an id conflict";
    case Kind::refused:
      return "not adopted";
  }
  return "";
}

Json json_of(const std::vector<sync::FieldDrift>& drifts) {
  const auto value = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json fields = Json::object();
  for (const sync::FieldDrift& drift : drifts)
    fields[std::string(schema::descriptor_of(drift.field).name)] = {{"crm", value(drift.in_crm)},
                                                                    {"giftsync", value(drift.wanted)}};
  return fields;
}

std::string shown(const std::string& value) {
  return value.empty() ? "nothing" : "\"" + printable(value) + "\"";
}

std::string describe(const sync::ReconciliationFinding& finding) {
  std::string text = finding.detail;
  const auto add = [&](const std::vector<sync::FieldDrift>& drifts, const char* what) {
    for (const sync::FieldDrift& drift : drifts) {
      text +=
          fmt::format("{}{} is {}, {} {}", text.empty() ? "" : "; ", schema::descriptor_of(drift.field).label,
                      shown(drift.in_crm), what, shown(drift.wanted));
    }
  };
  for (const sync::FieldDrift& one : finding.imported_times) {
    text += fmt::format("{}imported: {} {}", text.empty() ? "" : "; ", schema::descriptor_of(one.field).label,
                        shown(one.in_crm));
  }
  add(finding.repaired, "should be");
  add(finding.differences, "kept; giftsync would write");
  for (const sync::FieldDrift& one : finding.missing_lookups) {
    text += fmt::format("{}{} {} was deleted in the CRM", text.empty() ? "" : "; ",
                        schema::descriptor_of(one.field).label, shown(one.in_crm));
  }
  return text;
}

class GiftRecordReport {
 public:
  /// `with_invalid_id`: records without a valid Transaction Id, which are not examined.
  GiftRecordReport(const Console& console, const BackfillOptions& options, std::int64_t with_invalid_id,
                   const nlohmann::json& checkpoint)
      : console_(console),
        options_(options),
        with_invalid_id_(with_invalid_id),
        list_(console.out),
        table_(console.out, {{"GIFT", TextTable::Kind::number}, {"OUTCOME"}}) {
    for (const Kind kind : kKinds)
      counts_[kind] = checkpoint.value(std::string(to_word(kind)), std::int64_t{0});
    differing_ = checkpoint.value("differing", std::int64_t{0});
    with_broken_lookups_ = checkpoint.value("with_broken_lookups", std::int64_t{0});
    if (options_.json) console_.out << "{\"gifts\": ";
  }

  void add(const sync::ReconciliationFinding& finding) {
    ++counts_[finding.kind];
    if (!finding.differences.empty()) ++differing_;
    if (!finding.missing_lookups.empty()) ++with_broken_lookups_;
    if (finding.differences.empty() && finding.missing_lookups.empty() && finding.detail.empty() &&
        (finding.kind == Kind::unchanged || finding.kind == Kind::skipped || finding.kind == Kind::queued))
      return;
    if (options_.json) {
      list_.add({{"recipient_transaction_id", finding.transaction.value},
                 {"outcome", to_word(finding.kind)},
                 {"repaired", json_of(finding.repaired)},
                 {"times_imported", json_of(finding.imported_times)},
                 {"differs", json_of(finding.differences)},
                 {"broken_lookups", json_of(finding.missing_lookups)},
                 {"note", finding.detail.empty() ? Json(nullptr) : Json(finding.detail)}});
    } else if (++samples_[finding.kind] <= kMaxSamples) {
      table_.add({std::to_string(finding.transaction.value), outcome_text(finding.kind, options_.dry_run)},
                 describe(finding));
    }
  }

  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const auto& [kind, count] : counts_) sum += count;
    return sum;
  }
  nlohmann::json checkpoint() const {
    nlohmann::json checkpoint = {{"differing", differing_}, {"with_broken_lookups", with_broken_lookups_}};
    for (const auto& [kind, count] : counts_) checkpoint[std::string(to_word(kind))] = count;
    return checkpoint;
  }

  void finish() {
    if (options_.json) {
      list_.finish();
      Json summary = {{"dry_run", options_.dry_run}, {"examined", total()}};
      for (const Kind kind : kKinds) summary[std::string(to_word(kind))] = counts_.at(kind);
      summary["other_differences"] = differing_;
      summary["with_broken_lookups"] = with_broken_lookups_;
      summary["with_invalid_id"] = with_invalid_id_;
      console_.out << ", \"summary\": " << json_text(summary) << "}\n";
      return;
    }
    table_.finish();
    std::size_t omitted = 0;
    for (const auto& [kind, count] : samples_) omitted += count > kMaxSamples ? count - kMaxSamples : 0;
    if (omitted > 0) console_.out << fmt::format("... and {} more (--json has them all)\n", omitted);
    console_.out << summary() << '\n';
    if (with_broken_lookups_ > 0)
      console_.info(fmt::format("{} {} linked to rows that were deleted in the CRM; {}.",
                                platform::pluralize(with_broken_lookups_, "gift"),
                                platform::plural_verb(with_broken_lookups_, "is", "are"),
                                "see \"giftsyncctl rematch --unmatched --dry-run\""));
    const std::int64_t conflicting = counts_.at(Kind::id_conflict);
    if (conflicting > 0)
      console_.info(fmt::format(
          "{} {} no record, because a record that giftsync did not write has the same Transaction Id; "
          "give that record a Transaction Id in the CRM that no gift has.",
          platform::pluralize(conflicting, "gift"), platform::plural_verb(conflicting, "has", "have")));
    if (with_invalid_id_ > 0)
      console_.info(fmt::format(
          "{} {} not examined: the Transaction Id is not a whole number from 1 to {}; correct it in the CRM.",
          platform::pluralize(with_invalid_id_, "gift record"),
          platform::plural_verb(with_invalid_id_, "was", "were"), schema::kMaxId));
  }

 private:
  std::string summary() const {
    std::string text = fmt::format("gift-records: {} examined:", total());
    bool first = true;
    for (const Kind kind : kKinds) {
      if (counts_.at(kind) == 0 && kind != Kind::unchanged) continue;
      text +=
          fmt::format("{} {} {}", first ? "" : ",", counts_.at(kind), outcome_text(kind, options_.dry_run));
      first = false;
    }
    if (differing_ > 0)
      text += fmt::format("; {} {} in fields that giftsync does not own", differing_,
                          platform::plural_verb(differing_, "differs", "differ"));
    return text + (options_.dry_run ? ". Nothing was written." : ".");
  }

  const Console& console_;
  const BackfillOptions options_;
  const std::int64_t with_invalid_id_;
  JsonArrayWriter list_;
  TextTable table_;
  std::map<Kind, std::int64_t> counts_;
  std::map<Kind, std::size_t> samples_;
  std::int64_t differing_ = 0;
  std::int64_t with_broken_lookups_ = 0;
};

}  // namespace

int backfill_gift_records(const Console& console, CliContext& ctx, const BackfillOptions& options) {
  if (const auto refusal = refuse_unusable_crm(ctx.settings)) return refuse(console, *refusal);
  ResumableRun run(console, ctx, "gift-records", options);
  const sync::ReconciliationRules rules{run.rules(), options.recreate, options.dry_run};
  const std::int64_t with_invalid_id = wiring::count_invalid_transaction_ids(ctx.settings);
  GiftRecordReport report(console, options, with_invalid_id, run.counts());
  const std::int64_t total =
      std::max(ctx.store.backfill.count_transactions(), ctx.crm->gift_records().count());
  WorkProgress progress(console, "gifts", total, report.total());
  for (bool done = false; !done;) {
    const sync::ReconciliationBatch chunk =
        sync::reconcile_gift_records(ctx.store, *ctx.crm, rules, run.after(), console.now());
    for (const sync::ReconciliationFinding& finding : chunk.findings) report.add(finding);
    run.chunk_done({chunk.last, chunk.to_write, chunk.done}, report.checkpoint(), progress);
    progress.update(report.total());
    done = chunk.done;
  }
  run.finish();
  progress.clear();
  report.finish();
  run.print_queued_for_daemon();
  return EX_OK;
}

}  // namespace giftsync::cli
