#include "cli/status/source_commands.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <set>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/input_file.h"
#include "cli/listing.h"
#include "daemon/config/connection_urls.h"
#include "daemon/config/source_checks.h"
#include "daemon/wiring/source_trial.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::cli {
namespace {

using Kind = TextTable::Kind;

/// The settings of a source; null when the settings no longer have it.
const config::SourceSettings* settings_of(const config::Settings& settings, const std::string& name) {
  const auto found = std::find_if(
      settings.sources.begin(), settings.sources.end(),
      [&](const config::SourceSettings& source_settings) { return source_settings.name == name; });
  return found == settings.sources.end() ? nullptr : &*found;
}

std::string kind_of(const config::SourceSettings* source) {
  if (source == nullptr) return "removed";
  return source->kind == config::SourceKind::poll ? "poll" : "webhook";
}

std::string url_of(const config::Settings& settings, const config::SourceSettings* source) {
  return source == nullptr ? "" : config::webhook_url(settings.server.admin_url, *source);
}

/// The sources of the store, then those of the settings that no daemon has started yet.
std::vector<store::SourceSummary> all_source_rows(CliContext& ctx) {
  std::vector<store::SourceSummary> rows = ctx.store.sources.list();
  for (const config::SourceSettings& source : ctx.settings.sources) {
    const bool known = std::any_of(rows.begin(), rows.end(),
                                   [&](const store::SourceSummary& row) { return row.name == source.name; });
    if (known) continue;
    store::SourceSummary row;
    row.name = source.name;
    row.state = "new";
    rows.push_back(row);
  }
  return rows;
}

/// The details that do not fit into a row of 80 columns, for the line below it.
std::string detail_text(const store::SourceSummary& row, const config::SourceSettings* source,
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

void describe(ListedRow& row, const store::SourceSummary& summary, const config::SourceSettings* source,
              const std::string& url) {
  const bool is_poll = source && source->kind == config::SourceKind::poll;
  row.add("name", {"NAME", Kind::elastic}, summary.name);
  row.add_json("type", kind_of(source));
  row.add_json("webhook_url", text_or_null(url));
  row.add_json("transactions",
               source == nullptr ? Json(nullptr) : Json(source->external ? "external" : "own"));
  row.add("state", {"STATE"}, summary.state);
  row.add_json("state_since", json_time(summary.state_since));
  row.add_json("reason", text_or_null(summary.reason));
  row.add_json("last_received_at", json_time(summary.last_received_at));
  row.add_json("next_poll_at", is_poll ? json_time(summary.next_attempt_at) : Json(nullptr));
  row.add_json("failures", summary.failures);
  row.add("accepted", {"ACCEPTED", Kind::number}, summary.accepted);
  row.add("duplicates", {"DUP", Kind::number}, summary.duplicates);
  row.add("ignored", {"IGNORED", Kind::number}, summary.ignored);
  row.add_json("gifts", summary.gifts);
  row.add("orphaned", {"ORPHANED", Kind::number}, summary.orphaned);
  row.add("quarantined", {"QUARANTINED", Kind::number}, summary.quarantined);
  row.add("refused", {"REFUSED", Kind::number}, summary.rejected);
  row.add_json("refused_in_row", summary.refused_in_row);
  row.add_json("last_refused_at", json_time(summary.last_refused_at));
  row.add_json("last_refusal", text_or_null(summary.last_refusal));
  row.add_json("cursor_state", text_or_null(summary.cursor_state));
  row.set_below(detail_text(summary, source, url));
}

int list_sources(const Console& console, CliContext& ctx, bool json) {
  Listing list(console.out, json);
  const std::vector<store::SourceSummary> sources = all_source_rows(ctx);
  for (const store::SourceSummary& summary : sources) {
    const config::SourceSettings* source = settings_of(ctx.settings, summary.name);
    list.add([&](ListedRow& row) { describe(row, summary, source, url_of(ctx.settings, source)); });
  }
  list.finish();
  if (sources.empty()) console.info("There are no sources: the settings (sources) name none.");
  return EX_OK;
}

/// Null when the settings have no such poll; then `console` shows that.
const config::SourceSettings* find_poll(const Console& console, CliContext& ctx, const std::string& name) {
  const config::SourceSettings* source = settings_of(ctx.settings, name);
  if (source != nullptr && source->kind == config::SourceKind::poll) return source;
  console.fail(
      EX_DATAERR,
      fmt::format("{} is not a poll of the settings; \"giftsyncctl source list\" shows the sources and types",
                  in_quotes(name)));
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
  const config::SourceSettings* source = find_poll(console, ctx, options.name);
  if (source == nullptr) return EX_DATAERR;
  constexpr const char* kOwner = "giftsyncctl";
  constexpr std::int64_t kLeaseMillis = 10 * kSecondMillis;
  constexpr UtcMillis kAnyWait{std::numeric_limits<std::int64_t>::max()};
  store::Sources& sources = ctx.store.sources;
  const auto claim = sources.claim(options.name, kOwner, kLeaseMillis, kAnyWait);
  if (!claim) {
    return console.fail(EX_TEMPFAIL, fmt::format("{} is being polled now, or was never polled; try again "
                                                 "in a minute, while giftsyncd runs",
                                                 options.name));
  }
  const auto position =
      wiring::continue_poll_at(*source, ctx.store.metadata(store::kInstallationIdFact).value_or(""),
                               claim->cursor_state, options.value);
  // The claim alone is no change. VALUE may be a URL with a secret.
  if (position) audit_object(console, options.name);
  sources.release_claim(options.name, kOwner,
                        {console.now(), claim->failures, position ? std::optional(*position) : std::nullopt});
  if (!position)
    return console.fail(
        EX_DATAERR, fmt::format("VALUE: found {}; allowed: {}", in_quotes(options.value), position.error()));
  fmt::print(console.out, "{} continues at {} now\n", options.name, in_quotes(options.value));
  return EX_OK;
}

void add_list(Commands& commands, Command& noun) {
  Command* verb = commands.verb(
      noun, "list",
      "List each source with the URL of a webhook; its state (new, ok, failing, invalid, over_limit) and "
      "since when; the number of accepted (new) changes, duplicates and ignored events (a status mapped to "
      "ignore, or a mail that "
      "giftsync did not send); how many accepted changes are orphaned now; how many events are quarantined; "
      "and how many messages were refused (signature, form or size), with time and reason of the last one.",
      {"source list", "source list --json"});
  commands.run(verb, json_flag(verb), list_sources);
}

void add_reset_cursor(Commands& commands, Command& noun) {
  Command* verb = commands.verb(
      noun, "reset-cursor",
      "Clear the cursor of a poll (cursor, since, ETag, retry time): the daemon reads the feed from the "
      "beginning now, for example after a wrong pointer was corrected. Known events change nothing.",
      {"source reset-cursor app"});
  commands.run(verb, text_argument(verb, "NAME", "The source, of type poll"), reset_cursor);
}

void add_set_cursor(Commands& commands, Command& noun) {
  const auto options = std::make_shared<CursorOptions>();
  Command* verb = commands.verb(
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
  Command* noun = commands.noun("source", "Where status changes come from: webhooks and polls");
  add_list(commands, *noun);
  add_source_event_commands(commands, *noun);
  add_reset_cursor(commands, *noun);
  add_set_cursor(commands, *noun);
  add_source_refused_command(commands, *noun);
  add_source_try_command(commands, *noun);
}

namespace {

std::set<std::string> source_names(CliContext& ctx) {
  std::set<std::string> names;
  for (const config::SourceSettings& source : ctx.settings.sources) names.insert(source.name);
  for (const store::SourceSummary& row : ctx.store.sources.list()) names.insert(row.name);
  return names;
}

std::string known_names(const std::set<std::string>& names) {
  if (names.empty()) return "the settings name none (sources)";
  return fmt::format("known: {}", fmt::join(names, ", "));
}

}  // namespace

std::optional<std::string> source_fault(CliContext& ctx, const std::string& name) {
  const std::set<std::string> names = source_names(ctx);
  if (names.contains(name)) return std::nullopt;
  return fmt::format("there is no source {}; {}", in_quotes(name), known_names(names));
}

std::optional<std::string> change_source_fault(CliContext& ctx, const std::string& name) {
  const auto own = config::reserved_source_names();
  if (std::find(own.begin(), own.end(), name) != own.end()) return std::nullopt;
  auto fault = source_fault(ctx, name);
  if (fault) *fault += fmt::format("; reserved names of giftsync: {}", fmt::join(own, ", "));
  return fault;
}

// Source try: what a sample document would do under the settings (SRC-62).

namespace {

using wiring::SourceTrial;

/// As of a poll's page.
constexpr std::size_t kMaxSampleBytes = std::size_t{16} << 20;

struct TryOptions {
  std::string name;
  std::string path = "-";
  bool json = false;
};

std::string gift_word(const sync::EventTrial& trial) {
  if (!trial.status) return {};
  return trial.gift_exists ? "exists" : trial.gift_known ? "created" : "unknown";
}

Json json_of(const SourceTrial::Event& event, std::size_t number) {
  const sync::EventTrial& trial = event.trial;
  Json fields = Json::object();
  for (const auto& [key, text] : event.fields) fields[std::string(key)] = text;
  return {{"event", number},
          {"outcome", to_word(trial.outcome)},
          {"fields", std::move(fields)},
          {"status", trial.status ? Json(to_word(*trial.status)) : Json(nullptr)},
          {"occurred_at", json_time(trial.occurred_at)},
          {"recipient_transaction_id", trial.transaction ? Json(trial.transaction->value) : Json(nullptr)},
          {"external_id", text_or_null(trial.external_id)},
          {"gift", text_or_null(gift_word(trial))},
          {"creates_gift", trial.creates_gift},
          {"reason", trial.reason ? Json(to_word(*trial.reason)) : Json(nullptr)},
          {"detail", text_or_null(trial.detail)}};
}

/// "gift 12 "ord_1"", without the number while none is allotted.
std::string gift_name(const sync::EventTrial& trial) {
  std::string name = "gift";
  if (trial.transaction) name += fmt::format(" {}", trial.transaction->value);
  if (!trial.external_id.empty()) name += " " + in_quotes(trial.external_id);
  return name;
}

std::string gift_text(const sync::EventTrial& trial) {
  if (trial.gift_exists) return gift_name(trial) + " exists";
  if (trial.creates_gift) return gift_name(trial) + " would be created";
  return gift_name(trial) +
         (trial.gift_known ? " would be created by another event of this sample" : " is unknown");
}

void print_event(std::ostream& out, const SourceTrial::Event& event, std::size_t number) {
  const sync::EventTrial& trial = event.trial;
  fmt::print(out, "event {}: {}{}\n", number, to_word(trial.outcome),
             trial.reason ? fmt::format(" ({})", to_word(*trial.reason)) : "");
  for (const auto& [key, text] : event.fields) {
    std::string meaning;
    if (key == "status" && trial.status) meaning = fmt::format(" -> {}", to_word(*trial.status));
    if (key == "occurred_at" && trial.occurred_at) meaning = " -> " + to_rfc3339(*trial.occurred_at);
    fmt::print(out, "  {:<15} {}{}\n", key, printable(text), meaning);
  }
  if (trial.status) fmt::print(out, "  {}\n", printable(gift_text(trial)));
  if (!trial.detail.empty()) fmt::print(out, "  {}\n", printable(trial.detail));
}

std::size_t count_applied(const SourceTrial& trial) {
  if (!trial.refusal.empty()) return 0;
  return static_cast<std::size_t>(
      std::count_if(trial.events.begin(), trial.events.end(),
                    [](const SourceTrial::Event& event) { return event.trial.is_applied(); }));
}

void print_trial(const Console& console, const TryOptions& options, const SourceTrial& trial) {
  if (options.json) {
    Json events = Json::array();
    for (const SourceTrial::Event& event : trial.events) events.push_back(json_of(event, events.size() + 1));
    console.out << json_text(Json{{"source", options.name},
                                  {"refusal", text_or_null(trial.refusal)},
                                  {"applied", count_applied(trial)},
                                  {"events", std::move(events)}})
                << '\n';
    return;
  }
  std::size_t number = 0;
  for (const SourceTrial::Event& event : trial.events) print_event(console.out, event, ++number);
  if (!trial.refusal.empty())
    fmt::print(console.out, "The whole document would be refused: {}\n", printable(trial.refusal));
  fmt::print(console.out, "{} of {} would be applied; nothing was changed\n", count_applied(trial),
             pluralize(static_cast<std::int64_t>(trial.events.size()), "event"));
}

tl::expected<std::string, Refusal> read_sample(const Console& console, const std::string& path) {
  auto input = InputFile::open(path, console);
  if (!input) return tl::unexpected(std::move(input.error()));
  std::string text(kMaxSampleBytes + 1, '\0');
  input->stream().read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(input->stream().gcount()));
  if (text.size() <= kMaxSampleBytes) return text;
  return tl::unexpected(Refusal{EX_DATAERR, {fmt::format("{} is larger than 16 MiB", input->name())}});
}

int try_sample(const Console& console, CliContext& ctx, const TryOptions& options) {
  const auto source = std::find_if(
      ctx.settings.sources.begin(), ctx.settings.sources.end(),
      [&](const config::SourceSettings& source_settings) { return source_settings.name == options.name; });
  if (source == ctx.settings.sources.end())
    return console.fail(EX_DATAERR, source_fault(ctx, options.name)
                                        .value_or(fmt::format("{} is not in the settings (sources) any more",
                                                              in_quotes(options.name))));
  if (const auto fault = wiring::untriable_source(*source))
    return console.fail(EX_DATAERR, fmt::format("{} cannot be tried: {}", in_quotes(options.name), *fault));
  const auto sample = read_sample(console, options.path);
  if (!sample) return console.fail(sample.error());
  const SourceTrial trial = wiring::try_source(*source, ctx.store, *sample, console.now());
  print_trial(console, options, trial);
  return trial.refusal.empty() && count_applied(trial) == trial.events.size() ? EX_OK : 1;
}

}  // namespace

void add_source_try_command(Commands& commands, Command& source) {
  const auto options = std::make_shared<TryOptions>();
  Command* verb = commands.verb(
      source, "try",
      "Show what a sample of the source's messages or pages would do under the settings file, without a "
      "change: for each event its fields, its status and time, its gift, and whether it would be accepted, a "
      "duplicate, orphaned, ignored or quarantined, and why. Exit 0 when every event would be applied, "
      "otherwise 1.",
      {"source try vendor <sample.json", "source try vendor sample.json --json",
       "source refused vendor --show 17 | giftsyncctl source try vendor"});
  verb->add_option("NAME", options->name, "The source")->required();
  verb->add_option("FILE", options->path, "The sample; - is standard input");
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, try_sample);
}

}  // namespace giftsync::cli
