#include "cli/source_refused.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "cli/commands.h"
#include "cli/listing.h"
#include "cli/source_lookup.h"
#include "platform/plural.h"
#include "platform/quoted_text.h"

namespace giftsync::cli {
namespace {

using schema::store::RefusedMessage;
using Kind = TextTable::Kind;

struct RefusedOptions {
  std::string name;
  std::int64_t limit = static_cast<std::int64_t>(schema::store::kMaxRefusedPerSource);
  std::int64_t show = 0;  ///< an id; 0: list
  bool json = false;
};

Json json_of(const RefusedMessage& one) {
  return {{"id", one.id},
          {"source", one.source},
          {"received_at", json_time(one.received_at)},
          {"http_status", one.status},
          {"reason", one.reason},
          {"size", one.size},
          {"kept_bytes", one.body.size()},
          {"message_id", text_or_null(one.message_id)}};
}

/// The body and nothing else, so that it can be piped into `source try`.
int show_body(const Console& console, CliContext& ctx, const RefusedOptions& options) {
  const auto message = ctx.store.refused_messages.find(options.name, options.show);
  if (!message)
    return console.fail(
        EX_DATAERR,
        fmt::format("there is no refused message {} of {}; \"{}source refused {}\" lists those that are kept",
                    options.show, platform::in_quotes(options.name), program_with(ctx.settings),
                    options.name));
  console.out.write(message->body.data(), static_cast<std::streamsize>(message->body.size()));
  console.out.flush();
  if (message->is_cut())
    console.info(
        fmt::format("The body is cut: {} of its {} bytes are kept.", message->body.size(), message->size));
  return EX_OK;
}

int list_refused(const Console& console, CliContext& ctx, const RefusedOptions& options) {
  Listing list(console.out, options.json,
               {{"ID", Kind::number},
                {"RECEIVED (UTC)"},
                {"STATUS", Kind::number},
                {"BYTES", Kind::number},
                {"MESSAGE ID", Kind::elastic}});
  const auto messages =
      ctx.store.refused_messages.list(options.name, static_cast<std::size_t>(options.limit));
  for (const RefusedMessage& one : messages) {
    list.add([&] { return json_of(one); },
             [&]() -> TextTable::Row {
               return {{std::to_string(one.id), minute_text(one.received_at), std::to_string(one.status),
                        std::to_string(one.size) + (one.is_cut() ? " (cut)" : ""), one.message_id},
                       one.reason};
             });
  }
  list.finish();
  if (messages.empty())
    console.info(fmt::format("No refused message of {} is kept.", platform::in_quotes(options.name)));
  return EX_OK;
}

int run_refused(const Console& console, CliContext& ctx, const RefusedOptions& options) {
  if (const auto fault = source_fault(ctx, options.name)) return console.fail(EX_DATAERR, *fault);
  return options.show > 0 ? show_body(console, ctx, options) : list_refused(console, ctx, options);
}

}  // namespace

std::string last_refusal_text(const schema::store::SourceSummary& row) {
  if (!row.last_refused_at) return {};
  return fmt::format("last refused {} UTC{}: {}", minute_text(row.last_refused_at),
                     row.refused_in_row > 1 ? fmt::format(", {} in a row", row.refused_in_row) : "",
                     row.last_refusal);
}

void add_source_refused_command(Commands& commands, CLI::App& source) {
  const auto options = std::make_shared<RefusedOptions>();
  CLI::App* verb = commands.verb(
      source, "refused",
      "List the newest refused messages of a webhook whose sender was verified, newest first: time, HTTP "
      "status, bytes, message id and reason. --show prints the body of one as it came. 100 messages of a "
      "source are kept for 30 days, 64 KiB of each.",
      {"source refused vendor", "source refused vendor --limit 5 --json", "source refused vendor --show 17"});
  verb->add_option("NAME", options->name, "The source")->required();
  CLI::Option* show = verb->add_option("--show", options->show, "Print the body of the message with this id")
                          ->check(whole_number());
  verb->add_option("--limit", options->limit, "At most this many")->check(whole_number())->excludes(show);
  verb->add_flag("--json", options->json, "Print JSON")->excludes(show);
  commands.run(verb, options, run_refused);
}

}  // namespace giftsync::cli
