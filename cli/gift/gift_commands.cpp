#include <fmt/format.h>
#include <sysexits.h>

#include <exception>
#include <memory>
#include <sstream>
#include <tl/expected.hpp>

#include "cli/account/key_commands.h"
#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/day_or_time.h"
#include "cli/gift/gift_detail.h"
#include "cli/gift/gift_list.h"
#include "cli/listing.h"
#include "daemon/wiring/components_config.h"
#include "daemon/wiring/server_secret.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"
#include "sync/gift/gift_links.h"
#include "sync/gift/test_gifts.h"

namespace giftsync::cli {
namespace {

std::vector<std::string> status_names() {
  std::vector<std::string> names;
  for (const Status status : kAllStatuses) names.emplace_back(to_word(status));
  return names;
}

struct ShowOptions {
  std::int64_t id = 0;
  std::string external_id;
  bool json = false;
  bool mail = false;
};

/// The gift whose source calls it so; the fault says why there is none, or not only one.
tl::expected<TransactionId, std::string> find_external(store::Store& store, const std::string& external_id) {
  const auto found = store.external_ids.find(external_id);
  if (found.empty())
    return tl::make_unexpected(
        fmt::format("no source has reported a gift {}; ids are compared exactly", in_quotes(external_id)));
  if (found.size() == 1) return found.front().transaction;
  std::vector<std::string> gifts;
  for (const auto& [source, transaction] : found)
    gifts.push_back(fmt::format("gift {} of {}", transaction.value, source));
  return tl::make_unexpected(fmt::format("several sources have a gift {}: {}; show one by its number",
                                         in_quotes(external_id), fmt::join(gifts, ", ")));
}

std::string missing_gift(const ShowOptions& options, std::int64_t id) {
  if (options.external_id.empty()) return no_such_gift(id);
  return fmt::format(
      "{} is known by reports that came before the gift itself; they wait under number {}: \"giftsyncctl "
      "change "
      "list --gift {}\"",
      in_quotes(options.external_id), id, id);
}

std::string no_mail(const store::Gift& gift) {
  const std::string number = std::to_string(gift.transaction.id.value);
  if (!gift.transaction.gift_source.empty())
    return "gift " + number + " has no mail here: giftsync did not send it";
  if (gift.request.is_test) return "gift " + number + " has no mail: it is a test gift";
  return "gift " + number + " has no mail: its links were issued as URLs";
}

/// Whether and when it was sent.
std::string state_of(const store::DeliveryRow& mail) {
  return fmt::format("{} since {}", to_word(mail.state), to_rfc3339(mail.updated_at));
}

/// Prints the headers and the text of the gift's last mail, or of the one that is queued, as the settings
/// compose it now. Its links work: they are as good as the gift.
int show_mail(const Console& console, CliContext& ctx, const store::Gift& gift, bool json) try {
  const auto row = ctx.store.deliveries.find(gift.transaction.id);
  if (!row) return console.fail(EX_DATAERR, no_mail(gift));
  const sync::LinkSigner signer(wiring::load_server_secret(ctx.settings, ctx.store));
  const sync::GiftLinks links(ctx.settings.server.base_url, signer);
  const std::string installation = ctx.store.metadata(store::kInstallationIdFact).value_or("");
  const sync::MailIdentity identity =
      sync::mail_identity(gift, {row->message_id, row->kind, row->number, row->ordered_at},
                          ctx.settings.email.from, installation);
  const auto mail = wiring::readable_mail(ctx.settings, links, gift, identity);
  if (json) {
    Json headers = Json::object();
    for (const auto& [name, value] : mail.headers) headers[name] = value;
    const Json object{{"state", to_word(row->state)}, {"headers", headers}, {"text", mail.text}};
    console.out << json_text(object, 2) << '\n';
    return EX_OK;
  }
  for (const auto& [name, value] : mail.headers) console.out << name << ": " << printable(value) << '\n';
  console.out << '\n';
  std::istringstream lines(mail.text);
  for (std::string line; std::getline(lines, line);) console.out << printable(line) << '\n';
  console.out.flush();
  console.info(fmt::format("This mail is {}.", state_of(*row)));
  return EX_OK;
} catch (const wiring::ConfigError& fault) {
  // The links are signed with the server secret, which only the service's user can read.
  return console.fail(EX_CONFIG, fault.what());
}

int show_gift(const Console& console, CliContext& ctx, const ShowOptions& options) {
  std::int64_t id = options.id;
  if (id == 0 && options.external_id.empty())
    return console.fail(EX_USAGE, "gift show: missing ID; give the gift's number, or --external ID");
  if (!options.external_id.empty()) {
    const auto found = find_external(ctx.store, options.external_id);
    if (!found) return console.fail(EX_DATAERR, found.error());
    id = found->value;
  }
  const auto detail = find_gift_detail(ctx, {id});
  if (!detail) return console.fail(EX_DATAERR, missing_gift(options, id));
  if (options.mail) return show_mail(console, ctx, detail->gift, options.json);
  if (options.json)
    console.out << json_text(gift_detail_json(*detail, ctx.settings.catalogue.currency), 2) << '\n';
  else
    print(*detail, console.out);
  if (!detail->crm_error) return EX_OK;
  console.out.flush();
  std::rethrow_exception(detail->crm_error);  // reported as by every command
}

void add_list(Commands& commands, Command& noun) {
  struct Options {
    GiftListing listing;
    std::string status;
    std::string campaign;
    std::string email;
    std::string since;
    std::string sender;
    std::string contact;
    std::string item;
    std::string key;
  };
  const auto options = std::make_shared<Options>();
  Command* verb = commands.verb(
      noun, "list",
      "List all gifts, one per recipient, by Transaction Id: status, since when, recipient, item, total "
      "price, match and whether the CRM has a record.",
      {"gift list", "gift list --explain --status opened", "gift list --campaign spring-2026",
       "gift list --newest --limit 10", "gift list --since 24h --sender ana@example.com",
       "gift list --email ada@example.com --item 1", "gift list --key gsk_live_Ab3dE5g",
       "gift list --json --limit 10", "gift list --skipped", "gift list --needs-relink",
       "gift list --refused", "gift list --conflicting", "gift list --test"});
  verb->add_flag("--json", options->listing.json,
                 "Print a JSON array of gifts with all fields of their record by their API names; of a gift "
                 "without one (has_record) as giftsync would write it");
  verb->add_flag("--explain", options->listing.explain, "Print the reason of the match below each gift");
  Option* skipped =
      verb->add_flag("--skipped", options->listing.skipped,
                     "Gifts without a match and therefore without a record (matching.on_no_match: skip)");
  Option* needs_relink =
      verb->add_flag(
              "--needs-relink", options->listing.needs_relink,
              "Gifts whose lookup the CRM refused (deleted or merged); \"giftsyncctl rematch\" relinks them")
          ->excludes(skipped);
  Option* refused = verb->add_flag("--refused", options->listing.refused,
                                   "Gifts whose record the CRM refuses, as giftsync would write it, with the "
                                   "reason; \"crm retry\" "
                                   "tries again")
                        ->excludes(skipped)
                        ->excludes(needs_relink);
  Option* conflicting =
      verb->add_flag("--conflicting", options->listing.conflicting,
                     "Gifts with conflicting changes (redeemed and donated, redeemed after expiry), "
                     "and the conflict; \"change void\" voids a wrong change")
          ->excludes(needs_relink)
          ->excludes(refused)
          ->excludes(skipped);
  verb->add_option("--status", options->status, "Only gifts with this status")
      ->option_text("STATUS")
      ->check(one_of(status_names()));
  verb->add_option("--campaign", options->campaign, "Only gifts of this utm_campaign_id")->option_text("ID");
  verb->add_option("--email", options->email, "Only gifts to this address, in any spelling")
      ->option_text("ADDRESS");
  verb->add_option("--since", options->since,
                   "Only gifts that were sent on this day or later, or that long ago; with --status, that "
                   "reached it then; days are UTC")
      ->option_text("DAY|7d")
      ->check(day_or_time());
  verb->add_option("--sender", options->sender, "Only gifts of the sender with this address")
      ->option_text("ADDRESS");
  verb->add_option("--contact", options->contact, "Only gifts linked to the contact with this id of the CRM")
      ->option_text("ID");
  verb->add_option("--item", options->item, "Only gifts of this item: its number or its exact name")
      ->option_text("ITEM");
  add_key_filter(*verb, options->key);
  verb->add_flag("--test", options->listing.test,
                 "Test gifts alone; without this option only --key of a test key lists them")
      ->excludes(skipped)
      ->excludes(needs_relink)
      ->excludes(refused)
      ->excludes(conflicting);
  Option* limit = verb->add_option("--limit", options->listing.limit,
                                   "At most N gifts: the oldest ones, or with --newest the newest");
  limit->option_text("N")->check(whole_number());
  verb->add_flag("--newest", options->listing.newest, "The latest sent first; needs --limit")->needs(limit);
  commands.run(verb, [options](const Console& console, CliContext& ctx) {
    if (!options->email.empty()) options->listing.email_key = email_key(options->email);
    options->listing.status = status_from_word(options->status);
    if (!options->campaign.empty()) options->listing.campaign = options->campaign;
    if (!options->since.empty()) options->listing.since = parse_day_or_time(options->since, console.now());
    if (!options->sender.empty()) options->listing.sender = options->sender;
    if (!options->contact.empty()) options->listing.contact = options->contact;
    if (!options->item.empty()) options->listing.item = options->item;
    if (!options->key.empty()) {
      const auto key = credential_prefix_of(ctx, options->key, console.now());
      if (!key) return console.fail(EX_DATAERR, key.error());
      options->listing.key = *key;
      options->listing.test |= is_test_key(*key);
    }
    return list_gifts(console, ctx, options->listing);
  });
}

void add_show(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ShowOptions>();
  Command* verb = commands.verb(
      noun, "show",
      "Show one gift: request, recipient, times, match and its reason, mail, all status changes with their "
      "conflicts, admin actions, and the next deadline.",
      {"gift show 42", "gift show 42 --json", "gift show 42 --mail", "gift show --external ord_1a2b"});
  Option* id =
      verb->add_option("ID", options->id, "The recipient transaction's id; --external finds a vendor's");
  id->check(whole_number());
  Option* external = verb->add_option("--external", options->external_id,
                                      "The id that the gift's source has for it, instead of ID");
  external->option_text("ID")->excludes(id);
  verb->add_flag("--json", options->json, "Print JSON");
  verb->add_flag("--mail", options->mail,
                 "Print the gift's mail as its recipient reads it, with the links, instead");
  commands.run(verb, options, show_gift);
}

struct PurgeOptions {
  std::string older = "0";
};

int purge_test_gifts(const Console& console, CliContext& ctx, const PurgeOptions& options) {
  const UtcMillis before = console.now() - *parse_duration(options.older);
  audit_object(console, "test");
  const std::int64_t deleted = sync::purge_test_gifts(ctx.store.test_gifts, before, [] { return true; });
  console.info(fmt::format("{} deleted: test gifts and held test requests.", deleted));
  return EX_OK;
}

void add_purge_test(Commands& commands, Command& noun) {
  const auto options = std::make_shared<PurgeOptions>();
  Command* verb = commands.verb(noun, "purge-test",
                                "Delete test gifts with all their rows, and held test requests, now; the "
                                "daemon does it after test.keep_days. Gifts of live keys stay.",
                                {"gift purge-test", "gift purge-test --older 1d"});
  verb->add_option("--older", options->older, "Only those that were requested that long ago: 30m, 24h, 7d")
      ->option_text("TIME")
      ->check({duration_fault});
  commands.run(verb, options, purge_test_gifts);
}

}  // namespace

void add_gift_commands(Commands& commands) {
  Command* noun = commands.noun("gift", "Gifts and their records in the CRM");
  add_list(commands, *noun);
  add_show(commands, *noun);
  add_gift_action_commands(commands, *noun);
  add_gift_link_command(commands, *noun);
  add_gift_export_command(commands, *noun);
  add_gift_validate_command(commands, *noun);
  add_purge_test(commands, *noun);
}

}  // namespace giftsync::cli
