// source quarantine, purge: the events that are not applied.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <limits>
#include <memory>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/confirmation.h"
#include "cli/listing.h"
#include "cli/source_lookup.h"
#include "platform/plural.h"
#include "platform/quoted_text.h"

namespace giftsync::cli {
namespace {

using schema::store::EventState;
using Kind = TextTable::Kind;

constexpr std::size_t kPageSize = 500;

Json json_of(const schema::store::UnappliedEvent& one) {
  return {{"id", one.id},
          {"source", one.source},
          {"state", to_word(one.state)},
          {"reason", one.reason ? Json(to_word(*one.reason)) : Json(nullptr)},
          {"source_status", one.status_word},
          {"recipient_transaction_id", one.transaction},
          {"detail", one.detail},
          {"received_at", json_time(one.received_at)},
          {"event", Json::parse(one.payload, nullptr, false)}};
}

struct QuarantineOptions {
  std::string name;
  bool by_status = false;
  bool orphaned = false;
  bool ignored = false;
  bool json = false;

  EventState state() const {
    if (orphaned) return EventState::orphaned;
    return ignored ? EventState::ignored : EventState::quarantined;
  }
};

std::vector<schema::store::UnappliedEvent> page_of(CliContext& ctx, const QuarantineOptions& options,
                                                   std::int64_t after) {
  switch (options.state()) {
    case EventState::quarantined:
      return ctx.store.sources.list_quarantined(options.name, after, kPageSize);
    case EventState::orphaned:
      return ctx.store.sources.orphaned_payloads(options.name, after, kPageSize);
    case EventState::ignored:
      break;
  }
  return ctx.store.sources.list_ignored(options.name, after, kPageSize);
}

std::string_view nothing_found(EventState state) {
  switch (state) {
    case EventState::quarantined:
      return "No quarantined events.";
    case EventState::orphaned:
      return "No orphaned change has its event.";
    case EventState::ignored:
      break;
  }
  return "No ignored events.";
}

/// The reason of a quarantined event; of others the state.
std::string reason_text(const schema::store::UnappliedEvent& one) {
  return std::string(one.reason ? to_word(*one.reason) : to_word(one.state));
}

int list_events(const Console& console, CliContext& ctx, const QuarantineOptions& options) {
  Listing list(console.out, options.json,
               {{"ID", Kind::number},
                {"SOURCE"},
                {"REASON"},
                {"SOURCE STATUS", Kind::elastic},
                {"TRANSACTION", Kind::elastic},
                {"RECEIVED (UTC)"}});
  const auto next_page = [&, after = std::int64_t{0}]() mutable {
    auto page = page_of(ctx, options, after);
    if (!page.empty()) after = page.back().id;
    return page;
  };
  const std::int64_t listed = each_row(console, 0, next_page, [&](const schema::store::UnappliedEvent& one) {
    list.add([&] { return json_of(one); },
             [&]() -> TextTable::Row {
               return {{std::to_string(one.id), one.source, reason_text(one), one.status_word,
                        one.transaction, minute_text(one.received_at)},
                       one.detail};
             });
  });
  list.finish();
  if (listed == 0) console.info(nothing_found(options.state()));
  return EX_OK;
}

int list_by_status(const Console& console, CliContext& ctx, const QuarantineOptions& options) {
  Listing list(console.out, options.json,
               {{"SOURCE"}, {"REASON"}, {"SOURCE STATUS", Kind::elastic}, {"COUNT", Kind::number}});
  const auto counts = ctx.store.sources.count_quarantined(options.name);
  for (const auto& one : counts) {
    list.add(
        [&]() -> Json {
          return {{"source", one.source},
                  {"reason", to_word(one.reason)},
                  {"source_status", one.status_word},
                  {"count", one.count}};
        },
        [&]() -> TextTable::Row {
          return {{one.source, std::string(to_word(one.reason)), one.status_word, std::to_string(one.count)}};
        });
  }
  list.finish();
  if (counts.empty()) console.info("No quarantined events.");
  return EX_OK;
}

int list_quarantined(const Console& console, CliContext& ctx, const QuarantineOptions& options) {
  if (const auto fault = options.name.empty() ? std::nullopt : source_fault(ctx, options.name))
    return console.fail(EX_DATAERR, *fault);
  return options.by_status ? list_by_status(console, ctx, options) : list_events(console, ctx, options);
}

struct PurgeOptions {
  std::string name;
  std::string reason;  ///< "all", "orphaned", "ignored" or a quarantine reason
  bool yes = false;
};

/// What `source purge` would delete: "Purge 2 quarantined events of "vendor"?".
std::string purge_question(CliContext& ctx, const PurgeOptions& options) {
  const std::string of = platform::in_quotes(options.name);
  if (options.reason == "orphaned") {
    const std::int64_t count = ctx.store.changes.count_orphaned(
        options.name, platform::UtcMillis{std::numeric_limits<std::int64_t>::max()});
    return fmt::format("Purge {} of {}?", platform::pluralize(count, "orphaned change"), of);
  }
  if (options.reason == "ignored")
    return fmt::format("Purge {} of {}?",
                       platform::pluralize(ctx.store.sources.count_ignored(options.name), "ignored event"),
                       of);
  std::int64_t count = 0;
  for (const auto& one : ctx.store.sources.count_quarantined(options.name))
    if (options.reason == "all" || to_word(one.reason) == options.reason) count += one.count;
  return fmt::format("Purge {} of {}?", platform::pluralize(count, "quarantined event"), of);
}

std::int64_t purge_events(CliContext& ctx, const PurgeOptions& options) {
  if (options.reason == "orphaned")
    return ctx.store.changes.purge_orphaned(options.name,
                                            platform::UtcMillis{std::numeric_limits<std::int64_t>::max()});
  if (options.reason == "ignored") return ctx.store.sources.purge_ignored(options.name);
  return ctx.store.sources.purge_quarantined(options.name,
                                             schema::store::quarantine_reason_from_word(options.reason));
}

int purge(const Console& console, CliContext& ctx, const PurgeOptions& options) {
  if (const auto fault = source_fault(ctx, options.name)) return console.fail(EX_DATAERR, *fault);
  if (const auto refused = refuse_unconfirmed(console, options.yes, purge_question(ctx, options)))
    return *refused;
  const std::int64_t purged = purge_events(ctx, options);
  audit_total(console, fmt::format("{}: {} purged", options.reason, purged));
  fmt::print(console.out, "{} purged\n", purged);
  return EX_OK;
}

void add_quarantine(Commands& commands, CLI::App& noun) {
  const auto options = std::make_shared<QuarantineOptions>();
  CLI::App* verb = commands.verb(
      noun, "quarantine",
      "List quarantined events, which giftsync cannot apply: a status that status_map does not have, a time "
      "before 2000 or in the future, a status that the source may not set, a malformed event, a transaction "
      "of another source. After a change of the source's settings the daemon processes them again. It also "
      "processes the events of orphaned changes again, which --orphaned lists instead, each with what is "
      "missing to create its gift. --ignored lists the ignored events instead, the newest 1,000 of a source; "
      "these are not processed again.",
      {"source quarantine", "source quarantine vendor --json", "source quarantine --by-status",
       "source quarantine vendor --orphaned", "source quarantine vendor --ignored"});
  verb->add_option("NAME", options->name, "Only events of this source");
  CLI::Option* by_status =
      verb->add_flag("--by-status", options->by_status, "Count them by source, reason and status");
  CLI::Option* orphaned =
      verb->add_flag("--orphaned", options->orphaned, "List the events of orphaned changes instead")
          ->excludes(by_status);
  verb->add_flag("--ignored", options->ignored, "List the ignored events instead")
      ->excludes(by_status)
      ->excludes(orphaned);
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, list_quarantined);
}

void add_purge(Commands& commands, CLI::App& noun) {
  const auto options = std::make_shared<PurgeOptions>();
  CLI::App* verb = commands.verb(
      noun, "purge",
      "Delete quarantined events of a source (all, or those of one reason), its orphaned changes with their "
      "events, or its ignored events. This cannot be undone.",
      {"source purge vendor --reason all", "source purge vendor --reason implausible_time --yes",
       "source purge vendor --reason orphaned"});
  verb->add_option("NAME", options->name, "The source")->required();
  verb->add_option("--reason", options->reason,
                   "all: every quarantined event; orphaned: the orphaned changes; ignored: the ignored "
                   "events; else the events with this reason")
      ->required()
      ->check(one_of({"all", "unknown_status", "implausible_time", "may_set", "malformed", "other_source",
                      "orphaned", "ignored"}));
  add_yes_flag(*verb, options->yes);
  commands.run(verb, options, purge);
}

}  // namespace

void add_source_event_commands(Commands& commands, CLI::App& noun) {
  add_quarantine(commands, noun);
  add_purge(commands, noun);
}

}  // namespace giftsync::cli
