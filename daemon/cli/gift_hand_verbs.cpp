#include "daemon/cli/gift_hand_verbs.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "daemon/cli/os_user.h"
#include "daemon/cli/record_maker.h"
#include "daemon/cli/text_table.h"
#include "daemon/settings/settings_fault.h"
#include "daemon/settings/text_rules.h"
#include "daemon/store_address.h"
#include "schema/broken_world.h"
#include "sync/gift_hand.h"
#include "sync/lifecycle_rules.h"
#include "sync/rematch.h"

namespace giftsync::daemon {
namespace {

using sync::HandResult;

struct ResendWords {
  std::int64_t id = 0;
  std::string email;
};

/// Who sent a gift that giftsync did not, "gift list" shows it all the same; empty when nobody knows it.
std::string who_else_sent(Installation& place, schema::TransactionId id) {
  const auto gifts = place.store.gifts.gifts(std::span(&id, 1));
  if (!gifts.empty()) {
    const std::string& origin = gifts.front().transaction.origin;
    return origin == schema::kAdoptedOrigin ? "its record was in the CRM before giftsync"
                                            : "source " + in_quotes(origin) + " reported it";
  }
  try {
    if (!place.crm->find_gift_records(std::span(&id, 1)).empty())
      return "giftsync knows nothing of it but its record in the CRM";
  } catch (const schema::BrokenWorld&) {
    // It cannot be asked now, and nothing is to be done in it.
  }
  return "";
}

int fail_unknown(const Console& console, Installation& place, std::int64_t id, const char* undone) {
  if (const std::string who = who_else_sent(place, {id}); !who.empty()) {
    return console.fail(
        EX_DATAERR, fmt::format("gift {} was not {}: it was sent elsewhere, {}; only who sent it can do that",
                                id, undone, who));
  }
  return console.fail(
      EX_DATAERR, fmt::format("there is no gift {}; \"giftsyncctl gift list\" shows them by their ids", id));
}

int fail(const Console& console, Installation& place, std::int64_t id, const HandResult& result,
         const char* undone) {
  switch (result.kind) {
    case HandResult::Kind::unknown:
      return fail_unknown(console, place, id, undone);
    case HandResult::Kind::try_later:
      return console.fail(
          EX_TEMPFAIL, fmt::format("gift {} was not {}: {}; try again in a minute", id, undone, result.why));
    default:
      return console.fail(EX_DATAERR, fmt::format("gift {} was not {}: {}", id, undone, result.why));
  }
}

/// A new address may be another person's.
void match_anew(const Console& console, Installation& place, schema::TransactionId id) {
  const auto mirrors = place.store.sync.mirrors(std::span(&id, 1));
  if (mirrors.empty()) {
    console.note("The CRM does not know it yet: the daemon matches it by its new address.");
    return;
  }
  sync::RematchRules rules;
  rules.match_fields = match_fields(place.settings.matching);
  rules.skip_unmatched = place.settings.matching.skip_unmatched;
  rules.tasks_enabled = place.settings.tasks.enabled;
  rules.over_corrections = true;
  rules.is_sending = true;
  const sync::Rematch result = sync::rematch(place.store, *place.crm, rules, mirrors, console.now()).front();
  if (result.kind == sync::Rematch::Kind::to_make) make_records(console, place, {id});
  const std::string note = result.note.empty() ? "" : " (" + result.note + ")";
  if (result.kind == sync::Rematch::Kind::failed || result.kind == sync::Rematch::Kind::gone) {
    console.note(fmt::format("Matched anew: not yet{}; \"giftsyncctl rematch --gift {}\" tries again.",
                             printable(note), id.value));
    return;
  }
  console.note(fmt::format("Matched anew: {}, before: {}{}.", printable(sync::in_words(result.to)),
                           printable(sync::in_words(result.from)), printable(note)));
}

void say_until(const Console& console, Installation& place, schema::TransactionId id) {
  const auto gifts = place.store.gifts.gifts(std::span(&id, 1));
  if (gifts.empty()) return;
  if (const auto until = sync::claimable_until(gifts.front()))
    console.note("It can be accepted until " + schema::to_rfc3339(*until) + ".");
}

int resend_gift(const Console& console, Installation& place, const ResendWords& words) {
  sync::Resend asked{{words.id}, std::nullopt, os_user()};
  if (!words.email.empty()) {
    std::string email = words.email;
    if (const TextFault fault = check_email_address(email))
      return console.fail(EX_USAGE, "--email: found " + in_quotes(words.email) + ", " + *fault);
    if (const auto refusal = refuse_unusable_crm(place.settings)) return refuse(console, *refusal);
    asked.email = email;
  }
  const HandResult result = sync::resend(place.store, asked, console.now());
  if (result.kind != HandResult::Kind::done) return fail(console, place, words.id, result, "sent again");
  if (result.is_moved) {
    console.note(fmt::format("Gift {} is on its way to {} with a new link; the one that went to {} is dead.",
                             words.id, printable(*asked.email), printable(result.moved_from)));
    match_anew(console, place, asked.gift);
  } else {
    console.note(fmt::format("Gift {} is on its way to {} again, with the same link.", words.id,
                             printable(result.moved_from)));
  }
  say_until(console, place, asked.gift);
  return EX_OK;
}

int cancel_gift(const Console& console, Installation& place, std::int64_t id) {
  const HandResult result = sync::cancel(place.store, {id}, os_user(), console.now());
  if (result.kind != HandResult::Kind::done) return fail(console, place, id, result, "cancelled");
  const auto mail = place.store.deliveries.row({id});
  const bool was_leaving = mail && mail->state == schema::DeliveryState::withdrawn && mail->attempt > 0;
  console.note(fmt::format("Gift {} is refunded and its links are dead{}.", id,
                           !mail ? "; they were handed out as URLs"
                           : mail->state != schema::DeliveryState::withdrawn ? "; its mail had left already"
                           : was_leaving ? "; its mail is not tried again, an earlier try may have arrived"
                                         : "; its mail had not left and is not sent"));
  return EX_OK;
}

CLI::App* add_id(CLI::App* verb, std::int64_t& id) {
  verb->add_option("ID", id, "The recipient transaction's id")->required()->check(whole_number());
  return verb;
}

}  // namespace

void add_gift_hand_verbs(Commands& commands, CLI::App& noun) {
  const auto words = std::make_shared<ResendWords>();
  CLI::App* resend = add_id(
      commands.verb(noun, "resend",
                    "Mail a gift once more that nobody has opened and that is not over. To the same address "
                    "it has the same link; to another one it has a new link, the old one dies, and the gift "
                    "is matched anew, with the Deal Stage of now if its opportunity is another one. Gifts "
                    "whose URLs were handed out are not mailed by giftsync.",
                    {"gift resend 42", "gift resend 42 --email ada.lovelace@example.com"}),
      words->id);
  resend->add_option("--email", words->email, "Another address of the recipient")->option_text("ADDRESS");
  commands.run(resend, [words](const Console& console, Installation& place) {
    return resend_gift(console, place, *words);
  });
  const auto id = std::make_shared<std::int64_t>(0);
  CLI::App* cancel = add_id(
      commands.verb(noun, "cancel",
                    "Take a gift back that nobody has claimed and that has not expired: it is refunded, its "
                    "links are dead, and a mail that has not left is not sent. There is no way back.",
                    {"gift cancel 42"}),
      *id);
  commands.run(
      cancel, [id](const Console& console, Installation& place) { return cancel_gift(console, place, *id); });
}

}  // namespace giftsync::daemon
