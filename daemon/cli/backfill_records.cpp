// daemon/cli: `backfill gift-records`.
#include <fmt/format.h>
#include <sysexits.h>

#include <array>
#include <map>

#include "daemon/cli/backfill_run.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/text_table.h"
#include "daemon/counted.h"
#include "daemon/store_address.h"
#include "schema/foreign_crm/gifts_without_id.h"
#include "sync/record_backfill.h"

namespace giftsync::daemon {
namespace {

using sync::RecordFinding;
using Kind = RecordFinding::Kind;

constexpr std::array kKinds{Kind::unchanged, Kind::created, Kind::repaired, Kind::learnt,
                            Kind::recreated, Kind::adopted, Kind::gone,     Kind::skipped,
                            Kind::waiting,   Kind::blocked, Kind::refused};

std::string words_of(Kind kind, bool dry_run) {
  switch (kind) {
    case Kind::unchanged:
      return "unchanged";
    case Kind::created:
      return dry_run ? "would be created" : "created";
    case Kind::repaired:
      return dry_run ? "would be repaired" : "repaired";
    case Kind::learnt:
      return dry_run ? "would be learnt from" : "learnt from";
    case Kind::recreated:
      return dry_run ? "would be made again" : "made again";
    case Kind::adopted:
      return dry_run ? "would be adopted" : "adopted";
    case Kind::gone:
      return "deleted in the CRM";
    case Kind::skipped:
      return "without a record, since nobody matches";
    case Kind::waiting:
      return "with the daemon";
    case Kind::blocked:
      return "kept out by somebody else's record";
    case Kind::refused:
      return "not adopted";
  }
  return "";
}

Json json_of(const std::vector<sync::FieldDrift>& drifts) {
  const auto value = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json fields = Json::object();
  for (const sync::FieldDrift& drift : drifts)
    fields[std::string(schema::field_of(drift.field).name)] = {{"crm", value(drift.in_crm)},
                                                               {"giftsync", value(drift.wanted)}};
  return fields;
}

std::string shown(const std::string& value) {
  return value.empty() ? "nothing" : "\"" + printable(value) + "\"";
}

std::string in_words(const RecordFinding& finding) {
  std::string text = finding.note;
  const auto add = [&](const std::vector<sync::FieldDrift>& drifts, const char* what) {
    for (const sync::FieldDrift& drift : drifts) {
      text += fmt::format("{}{} is {}, {} {}", text.empty() ? "" : "; ", schema::field_of(drift.field).label,
                          shown(drift.in_crm), what, shown(drift.wanted));
    }
  };
  for (const sync::FieldDrift& one : finding.learnt) {
    text += fmt::format("{}learnt: {} {}", text.empty() ? "" : "; ", schema::field_of(one.field).label,
                        shown(one.in_crm));
  }
  add(finding.repaired, "should be");
  add(finding.differs, "left alone; giftsync would write");
  for (const sync::FieldDrift& one : finding.lost) {
    text += fmt::format("{}{} {} is not in the CRM any more", text.empty() ? "" : "; ",
                        schema::field_of(one.field).label, shown(one.in_crm));
  }
  return text;
}

class RecordReport {
 public:
  /// `without_id`: records that stand for no gift, which the walk does not meet.
  RecordReport(const Console& console, const BackfillWords& words, std::int64_t without_id,
               const nlohmann::json& kept)
      : console_(console),
        words_(words),
        without_id_(without_id),
        list_(console.out),
        table_(console.out, {{"GIFT", TextTable::Kind::number}, {"OUTCOME"}}) {
    for (const Kind kind : kKinds) counts_[kind] = kept.value(std::string(to_word(kind)), std::int64_t{0});
    differing_ = kept.value("differing", std::int64_t{0});
    with_lost_links_ = kept.value("with_lost_links", std::int64_t{0});
    if (words_.json) console_.out << "{\"gifts\": ";
  }

  void add(const RecordFinding& finding) {
    ++counts_[finding.kind];
    if (!finding.differs.empty()) ++differing_;
    if (!finding.lost.empty()) ++with_lost_links_;
    if (finding.differs.empty() && finding.lost.empty() && finding.note.empty() &&
        (finding.kind == Kind::unchanged || finding.kind == Kind::skipped || finding.kind == Kind::waiting))
      return;
    if (words_.json) {
      list_.add({{"recipient_transaction_id", finding.transaction.value},
                 {"outcome", to_word(finding.kind)},
                 {"repaired", json_of(finding.repaired)},
                 {"learnt", json_of(finding.learnt)},
                 {"differs", json_of(finding.differs)},
                 {"lost", json_of(finding.lost)},
                 {"note", finding.note.empty() ? Json(nullptr) : Json(finding.note)}});
    } else if (++samples_[finding.kind] <= kMostSamples) {
      table_.add({std::to_string(finding.transaction.value), words_of(finding.kind, words_.dry_run)},
                 in_words(finding));
    }
  }

  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const auto& [kind, count] : counts_) sum += count;
    return sum;
  }
  nlohmann::json kept() const {
    nlohmann::json kept = {{"differing", differing_}, {"with_lost_links", with_lost_links_}};
    for (const auto& [kind, count] : counts_) kept[std::string(to_word(kind))] = count;
    return kept;
  }

  void finish() {
    if (words_.json) {
      list_.finish();
      Json summary = {{"dry_run", words_.dry_run}, {"looked_at", total()}};
      for (const Kind kind : kKinds) summary[std::string(to_word(kind))] = counts_.at(kind);
      summary["differing_elsewhere"] = differing_;
      summary["with_lost_links"] = with_lost_links_;
      summary["without_id"] = without_id_;
      console_.out << ", \"summary\": " << json_text(summary) << "}\n";
      return;
    }
    table_.finish();
    std::size_t unshown = 0;
    for (const auto& [kind, count] : samples_) unshown += count > kMostSamples ? count - kMostSamples : 0;
    if (unshown > 0) console_.out << fmt::format("... and {} more (--json has them all)\n", unshown);
    console_.out << summary() << '\n';
    if (with_lost_links_ > 0)
      console_.note(fmt::format("{} {} linked to what is not in the CRM any more; {}.",
                                counted(with_lost_links_, "gift"), verb_for(with_lost_links_, "is", "are"),
                                "see \"giftsyncctl rematch --unmatched --dry-run\""));
    const std::int64_t blocked = counts_.at(Kind::blocked);
    if (blocked > 0)
      console_.note(
          fmt::format("{} {} no record, because one that giftsync did not write has the same Transaction Id; "
                      "give that one another in the CRM, which no gift has.",
                      counted(blocked, "gift"), verb_for(blocked, "has", "have")));
    if (without_id_ > 0)
      console_.note(fmt::format(
          "{} {} not looked at: without a Transaction Id that is a whole number from 1 to {} a record stands "
          "for no gift; mend it in the CRM.",
          counted(without_id_, "gift record"), verb_for(without_id_, "was", "were"), schema::kMaxId));
  }

 private:
  std::string summary() const {
    std::string text = fmt::format("gift-records: {} looked at:", total());
    bool first = true;
    for (const Kind kind : kKinds) {
      if (counts_.at(kind) == 0 && kind != Kind::unchanged) continue;
      text += fmt::format("{} {} {}", first ? "" : ",", counts_.at(kind), words_of(kind, words_.dry_run));
      first = false;
    }
    if (differing_ > 0)
      text += fmt::format("; {} {} in fields that giftsync leaves alone", differing_,
                          verb_for(differing_, "differs", "differ"));
    return text + (words_.dry_run ? ". Nothing was written." : ".");
  }

  const Console& console_;
  const BackfillWords words_;
  const std::int64_t without_id_;
  JsonList list_;
  TextTable table_;
  std::map<Kind, std::int64_t> counts_;
  std::map<Kind, std::size_t> samples_;
  std::int64_t differing_ = 0;
  std::int64_t with_lost_links_ = 0;
};

}  // namespace

int backfill_gift_records(const Console& console, Installation& place, const BackfillWords& words) {
  if (const auto refusal = refuse_unusable_crm(place.settings)) return refuse(console, *refusal);
  BackfillRun run(console, place, "gift-records", words);
  const sync::RecordBackfillRules rules{run.rules(), words.recreate, words.dry_run};
  const std::int64_t without_id =
      place.settings.crm.is_foreign() ? count_gifts_without_id(foreign_crm_options(place.settings)) : 0;
  RecordReport report(console, words, without_id, run.counts());
  const std::int64_t total =
      std::max(place.store.backfill.count_transactions(), place.crm->count_gift_records());
  WorkProgress progress(console, "gifts", total, report.total());
  for (bool done = false; !done;) {
    const sync::RecordChunk chunk =
        sync::backfill_records(place.store, *place.crm, rules, run.after(), console.now());
    for (const RecordFinding& finding : chunk.findings) report.add(finding);
    run.chunk_done({chunk.last, chunk.to_write, chunk.done}, report.kept(), progress);
    progress.at(report.total());
    done = chunk.done;
  }
  run.finish();
  progress.clear();
  report.finish();
  run.say_left();
  return EX_OK;
}

}  // namespace giftsync::daemon
