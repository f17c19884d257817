#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "daemon/cli/commands.h"
#include "daemon/cli/gift_export.h"
#include "daemon/cli/gift_hand_verbs.h"
#include "daemon/cli/gift_list.h"
#include "daemon/cli/gift_story.h"
#include "schema/address.h"

namespace giftsync::daemon {
namespace {

std::vector<std::string> status_words() {
  std::vector<std::string> words;
  for (const schema::Status status : schema::kAllStatuses) words.emplace_back(to_word(status));
  return words;
}

int show_gift(const Console& console, Installation& place, std::int64_t id, bool json) {
  const auto story = gift_story(place, {id});
  if (!story) {
    return console.fail(
        EX_DATAERR,
        fmt::format("there is no gift {}; \"giftsyncctl gift list\" shows them by their ids", id));
  }
  if (json)
    console.out << json_text(story_json(*story), 2) << '\n';
  else
    tell(*story, console.out);
  return EX_OK;
}

void add_list(Commands& commands, CLI::App& noun) {
  struct Words {
    GiftListing listing;
    std::string status;
    std::string campaign;
    std::string email;
  };
  const auto words = std::make_shared<Words>();
  CLI::App* verb =
      commands.verb(noun, "list",
                    "The gift records of the CRM, one for each recipient, by Transaction Id: status, when it "
                    "came to it, to whom, item, total price and whom it was matched to.",
                    {"gift list", "gift list --why --status opened", "gift list --campaign spring-2026",
                     "gift list --email ada@example.com --limit 10 --newest", "gift list --json --limit 10",
                     "gift list --skipped", "gift list --rematch-needed", "gift list --contradictory"});
  verb->add_flag("--json", words->listing.json,
                 "Print a JSON array of gift records with all fields by their API names");
  verb->add_flag("--why", words->listing.why, "Say under each gift why it was matched so");
  verb->add_flag("--skipped", words->listing.skipped,
                 "Gifts that matched nobody and therefore have no record (matching.on_no_match: skip)");
  verb->add_flag(
          "--rematch-needed", words->listing.rematch_needed,
          "Gifts of which the CRM refused a lookup (deleted or merged); \"giftsyncctl rematch\" decides anew")
      ->excludes("--skipped");
  verb->add_flag(
          "--contradictory", words->listing.contradictory,
          "Gifts with reports that contradict each other (redeemed and donated, redeemed after expiry), "
          "with what does; \"change void\" takes a wrong report out")
      ->excludes("--rematch-needed")
      ->excludes("--skipped");
  verb->add_option("--status", words->status, "Only gifts with this status")
      ->option_text("STATUS")
      ->check(one_of(status_words()));
  verb->add_option("--campaign", words->campaign, "Only gifts of this utm_campaign_id")->option_text("ID");
  verb->add_option("--email", words->email, "Only gifts to this address, in any spelling")
      ->option_text("ADDRESS");
  CLI::Option* limit = verb->add_option("--limit", words->listing.limit,
                                        "At most N gifts: the oldest ones, or with --newest the newest");
  limit->option_text("N")->check(whole_number());
  verb->add_flag("--newest", words->listing.newest, "From the newest gift on; needs --limit")->needs(limit);
  commands.run(verb, [words](const Console& console, Installation& place) {
    if (!words->email.empty()) words->listing.email_key = schema::email_key(words->email);
    words->listing.status = schema::status_from_word(words->status);
    if (!words->campaign.empty()) words->listing.campaign = words->campaign;
    return list_gifts(console, place, words->listing);
  });
}

void add_show(Commands& commands, CLI::App& noun) {
  struct Words {
    std::int64_t id = 0;
    bool json = false;
  };
  const auto words = std::make_shared<Words>();
  CLI::App* verb = commands.verb(
      noun, "show",
      "Everything about one gift: request, recipient, times, whom it was matched to and why, its "
      "mail, every reported change with contradictions, what was done to it by hand, and what comes next.",
      {"gift show 42", "gift show 42 --json"});
  verb->add_option("ID", words->id, "The recipient transaction's id")->required()->check(whole_number());
  verb->add_flag("--json", words->json, "Print JSON");
  commands.run(verb, [words](const Console& console, Installation& place) {
    return show_gift(console, place, words->id, words->json);
  });
}

}  // namespace

void add_gift_commands(Commands& commands) {
  CLI::App* noun = commands.noun("gift", "Gifts and their records in the CRM");
  add_list(commands, *noun);
  add_show(commands, *noun);
  add_gift_hand_verbs(commands, *noun);
  add_gift_export_verb(commands, *noun);
}

}  // namespace giftsync::daemon
