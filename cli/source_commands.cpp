#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "cli/commands.h"
#include "cli/json_array_writer.h"
#include "cli/source_lookup.h"
#include "cli/text_table.h"
#include "platform/quoted_text.h"

namespace giftsync::cli {
namespace {

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
          {"reason", row.reason.empty() ? Json(nullptr) : Json(row.reason)},
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
          {"cursor_state", row.cursor_state.empty() ? Json(nullptr) : Json(row.cursor_state)}};
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
  return row.reason.empty() ? text : text + ": " + row.reason;
}

int list_sources(const Console& console, CliContext& ctx, bool json) {
  JsonArrayWriter list(console.out);
  TextTable table(console.out, {{"NAME", TextTable::Kind::elastic},
                                {"STATE"},
                                {"ACCEPTED", TextTable::Kind::number},
                                {"DUP", TextTable::Kind::number},
                                {"IGNORED", TextTable::Kind::number},
                                {"ORPHANED", TextTable::Kind::number},
                                {"QUARANTINED", TextTable::Kind::number},
                                {"REFUSED", TextTable::Kind::number}});
  const std::vector<schema::store::SourceSummary> rows = all_source_rows(ctx);
  for (const schema::store::SourceSummary& row : rows) {
    const daemon::config::SourceSettings* source = settings_of(ctx.settings, row.name);
    if (json) {
      list.add(json_of(row, source));
    } else {
      table.add({row.name, row.state, std::to_string(row.accepted), std::to_string(row.duplicates),
                 std::to_string(row.ignored), std::to_string(row.orphaned), std::to_string(row.quarantined),
                 std::to_string(row.rejected)},
                detail_text(row, source));
    }
  }
  json ? list.finish() : table.finish();
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

int list_quarantined(const Console& console, CliContext& ctx, const std::string& name, bool orphaned,
                     bool json) {
  JsonArrayWriter list(console.out);
  TextTable table(console.out, {{"ID", TextTable::Kind::number},
                                {"SOURCE"},
                                {"REASON"},
                                {"SOURCE STATUS", TextTable::Kind::elastic},
                                {"TRANSACTION", TextTable::Kind::elastic},
                                {"RECEIVED (UTC)"}});
  std::int64_t after = 0;
  while (console.out) {
    const auto page = orphaned ? ctx.store.sources.orphaned_payloads(name, after, kPageSize)
                               : ctx.store.sources.list_quarantined(name, after, kPageSize);
    for (const schema::store::QuarantinedEvent& one : page) {
      after = one.id;
      if (json) {
        list.add(json_of(one));
      } else {
        table.add({std::to_string(one.id), one.source, std::string(to_word(one.reason)),
                   printable(one.status_word), printable(one.transaction), minute_text(one.received_at)},
                  printable(one.detail));
      }
    }
    if (page.size() < kPageSize) break;
  }
  json ? list.finish() : table.finish();
  if (after == 0) console.info(orphaned ? "No orphaned change has its event." : "No quarantined events.");
  return EX_OK;
}

int list_by_status(const Console& console, CliContext& ctx, bool json) {
  JsonArrayWriter list(console.out);
  TextTable table(console.out, {{"SOURCE"},
                                {"REASON"},
                                {"SOURCE STATUS", TextTable::Kind::elastic},
                                {"COUNT", TextTable::Kind::number}});
  const auto counts = ctx.store.sources.count_quarantined(kPageSize);
  for (const auto& one : counts) {
    if (json) {
      list.add({{"source", one.source},
                {"reason", to_word(one.reason)},
                {"source_status", one.status_word},
                {"count", one.count}});
    } else {
      table.add({one.source, std::string(to_word(one.reason)), printable(one.status_word),
                 std::to_string(one.count)});
    }
  }
  json ? list.finish() : table.finish();
  if (counts.empty()) console.info("No quarantined events.");
  return EX_OK;
}

struct PurgeOptions {
  std::string name;
  std::string reason;  ///< "all", "orphaned" or a quarantine reason
};

int purge(const Console& console, CliContext& ctx, const PurgeOptions& options) {
  if (const auto fault = source_fault(ctx, options.name)) return console.fail(EX_DATAERR, *fault);
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

}  // namespace

void add_source_commands(Commands& commands) {
  CLI::App* noun = commands.noun("source", "Where status changes come from: webhooks and polls");
  const auto json = std::make_shared<bool>(false);
  CLI::App* list = commands.verb(
      *noun, "list",
      "List each source with its state (new, ok, failing, invalid, over_limit) and since when; the number of "
      "accepted (new) changes, duplicates and ignored events (a status mapped to ignore, or a mail that "
      "giftsync did not send); how many accepted changes are orphaned now; how many events are quarantined; "
      "and how many messages were refused (signature, form or size).",
      {"source list", "source list --json"});
  list->add_flag("--json", *json, "Print JSON");
  commands.run(list,
               [json](const Console& console, CliContext& ctx) { return list_sources(console, ctx, *json); });

  const auto name = std::make_shared<std::string>();
  const auto by_status = std::make_shared<bool>(false);
  const auto orphaned = std::make_shared<bool>(false);
  CLI::App* quarantine = commands.verb(
      *noun, "quarantine",
      "List quarantined events, which giftsync cannot apply: a status that status_map does not have, a time "
      "before 2000 or in the future, a status that the source may not set, a malformed event, a transaction "
      "of another source. After a change of the source's settings the daemon processes them again. It also "
      "processes the events of orphaned changes again, which --orphaned lists instead, each with what is "
      "missing to create its gift.",
      {"source quarantine", "source quarantine vendor --json", "source quarantine --by-status",
       "source quarantine vendor --orphaned"});
  quarantine->add_option("NAME", *name, "Only events of this source");
  CLI::Option* by_status_flag =
      quarantine->add_flag("--by-status", *by_status, "Count them by source, reason and status");
  quarantine->add_flag("--orphaned", *orphaned, "List the events of orphaned changes instead")
      ->excludes(by_status_flag);
  quarantine->add_flag("--json", *json, "Print JSON");
  commands.run(quarantine, [name, by_status, orphaned, json](const Console& console, CliContext& ctx) {
    if (const auto fault = name->empty() ? std::nullopt : source_fault(ctx, *name))
      return console.fail(EX_DATAERR, *fault);
    return *by_status ? list_by_status(console, ctx, *json)
                      : list_quarantined(console, ctx, *name, *orphaned, *json);
  });

  const auto options = std::make_shared<PurgeOptions>();
  CLI::App* verb = commands.verb(
      *noun, "purge",
      "Delete quarantined events of a source (all, or those of one reason), or its orphaned changes with "
      "their events. This cannot be undone.",
      {"source purge vendor --reason all", "source purge vendor --reason implausible_time",
       "source purge vendor --reason orphaned"});
  verb->add_option("NAME", options->name, "The source")->required();
  verb->add_option("--reason", options->reason,
                   "all: every quarantined event; orphaned: the orphaned changes; else the events with this "
                   "reason")
      ->required()
      ->check(one_of(
          {"all", "unknown_status", "implausible_time", "may_set", "malformed", "other_source", "orphaned"}));
  commands.run(verb,
               [options](const Console& console, CliContext& ctx) { return purge(console, ctx, *options); });

  const auto reset_name = std::make_shared<std::string>();
  CLI::App* reset = commands.verb(
      *noun, "reset-cursor",
      "Clear the cursor of a poll (cursor, since, ETag, retry time): the daemon reads the feed from the "
      "beginning now, for example after a wrong pointer was corrected. Known events change nothing.",
      {"source reset-cursor app"});
  reset->add_option("NAME", *reset_name, "The source, of type poll")->required();
  commands.run(reset, [reset_name](const Console& console, CliContext& ctx) {
    return reset_cursor(console, ctx, *reset_name);
  });
}

}  // namespace giftsync::cli
