#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "cli/commands.h"
#include "cli/confirmation.h"
#include "cli/listing.h"
#include "cli/source_lookup.h"
#include "cli/source_refused.h"
#include "platform/plural.h"
#include "platform/quoted_text.h"

namespace giftsync::cli {
namespace {

using Kind = TextTable::Kind;

constexpr std::size_t kPageSize = 500;

/// The settings of a source; null when the settings no longer have it.
const daemon::config::SourceSettings* settings_of(const daemon::config::Settings& settings,
                                                  const std::string& name) {
  const auto found =
      std::find_if(settings.sources.begin(), settings.sources.end(),
                   [&](const daemon::config::SourceSettings& one) { return one.name == name; });
  return found == settings.sources.end() ? nullptr : &*found;
}

std::string kind_of(const daemon::config::SourceSettings* source) {
  if (source == nullptr) return "removed";
  return source->kind == daemon::config::SourceKind::poll ? "poll" : "webhook";
}

Json json_of(const schema::store::SourceSummary& row, const daemon::config::SourceSettings* source) {
  const bool is_poll = source && source->kind == daemon::config::SourceKind::poll;
  return {{"name", row.name},
          {"type", kind_of(source)},
          {"transactions", source == nullptr ? Json(nullptr) : Json(source->external ? "external" : "own")},
          {"state", row.state},
          {"state_since", json_time(row.state_since)},
          {"reason", text_or_null(row.reason)},
          {"last_received_at", json_time(row.last_received_at)},
          {"next_poll_at", is_poll ? json_time(row.next_attempt_at) : Json(nullptr)},
          {"failures", row.failures},
          {"accepted", row.accepted},
          {"duplicates", row.duplicates},
          {"ignored", row.ignored},
          {"gifts", row.gifts},
          {"orphaned", row.orphaned},
          {"quarantined", row.quarantined},
          {"refused", row.rejected},
          {"refused_in_row", row.refused_in_row},
          {"last_refused_at", json_time(row.last_refused_at)},
          {"last_refusal", text_or_null(row.last_refusal)},
          {"cursor_state", text_or_null(row.cursor_state)}};
}

/// The sources of the store, then those of the settings that no daemon has started yet.
std::vector<schema::store::SourceSummary> all_source_rows(CliContext& ctx) {
  std::vector<schema::store::SourceSummary> rows = ctx.store.sources.list();
  for (const daemon::config::SourceSettings& source : ctx.settings.sources) {
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const schema::store::SourceSummary& row) {
      return row.name == source.name;
    });
    if (known) continue;
    schema::store::SourceSummary row;
    row.name = source.name;
    row.state = "new";
    rows.push_back(row);
  }
  return rows;
}

/// The details that do not fit into a row of 80 columns, for the line below it.
std::string detail_text(const schema::store::SourceSummary& row,
                        const daemon::config::SourceSettings* source) {
  std::string text = kind_of(source);
  const bool has_run = row.state_since.value > 0;  // by a daemon
  if (has_run) text += fmt::format(", {} since {} UTC", row.state, minute_text(row.state_since));
  if (row.last_received_at) text += fmt::format(", last received {} UTC", minute_text(row.last_received_at));
  if (!row.reason.empty()) text += ": " + row.reason;
  const std::string refusal = last_refusal_text(row);
  return refusal.empty() ? text : text + "; " + refusal;
}

int list_sources(const Console& console, CliContext& ctx, bool json) {
  Listing list(console.out, json,
               {{"NAME", Kind::elastic},
                {"STATE"},
                {"ACCEPTED", Kind::number},
                {"DUP", Kind::number},
                {"IGNORED", Kind::number},
                {"ORPHANED", Kind::number},
                {"QUARANTINED", Kind::number},
                {"REFUSED", Kind::number}});
  const std::vector<schema::store::SourceSummary> rows = all_source_rows(ctx);
  for (const schema::store::SourceSummary& row : rows) {
    const daemon::config::SourceSettings* source = settings_of(ctx.settings, row.name);
    list.add([&] { return json_of(row, source); },
             [&]() -> TextTable::Row {
               return {{row.name, row.state, std::to_string(row.accepted), std::to_string(row.duplicates),
                        std::to_string(row.ignored), std::to_string(row.orphaned),
                        std::to_string(row.quarantined), std::to_string(row.rejected)},
                       detail_text(row, source)};
             });
  }
  list.finish();
  if (rows.empty()) console.info("There are no sources: the settings (sources) name none.");
  return EX_OK;
}

Json json_of(const schema::store::QuarantinedEvent& one) {
  return {{"id", one.id},
          {"source", one.source},
          {"reason", to_word(one.reason)},
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
  bool json = false;
};

int list_events(const Console& console, CliContext& ctx, const QuarantineOptions& options) {
  Listing list(console.out, options.json,
               {{"ID", Kind::number},
                {"SOURCE"},
                {"REASON"},
                {"SOURCE STATUS", Kind::elastic},
                {"TRANSACTION", Kind::elastic},
                {"RECEIVED (UTC)"}});
  const auto next_page = [&, after = std::int64_t{0}]() mutable {
    auto page = options.orphaned ? ctx.store.sources.orphaned_payloads(options.name, after, kPageSize)
                                 : ctx.store.sources.list_quarantined(options.name, after, kPageSize);
    if (!page.empty()) after = page.back().id;
    return page;
  };
  const std::int64_t listed =
      each_row(console, 0, next_page, [&](const schema::store::QuarantinedEvent& one) {
        list.add([&] { return json_of(one); },
                 [&]() -> TextTable::Row {
                   return {{std::to_string(one.id), one.source, std::string(to_word(one.reason)),
                            one.status_word, one.transaction, minute_text(one.received_at)},
                           one.detail};
                 });
      });
  list.finish();
  if (listed == 0)
    console.info(options.orphaned ? "No orphaned change has its event." : "No quarantined events.");
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
  std::string reason;  ///< "all", "orphaned" or a quarantine reason
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
  std::int64_t count = 0;
  for (const auto& one : ctx.store.sources.count_quarantined(options.name))
    if (options.reason == "all" || to_word(one.reason) == options.reason) count += one.count;
  return fmt::format("Purge {} of {}?", platform::pluralize(count, "quarantined event"), of);
}

int purge(const Console& console, CliContext& ctx, const PurgeOptions& options) {
  if (const auto fault = source_fault(ctx, options.name)) return console.fail(EX_DATAERR, *fault);
  if (const auto refused = refuse_unconfirmed(console, options.yes, purge_question(ctx, options)))
    return *refused;
  const std::int64_t count =
      options.reason == "orphaned"
          ? ctx.store.changes.purge_orphaned(options.name,
                                             platform::UtcMillis{std::numeric_limits<std::int64_t>::max()})
          : ctx.store.sources.purge_quarantined(options.name,
                                                schema::store::quarantine_reason_from_word(options.reason));
  fmt::print(console.out, "{} purged\n", count);
  return EX_OK;
}

int reset_cursor(const Console& console, CliContext& ctx, const std::string& name) {
  const daemon::config::SourceSettings* source = settings_of(ctx.settings, name);
  if (source == nullptr || source->kind != daemon::config::SourceKind::poll) {
    return console.fail(
        EX_DATAERR,
        fmt::format(
            "{} is not a poll of the settings; \"giftsyncctl source list\" shows the sources and types",
            platform::in_quotes(name)));
  }
  if (!ctx.store.sources.reset_cursor(name)) {
    console.info(fmt::format("{} has not been polled yet; it starts at the beginning.", name));
    return EX_OK;
  }
  fmt::print(console.out, "{} is polled again from the beginning now\n", name);
  return EX_OK;
}

void add_list(Commands& commands, CLI::App& noun) {
  CLI::App* verb = commands.verb(
      noun, "list",
      "List each source with its state (new, ok, failing, invalid, over_limit) and since when; the number of "
      "accepted (new) changes, duplicates and ignored events (a status mapped to ignore, or a mail that "
      "giftsync did not send); how many accepted changes are orphaned now; how many events are quarantined; "
      "and how many messages were refused (signature, form or size), with time and reason of the last one.",
      {"source list", "source list --json"});
  commands.run(verb, json_flag(verb), list_sources);
}

void add_quarantine(Commands& commands, CLI::App& noun) {
  const auto options = std::make_shared<QuarantineOptions>();
  CLI::App* verb = commands.verb(
      noun, "quarantine",
      "List quarantined events, which giftsync cannot apply: a status that status_map does not have, a time "
      "before 2000 or in the future, a status that the source may not set, a malformed event, a transaction "
      "of another source. After a change of the source's settings the daemon processes them again. It also "
      "processes the events of orphaned changes again, which --orphaned lists instead, each with what is "
      "missing to create its gift.",
      {"source quarantine", "source quarantine vendor --json", "source quarantine --by-status",
       "source quarantine vendor --orphaned"});
  verb->add_option("NAME", options->name, "Only events of this source");
  CLI::Option* by_status =
      verb->add_flag("--by-status", options->by_status, "Count them by source, reason and status");
  verb->add_flag("--orphaned", options->orphaned, "List the events of orphaned changes instead")
      ->excludes(by_status);
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, list_quarantined);
}

void add_purge(Commands& commands, CLI::App& noun) {
  const auto options = std::make_shared<PurgeOptions>();
  CLI::App* verb = commands.verb(
      noun, "purge",
      "Delete quarantined events of a source (all, or those of one reason), or its orphaned changes with "
      "their events. This cannot be undone.",
      {"source purge vendor --reason all", "source purge vendor --reason implausible_time --yes",
       "source purge vendor --reason orphaned"});
  verb->add_option("NAME", options->name, "The source")->required();
  verb->add_option("--reason", options->reason,
                   "all: every quarantined event; orphaned: the orphaned changes; else the events with this "
                   "reason")
      ->required()
      ->check(one_of(
          {"all", "unknown_status", "implausible_time", "may_set", "malformed", "other_source", "orphaned"}));
  add_yes_flag(*verb, options->yes);
  commands.run(verb, options, purge);
}

void add_reset_cursor(Commands& commands, CLI::App& noun) {
  CLI::App* verb = commands.verb(
      noun, "reset-cursor",
      "Clear the cursor of a poll (cursor, since, ETag, retry time): the daemon reads the feed from the "
      "beginning now, for example after a wrong pointer was corrected. Known events change nothing.",
      {"source reset-cursor app"});
  commands.run(verb, text_argument(verb, "NAME", "The source, of type poll"), reset_cursor);
}

}  // namespace

void add_source_commands(Commands& commands) {
  CLI::App* noun = commands.noun("source", "Where status changes come from: webhooks and polls");
  add_list(commands, *noun);
  add_quarantine(commands, *noun);
  add_purge(commands, *noun);
  add_reset_cursor(commands, *noun);
  add_source_refused_command(commands, *noun);
  add_source_try_command(commands, *noun);
}

}  // namespace giftsync::cli
