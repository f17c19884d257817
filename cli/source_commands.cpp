#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/source_refused.h"
#include "daemon/config/connection_urls.h"
#include "platform/quoted_text.h"
#include "wiring/poll_position.h"

namespace giftsync::cli {
namespace {

using Kind = TextTable::Kind;

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

std::string url_of(const daemon::config::Settings& settings, const daemon::config::SourceSettings* source) {
  return source == nullptr ? "" : daemon::config::webhook_url(settings.server.admin_url, *source);
}

Json json_of(const schema::store::SourceSummary& row, const daemon::config::SourceSettings* source,
             const std::string& url) {
  const bool is_poll = source && source->kind == daemon::config::SourceKind::poll;
  return {{"name", row.name},
          {"type", kind_of(source)},
          {"webhook_url", text_or_null(url)},
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
std::string detail_text(const schema::store::SourceSummary& row, const daemon::config::SourceSettings* source,
                        const std::string& url) {
  std::string text = kind_of(source);
  const bool has_run = row.state_since.value > 0;  // by a daemon
  if (has_run) text += fmt::format(", {} since {} UTC", row.state, minute_text(row.state_since));
  if (row.last_received_at) text += fmt::format(", last received {} UTC", minute_text(row.last_received_at));
  if (!row.reason.empty()) text += ": " + row.reason;
  const std::string refusal = last_refusal_text(row);
  if (!refusal.empty()) text += "; " + refusal;
  return url.empty() ? text : text + "; its URL: " + url;
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
    const std::string url = url_of(ctx.settings, source);
    list.add([&] { return json_of(row, source, url); },
             [&]() -> TextTable::Row {
               return {{row.name, row.state, std::to_string(row.accepted), std::to_string(row.duplicates),
                        std::to_string(row.ignored), std::to_string(row.orphaned),
                        std::to_string(row.quarantined), std::to_string(row.rejected)},
                       detail_text(row, source, url)};
             });
  }
  list.finish();
  if (rows.empty()) console.info("There are no sources: the settings (sources) name none.");
  return EX_OK;
}

/// Null when the settings have no such poll; then `console` shows that.
const daemon::config::SourceSettings* find_poll(const Console& console, CliContext& ctx,
                                                const std::string& name) {
  const daemon::config::SourceSettings* source = settings_of(ctx.settings, name);
  if (source != nullptr && source->kind == daemon::config::SourceKind::poll) return source;
  console.fail(
      EX_DATAERR,
      fmt::format("{} is not a poll of the settings; \"giftsyncctl source list\" shows the sources and types",
                  platform::in_quotes(name)));
  return nullptr;
}

int reset_cursor(const Console& console, CliContext& ctx, const std::string& name) {
  if (find_poll(console, ctx, name) == nullptr) return EX_DATAERR;
  if (!ctx.store.sources.reset_cursor(name)) {
    console.info(fmt::format("{} has not been polled yet; it starts at the beginning.", name));
    return EX_OK;
  }
  fmt::print(console.out, "{} is polled again from the beginning now\n", name);
  return EX_OK;
}

struct CursorOptions {
  std::string name;
  std::string value;
};

/// Claims the poll, so that no daemon reads a page meanwhile, and releases it with the new cursor.
int set_cursor(const Console& console, CliContext& ctx, const CursorOptions& options) {
  const daemon::config::SourceSettings* source = find_poll(console, ctx, options.name);
  if (source == nullptr) return EX_DATAERR;
  constexpr const char* kOwner = "giftsyncctl";
  constexpr std::int64_t kLeaseMillis = 10 * platform::kSecondMillis;
  constexpr platform::UtcMillis kAnyWait{std::numeric_limits<std::int64_t>::max()};
  schema::store::Sources& sources = ctx.store.sources;
  const auto claim = sources.claim(options.name, kOwner, kLeaseMillis, kAnyWait);
  if (!claim) {
    return console.fail(EX_TEMPFAIL, fmt::format("{} is being polled now, or was never polled; try again "
                                                 "in a minute, while giftsyncd runs",
                                                 options.name));
  }
  const auto position =
      wiring::continue_poll_at(*source, ctx.store.fact(schema::store::kInstallationIdFact).value_or(""),
                               claim->cursor_state, options.value);
  // The claim alone is no change. VALUE may be a URL with a secret.
  if (position) audit_object(console, options.name);
  sources.release_claim(options.name, kOwner,
                        {console.now(), claim->failures, position ? std::optional(*position) : std::nullopt});
  if (!position)
    return console.fail(EX_DATAERR, fmt::format("VALUE: found {}; allowed: {}",
                                                platform::in_quotes(options.value), position.error()));
  fmt::print(console.out, "{} continues at {} now\n", options.name, platform::in_quotes(options.value));
  return EX_OK;
}

void add_list(Commands& commands, CLI::App& noun) {
  CLI::App* verb = commands.verb(
      noun, "list",
      "List each source with the URL of a webhook; its state (new, ok, failing, invalid, over_limit) and "
      "since when; the number of accepted (new) changes, duplicates and ignored events (a status mapped to "
      "ignore, or a mail that "
      "giftsync did not send); how many accepted changes are orphaned now; how many events are quarantined; "
      "and how many messages were refused (signature, form or size), with time and reason of the last one.",
      {"source list", "source list --json"});
  commands.run(verb, json_flag(verb), list_sources);
}

void add_reset_cursor(Commands& commands, CLI::App& noun) {
  CLI::App* verb = commands.verb(
      noun, "reset-cursor",
      "Clear the cursor of a poll (cursor, since, ETag, retry time): the daemon reads the feed from the "
      "beginning now, for example after a wrong pointer was corrected. Known events change nothing.",
      {"source reset-cursor app"});
  commands.run(verb, text_argument(verb, "NAME", "The source, of type poll"), reset_cursor);
}

void add_set_cursor(Commands& commands, CLI::App& noun) {
  const auto options = std::make_shared<CursorOptions>();
  CLI::App* verb = commands.verb(
      noun, "set-cursor",
      "Make a poll continue at VALUE now, past a page that cannot be read: the cursor that follows it, with "
      "next the URL of the page that follows, with since a time. Look at the page first: events on it are "
      "not read, and \"giftsyncctl change import\" takes what it says.",
      {"source set-cursor app 1742", "source set-cursor app 2026-11-21T12:31:07Z"});
  verb->add_option("NAME", options->name, "The source, of type poll")->required();
  verb->add_option("VALUE", options->value, "A cursor, a URL or a time")->required();
  commands.run(verb, options, set_cursor);
}

}  // namespace

void add_source_commands(Commands& commands) {
  CLI::App* noun = commands.noun("source", "Where status changes come from: webhooks and polls");
  add_list(commands, *noun);
  add_source_event_commands(commands, *noun);
  add_reset_cursor(commands, *noun);
  add_set_cursor(commands, *noun);
  add_source_refused_command(commands, *noun);
  add_source_try_command(commands, *noun);
}

}  // namespace giftsync::cli
