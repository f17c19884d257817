#include "cli/gift/rematch_command.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/gift/gift_detail.h"
#include "cli/listing.h"
#include "cli/resumable_run.h"
#include "daemon/wiring/database_config.h"
#include "matching/link_gift.h"
#include "platform/text.h"

namespace giftsync::cli {
namespace {

/// As the help says. Progress is shown for more gifts than these.
constexpr std::size_t kMaxNamedGifts = 200;

using Kind = matching::RematchResult::Kind;

struct RematchOptions {
  bool unmatched = false;
  bool converted = false;
  std::vector<std::int64_t> gifts;
  bool dry_run = false;
  bool json = false;
};

Json json_of(const Associations& links, const std::string& stage) {
  return {{"contact_id", text_or_null(links.contact_id)},
          {"account_id", text_or_null(links.account_id)},
          {"lead_id", text_or_null(links.lead_id)},
          {"opportunity_id", text_or_null(links.opportunity_id)},
          {"deal_stage", text_or_null(stage)}};
}

/// The change of Deal Stage, as the beginning of the line below the row; empty if it does not change.
std::string deal_stage_text(const matching::RematchResult& result) {
  const bool is_done = result.kind == Kind::relinked || result.kind == Kind::to_create;
  if (!is_done || result.stage_from == result.stage_to) return "";
  const auto shown = [](const std::string& stage) { return stage.empty() ? "nothing" : "\"" + stage + "\""; };
  return "Deal Stage from " + shown(result.stage_from) + " to " + shown(result.stage_to) + ". ";
}

std::string outcome_text(Kind kind, bool dry_run) {
  if (kind == Kind::to_create) return dry_run ? "would make" : "record made";
  return kind == Kind::relinked && dry_run ? "would link" : std::string(to_word(kind));
}

void describe(ListedRow& row, const matching::RematchResult& result, bool dry_run) {
  row.add("recipient_transaction_id", {"GIFT", TextTable::Kind::number}, result.transaction.value);
  row.add("outcome", {"OUTCOME"}, to_word(result.kind), outcome_text(result.kind, dry_run));
  row.add("from", {"FROM", TextTable::Kind::elastic}, json_of(result.from, result.stage_from),
          matching::describe(result.from));
  row.add("to", {"TO", TextTable::Kind::elastic}, json_of(result.to, result.stage_to),
          matching::describe(result.to));
  row.add_json("reason", text_or_null(result.reason));
  row.add_json("note", text_or_null(result.detail));
  const std::string reason = result.kind == Kind::unchanged ? "" : result.reason;
  row.set_below(deal_stage_text(result) + (result.detail.empty() ? reason : result.detail));
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
  console.info(fmt::format("{} examined: {}{}", pluralize(counts.total, "gift"), fmt::join(texts, ", "),
                           dry_run ? ". Nothing was written." : "."));
  print_queued_for_daemon(console, counts.queued_for_daemon);
}

matching::RematchRules rules_of(const CliContext& ctx, const RematchOptions& options) {
  matching::RematchRules rules = rematch_rules(ctx);
  rules.follow_leads = options.converted;
  rules.overwrite_corrections = !options.gifts.empty();
  rules.dry_run = options.dry_run;
  return rules;
}

std::vector<TransactionId> distinct_ids(const std::vector<std::int64_t>& numbers) {
  std::set<TransactionId> ids;
  for (const std::int64_t number : numbers) ids.insert({number});
  return {ids.begin(), ids.end()};
}

/// Why the named gifts cannot be rematched; empty if they can.
std::string missing_gift(CliContext& ctx, const std::vector<TransactionId>& ids,
                         const std::vector<store::CrmSyncState>& sync_states) {
  if (sync_states.size() == ids.size()) return "";
  for (const TransactionId id : ids) {
    const bool found =
        std::any_of(sync_states.begin(), sync_states.end(),
                    [&](const store::CrmSyncState& sync_state) { return sync_state.transaction == id; });
    if (found) continue;
    if (ctx.store.gifts.find(std::span(&id, 1)).empty()) return no_such_gift(id.value);
    return fmt::format("gift {} is not matched yet; the daemon will match it", id.value);
  }
  return "";
}

/// Returns how many records are left for the daemon.
std::size_t write_records(const Console& console, CliContext& ctx, const std::vector<TransactionId>& gifts) {
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
  if (const auto refusal = refuse_unusable_crm(ctx.settings)) return console.fail(*refusal);
  const matching::RematchRules rules = rules_of(ctx, options);
  const std::vector<TransactionId> ids = distinct_ids(options.gifts);
  const std::vector<store::CrmSyncState> named =
      ids.empty() ? std::vector<store::CrmSyncState>() : ctx.store.sync.find_states(ids);
  if (const std::string fault = missing_gift(ctx, ids, named); !fault.empty())
    return console.fail(EX_DATAERR, fault);
  SummarizedListing list(console.out, options.json, "gifts");
  Counts counts;
  std::vector<TransactionId> to_write;
  const auto rematch_all = [&](const std::vector<store::CrmSyncState>& sync_states) {
    for (const matching::RematchResult& result :
         matching::rematch(ctx.store, *ctx.crm, rules, sync_states, console.now())) {
      ++counts.by_outcome[result.kind];
      ++counts.total;
      if (result.kind == Kind::to_create && !options.dry_run) to_write.push_back(result.transaction);
      if (result.kind == Kind::unchanged && ids.empty()) continue;
      list.add([&](ListedRow& row) { describe(row, result, options.dry_run); });
    }
  };
  ProgressLine progress(console);
  if (ids.empty()) audit_object(console, "");
  for (const store::CrmSyncState& state : named) {
    audit_object(console, std::to_string(state.transaction.value));
    rematch_all({state});
  }
  const auto scope = options.converted ? store::RematchScope::linked_to_lead : store::RematchScope::unmatched;
  for (TransactionId after{0}; ids.empty();) {
    const auto sync_states =
        ctx.store.sync.list_states_to_rematch(scope, after, ctx.crm->pace().rows_per_read);
    if (sync_states.empty()) break;
    after = sync_states.back().transaction;
    rematch_all(sync_states);
    if (console.err_is_terminal && counts.total >= kMaxNamedGifts)
      progress.show(pluralize(counts.total, "gift") + " examined");
  }
  counts.queued_for_daemon = write_records(console, ctx, to_write);
  if (ids.empty()) audit_total(console, pluralize(counts.total, "gift") + " examined");
  progress.clear();
  list.finish(summary_json(counts, options.dry_run), "");
  print_counts(console, counts, options.dry_run);
  return counts.of(Kind::failed) > 0 ? EX_TEMPFAIL : EX_OK;
}

}  // namespace

void add_rematch_command(Commands& commands) {
  const auto options = std::make_shared<RematchOptions>();
  Command* verb = commands.verb(
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
          ->at_most(static_cast<int>(kMaxNamedGifts));
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

matching::RematchRules rematch_rules(const CliContext& ctx) {
  matching::RematchRules rules;
  rules.match_fields = wiring::match_fields(ctx.settings.matching);
  rules.skip_unmatched = ctx.settings.matching.skip_unmatched;
  rules.tasks_enabled = ctx.settings.tasks.enabled;
  rules.by = os_user() + " on the command line";
  return rules;
}

// `gift link`.

namespace {

using LinkResult = matching::LinkOutcome::Kind;
using Target = matching::LinkTarget::Kind;

constexpr std::size_t kMaxReasonChars = 255;

struct LinkOptions {
  std::int64_t id = 0;
  std::string contact;
  std::string lead;
  bool none = false;
  bool by_rules = false;
  std::string reason;
  bool json = false;
};

/// Empty without exactly one target.
std::optional<matching::LinkTarget> target_of(const LinkOptions& options) {
  std::vector<matching::LinkTarget> targets;
  if (!options.contact.empty()) targets.push_back({Target::contact, options.contact});
  if (!options.lead.empty()) targets.push_back({Target::lead, options.lead});
  if (options.none) targets.push_back({Target::none, ""});
  if (options.by_rules) targets.push_back({Target::by_rules, ""});
  return targets.size() == 1 ? std::optional(targets.front()) : std::nullopt;
}

std::string usage_fault(const LinkOptions& options) {
  if (!target_of(options)) return "gift link needs one of --contact ID, --lead ID, --none and --by-rules";
  const std::string_view reason = trimmed(options.reason);
  if (!options.by_rules && reason.empty())
    return "gift link needs --reason: it is stored with the gift, for those who wonder later";
  if (count_code_points(reason) > kMaxReasonChars)
    return fmt::format("--reason: found {} characters; allowed: at most {}", count_code_points(reason),
                       kMaxReasonChars);
  return "";
}

/// Why the gift was not linked, with the exit code.
std::pair<int, std::string> failure_of(const LinkOptions& options, const matching::LinkOutcome& outcome) {
  switch (outcome.kind) {
    case LinkResult::unknown:
      return {EX_DATAERR, no_such_gift(options.id)};
    case LinkResult::undecided:
      return {EX_TEMPFAIL, fmt::format("gift {} is not matched yet; try again when the daemon has matched it",
                                       options.id)};
    case LinkResult::no_target:
      return {EX_DATAERR, options.contact.empty()
                              ? fmt::format("the CRM has no lead {}", printable(options.lead))
                              : fmt::format("the CRM has no contact {}", printable(options.contact))};
    default: {
      const bool may_retry = outcome.match.kind == matching::RematchResult::Kind::failed;
      return {may_retry ? EX_TEMPFAIL : EX_DATAERR,
              fmt::format("gift {} was not linked: {}", options.id, printable(outcome.match.detail))};
    }
  }
}

Json json_of(const LinkOptions& options, const matching::LinkOutcome& outcome) {
  const Associations& to = outcome.match.to;
  const bool is_changed = outcome.kind != LinkResult::already;
  Json json = {{"recipient_transaction_id", options.id}, {"changed", is_changed}};
  if (!is_changed) return json;
  json["contact_id"] = text_or_null(to.contact_id);
  json["lead_id"] = text_or_null(to.lead_id);
  json["account_id"] = text_or_null(to.account_id);
  json["opportunity_id"] = text_or_null(to.opportunity_id);
  json["before"] = matching::describe(outcome.match.from);
  json["note"] = text_or_null(outcome.match.detail);
  return json;
}

std::string text_of(const LinkOptions& options, const matching::LinkOutcome& outcome) {
  if (outcome.kind == LinkResult::already)
    return fmt::format("Gift {} is {} already.", options.id,
                       options.by_rules ? "decided by the rules" : "linked so");
  return fmt::format("Gift {}: {}, before: {}{}.", options.id,
                     printable(matching::describe(outcome.match.to)),
                     printable(matching::describe(outcome.match.from)),
                     outcome.match.detail.empty() ? "" : " (" + printable(outcome.match.detail) + ")");
}

int link(const Console& console, CliContext& ctx, const LinkOptions& options) {
  if (const std::string fault = usage_fault(options); !fault.empty()) return console.fail(EX_USAGE, fault);
  if (const auto refusal = refuse_unusable_crm(ctx.settings)) return console.fail(*refusal);
  const matching::LinkOrder order{
      {options.id}, *target_of(options), os_user(), std::string(trimmed(options.reason))};
  const matching::LinkOutcome outcome =
      matching::link_gift(ctx.store, *ctx.crm, rematch_rules(ctx), order, console.now());
  if (outcome.kind != LinkResult::linked && outcome.kind != LinkResult::already &&
      outcome.kind != LinkResult::to_create) {
    const auto [code, message] = failure_of(options, outcome);
    return console.fail(code, message);
  }
  if (outcome.kind == LinkResult::to_create) {
    for (const std::string& message : SyncDrainer(console, ctx).write({order.gift}).messages)
      console.info(message);
  }
  if (options.json)
    console.out << json_text(json_of(options, outcome), 2) << '\n';
  else
    console.out << text_of(options, outcome) << '\n';
  return EX_OK;
}

}  // namespace

void add_gift_link_command(Commands& commands, Command& noun) {
  const auto options = std::make_shared<LinkOptions>();
  Command* verb =
      commands.verb(noun, "link",
                    "Link a gift to the right contact or lead, or to no one. The link stays: no rematch "
                    "changes it, and \"gift "
                    "show\" tells who made it and why. A contact brings its account and its open "
                    "opportunity. Deal Stage is "
                    "never filled in.",
                    {"gift link 42 --contact 0035e00000AbCdE --reason \"Ada answered the mail\"",
                     "gift link 42 --none --reason \"a test address\"", "gift link 42 --by-rules"});
  verb->add_option("ID", options->id, "The gift's number")->required()->check(whole_number());
  verb->add_option("--contact", options->contact, "The contact's Id in the CRM")->option_text("ID");
  verb->add_option("--lead", options->lead, "The lead's Id in the CRM")->option_text("ID");
  verb->add_flag("--none", options->none, "The gift belongs to no one in the CRM");
  verb->add_flag("--by-rules", options->by_rules, "Let the matching rules decide again");
  verb->add_option("--reason", options->reason, "Why, for those who wonder later")->option_text("TEXT");
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, link);
}

}  // namespace giftsync::cli
