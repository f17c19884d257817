#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "cli/commands.h"
#include "cli/gift_detail.h"
#include "cli/gift_list.h"
#include "schema/contact_normalization.h"

namespace giftsync::cli {
namespace {

std::vector<std::string> status_names() {
  std::vector<std::string> names;
  for (const schema::Status status : schema::kAllStatuses) names.emplace_back(to_word(status));
  return names;
}

struct ShowOptions {
  std::int64_t id = 0;
  bool json = false;
};

int show_gift(const Console& console, CliContext& ctx, const ShowOptions& options) {
  const auto [id, json] = options;
  const auto detail = find_gift_detail(ctx, {id});
  if (!detail) {
    return console.fail(
        EX_DATAERR,
        fmt::format("there is no gift {}; \"giftsyncctl gift list\" shows them by their ids", id));
  }
  if (json)
    console.out << json_text(gift_detail_json(*detail), 2) << '\n';
  else
    print(*detail, console.out);
  return EX_OK;
}

void add_list(Commands& commands, CLI::App& noun) {
  struct Options {
    GiftListing listing;
    std::string status;
    std::string campaign;
    std::string email;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* verb = commands.verb(
      noun, "list",
      "List the gift records of the CRM, one per recipient, by Transaction Id: status, since when, "
      "recipient, item, total price and match.",
      {"gift list", "gift list --explain --status opened", "gift list --campaign spring-2026",
       "gift list --email ada@example.com --limit 10 --newest", "gift list --json --limit 10",
       "gift list --skipped", "gift list --needs-relink", "gift list --conflicting"});
  verb->add_flag("--json", options->listing.json,
                 "Print a JSON array of gift records with all fields by their API names");
  verb->add_flag("--explain", options->listing.explain, "Print the reason of the match below each gift");
  verb->add_flag("--skipped", options->listing.skipped,
                 "Gifts without a match and therefore without a record (matching.on_no_match: skip)");
  verb->add_flag(
          "--needs-relink", options->listing.needs_relink,
          "Gifts whose lookup the CRM refused (deleted or merged); \"giftsyncctl rematch\" relinks them")
      ->excludes("--skipped");
  verb->add_flag("--conflicting", options->listing.conflicting,
                 "Gifts with conflicting changes (redeemed and donated, redeemed after expiry), "
                 "and the conflict; \"change void\" voids a wrong change")
      ->excludes("--needs-relink")
      ->excludes("--skipped");
  verb->add_option("--status", options->status, "Only gifts with this status")
      ->option_text("STATUS")
      ->check(one_of(status_names()));
  verb->add_option("--campaign", options->campaign, "Only gifts of this utm_campaign_id")->option_text("ID");
  verb->add_option("--email", options->email, "Only gifts to this address, in any spelling")
      ->option_text("ADDRESS");
  CLI::Option* limit = verb->add_option("--limit", options->listing.limit,
                                        "At most N gifts: the oldest ones, or with --newest the newest");
  limit->option_text("N")->check(whole_number());
  verb->add_flag("--newest", options->listing.newest, "Newest gift first; needs --limit")->needs(limit);
  commands.run(verb, [options](const Console& console, CliContext& ctx) {
    if (!options->email.empty()) options->listing.email_key = schema::email_key(options->email);
    options->listing.status = schema::status_from_word(options->status);
    if (!options->campaign.empty()) options->listing.campaign = options->campaign;
    return list_gifts(console, ctx, options->listing);
  });
}

void add_show(Commands& commands, CLI::App& noun) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App* verb = commands.verb(
      noun, "show",
      "Show one gift: request, recipient, times, match and its reason, mail, all status changes with their "
      "conflicts, admin actions, and the next deadline.",
      {"gift show 42", "gift show 42 --json"});
  verb->add_option("ID", options->id, "The recipient transaction's id")->required()->check(whole_number());
  verb->add_flag("--json", options->json, "Print JSON");
  commands.run(verb, options, show_gift);
}

}  // namespace

void add_gift_commands(Commands& commands) {
  CLI::App* noun = commands.noun("gift", "Gifts and their records in the CRM");
  add_list(commands, *noun);
  add_show(commands, *noun);
  add_gift_action_commands(commands, *noun);
  add_gift_export_command(commands, *noun);
}

}  // namespace giftsync::cli
