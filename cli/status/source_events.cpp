// source quarantine, purge: the events that are not applied.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <limits>
#include <memory>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/listing.h"
#include "cli/status/source_commands.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::cli {
namespace {

using store::EventState;
using Kind = TextTable::Kind;

constexpr std::size_t kPageSize = 500;

void describe(ListedRow& row, const store::UnappliedEvent& event) {
  row.add("id", {"ID", Kind::number}, event.id);
  row.add("source", {"SOURCE"}, event.source);
  row.add_json("state", to_word(event.state));
  // Only a quarantined event has a reason.
  if (event.reason)
    row.add("reason", {"REASON"}, to_word(*event.reason));
  else
    row.add("reason", {"REASON"}, nullptr, std::string(to_word(event.state)));
  row.add("source_status", {"SOURCE STATUS", Kind::elastic}, event.status_word);
  row.add("recipient_transaction_id", {"TRANSACTION", Kind::elastic}, event.transaction);
  row.add_json("detail", event.detail);
  row.add("received_at", {"RECEIVED (UTC)"}, event.received_at);
  if (row.is_json()) row.add_json("event", Json::parse(event.payload, nullptr, false));
  row.set_below(event.detail);
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

std::vector<store::UnappliedEvent> page_of(CliContext& ctx, const QuarantineOptions& options,
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

int list_events(const Console& console, CliContext& ctx, const QuarantineOptions& options) {
  Listing list(console.out, options.json);
  const auto next_page = [&, after = std::int64_t{0}]() mutable {
    auto page = page_of(ctx, options, after);
    if (!page.empty()) after = page.back().id;
    return page;
  };
  const std::int64_t listed = each_row(console, 0, next_page, [&](const store::UnappliedEvent& event) {
    list.add([&](ListedRow& row) { describe(row, event); });
  });
  list.finish();
  if (listed == 0) console.info(nothing_found(options.state()));
  return EX_OK;
}

int list_by_status(const Console& console, CliContext& ctx, const QuarantineOptions& options) {
  Listing list(console.out, options.json);
  const auto counts = ctx.store.sources.count_quarantined(options.name);
  for (const auto& one : counts) {
    list.add([&](ListedRow& row) {
      row.add("source", {"SOURCE"}, one.source);
      row.add("reason", {"REASON"}, to_word(one.reason));
      row.add("source_status", {"SOURCE STATUS", Kind::elastic}, one.status_word);
      row.add("count", {"COUNT", Kind::number}, one.count);
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
  const std::string of = in_quotes(options.name);
  if (options.reason == "orphaned") {
    const std::int64_t count =
        ctx.store.changes.count_orphaned(options.name, UtcMillis{std::numeric_limits<std::int64_t>::max()});
    return fmt::format("Purge {} of {}?", pluralize(count, "orphaned change"), of);
  }
  if (options.reason == "ignored")
    return fmt::format("Purge {} of {}?",
                       pluralize(ctx.store.sources.count_ignored(options.name), "ignored event"), of);
  std::int64_t count = 0;
  for (const auto& one : ctx.store.sources.count_quarantined(options.name))
    if (options.reason == "all" || to_word(one.reason) == options.reason) count += one.count;
  return fmt::format("Purge {} of {}?", pluralize(count, "quarantined event"), of);
}

std::int64_t purge_events(CliContext& ctx, const PurgeOptions& options) {
  if (options.reason == "orphaned")
    return ctx.store.changes.purge_orphaned(options.name,
                                            UtcMillis{std::numeric_limits<std::int64_t>::max()});
  if (options.reason == "ignored") return ctx.store.sources.purge_ignored(options.name);
  return ctx.store.sources.purge_quarantined(options.name,
                                             store::quarantine_reason_from_word(options.reason));
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

void add_quarantine(Commands& commands, Command& noun) {
  const auto options = std::make_shared<QuarantineOptions>();
  Command* verb = commands.verb(
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
  Option* by_status =
      verb->add_flag("--by-status", options->by_status, "Count them by source, reason and status");
  Option* orphaned =
      verb->add_flag("--orphaned", options->orphaned, "List the events of orphaned changes instead")
          ->excludes(by_status);
  verb->add_flag("--ignored", options->ignored, "List the ignored events instead")
      ->excludes(by_status)
      ->excludes(orphaned);
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, list_quarantined);
}

void add_purge(Commands& commands, Command& noun) {
  const auto options = std::make_shared<PurgeOptions>();
  Command* verb = commands.verb(
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

void add_source_event_commands(Commands& commands, Command& noun) {
  add_quarantine(commands, noun);
  add_purge(commands, noun);
}

namespace {

using store::RefusedMessage;

struct RefusedOptions {
  std::string name;
  std::int64_t limit = static_cast<std::int64_t>(store::kMaxRefusedPerSource);
  std::int64_t show = 0;  ///< an id; 0: list
  bool json = false;
};

void describe(ListedRow& row, const RefusedMessage& message) {
  row.add("id", {"ID", Kind::number}, message.id);
  row.add_json("source", message.source);
  row.add("received_at", {"RECEIVED (UTC)"}, message.received_at);
  row.add("http_status", {"STATUS", Kind::number}, message.status);
  row.add_json("reason", message.reason);
  row.add("size", {"BYTES", Kind::number}, message.size,
          std::to_string(message.size) + (message.is_cut() ? " (cut)" : ""));
  row.add_json("kept_bytes", message.body.size());
  row.add("message_id", {"MESSAGE ID", Kind::elastic}, text_or_null(message.message_id), message.message_id);
  row.set_below(message.reason);
}

/// The body and nothing else, so that it can be piped into `source try`.
int show_body(const Console& console, CliContext& ctx, const RefusedOptions& options) {
  const auto message = ctx.store.refused_messages.find(options.name, options.show);
  if (!message)
    return console.fail(
        EX_DATAERR,
        fmt::format("there is no refused message {} of {}; \"{}source refused {}\" lists those that are kept",
                    options.show, in_quotes(options.name), program_with(ctx.settings), options.name));
  console.out.write(message->body.data(), static_cast<std::streamsize>(message->body.size()));
  console.out.flush();
  if (message->is_cut())
    console.info(
        fmt::format("The body is cut: {} of its {} bytes are kept.", message->body.size(), message->size));
  return EX_OK;
}

int list_refused(const Console& console, CliContext& ctx, const RefusedOptions& options) {
  Listing list(console.out, options.json);
  const auto messages =
      ctx.store.refused_messages.list(options.name, static_cast<std::size_t>(options.limit));
  for (const RefusedMessage& message : messages) list.add([&](ListedRow& row) { describe(row, message); });
  list.finish();
  if (messages.empty())
    console.info(fmt::format("No refused message of {} is kept.", in_quotes(options.name)));
  return EX_OK;
}

int run_refused(const Console& console, CliContext& ctx, const RefusedOptions& options) {
  if (const auto fault = source_fault(ctx, options.name)) return console.fail(EX_DATAERR, *fault);
  return options.show > 0 ? show_body(console, ctx, options) : list_refused(console, ctx, options);
}

}  // namespace

std::string last_refusal_text(const store::SourceSummary& row) {
  if (!row.last_refused_at) return {};
  return fmt::format("last refused {} UTC{}: {}", minute_text(row.last_refused_at),
                     row.refused_in_row > 1 ? fmt::format(", {} in a row", row.refused_in_row) : "",
                     row.last_refusal);
}

void add_source_refused_command(Commands& commands, Command& source) {
  const auto options = std::make_shared<RefusedOptions>();
  Command* verb = commands.verb(
      source, "refused",
      "List the newest refused messages of a webhook whose sender was verified, newest first: time, HTTP "
      "status, bytes, message id and reason. --show prints the body of one as it came. 100 messages of a "
      "source are kept for 30 days, 64 KiB of each.",
      {"source refused vendor", "source refused vendor --limit 5 --json", "source refused vendor --show 17"});
  verb->add_option("NAME", options->name, "The source")->required();
  Option* show = verb->add_option("--show", options->show, "Print the body of the message with this id")
                     ->check(whole_number());
  verb->add_option("--limit", options->limit, "At most this many")->check(whole_number())->excludes(show);
  verb->add_flag("--json", options->json, "Print JSON")->excludes(show);
  commands.run(verb, options, run_refused);
}

}  // namespace giftsync::cli
