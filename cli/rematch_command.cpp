#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/gift_detail.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "cli/rematch_rules.h"
#include "cli/sync_drainer.h"
#include "platform/plural.h"
#include "sync/rematch.h"

namespace giftsync::cli {
namespace {

/// As the help says. Progress is shown for more gifts than these.
constexpr std::size_t kMaxNamedGifts = 200;

using Kind = sync::RematchResult::Kind;

struct RematchOptions {
  bool unmatched = false;
  bool converted = false;
  std::vector<std::int64_t> gifts;
  bool dry_run = false;
  bool json = false;
};

Json json_of(const schema::Associations& links, const std::string& stage) {
  return {{"contact_id", text_or_null(links.contact_id)},
          {"account_id", text_or_null(links.account_id)},
          {"lead_id", text_or_null(links.lead_id)},
          {"opportunity_id", text_or_null(links.opportunity_id)},
          {"deal_stage", text_or_null(stage)}};
}

Json json_of(const sync::RematchResult& one) {
  return {{"recipient_transaction_id", one.transaction.value},
          {"outcome", to_word(one.kind)},
          {"from", json_of(one.from, one.stage_from)},
          {"to", json_of(one.to, one.stage_to)},
          {"reason", text_or_null(one.reason)},
          {"note", text_or_null(one.detail)}};
}

/// The change of Deal Stage, as the beginning of the line below the row; empty if it does not change.
std::string deal_stage_text(const sync::RematchResult& one) {
  const bool is_done = one.kind == Kind::relinked || one.kind == Kind::to_create;
  if (!is_done || one.stage_from == one.stage_to) return "";
  const auto shown = [](const std::string& stage) { return stage.empty() ? "nothing" : "\"" + stage + "\""; };
  return "Deal Stage from " + shown(one.stage_from) + " to " + shown(one.stage_to) + ". ";
}

std::string outcome_text(Kind kind, bool dry_run) {
  if (kind == Kind::to_create) return dry_run ? "would make" : "record made";
  return kind == Kind::relinked && dry_run ? "would link" : std::string(to_word(kind));
}

TextTable::Row row_of(const sync::RematchResult& one, bool dry_run) {
  const std::string reason = one.kind == Kind::unchanged ? "" : one.reason;
  return {{std::to_string(one.transaction.value), outcome_text(one.kind, dry_run), sync::describe(one.from),
           sync::describe(one.to)},
          deal_stage_text(one) + (one.detail.empty() ? reason : one.detail)};
}

/// What a run did.
struct Counts {
  std::map<Kind, std::size_t> by_outcome;
  std::size_t total = 0;
  std::size_t queued_for_daemon = 0;

  std::size_t of(Kind kind) const { return by_outcome.contains(kind) ? by_outcome.at(kind) : 0; }
};

Json summary_json(const Counts& counts, bool dry_run) {
  Json summary = {{"dry_run", dry_run}, {"examined", counts.total}};
  for (const Kind kind :
       {Kind::relinked, Kind::to_create, Kind::unchanged, Kind::kept, Kind::not_found, Kind::failed})
    summary[std::string(to_word(kind))] = counts.of(kind);
  summary["queued_for_daemon"] = counts.queued_for_daemon;
  return summary;
}

void print_counts(const Console& console, const Counts& counts, bool dry_run) {
  const std::pair<Kind, const char*> labels[] = {
      {Kind::relinked, dry_run ? "would be relinked" : "relinked"},
      {Kind::to_create, dry_run ? "would get a record" : "got a record"},
      {Kind::unchanged, "unchanged"},
      {Kind::kept, "with manual links kept"},
      {Kind::not_found, "with a deleted record"},
      {Kind::failed, "failed"}};
  std::vector<std::string> texts;
  for (const auto& [kind, label] : labels) {
    if (counts.of(kind) > 0 || kind == Kind::relinked || kind == Kind::unchanged)
      texts.push_back(fmt::format("{} {}", counts.of(kind), label));
  }
  console.info(fmt::format("{} examined: {}{}", platform::pluralize(counts.total, "gift"),
                           fmt::join(texts, ", "), dry_run ? ". Nothing was written." : "."));
  print_queued_for_daemon(console, counts.queued_for_daemon);
}

sync::RematchRules rules_of(const CliContext& ctx, const RematchOptions& options) {
  sync::RematchRules rules = rematch_rules(ctx);
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
    if (ctx.store.gifts.find(std::span(&id, 1)).empty()) return no_such_gift(id.value);
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
  SummarizedListing list(console.out, options.json, "gifts",
                         {{"GIFT", TextTable::Kind::number},
                          {"OUTCOME"},
                          {"FROM", TextTable::Kind::elastic},
                          {"TO", TextTable::Kind::elastic}});
  Counts counts;
  std::vector<schema::TransactionId> to_write;
  const auto rematch_all = [&](const std::vector<schema::store::CrmSyncState>& sync_states) {
    for (const sync::RematchResult& one :
         sync::rematch(ctx.store, *ctx.crm, rules, sync_states, console.now())) {
      ++counts.by_outcome[one.kind];
      ++counts.total;
      if (one.kind == Kind::to_create && !options.dry_run) to_write.push_back(one.transaction);
      if (one.kind == Kind::unchanged && ids.empty()) continue;
      list.add([&] { return json_of(one); }, [&] { return row_of(one, options.dry_run); });
    }
  };
  ProgressLine progress(console);
  if (ids.empty()) audit_object(console, "");
  for (const schema::store::CrmSyncState& one : named) {
    audit_object(console, std::to_string(one.transaction.value));
    rematch_all({one});
  }
  const auto scope = options.converted ? schema::store::RematchScope::linked_to_lead
                                       : schema::store::RematchScope::unmatched;
  for (schema::TransactionId after{0}; ids.empty();) {
    const auto sync_states =
        ctx.store.sync.list_states_to_rematch(scope, after, ctx.crm->pace().rows_per_read);
    if (sync_states.empty()) break;
    after = sync_states.back().transaction;
    rematch_all(sync_states);
    if (console.err_is_terminal && counts.total >= kMaxNamedGifts)
      progress.show(platform::pluralize(counts.total, "gift") + " examined");
  }
  counts.queued_for_daemon = write_records(console, ctx, to_write);
  if (ids.empty()) audit_total(console, platform::pluralize(counts.total, "gift") + " examined");
  progress.clear();
  list.finish(summary_json(counts, options.dry_run), "");
  print_counts(console, counts, options.dry_run);
  return counts.of(Kind::failed) > 0 ? EX_TEMPFAIL : EX_OK;
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
                     "and gifts whose contact, lead or opportunity was deleted or merged in the CRM");
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
  commands.run(verb, options, rematch);
}

}  // namespace giftsync::cli
