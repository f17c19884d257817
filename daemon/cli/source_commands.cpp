#include <fmt/format.h>
#include <fmt/ostream.h>
#include <sysexits.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "daemon/cli/commands.h"
#include "daemon/cli/json_list.h"
#include "daemon/cli/source_names.h"
#include "daemon/cli/text_table.h"
#include "daemon/settings/settings_fault.h"

namespace giftsync::daemon {
namespace {

using schema::SourceStanding;

constexpr std::size_t kPage = 500;

/// How a source is set up; null when the settings have none of that name any more.
const SourceSettings* settings_of(const Settings& settings, const std::string& name) {
  const auto found = std::find_if(settings.sources.begin(), settings.sources.end(),
                                  [&](const SourceSettings& one) { return one.name == name; });
  return found == settings.sources.end() ? nullptr : &*found;
}

std::string kind_of(const SourceSettings* source) {
  if (source == nullptr) return "removed";
  return source->kind == SourceKind::poll ? "poll" : "webhook";
}

Json json_of(const SourceStanding& row, const SourceSettings* source) {
  const bool is_poll = source && source->kind == SourceKind::poll;
  return {{"name", row.name},
          {"type", kind_of(source)},
          {"transactions", source == nullptr ? Json(nullptr) : Json(source->external ? "external" : "own")},
          {"state", row.state},
          {"state_since", json_time(row.state_since)},
          {"reason", row.reason.empty() ? Json(nullptr) : Json(row.reason)},
          {"last_heard_at", json_time(row.last_heard_at)},
          {"next_poll_at", is_poll ? json_time(row.due_at) : Json(nullptr)},
          {"failures", row.failures},
          {"accepted", row.accepted},
          {"repeated", row.repeated},
          {"ignored", row.ignored},
          {"gifts", row.gifts},
          {"held", row.held},
          {"kept_aside", row.kept_aside},
          {"refused", row.refused},
          {"position", row.position.empty() ? Json(nullptr) : Json(row.position)}};
}

/// What the store knows, and what the settings name and no daemon has begun with yet.
std::vector<SourceStanding> all_standings(Installation& place) {
  std::vector<SourceStanding> rows = place.store.sources.standings();
  for (const SourceSettings& source : place.settings.sources) {
    const bool known = std::any_of(rows.begin(), rows.end(),
                                   [&](const SourceStanding& row) { return row.name == source.name; });
    if (known) continue;
    SourceStanding row;
    row.name = source.name;
    row.state = "new";
    rows.push_back(row);
  }
  return rows;
}

/// What does not fit in a row of 80 columns, for the line below it.
std::string facts_of(const SourceStanding& row, const SourceSettings* source) {
  std::string text = kind_of(source);
  const bool was_met = row.state_since.value > 0;  // by a daemon
  if (was_met) text += fmt::format(", {} since {} UTC", row.state, minute_text(row.state_since));
  if (row.last_heard_at) text += fmt::format(", last heard {} UTC", minute_text(row.last_heard_at));
  return row.reason.empty() ? text : text + ": " + row.reason;
}

int list_sources(const Console& console, Installation& place, bool json) {
  JsonList list(console.out);
  TextTable table(console.out, {{"NAME", TextTable::Kind::elastic},
                                {"STATE"},
                                {"ACCEPTED", TextTable::Kind::number},
                                {"REPEATED", TextTable::Kind::number},
                                {"IGNORED", TextTable::Kind::number},
                                {"HELD NOW", TextTable::Kind::number},
                                {"ASIDE", TextTable::Kind::number},
                                {"REFUSED", TextTable::Kind::number}});
  const std::vector<SourceStanding> rows = all_standings(place);
  for (const SourceStanding& row : rows) {
    const SourceSettings* source = settings_of(place.settings, row.name);
    if (json) {
      list.add(json_of(row, source));
    } else {
      table.add({row.name, row.state, std::to_string(row.accepted), std::to_string(row.repeated),
                 std::to_string(row.ignored), std::to_string(row.held), std::to_string(row.kept_aside),
                 std::to_string(row.refused)},
                facts_of(row, source));
    }
  }
  json ? list.finish() : table.finish();
  if (rows.empty()) console.note("There are no sources: the settings name none (sources).");
  return EX_OK;
}

Json json_of(const schema::AsideReport& one) {
  return {{"id", one.id},
          {"source", one.source},
          {"reason", to_word(one.reason)},
          {"word", one.word},
          {"recipient_transaction_id", one.transaction},
          {"detail", one.detail},
          {"received_at", json_time(one.received_at)},
          {"report", Json::parse(one.report, nullptr, false)}};
}

int list_kept(const Console& console, Installation& place, const std::string& name, bool held, bool json) {
  JsonList list(console.out);
  TextTable table(console.out, {{"ID", TextTable::Kind::number},
                                {"SOURCE"},
                                {"REASON"},
                                {"WORD", TextTable::Kind::elastic},
                                {"TRANSACTION", TextTable::Kind::elastic},
                                {"RECEIVED (UTC)"}});
  std::int64_t after = 0;
  while (console.out) {
    const auto page = held ? place.store.sources.held_reports(name, after, kPage)
                           : place.store.sources.aside(name, after, kPage);
    for (const schema::AsideReport& one : page) {
      after = one.id;
      if (json) {
        list.add(json_of(one));
      } else {
        table.add({std::to_string(one.id), one.source, std::string(to_word(one.reason)), printable(one.word),
                   printable(one.transaction), minute_text(one.received_at)},
                  printable(one.detail));
      }
    }
    if (page.size() < kPage) break;
  }
  json ? list.finish() : table.finish();
  if (after == 0)
    console.note(held ? "No report is kept beside a held change." : "No report was kept aside.");
  return EX_OK;
}

int list_words(const Console& console, Installation& place, bool json) {
  JsonList list(console.out);
  TextTable table(
      console.out,
      {{"SOURCE"}, {"REASON"}, {"WORD", TextTable::Kind::elastic}, {"COUNT", TextTable::Kind::number}});
  const auto words = place.store.sources.aside_words(kPage);
  for (const auto& one : words) {
    if (json) {
      list.add({{"source", one.source},
                {"reason", to_word(one.reason)},
                {"word", one.word},
                {"count", one.count}});
    } else {
      table.add(
          {one.source, std::string(to_word(one.reason)), printable(one.word), std::to_string(one.count)});
    }
  }
  json ? list.finish() : table.finish();
  if (words.empty()) console.note("No report was kept aside.");
  return EX_OK;
}

struct Discarding {
  std::string name;
  std::string what;
};

int discard(const Console& console, Installation& place, const Discarding& wanted) {
  if (const auto fault = unknown_source(place, wanted.name)) return console.fail(EX_DATAERR, *fault);
  const std::int64_t count =
      wanted.what == "held"
          ? place.store.changes.discard_held(wanted.name,
                                             schema::UtcMillis{std::numeric_limits<std::int64_t>::max()})
          : place.store.sources.discard_aside(wanted.name, schema::aside_reason_from_word(wanted.what));
  fmt::print(console.out, "{} discarded\n", count);
  return EX_OK;
}

int rewind(const Console& console, Installation& place, const std::string& name) {
  const SourceSettings* source = settings_of(place.settings, name);
  if (source == nullptr || source->kind != SourceKind::poll) {
    return console.fail(
        EX_DATAERR,
        fmt::format("{} is no poll of the settings; \"giftsyncctl source list\" shows the sources and types",
                    in_quotes(name)));
  }
  if (!place.store.sources.rewind(name)) {
    console.note(fmt::format("No daemon has asked {} yet; it will begin at the beginning.", name));
    return EX_OK;
  }
  fmt::print(console.out, "{} is asked from its beginning, at once\n", name);
  return EX_OK;
}

}  // namespace

void add_source_commands(Commands& commands) {
  CLI::App* noun = commands.noun("source", "Where status changes come from: webhooks and polls");
  const auto json = std::make_shared<bool>(false);
  CLI::App* list = commands.verb(
      *noun, "list",
      "Each source, how it stands (new, works, fails, garbage, full) and since when, what came from it "
      "(accepted: changes that were new; ignored: words mapped to ignore, and mails that are not "
      "giftsync's), how many of the accepted are held now for transactions that are not known yet, what was "
      "kept aside, and how many messages were refused (signature, form or size).",
      {"source list", "source list --json"});
  list->add_flag("--json", *json, "Print JSON");
  commands.run(list, [json](const Console& console, Installation& place) {
    return list_sources(console, place, *json);
  });

  const auto name = std::make_shared<std::string>();
  const auto words = std::make_shared<bool>(false);
  const auto held = std::make_shared<bool>(false);
  CLI::App* aside = commands.verb(
      *noun, "aside",
      "What sources reported and giftsync could not apply: words that the status map does not have, times "
      "before 2000 or in the future, statuses that the source may not set, reports that cannot be read, "
      "transactions that are another's. After an edit of the settings the daemon judges them again, "
      "and so it does with the reports beside changes that are held for a gift that is not known, which "
      "--held "
      "lists instead, each with what it lacks to make its gift.",
      {"source aside", "source aside vendor --json", "source aside --words", "source aside vendor --held"});
  aside->add_option("NAME", *name, "Only of this source");
  CLI::Option* by_words = aside->add_flag("--words", *words, "Count them by source, reason and word");
  aside->add_flag("--held", *held, "Those beside held changes instead")->excludes(by_words);
  aside->add_flag("--json", *json, "Print JSON");
  commands.run(aside, [name, words, held, json](const Console& console, Installation& place) {
    if (const auto fault = name->empty() ? std::nullopt : unknown_source(place, *name))
      return console.fail(EX_DATAERR, *fault);
    return *words ? list_words(console, place, *json) : list_kept(console, place, *name, *held, *json);
  });

  const auto wanted = std::make_shared<Discarding>();
  CLI::App* verb = commands.verb(
      *noun, "discard",
      "Throw away for good what a source holds: reports kept aside (all of them, or "
      "those of one reason), or changes held for unknown transactions and the reports beside them.",
      {"source discard vendor aside", "source discard vendor time", "source discard vendor held"});
  verb->add_option("NAME", wanted->name, "The source")->required();
  verb->add_option("WHAT", wanted->what, "aside, one of its reasons, or held")
      ->required()
      ->check(one_of({"aside", "held", "word", "time", "may_set", "faulty", "other_origin"}));
  commands.run(verb, [wanted](const Console& console, Installation& place) {
    return discard(console, place, *wanted);
  });

  const auto feed = std::make_shared<std::string>();
  CLI::App* again = commands.verb(
      *noun, "rewind",
      "Forget how far a poll has come (cursor, since, ETag, waits): the daemon reads its feed from the "
      "beginning, at once, such as after a wrong pointer was corrected. What is known already changes "
      "nothing.",
      {"source rewind app"});
  again->add_option("NAME", *feed, "The source, of type poll")->required();
  commands.run(again,
               [feed](const Console& console, Installation& place) { return rewind(console, place, *feed); });
}

}  // namespace giftsync::daemon
