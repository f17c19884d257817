#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "cli/commands.h"
#include "cli/json_array_writer.h"
#include "cli/sync_drainer.h"
#include "cli/text_table.h"
#include "platform/plural.h"
#include "sync/rematch.h"
#include "wiring/database_config.h"

namespace giftsync::cli {
namespace {

using Kind = sync::RematchResult::Kind;

/// As the help says. Progress is shown for more gifts than these.
constexpr std::size_t kMaxNamedGifts = 200;

struct RematchOptions {
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

Json json_of(const sync::RematchResult& one) {
  return {{"recipient_transaction_id", one.transaction.value},
          {"outcome", to_word(one.kind)},
          {"from", json_of(one.from, one.stage_from)},
          {"to", json_of(one.to, one.stage_to)},
          {"reason", one.reason.empty() ? Json(nullptr) : Json(one.reason)},
          {"note", one.detail.empty() ? Json(nullptr) : Json(one.detail)}};
}

/// The change of Deal Stage, as the beginning of the line below the row; empty if it does not change.
std::string deal_stage_text(const sync::RematchResult& one) {
  const bool is_done = one.kind == Kind::relinked || one.kind == Kind::to_create;
  if (!is_done || one.stage_from == one.stage_to) return "";
  const auto shown = [](const std::string& stage) { return stage.empty() ? "nothing" : "\"" + stage + "\""; };
  return "Deal Stage from " + shown(one.stage_from) + " to " + shown(one.stage_to) + ". ";
}

/// Prints changed and failed gifts, counts all results, and shows the progress on a terminal.
class RematchReport {
 public:
  RematchReport(const Console& console, const RematchOptions& options)
      : console_(console),
        options_(options),
        list_(console.out),
        table_(console.out, {{"GIFT", TextTable::Kind::number},
                             {"OUTCOME"},
                             {"FROM", TextTable::Kind::elastic},
                             {"TO", TextTable::Kind::elastic}}) {
    if (options_.json) console_.out << "{\"gifts\": ";
  }

  void add(const sync::RematchResult& one) {
    ++counts_[one.kind];
    ++total_;
    if (one.kind == Kind::to_create && !options_.dry_run) records_to_write_.push_back(one.transaction);
    if (one.kind == Kind::unchanged && options_.gifts.empty()) return;
    if (options_.json) {
      list_.add(json_of(one));
      return;
    }
    std::string below = one.detail;
    if (below.empty() && one.kind != Kind::unchanged) below = one.reason;
    table_.add({std::to_string(one.transaction.value), outcome_text(one.kind), sync::describe(one.from),
                sync::describe(one.to)},
               deal_stage_text(one) + below);
  }
  void progress() {
    if (!console_.err_is_terminal || total_ < kMaxNamedGifts) return;
    console_.err << fmt::format("\r{} examined", platform::pluralize(total_, "gift")) << std::flush;
    drawn_ = true;
  }
  void finish(std::size_t queued_for_daemon) {
    if (drawn_) console_.err << "\r\033[K" << std::flush;
    if (options_.json)
      finish_json(queued_for_daemon);
    else
      table_.finish();
    print_counts(queued_for_daemon);
  }
  const std::vector<schema::TransactionId>& records_to_write() const { return records_to_write_; }
  bool failed() { return counts_[Kind::failed] > 0; }

 private:
  void finish_json(std::size_t queued_for_daemon) {
    list_.finish();
    Json summary = {{"dry_run", options_.dry_run}, {"examined", total_}};
    for (const Kind kind :
         {Kind::relinked, Kind::to_create, Kind::unchanged, Kind::kept, Kind::not_found, Kind::failed})
      summary[std::string(to_word(kind))] = counts_[kind];
    summary["queued_for_daemon"] = queued_for_daemon;
    console_.out << ", \"summary\": " << json_text(summary) << "}\n";
  }
  void print_counts(std::size_t queued_for_daemon) {
    std::string text = fmt::format("{} examined: ", platform::pluralize(total_, "gift"));
    const std::pair<Kind, const char*> labels[] = {
        {Kind::relinked, options_.dry_run ? "would be relinked" : "relinked"},
        {Kind::to_create, options_.dry_run ? "would get a record" : "got a record"},
        {Kind::unchanged, "unchanged"},
        {Kind::kept, "with manual links kept"},
        {Kind::not_found, "with a deleted record"},
        {Kind::failed, "failed"}};
    bool first = true;
    for (const auto& [kind, label] : labels) {
      if (counts_[kind] == 0 && kind != Kind::relinked && kind != Kind::unchanged) continue;
      text += fmt::format("{}{} {}", first ? "" : ", ", counts_[kind], label);
      first = false;
    }
    console_.info(text + (options_.dry_run ? ". Nothing was written." : "."));
    if (queued_for_daemon > 0)
      console_.info(fmt::format("{} of these records {} queued for the daemon.", queued_for_daemon,
                                platform::plural_verb(queued_for_daemon, "is", "are")));
  }

  std::string outcome_text(Kind kind) const {
    if (!options_.dry_run) return kind == Kind::to_create ? "record made" : std::string(to_word(kind));
    return kind == Kind::to_create  ? "would make"
           : kind == Kind::relinked ? "would link"
                                    : std::string(to_word(kind));
  }

  const Console& console_;
  const RematchOptions& options_;
  JsonArrayWriter list_;
  TextTable table_;
  std::map<Kind, std::size_t> counts_;
  std::vector<schema::TransactionId> records_to_write_;
  std::size_t total_ = 0;
  bool drawn_ = false;
};

sync::RematchRules rules_of(const CliContext& ctx, const RematchOptions& options) {
  sync::RematchRules rules;
  rules.match_fields = wiring::match_fields(ctx.settings.matching);
  rules.skip_unmatched = ctx.settings.matching.skip_unmatched;
  rules.tasks_enabled = ctx.settings.tasks.enabled;
  rules.follow_leads = options.converted;
  rules.overwrite_corrections = !options.gifts.empty();
  rules.dry_run = options.dry_run;
  return rules;
}

std::vector<schema::TransactionId> distinct_ids(const std::vector<std::int64_t>& numbers) {
  std::set<schema::TransactionId> ids;
  for (const std::int64_t number : numbers) ids.insert({number});
  return {ids.begin(), ids.end()};
}

/// Why the named gifts cannot be rematched; empty if they can.
std::string missing_gift(CliContext& ctx, const std::vector<schema::TransactionId>& ids,
                         const std::vector<schema::store::CrmSyncState>& sync_states) {
  if (sync_states.size() == ids.size()) return "";
  for (const schema::TransactionId id : ids) {
    const bool found = std::any_of(
        sync_states.begin(), sync_states.end(),
        [&](const schema::store::CrmSyncState& sync_state) { return sync_state.transaction == id; });
    if (found) continue;
    if (ctx.store.gifts.find(std::span(&id, 1)).empty())
      return fmt::format("there is no gift {}; \"giftsyncctl gift list\" shows them by their ids", id.value);
    return fmt::format("gift {} is not matched yet; the daemon will match it", id.value);
  }
  return "";
}

/// Returns how many records are left for the daemon.
std::size_t write_records(const Console& console, CliContext& ctx,
                          const std::vector<schema::TransactionId>& gifts) {
  if (gifts.empty()) return 0;
  SyncDrainer drainer(console, ctx);
  std::size_t left = 0;
  const std::size_t rows = ctx.crm->pace().rows_per_read;
  for (std::size_t at = 0; at < gifts.size(); at += rows) {
    const auto begin = gifts.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t size = std::min(gifts.size() - at, rows);
    const SyncDrainer::Result written = drainer.write({begin, begin + static_cast<std::ptrdiff_t>(size)});
    for (const std::string& message : written.messages) console.info(message);
    left += written.left;
  }
  return left;
}

int rematch(const Console& console, CliContext& ctx, const RematchOptions& options) {
  if (static_cast<int>(options.unmatched) + static_cast<int>(options.converted) +
          static_cast<int>(!options.gifts.empty()) !=
      1) {
    return console.fail(EX_USAGE, "rematch needs one of --unmatched, --gift ID and --converted");
  }
  if (const auto refusal = refuse_unusable_crm(ctx.settings)) return refuse(console, *refusal);
  const sync::RematchRules rules = rules_of(ctx, options);
  const std::vector<schema::TransactionId> ids = distinct_ids(options.gifts);
  const std::vector<schema::store::CrmSyncState> named =
      ids.empty() ? std::vector<schema::store::CrmSyncState>() : ctx.store.sync.find_states(ids);
  if (const std::string fault = missing_gift(ctx, ids, named); !fault.empty())
    return console.fail(EX_DATAERR, fault);
  RematchReport report(console, options);
  if (!ids.empty()) {
    for (const sync::RematchResult& one : sync::rematch(ctx.store, *ctx.crm, rules, named, console.now()))
      report.add(one);
  } else {
    const auto scope = options.converted ? schema::store::RematchScope::linked_to_lead
                                         : schema::store::RematchScope::unmatched;
    for (schema::TransactionId after{0};;) {
      const std::vector<schema::store::CrmSyncState> sync_states =
          ctx.store.sync.list_states_to_rematch(scope, after, ctx.crm->pace().rows_per_read);
      if (sync_states.empty()) break;
      after = sync_states.back().transaction;
      for (const sync::RematchResult& one :
           sync::rematch(ctx.store, *ctx.crm, rules, sync_states, console.now()))
        report.add(one);
      report.progress();
    }
  }
  const std::size_t left = write_records(console, ctx, report.records_to_write());
  report.finish(left);
  return report.failed() ? EX_TEMPFAIL : EX_OK;
}

}  // namespace

void add_rematch_command(Commands& commands) {
  const auto options = std::make_shared<RematchOptions>();
  CLI::App* verb = commands.verb(
      commands.root(), "rematch",
      "Match gifts again and relink their records. Writes the lookups only; it also clears a Deal Stage that "
      "belongs to another opportunity, and never fills it. Reports and keeps links that were corrected in "
      "the CRM, unless --gift names the gift. Run it again after an interruption.",
      {"rematch --unmatched --dry-run", "rematch --unmatched", "rematch --gift 42",
       "rematch --converted --json"});
  auto* unmatched =
      verb->add_flag("--unmatched", options->unmatched,
                     "Gifts without a match (a skipped one gets a record with its whole history) "
                     "and gifts that lost a lookup");
  auto* gift =
      verb->add_option("--gift", options->gifts,
                       "This gift, even if its links were corrected in the CRM; may be repeated, 200 at most")
          ->option_text("ID")
          ->check(whole_number())
          ->expected(1, static_cast<int>(kMaxNamedGifts));
  auto* converted = verb->add_flag("--converted", options->converted,
                                   "Gifts of converted leads: link them to the contact of the conversion");
  unmatched->excludes(gift)->excludes(converted);
  gift->excludes(converted);
  verb->add_flag("--dry-run", options->dry_run, "Show what would change and write nothing");
  verb->add_flag(
      "--json", options->json,
      "Print JSON: gifts, each with outcome, from, to (lookups and Deal Stage), reason and note, and a "
      "summary");
  commands.run(
      verb, [options](const Console& console, CliContext& ctx) { return rematch(console, ctx, *options); });
}

}  // namespace giftsync::cli
