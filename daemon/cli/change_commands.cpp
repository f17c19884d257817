#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "daemon/cli/change_import.h"
#include "daemon/cli/change_list.h"
#include "daemon/cli/commands.h"
#include "daemon/cli/os_user.h"
#include "daemon/cli/overlap.h"
#include "daemon/cli/source_names.h"
#include "daemon/cli/text_table.h"
#include "daemon/counted.h"
#include "daemon/settings/settings_fault.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kMostReasonCodePoints = 1000;

void add_import(Commands& commands, CLI::App& noun) {
  const auto path = std::make_shared<std::string>();
  CLI::App* verb = commands.verb(noun, "import",
                                 "Bring status changes in from a file with one JSON object a line: "
                                 "recipient_transaction_id (a number or its digits as "
                                 "text), status (sent, delivered, undelivered, opened, redeemed, donated, "
                                 "expired, refunded), occurred_at (RFC 3339) "
                                 "and, if there is one, event_id. Lines that are refused are listed by "
                                 "number; all others are applied. Changes of "
                                 "transactions that are not known yet are held until they appear. Importing "
                                 "a file again changes nothing.",
                                 {"change import changes.ndjson", "change import - < changes.ndjson"});
  verb->add_option("FILE", *path, "The file; - reads stdin")->required();
  commands.run(verb, [path](const Console& console, Installation& place) {
    auto opened = InputFile::open(*path, console);
    if (const auto* refusal = std::get_if<Refusal>(&opened))
      return console.fail(refusal->exit_code, refusal->lines.front());
    return import_changes(console, place.store, std::get<InputFile>(opened));
  });
}

struct ListWords {
  ChangeListing listing;
  std::int64_t gift = 0;
  std::string source;
  bool newest = false;
};

void add_list_options(CLI::App& verb, ListWords& words) {
  verb.add_option("--source", words.source, "Only changes from this source")->option_text("SOURCE");
  verb.add_option("--limit", words.listing.limit, "At most N changes")
      ->option_text("N")
      ->check(whole_number());
  verb.add_flag("--newest", words.newest, "The last to be accepted first");
  verb.add_flag("--json", words.listing.json, "Print JSON");
}

int run_list(const Console& console, Installation& place, ListWords& words) {
  schema::ChangeFilter& filter = words.listing.filter;
  if (words.gift > 0) filter.transaction = schema::TransactionId{words.gift};
  if (!words.source.empty()) {
    if (const auto fault = unknown_change_source(place, words.source))
      return console.fail(EX_DATAERR, *fault);
    filter.source = words.source;
  }
  if (words.newest) words.listing.order = schema::ChangeOrder::newest_first;
  return list_changes(console, place, words.listing);
}

void add_list(Commands& commands, CLI::App& noun) {
  const auto words = std::make_shared<ListWords>();
  CLI::App* verb =
      commands.verb(noun, "list",
                    "Every change that was ever accepted, by id, with its event ids and whether it "
                    "is held, was voided or restored.",
                    {"change list --gift 42", "change list --newest --limit 20",
                     "change list --source import --json --limit 10"});
  verb->add_option("--gift", words->gift, "Only changes of this gift (the recipient transaction's id)")
      ->option_text("ID")
      ->check(whole_number());
  add_list_options(*verb, *words);
  commands.run(verb, [words](const Console& console, Installation& place) {
    return run_list(console, place, *words);
  });
}

void add_held(Commands& commands, CLI::App& noun) {
  const auto words = std::make_shared<ListWords>();
  words->listing.filter.held_only = true;
  CLI::App* verb =
      commands.verb(noun, "held",
                    "Changes that are held because their gift is not known; they are applied when "
                    "it appears.",
                    {"change held", "change held --source crm-vendor --json"});
  add_list_options(*verb, *words);
  commands.run(verb, [words](const Console& console, Installation& place) {
    return run_list(console, place, *words);
  });
}

struct ReviewWords {
  std::int64_t id = 0;
  std::string reason;
};

void add_review_options(CLI::App& verb, ReviewWords& words) {
  verb.add_option("ID", words.id, "The change's id, from \"change list\" or \"gift show\"")
      ->required()
      ->check(whole_number());
  verb.add_option("--reason", words.reason, "Why, for those who read the history")->option_text("TEXT");
}

bool is_reason(const std::string& text) {
  return schema::is_storable_text(text) && schema::count_code_points(text) <= kMostReasonCodePoints;
}

int refuse_reason(const Console& console) {
  return console.fail(EX_USAGE,
                      fmt::format("--reason: found a text that cannot be kept; allowed: UTF-8 of at "
                                  "most {} characters",
                                  kMostReasonCodePoints));
}

int no_such_change(const Console& console, std::int64_t id) {
  return console.fail(
      EX_DATAERR,
      fmt::format("there is no change {}; \"giftsyncctl change list --gift ID\" shows a gift's changes", id));
}

int void_change(const Console& console, Installation& place, const ReviewWords& words) {
  const std::int64_t id = words.id;
  if (!is_reason(words.reason)) return refuse_reason(console);
  switch (place.store.changes.void_change({id}, {console.now(), os_user(), words.reason})) {
    case schema::VoidOutcome::unknown:
      return no_such_change(console, id);
    case schema::VoidOutcome::was_voided:
      console.note(fmt::format("Change {} was voided already; it stays as it is.", id));
      break;
    case schema::VoidOutcome::voided:
      console.note(fmt::format(
          "Change {} is voided: it counts no more and stays in the history; \"change restore {}\" takes it "
          "back.",
          id, id));
      break;
  }
  return EX_OK;
}

void add_void(Commands& commands, CLI::App& noun) {
  const auto words = std::make_shared<ReviewWords>();
  CLI::App* verb = commands.verb(
      noun, "void",
      "Take a change that is wrong out of the reckoning. The gift's record follows within two seconds; the "
      "change stays in the history with who voided it, when and why. Its source may report it again without "
      "effect. \"change restore\" takes it back.",
      {"change void 1204", "change void 1204 --reason \"reported for the wrong gift\""});
  add_review_options(*verb, *words);
  commands.run(verb, [words](const Console& console, Installation& place) {
    return void_change(console, place, *words);
  });
}

int restore_change(const Console& console, Installation& place, const ReviewWords& words) {
  using Kind = schema::RestoreOutcome::Kind;
  const std::int64_t id = words.id;
  if (!is_reason(words.reason)) return refuse_reason(console);
  const schema::RestoreOutcome outcome =
      place.store.changes.restore_change({id}, {console.now(), os_user(), words.reason});
  switch (outcome.kind) {
    case Kind::unknown:
      return no_such_change(console, id);
    case Kind::too_many_held:
      return console.fail(
          EX_TEMPFAIL,
          fmt::format(
              "gift {0} is not known, so change {1} would be held, and {2} holds {3} changes already, "
              "the most that a source may; it stays voided; \"giftsyncctl change discard --source\" "
              "makes room, or restore it once gift {0} has appeared",
              outcome.transaction.value, id, in_quotes(outcome.source), schema::kMaxHeldChanges));
    case Kind::other_origin:
      return console.fail(EX_DATAERR,
                          fmt::format("gift {} is of {}, so change {} never applies; it stays voided",
                                      outcome.transaction.value,
                                      outcome.gift_of.empty() ? "giftsync" : in_quotes(outcome.gift_of), id));
    case Kind::was_not_voided:
      console.note(fmt::format("Change {} is not voided; it stays as it is.", id));
      break;
    case Kind::held:
      console.note(fmt::format("Change {} is restored, and held until gift {} appears.", id,
                               outcome.transaction.value));
      break;
    case Kind::restored:
      console.note(fmt::format("Change {} is restored: it counts again.", id));
      break;
  }
  return EX_OK;
}

void add_restore(Commands& commands, CLI::App& noun) {
  const auto words = std::make_shared<ReviewWords>();
  CLI::App* verb = commands.verb(
      noun, "restore",
      "Let a change count again that was voided. The gift's record follows within two seconds; the history "
      "shows who voided it and who restored it, when and why. A change whose gift is not known is held "
      "again. "
      "Nothing is handed out a second time.",
      {"change restore 1204", "change restore 1204 --reason \"the report was right\""});
  add_review_options(*verb, *words);
  commands.run(verb, [words](const Console& console, Installation& place) {
    return restore_change(console, place, *words);
  });
}

struct DiscardWords {
  std::string source;
  std::string older_than;
  bool yes = false;
};

int discard_changes(const Console& console, Installation& place, const DiscardWords& words) {
  if (const auto fault = unknown_change_source(place, words.source)) return console.fail(EX_DATAERR, *fault);
  const std::int64_t age = overlap_millis(words.older_than).value_or(0);
  // Without an age all of them, also those that came in this very millisecond.
  const schema::UtcMillis before = words.older_than.empty() ? console.now() + 1 : console.now() - age;
  const std::string which = words.older_than.empty() ? "" : " older than " + words.older_than;
  if (!words.yes) {
    return console.fail(
        EX_USAGE, fmt::format("{} of {}{} would be discarded, for good; add --yes to do it",
                              counted(place.store.changes.count_held(words.source, before), "held change"),
                              in_quotes(words.source), which));
  }
  const std::int64_t discarded = place.store.changes.discard_held(words.source, before);
  console.out << counted(discarded, "held change") + " discarded\n";
  return EX_OK;
}

void add_discard(Commands& commands, CLI::App& noun) {
  const auto words = std::make_shared<DiscardWords>();
  CLI::App* verb = commands.verb(
      noun, "discard",
      "Discard changes of a source that are still held, for good: their gifts will never come. A source that "
      "holds 100,000 is refused more until they appear or are discarded.",
      {"change discard --source crm-vendor --older-than 30d --yes", "change discard --source import --yes"});
  verb->add_option("--source", words->source, "The source, as \"change held\" shows it")
      ->option_text("SOURCE")
      ->required();
  verb->add_option("--older-than", words->older_than,
                   "Only those received longer ago than this, such as 7d or 12h")
      ->option_text("TIME")
      ->check([](const std::string& text) {
        return overlap_millis(text)
                   ? std::string()
                   : fmt::format("found {}; allowed: a number with s, m, h or d such as 7d, at most {}d",
                                 in_quotes(text), kMostOverlapDays);
      });
  verb->add_flag("--yes", words->yes, "Really do it; without it only the number is told");
  commands.run(verb, [words](const Console& console, Installation& place) {
    return discard_changes(console, place, *words);
  });
}

}  // namespace

void add_change_commands(Commands& commands) {
  CLI::App* noun = commands.noun("change", "Status changes of gifts");
  add_import(commands, *noun);
  add_list(commands, *noun);
  add_void(commands, *noun);
  add_restore(commands, *noun);
  add_held(commands, *noun);
  add_discard(commands, *noun);
}

}  // namespace giftsync::daemon
