#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "daemon/cli/commands.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/record_maker.h"
#include "daemon/cli/text_table.h"
#include "daemon/counted.h"
#include "daemon/store_address.h"
#include "sync/rematch.h"

namespace giftsync::daemon {
namespace {

using sync::Rematch;
using Kind = Rematch::Kind;

struct RematchWords {
  bool unmatched = false;
  bool converted = false;
  std::vector<std::int64_t> gifts;
  bool dry_run = false;
  bool json = false;
};

Json json_of(const schema::Associations& links, const std::string& stage) {
  const auto given = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  return {{"contact_id", given(links.contact_id)},
          {"account_id", given(links.account_id)},
          {"lead_id", given(links.lead_id)},
          {"opportunity_id", given(links.opportunity_id)},
          {"deal_stage", given(stage)}};
}

Json json_of(const Rematch& one) {
  return {{"recipient_transaction_id", one.transaction.value},
          {"outcome", to_word(one.kind)},
          {"from", json_of(one.from, one.stage_from)},
          {"to", json_of(one.to, one.stage_to)},
          {"reason", one.reason.empty() ? Json(nullptr) : Json(one.reason)},
          {"note", one.note.empty() ? Json(nullptr) : Json(one.note)}};
}

/// Deal Stage where it goes along, to stand before the rest of the line below; else empty.
std::string stage_words(const Rematch& one) {
  const bool is_done = one.kind == Kind::relinked || one.kind == Kind::to_make;
  if (!is_done || one.stage_from == one.stage_to) return "";
  const auto shown = [](const std::string& stage) { return stage.empty() ? "nothing" : "\"" + stage + "\""; };
  return "Deal Stage from " + shown(one.stage_from) + " to " + shown(one.stage_to) + ". ";
}

/// Prints what changed or could not be changed, counts everything, and shows on a terminal how far it is.
class RematchReport {
 public:
  RematchReport(const Console& console, const RematchWords& words)
      : console_(console),
        words_(words),
        list_(console.out),
        table_(console.out, {{"GIFT", TextTable::Kind::number},
                             {"OUTCOME"},
                             {"FROM", TextTable::Kind::elastic},
                             {"TO", TextTable::Kind::elastic}}) {
    if (words_.json) console_.out << "{\"gifts\": ";
  }

  void add(const Rematch& one) {
    ++counts_[one.kind];
    ++total_;
    if (one.kind == Kind::to_make && !words_.dry_run) to_make_.push_back(one.transaction);
    if (one.kind == Kind::unchanged && words_.gifts.empty()) return;
    if (words_.json) {
      list_.add(json_of(one));
      return;
    }
    std::string below = one.note;
    if (below.empty() && one.kind != Kind::unchanged) below = one.reason;
    table_.add({std::to_string(one.transaction.value), outcome_word(one.kind), sync::in_words(one.from),
                sync::in_words(one.to)},
               stage_words(one) + below);
  }
  void progress() {
    if (!console_.err_is_terminal || total_ < schema::kCrmBatch) return;
    console_.err << fmt::format("\r{} looked at", counted(total_, "gift")) << std::flush;
    drawn_ = true;
  }
  void finish(std::size_t left_to_daemon) {
    if (drawn_) console_.err << "\r\033[K" << std::flush;
    if (words_.json)
      finish_json(left_to_daemon);
    else
      table_.finish();
    say_counts(left_to_daemon);
  }
  const std::vector<schema::TransactionId>& to_make() const { return to_make_; }
  bool failed() { return counts_[Kind::failed] > 0; }

 private:
  void finish_json(std::size_t left_to_daemon) {
    list_.finish();
    Json summary = {{"dry_run", words_.dry_run}, {"looked_at", total_}};
    for (const Kind kind :
         {Kind::relinked, Kind::to_make, Kind::unchanged, Kind::kept, Kind::gone, Kind::failed})
      summary[std::string(to_word(kind))] = counts_[kind];
    summary["left_to_daemon"] = left_to_daemon;
    console_.out << ", \"summary\": " << json_text(summary) << "}\n";
  }
  void say_counts(std::size_t left_to_daemon) {
    std::string text = fmt::format("{} looked at: ", counted(total_, "gift"));
    const std::pair<Kind, const char*> words[] = {
        {Kind::relinked, words_.dry_run ? "would be linked anew" : "linked anew"},
        {Kind::to_make, words_.dry_run ? "would get a record" : "got a record"},
        {Kind::unchanged, "unchanged"},
        {Kind::kept, "kept as they are"},
        {Kind::gone, "whose record was deleted"},
        {Kind::failed, "failed"}};
    bool first = true;
    for (const auto& [kind, word] : words) {
      if (counts_[kind] == 0 && kind != Kind::relinked && kind != Kind::unchanged) continue;
      text += fmt::format("{}{} {}", first ? "" : ", ", counts_[kind], word);
      first = false;
    }
    console_.note(text + (words_.dry_run ? ". Nothing was written." : "."));
    if (left_to_daemon > 0)
      console_.note(fmt::format("{} of these records {} made by the daemon.", left_to_daemon,
                                verb_for(left_to_daemon, "is", "are")));
  }

  std::string outcome_word(Kind kind) const {
    if (!words_.dry_run) return kind == Kind::to_make ? "record made" : std::string(to_word(kind));
    return kind == Kind::to_make    ? "would make"
           : kind == Kind::relinked ? "would link"
                                    : std::string(to_word(kind));
  }

  const Console& console_;
  const RematchWords& words_;
  JsonList list_;
  TextTable table_;
  std::map<Kind, std::size_t> counts_;
  std::vector<schema::TransactionId> to_make_;
  std::size_t total_ = 0;
  bool drawn_ = false;
};

sync::RematchRules rules_of(const Installation& place, const RematchWords& words) {
  sync::RematchRules rules;
  rules.match_fields = match_fields(place.settings.matching);
  rules.skip_unmatched = place.settings.matching.skip_unmatched;
  rules.tasks_enabled = place.settings.tasks.enabled;
  rules.follow_leads = words.converted;
  rules.over_corrections = !words.gifts.empty();
  rules.dry_run = words.dry_run;
  return rules;
}

std::vector<schema::TransactionId> distinct_ids(const std::vector<std::int64_t>& numbers) {
  std::set<schema::TransactionId> ids;
  for (const std::int64_t number : numbers) ids.insert({number});
  return {ids.begin(), ids.end()};
}

/// Why the named gifts cannot be matched anew; empty when they can.
std::string missing_gift(Installation& place, const std::vector<schema::TransactionId>& ids,
                         const std::vector<schema::GiftMirror>& mirrors) {
  if (mirrors.size() == ids.size()) return "";
  for (const schema::TransactionId id : ids) {
    const bool found = std::any_of(mirrors.begin(), mirrors.end(), [&](const schema::GiftMirror& mirror) {
      return mirror.transaction == id;
    });
    if (found) continue;
    if (place.store.gifts.gifts(std::span(&id, 1)).empty())
      return fmt::format("there is no gift {}; \"giftsyncctl gift list\" shows them by their ids", id.value);
    return fmt::format("gift {} was not matched at all yet; the daemon does it", id.value);
  }
  return "";
}

int rematch(const Console& console, Installation& place, const RematchWords& words) {
  if (static_cast<int>(words.unmatched) + static_cast<int>(words.converted) +
          static_cast<int>(!words.gifts.empty()) !=
      1) {
    return console.fail(EX_USAGE, "rematch needs one of --unmatched, --gift ID and --converted");
  }
  if (const auto refusal = refuse_unusable_crm(place.settings)) return refuse(console, *refusal);
  const sync::RematchRules rules = rules_of(place, words);
  const std::vector<schema::TransactionId> ids = distinct_ids(words.gifts);
  const std::vector<schema::GiftMirror> named =
      ids.empty() ? std::vector<schema::GiftMirror>() : place.store.sync.mirrors(ids);
  if (const std::string fault = missing_gift(place, ids, named); !fault.empty())
    return console.fail(EX_DATAERR, fault);
  RematchReport report(console, words);
  if (!ids.empty()) {
    for (const Rematch& one : sync::rematch(place.store, *place.crm, rules, named, console.now()))
      report.add(one);
  } else {
    const auto scope =
        words.converted ? schema::RematchScope::linked_to_lead : schema::RematchScope::unmatched;
    for (schema::TransactionId after{0};;) {
      const std::vector<schema::GiftMirror> mirrors =
          place.store.sync.mirrors_to_rematch(scope, after, schema::kCrmBatch);
      if (mirrors.empty()) break;
      after = mirrors.back().transaction;
      for (const Rematch& one : sync::rematch(place.store, *place.crm, rules, mirrors, console.now()))
        report.add(one);
      report.progress();
    }
  }
  const std::size_t left = make_records(console, place, report.to_make());
  report.finish(left);
  return report.failed() ? EX_TEMPFAIL : EX_OK;
}

}  // namespace

void add_rematch_command(Commands& commands) {
  const auto words = std::make_shared<RematchWords>();
  CLI::App* verb = commands.verb(
      commands.root(), "rematch",
      "Decide anew to whom gifts belong and link their records so. Nothing else of a record is written, but "
      "that a Deal Stage of another opportunity than the record's is emptied; it is never filled. Links that "
      "were made by hand are told and left, unless --gift names the gift. "
      "Run it again if it was ended half-way.",
      {"rematch --unmatched --dry-run", "rematch --unmatched", "rematch --gift 42",
       "rematch --converted --json"});
  auto* unmatched = verb->add_flag("--unmatched", words->unmatched,
                                   "Gifts that matched nobody (a skipped one gets its record with its whole "
                                   "history) and those that lost a lookup");
  auto* gift = verb->add_option("--gift", words->gifts,
                                "This gift, also when it was linked by hand; may be repeated, 200 at most")
                   ->option_text("ID")
                   ->check(whole_number())
                   ->expected(1, static_cast<int>(schema::kCrmBatch));
  auto* converted = verb->add_flag("--converted", words->converted,
                                   "Gifts of leads that were converted: to the contact of the conversion");
  unmatched->excludes(gift)->excludes(converted);
  gift->excludes(converted);
  verb->add_flag("--dry-run", words->dry_run, "Show what would change and write nothing");
  verb->add_flag(
      "--json", words->json,
      "Print JSON: gifts, with outcome, from, to (lookups and Deal Stage), reason and note of each, and a "
      "summary, which says whether it was a dry run");
  commands.run(
      verb, [words](const Console& console, Installation& place) { return rematch(console, place, *words); });
}

}  // namespace giftsync::daemon
