#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "cli/commands.h"
#include "cli/day_or_time.h"
#include "cli/listing.h"
#include "platform/visible_text.h"

namespace giftsync::cli {
namespace {

using store::AuditEvent;

struct AuditOptions {
  store::AuditFilter filter;
  std::string object;
  std::string since;
  std::int64_t limit = 100;
  bool json = false;
};

void describe(ListedRow& row, const AuditEvent& event) {
  using Kind = TextTable::Kind;
  row.add_json("id", event.id);
  row.add("at", {"TIME (UTC)"}, event.occurred_at);
  row.add_json("actor_kind", to_word(event.actor_kind));
  row.add("actor", {"ACTOR", Kind::elastic}, event.actor);
  row.add_json("session", text_or_null(event.session));
  row.add_json("request_id", text_or_null(event.request_id));
  row.add_json("network", text_or_null(event.network));
  row.add("action", {"ACTION"}, event.action);
  row.add_json("object_kind", text_or_null(event.object_kind));
  row.add_json("object_id", text_or_null(event.object_id));
  row.add_cell({"OBJECT", Kind::elastic},
               event.object_kind + (event.object_id.empty() ? "" : " ") + event.object_id);
  row.add("outcome", {"OUTCOME"}, event.refused ? "refused" : "done",
          event.refused ? "refused" + (event.rule.empty() ? "" : " (" + event.rule + ")") : "done");
  row.add_json("rule", text_or_null(event.rule));
  row.add("detail", {"DETAIL", Kind::elastic_last}, text_or_null(event.detail), event.detail);
}

/// The command that lists all of them.
std::string whole_list(const config::Settings& settings, const AuditOptions& options) {
  std::string command = program_with(settings) + "audit list";
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) command += fmt::format(" {} {}", option, shell_word(value));
  };
  add("--actor", options.filter.actor);
  add("--action", options.filter.action);
  add("--object", options.object);
  add("--since", options.since);
  return command + " --limit 0";
}

int list_events(const Console& console, store::Store& store, const config::Settings& settings,
                AuditOptions& options) {
  if (!options.since.empty()) options.filter.since = parse_day_or_time(options.since, console.now());
  store::set_object(options.filter, options.object);
  Listing list(console.out, options.json);
  constexpr std::size_t kPageRows = 500;
  const auto next_page = [&] {
    auto page = store.audit.list(store::Viewer::of_command_line(), options.filter, kPageRows);
    if (!page.empty()) options.filter.before = page.back().id;
    return page;
  };
  std::optional<std::int64_t> last;
  const std::int64_t count = each_row(console, options.limit, next_page, [&](const AuditEvent& event) {
    last = event.id;
    list.add([&](ListedRow& row) { describe(row, event); });
  });
  list.finish();
  if (count == 0 && !options.json) console.info("No event.");
  if (count == 0 || count != options.limit) return EX_OK;
  options.filter.before = last;
  if (!store.audit.list(store::Viewer::of_command_line(), options.filter, 1).empty())
    console.info(fmt::format("Older events are left out. All of them: {}", whole_list(settings, options)));
  return EX_OK;
}

}  // namespace

void add_audit_commands(Commands& commands) {
  Command* noun = commands.noun("audit", "Who did what in the console, and to its users");
  const auto options = std::make_shared<AuditOptions>();
  Command* verb = commands.verb(*noun, "list", "List the events of the audit log, the newest first.",
                                {"audit list", "audit list --action user. --since 7d",
                                 "audit list --object 'gift 17'", "audit list --object request:R-4 --json"});
  verb->add_option("--actor", options->filter.actor,
                   "Only events of this user: an e-mail address, or an operating system's user as listed")
      ->option_text("ACTOR");
  verb->add_option("--action", options->filter.action,
                   "Only this action, or those that begin so, such as user.")
      ->option_text("ACTION");
  verb->add_option(
          "--object", options->object,
          "Only events of this object, as listed, such as 'gift 17' or gift:17, of request R-4, which "
          "is R-000004, or of all of a kind, such as request")
      ->option_text("OBJECT");
  verb->add_option("--since", options->since, "Only events since then: 2026-10-31, 2026-10-31T08:00:00Z, 7d")
      ->option_text("TIME")
      ->check(day_or_time());
  verb->add_option("--limit", options->limit, "At most this many events (default 100; 0: all)")
      ->option_text("N")
      ->check(number_between(0, std::numeric_limits<std::int64_t>::max()));
  verb->add_flag("--json", options->json, "Print a JSON array");
  commands.run_with_store_alone(verb, options, list_events);
}

}  // namespace giftsync::cli
