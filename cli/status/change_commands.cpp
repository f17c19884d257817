#include <fmt/format.h>
#include <sysexits.h>

#include <map>
#include <memory>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/day_or_time.h"
#include "cli/gift/gift_detail.h"
#include "cli/listing.h"
#include "cli/status/change_import.h"
#include "cli/status/source_commands.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::cli {
namespace {

constexpr std::size_t kMaxReasonCodePoints = 1000;

void add_import(Commands& commands, Command& noun) {
  Command* verb = commands.verb(
      noun, "import",
      "Import status changes from a file with one JSON object per line: recipient_transaction_id (a "
      "number, or its digits as text), status (sent, delivered, undelivered, opened, redeemed, "
      "donated, expired, refunded), occurred_at (ISO 8601) and optionally event_id. Refused "
      "lines are listed by number; all others are applied. A change of an unknown transaction "
      "is orphaned until the transaction appears. Importing a file again changes nothing.",
      {"change import changes.ndjson", "change import - < changes.ndjson"});
  const auto action = [](const Console& console, CliContext& ctx, const std::string& path) {
    auto input = InputFile::open(path, console);
    return input ? import_changes(console, ctx.store, *input) : console.fail(input.error());
  };
  commands.run(verb, text_argument(verb, "FILE", "The file; - reads stdin"), action);
}

struct ChangeListing {
  store::ChangeFilter filter;
  store::ChangeOrder order = store::ChangeOrder::oldest_first;
  bool json = false;
  std::int64_t limit = 0;  ///< 0: all
};

/// Orphaned changes whose gift exists but belongs to another source, so that they never apply (STATUS-29).
/// The value is the gift's source.
std::map<ChangeId, std::string> collisions_in(store::Store& store,
                                              const std::vector<store::StatusChange>& page) {
  std::vector<TransactionId> ids;
  for (const store::StatusChange& change : page) {
    if (change.orphaned) ids.push_back(change.transaction);
  }
  std::map<ChangeId, std::string> found;
  if (ids.empty()) return found;
  std::map<TransactionId, std::string> origins;
  for (const store::Gift& gift : store.gifts.find(ids))
    origins[gift.transaction.id] = gift.transaction.gift_source;
  for (const store::StatusChange& change : page) {
    const auto origin = origins.find(change.transaction);
    if (!change.orphaned || origin == origins.end() || origin->second == change.gift_source ||
        origin->second == store::kAdoptedGiftSource)
      continue;
    found[change.id] = origin->second.empty() ? "giftsync" : origin->second;
  }
  return found;
}

std::map<TransactionId, std::string> external_ids_in(store::Store& store,
                                                     const std::vector<store::StatusChange>& page) {
  std::vector<TransactionId> ids;
  for (const store::StatusChange& change : page) {
    if (!change.gift_source.empty()) ids.push_back(change.transaction);
  }
  return store.external_ids.of(ids);
}

/// The audit text, after "orphaned" if the change is; empty for a change without either.
std::string change_annotations(const store::StatusChange& change) {
  std::string audit = audit_text(change);
  if (!change.orphaned) return audit;
  return audit.empty() ? "orphaned" : "orphaned; " + audit;
}

/// Reads and prints the change log page by page, so that memory holds one page.
int list_changes(const Console& console, CliContext& ctx, const ChangeListing& listing) {
  Listing list(console.out, listing.json);
  std::map<ChangeId, std::string> collisions;  // of the current page
  std::map<TransactionId, std::string> external_ids;
  const auto next_page = [&, after = std::optional<ChangeId>()]() mutable {
    auto page = ctx.store.changes.list(listing.filter, listing.order, after, TextTable::kPageRows);
    if (!page.empty()) after = page.back().id;
    collisions = collisions_in(ctx.store, page);
    external_ids = external_ids_in(ctx.store, page);
    return page;
  };
  const auto remark = [&](const store::StatusChange& change) {
    if (collisions.contains(change.id))
      return fmt::format("gift {} belongs to {}, so this never applies; \"change void {}\" removes it",
                         change.transaction.value, printable(collisions[change.id]), change.id.value);
    std::string text = listing.filter.orphaned_only ? audit_text(change) : change_annotations(change);
    // `gift show` tells it of a known gift.
    if (!change.orphaned || !external_ids.contains(change.transaction)) return text;
    return fmt::format("external id {}{}{}", printable(external_ids[change.transaction]),
                       text.empty() ? "" : "; ", text);
  };
  const auto json_of = [&](const store::StatusChange& change) {
    Json json = change_json(change);
    const auto external_id = external_ids.find(change.transaction);
    json["external_id"] = external_id == external_ids.end() ? Json(nullptr) : Json(external_id->second);
    json["gift_of"] = collisions.contains(change.id) ? Json(collisions[change.id]) : Json(nullptr);
    return json;
  };
  const std::int64_t listed =
      each_row(console, listing.limit, next_page, [&](const store::StatusChange& change) {
        list.add([&](ListedRow& row) {
          if (row.is_json()) return row.set_json(json_of(change));
          using Kind = TextTable::Kind;
          row.add_cell({"ID", Kind::number}, std::to_string(change.id.value));
          row.add_cell({"GIFT", Kind::number}, std::to_string(change.transaction.value));
          row.add_cell({"STATUS"}, std::string(to_word(change.status)));
          row.add_cell({"OCCURRED (UTC)"}, minute_text(change.occurred_at));
          row.add_cell({"RECEIVED (UTC)"}, minute_text(change.received_at));
          row.add_cell({"SOURCE", Kind::elastic}, change.source);
          row.add_cell({"EVENTS", Kind::elastic}, fmt::format("{}", fmt::join(change.event_ids, ", ")));
          row.set_below(remark(change));
        });
      });
  list.finish();
  if (listed > 0 || !console.out || listing.json) return EX_OK;
  console.info(listing.filter.orphaned_only ? "No orphaned changes." : "No changes.");
  // Those of one gift are listed, whatever it is, and orphaned ones are of none.
  if (!listing.filter.transaction && !listing.filter.orphaned_only)
    tell_of_left_out_tests(console, ctx, listing.filter, "Changes of test gifts", "change list --test",
                           [&](const store::ChangeFilter& tests) {
                             return !ctx.store.changes.list(tests, listing.order, std::nullopt, 1).empty();
                           });
  return EX_OK;
}

struct ListOptions {
  ChangeListing listing;
  std::int64_t gift = 0;
  std::string source;
  bool newest = false;
};

int run_list(const Console& console, CliContext& ctx, ListOptions& options) {
  store::ChangeFilter& filter = options.listing.filter;
  if (options.gift > 0) filter.transaction = TransactionId{options.gift};
  if (!options.source.empty()) {
    if (const auto fault = change_source_fault(ctx, options.source)) return console.fail(EX_DATAERR, *fault);
    filter.source = options.source;
  }
  if (options.newest) options.listing.order = store::ChangeOrder::newest_first;
  return list_changes(console, ctx, options.listing);
}

void add_list(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ListOptions>();
  Command* verb = commands.verb(
      noun, "list",
      "List all accepted changes by id, with their event ids and whether each is orphaned, voided "
      "or restored.",
      {"change list --gift 42", "change list --newest --limit 20",
       "change list --source import --json --limit 10", "change list --orphaned --source crm-vendor --json"});
  verb->add_option("--gift", options->gift, "Only changes of this gift (the recipient transaction's id)")
      ->option_text("ID")
      ->check(whole_number());
  Option* orphaned =
      verb->add_flag("--orphaned", options->listing.filter.orphaned_only,
                     "Only orphaned changes: their transaction is not known yet; they apply when it appears");
  verb->add_option("--source", options->source, "Only changes from this source")->option_text("SOURCE");
  verb->add_option("--limit", options->listing.limit, "At most N changes")
      ->option_text("N")
      ->check(whole_number());
  verb->add_flag("--newest", options->newest, "Newest first");
  verb->add_flag("--test", options->listing.filter.test,
                 "Changes of test gifts alone, which are listed by it, or by --gift, only")
      ->excludes(orphaned);
  verb->add_flag("--json", options->listing.json, "Print JSON");
  commands.run(verb, options, run_list);
}

struct VoidOptions {
  std::int64_t id = 0;
  std::string reason;
};

/// Empty if the reason can be stored.
std::string reason_fault(const std::string& reason) {
  if (is_storable_text(reason) && count_code_points(reason) <= kMaxReasonCodePoints) return {};
  return fmt::format("--reason: found a text that cannot be stored; allowed: UTF-8 of at most {} characters",
                     kMaxReasonCodePoints);
}

int no_such_change(const Console& console, std::int64_t id) {
  return console.fail(
      EX_DATAERR,
      fmt::format("there is no change {}; \"giftsyncctl change list --gift ID\" shows a gift's changes", id));
}

int void_change(const Console& console, CliContext& ctx, const VoidOptions& options) {
  const std::int64_t id = options.id;
  switch (ctx.store.changes.void_change({id}, {console.now(), os_user(), options.reason})) {
    case store::VoidOutcome::unknown:
      return no_such_change(console, id);
    case store::VoidOutcome::already_voided:
      console.info(fmt::format("Change {} is already voided; nothing was changed.", id));
      break;
    case store::VoidOutcome::voided:
      console.info(fmt::format(
          "Change {} is voided: it no longer counts and stays in the history; \"change restore {}\" undoes "
          "this.",
          id, id));
      break;
  }
  return EX_OK;
}

int restore_change(const Console& console, CliContext& ctx, const VoidOptions& options) {
  using Kind = store::RestoreOutcome::Kind;
  const std::int64_t id = options.id;
  const store::RestoreOutcome outcome =
      ctx.store.changes.restore_change({id}, {console.now(), os_user(), options.reason});
  switch (outcome.kind) {
    case Kind::unknown:
      return no_such_change(console, id);
    case Kind::too_many_orphaned:
      return console.fail(
          EX_TEMPFAIL,
          fmt::format(
              "change {1} stays voided: gift {0} is not known, so the change would be orphaned, and {2} has "
              "reached the limit of {3} orphaned changes; delete some with \"giftsyncctl change purge "
              "--orphaned --source\", or restore it after gift {0} has appeared",
              outcome.transaction.value, id, in_quotes(outcome.source), store::kMaxOrphanedChanges));
    case Kind::other_source:
      return console.fail(EX_DATAERR,
                          fmt::format("gift {} belongs to {}, so change {} cannot apply; it stays voided",
                                      outcome.transaction.value,
                                      outcome.gift_of.empty() ? "giftsync" : in_quotes(outcome.gift_of), id));
    case Kind::not_voided:
      console.info(fmt::format("Change {} already counts: it is not voided.", id));
      break;
    case Kind::orphaned:
      console.info(fmt::format("Change {} is restored; it is orphaned until gift {} appears.", id,
                               outcome.transaction.value));
      break;
    case Kind::restored:
      console.info(fmt::format("Change {} is restored: it counts again.", id));
      break;
  }
  return EX_OK;
}

using VoidAction = int (*)(const Console&, CliContext&, const VoidOptions&);

/// `change void` and `change restore`.
void add_void_action(Commands& commands, Command* verb, VoidAction action) {
  const auto options = std::make_shared<VoidOptions>();
  verb->add_option("ID", options->id, "The change's id, from \"change list\" or \"gift show\"")
      ->required()
      ->check(whole_number());
  verb->add_option("--reason", options->reason, "The reason, stored in the history")->option_text("TEXT");
  commands.run(verb, [options, action](const Console& console, CliContext& ctx) {
    const std::string fault = reason_fault(options->reason);
    return fault.empty() ? action(console, ctx, *options) : console.fail(EX_USAGE, fault);
  });
}

void add_void(Commands& commands, Command& noun) {
  add_void_action(
      commands,
      commands.verb(noun, "void",
                    "Void a wrong status change. giftsyncd updates the gift record within two "
                    "seconds. The history keeps the change, with who voided it, when and why. A "
                    "repeated report of it has no effect. \"change restore\" undoes this.",
                    {"change void 1204", "change void 1204 --reason \"reported for the wrong gift\""}),
      void_change);
}

void add_restore(Commands& commands, Command& noun) {
  add_void_action(
      commands,
      commands.verb(noun, "restore",
                    "Restore a voided change, so that it counts again. giftsyncd updates the gift "
                    "record within two seconds. The history shows who voided and who restored it, "
                    "when and why. A change whose gift is not known becomes orphaned again. No "
                    "gift code is issued a second time.",
                    {"change restore 1204", "change restore 1204 --reason \"the report was right\""}),
      restore_change);
}

struct PurgeOptions {
  std::string source;
  std::string older_than;
  bool orphaned = false;  ///< required: no other changes can be purged
  bool yes = false;
};

int purge_orphaned(const Console& console, CliContext& ctx, const PurgeOptions& options) {
  if (const auto fault = change_source_fault(ctx, options.source)) return console.fail(EX_DATAERR, *fault);
  const std::int64_t age = parse_duration(options.older_than).value_or(0);
  // Without an age: all, including those received in this millisecond.
  const UtcMillis before = options.older_than.empty() ? console.now() + 1 : console.now() - age;
  const std::string which = options.older_than.empty() ? "" : " older than " + options.older_than;
  const std::int64_t count = ctx.store.changes.count_orphaned(options.source, before);
  const std::string question =
      fmt::format("Purge {} of {}{}?", pluralize(count, "orphaned change"), in_quotes(options.source), which);
  if (const auto refused = refuse_unconfirmed(console, options.yes, question)) return *refused;
  const std::int64_t purged = ctx.store.changes.purge_orphaned(options.source, before);
  audit_total(console, pluralize(purged, "orphaned change") + " purged");
  console.out << pluralize(purged, "orphaned change") + " purged\n";
  return EX_OK;
}

void add_purge(Commands& commands, Command& noun) {
  const auto options = std::make_shared<PurgeOptions>();
  Command* verb = commands.verb(
      noun, "purge",
      "Delete orphaned changes of a source whose gifts will never appear. This cannot be undone. A source "
      "with 100,000 orphaned changes cannot add more until their gifts appear or they are purged.",
      {"change purge --orphaned --source crm-vendor --older-than 30d --yes",
       "change purge --orphaned --source import --yes"});
  verb->add_flag("--orphaned", options->orphaned,
                 "Purge orphaned changes; required, as no others can be purged")
      ->required();
  verb->add_option("--source", options->source, "The source, as \"change list --orphaned\" shows it")
      ->option_text("SOURCE")
      ->required();
  verb->add_option("--older-than", options->older_than,
                   "Only those received longer ago than this, such as 7d or 12h")
      ->option_text("TIME")
      ->check({[](const std::string& text) {
        return parse_duration(text)
                   ? std::string()
                   : fmt::format("found {}; allowed: a number with s, m, h or d such as 7d, at most {}d",
                                 in_quotes(text), kMaxDurationDays);
      }});
  add_yes_flag(*verb, options->yes);
  commands.run(verb, options, purge_orphaned);
}

}  // namespace

void add_change_commands(Commands& commands) {
  Command* noun = commands.noun("change", "Status changes of gifts");
  add_import(commands, *noun);
  add_list(commands, *noun);
  add_void(commands, *noun);
  add_restore(commands, *noun);
  add_purge(commands, *noun);
}

}  // namespace giftsync::cli
