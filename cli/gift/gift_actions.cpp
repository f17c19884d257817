// cli: `gift resend`, `gift extend`, and `gift cancel` of one gift.
#include "sync/gift/gift_actions.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/day_or_time.h"
#include "cli/gift/cancel_by_filter.h"
#include "cli/gift/gift_detail.h"
#include "cli/gift/rematch_command.h"
#include "cli/listing.h"
#include "cli/resumable_run.h"
#include "daemon/config/text_checks.h"
#include "matching/rematch.h"
#include "platform/dependency_error.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "sync/gift/lifecycle.h"
#include "sync/mail/delivery_rules.h"

namespace giftsync::cli {
namespace {

constexpr std::size_t kPageRows = 500;
constexpr std::size_t kMaxPreviewed = 5;

struct ResendOptions {
  std::int64_t id = 0;  ///< 0: those of `reply`
  std::string email;
  std::string reply;
  std::string since;
  bool yes = false;
};

/// Where a gift comes from that giftsync did not send, although "gift list" shows it; empty if unknown.
std::string external_sender(CliContext& ctx, TransactionId id) {
  const auto gifts = ctx.store.gifts.find(std::span(&id, 1));
  if (!gifts.empty()) {
    const std::string& origin = gifts.front().transaction.gift_source;
    return origin == store::kAdoptedGiftSource ? "its record was in the CRM before giftsync"
                                               : "source " + in_quotes(origin) + " reported it";
  }
  try {
    if (!ctx.crm->gift_records().find(std::span(&id, 1)).empty())
      return "giftsync has only its record in the CRM";
  } catch (const DependencyError&) {
    // The CRM is unavailable: report the gift as unknown.
  }
  return "";
}

int fail_unknown_gift(const Console& console, CliContext& ctx, std::int64_t id, const char* action) {
  if (const std::string who = external_sender(ctx, {id}); !who.empty()) {
    return console.fail(
        EX_DATAERR,
        fmt::format("gift {} was not {}: giftsync did not send it ({}); do this in the system that sent it",
                    id, action, who));
  }
  return console.fail(EX_DATAERR, no_such_gift(id));
}

int fail(const Console& console, CliContext& ctx, std::int64_t id, const sync::ActionResult& result,
         const char* action) {
  switch (result.kind) {
    case sync::ActionResult::Kind::unknown:
      return fail_unknown_gift(console, ctx, id, action);
    case sync::ActionResult::Kind::try_later:
      return console.fail(EX_TEMPFAIL, fmt::format("gift {} was not {}: {}; try again in a minute", id,
                                                   action, result.reason));
    default:
      return console.fail(EX_DATAERR, fmt::format("gift {} was not {}: {}", id, action, result.reason));
  }
}

/// The new address may belong to another contact.
void rematch_after_resend(const Console& console, CliContext& ctx, TransactionId id) {
  const auto rematched =
      matching::rematch_readdressed(ctx.store, *ctx.crm, rematch_rules(ctx), id, console.now());
  if (!rematched) {
    console.info("The gift has no record in the CRM yet; the daemon matches it by its new address.");
    return;
  }
  const matching::RematchResult& result = *rematched;
  if (result.kind == matching::RematchResult::Kind::to_create) {
    for (const std::string& message : SyncDrainer(console, ctx).write({id}).messages) console.info(message);
  }
  const std::string detail_text = result.detail.empty() ? "" : " (" + result.detail + ")";
  if (result.kind == matching::RematchResult::Kind::failed ||
      result.kind == matching::RematchResult::Kind::not_found) {
    console.info(fmt::format("Not rematched yet{}; retry with \"giftsyncctl rematch --gift {}\".",
                             printable(detail_text), id.value));
    return;
  }
  console.info(fmt::format("Rematched: {}, before: {}{}.", printable(matching::describe(result.to)),
                           printable(matching::describe(result.from)), printable(detail_text)));
}

void print_claimable_until(const Console& console, CliContext& ctx, TransactionId id) {
  const auto gifts = ctx.store.gifts.find(std::span(&id, 1));
  if (gifts.empty()) return;
  if (const auto until = sync::claimable_until(gifts.front()))
    console.info("It can be accepted until " + to_rfc3339(*until) + ".");
}

/// Which of these can be sent again, by their ids: those that have not ended.
std::set<std::int64_t> resendable(CliContext& ctx, const std::vector<TransactionId>& ids) {
  std::set<std::int64_t> open;
  for (const store::Gift& gift : ctx.store.gifts.find(ids)) {
    if (!sync::is_ended(sync::state_of(gift.transaction))) open.insert(gift.transaction.id.value);
  }
  return open;
}

/// The gifts whose mails ended undelivered with that reply and that can be sent again; the first of them are
/// printed.
std::vector<std::int64_t> undelivered_gifts(const Console& console, CliContext& ctx,
                                            const ResendOptions& options) {
  const UtcMillis since = parse_day_or_time(options.since, console.now()).value_or(UtcMillis{0});
  std::vector<std::int64_t> gifts;
  std::optional<TransactionId> before;
  while (true) {
    const auto page = ctx.store.deliveries.list(store::Viewer::of_command_line(), DeliveryState::undelivered,
                                                before, kPageRows);
    if (page.empty()) return gifts;
    before = page.back().transaction;
    std::vector<store::ListedMail> alike;
    std::copy_if(page.begin(), page.end(), std::back_inserter(alike), [&](const store::ListedMail& mail) {
      return mail.kind == MailKind::gift && mail.updated_at >= since &&
             sync::is_reply_like(mail.last_reply, options.reply);
    });
    std::vector<TransactionId> ids;
    for (const store::ListedMail& mail : alike) ids.push_back(mail.transaction);
    const std::set<std::int64_t> open = resendable(ctx, ids);
    for (const store::ListedMail& mail : alike) {
      if (!open.contains(mail.transaction.value)) continue;
      gifts.push_back(mail.transaction.value);
      if (gifts.size() <= kMaxPreviewed)
        console.info(fmt::format("gift {} to {}, {} UTC: {}", mail.transaction.value, printable(mail.email),
                                 minute_text(mail.updated_at), printable(mail.last_reply)));
    }
  }
}

/// To the gift's own address.
sync::ResendAction resend_action(CliContext& ctx, std::int64_t gift) {
  sync::ResendAction action{{gift}, std::nullopt, os_user()};
  action.allowed_domains = ctx.settings.sending.allowed_domains;
  return action;
}

int resend_undelivered(const Console& console, CliContext& ctx, const ResendOptions& options) {
  const std::vector<std::int64_t> gifts = undelivered_gifts(console, ctx, options);
  if (gifts.empty()) {
    console.info(
        "No mail of a gift that can be sent again ended undelivered with that reply; \"giftsyncctl mail list "
        "--state undelivered\" shows the replies.");
    return EX_OK;
  }
  if (gifts.size() > kMaxPreviewed) console.info(fmt::format("and {} more", gifts.size() - kMaxPreviewed));
  const auto refused = refuse_unconfirmed(console, options.yes,
                                          fmt::format("Mail {} again?", pluralize(gifts.size(), "gift")));
  if (refused) return *refused;
  std::size_t done = 0;
  for (const std::int64_t id : gifts) {
    audit_object(console, std::to_string(id));
    const sync::ActionResult result = sync::resend(ctx.store, resend_action(ctx, id), console.now());
    if (result.kind == sync::ActionResult::Kind::done)
      ++done;
    else
      console.info(fmt::format("Gift {} was left out: {}.", id, result.reason));
  }
  console.info(fmt::format("{} will be mailed again, with the same {}.", pluralize(done, "gift"),
                           done == 1 ? "link" : "links"));
  return EX_OK;
}

int resend_gift(const Console& console, CliContext& ctx, const ResendOptions& options) {
  if (const auto refusal = refuse_unknown_erased_entries(ctx)) return console.fail(*refusal);
  if (!options.reply.empty()) return resend_undelivered(console, ctx, options);
  if (options.id == 0) return console.fail(EX_USAGE, "give a gift's id, or --reply with a part of a reply");
  sync::ResendAction action = resend_action(ctx, options.id);
  if (!options.email.empty()) {
    std::string email = options.email;
    if (const config::TextFault fault = config::check_email_address(email))
      return console.fail(EX_USAGE, "--email: found " + in_quotes(options.email) + ", " + *fault);
    if (const auto refusal = refuse_unusable_crm(ctx.settings)) return console.fail(*refusal);
    action.email = email;
  }
  const sync::ActionResult result = sync::resend(ctx.store, action, console.now());
  if (result.kind != sync::ActionResult::Kind::done)
    return fail(console, ctx, options.id, result, "sent again");
  if (result.is_readdressed) {
    console.info(
        fmt::format("Gift {} will be mailed to {} with a new link; the link mailed to {} no longer works.",
                    options.id, printable(*action.email), printable(result.previous_email)));
    rematch_after_resend(console, ctx, action.gift);
  } else {
    console.info(fmt::format("Gift {} will be mailed to {} again, with the same link.", options.id,
                             printable(result.previous_email)));
  }
  print_claimable_until(console, ctx, action.gift);
  return EX_OK;
}

/// Who cancelled a gift, for a message: " (cancelled by root)"; empty for a gift that a timer refunded.
std::string canceller(CliContext& ctx, std::int64_t id) {
  for (const store::GiftAction& action : ctx.store.lifecycle.find_actions({id}))
    if (action.kind == store::GiftActionKind::cancelled)
      return fmt::format(" (cancelled by {})", printable(action.actor));
  return "";
}

struct ExtendOptions {
  std::int64_t id = 0;
  std::string until;
};

int extend_gift(const Console& console, CliContext& ctx, const ExtendOptions& options) {
  const UtcMillis until = *parse_day_or_time(options.until, console.now());
  const sync::ActionResult result = sync::extend(ctx.store, {{options.id}, until, os_user()}, console.now());
  if (result.kind == sync::ActionResult::Kind::already)
    console.info(fmt::format("Gift {} is already extended.", options.id));
  else if (result.kind != sync::ActionResult::Kind::done)
    return fail(console, ctx, options.id, result, "extended");
  print_claimable_until(console, ctx, {options.id});
  return EX_OK;
}

struct CancelOptions {
  std::int64_t id = 0;  ///< 0: those of `filter`
  CancelFilterOptions filter;
  bool yes = false;
};

int cancel_gift(const Console& console, CliContext& ctx, const CancelOptions& options) {
  if (options.filter.is_given()) return cancel_by_filter(console, ctx, options.filter, options.yes);
  if (options.id == 0)
    return console.fail(EX_USAGE, "give a gift's id, or one of --key, --request, --campaign and --since");
  const std::int64_t id = options.id;
  const TransactionId transaction{id};
  const auto gifts = ctx.store.gifts.find(std::span(&transaction, 1));
  if (gifts.empty() || !gifts.front().transaction.gift_source.empty())
    return fail_unknown_gift(console, ctx, id, "cancelled");
  const std::string question =
      fmt::format("Cancel gift {} ({} to {})?", id, printable(gifts.front().request.item_name),
                  printable(gifts.front().transaction.email));
  if (const auto refused = refuse_unconfirmed(console, options.yes, question)) return *refused;
  const sync::ActionResult result =
      sync::cancel(ctx.store.changes, ctx.store.lifecycle, {id}, os_user(), console.now());
  if (result.kind == sync::ActionResult::Kind::refused && result.state.status == Status::refunded) {
    console.info(fmt::format("Gift {} is already refunded: {}{}.", id, result.reason, canceller(ctx, id)));
    return EX_OK;
  }
  if (result.kind != sync::ActionResult::Kind::done) return fail(console, ctx, id, result, "cancelled");
  const auto mail = ctx.store.deliveries.find({id});
  const bool was_leaving = mail && mail->state == DeliveryState::withdrawn && mail->attempts() > 0;
  console.info(fmt::format("Gift {} is refunded and its links no longer work{}.", id,
                           gifts.front().request.is_test             ? ""
                           : !mail                                   ? "; its links were issued as URLs"
                           : mail->state != DeliveryState::withdrawn ? "; its mail was already sent"
                           : was_leaving
                               ? "; its mail is not retried, but an earlier attempt may have arrived"
                               : "; its mail was not sent yet and is withdrawn"));
  return EX_OK;
}

}  // namespace

void add_gift_action_commands(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ResendOptions>();
  Command* resend =
      commands.verb(noun, "resend",
                    "Mail a gift again that is unopened and not final. The same address gets the same link. "
                    "Another address gets a new link, the old link stops working, and the gift is rematched, "
                    "with the current Deal Stage if its opportunity changes. giftsync does not mail gifts "
                    "whose links were issued as URLs. With --reply it mails all such gifts again whose mails "
                    "ended undelivered with that reply of the relay, after it has shown how many.",
                    {"gift resend 42", "gift resend 42 --email ada.lovelace@example.com",
                     "gift resend --reply \"Relay access denied\" --since 2h"});
  Option* id = resend->add_option("ID", options->id, "The recipient transaction's id");
  id->check(whole_number());
  resend
      ->add_option(
          "--reply", options->reply,
          "A part of the reply, in any case, or a whole one of these replies: addresses, hosts and numbers "
          "in it may differ")
      ->option_text("TEXT")
      ->excludes(id);
  resend->add_option("--email", options->email, "Another address of the recipient")
      ->option_text("ADDRESS")
      ->needs(id);
  resend->add_option("--since", options->since, "With --reply: only mails that ended on this day or later")
      ->option_text("DAY|7d")
      ->check(day_or_time())
      ->excludes(id);
  add_yes_flag(*resend, options->yes);
  commands.run(resend, options, resend_gift);
  const auto extended = std::make_shared<ExtendOptions>();
  Command* extend = commands.verb(
      noun, "extend",
      "Give the recipient of a gift more time: it expires at this time instead. Only for a gift that "
      "giftsync "
      "sent and that has not ended, at most 365 days behind the expiry that its terms give. The time is "
      "never "
      "shortened. A gift that was not delivered is refunded all the same, unless it is sent again.",
      {"gift extend 42 --until 2027-01-31", "gift extend 42 --until 2027-01-31T18:00:00Z"});
  extend->add_option("ID", extended->id, "The recipient transaction's id")->required()->check(whole_number());
  extend->add_option("--until", extended->until, "The day, whose first moment in UTC counts, or the time")
      ->required()
      ->option_text("TIME REQUIRED")
      ->check(day_or_time());
  commands.run(extend, extended, extend_gift);
  const auto cancelled = std::make_shared<CancelOptions>();
  Command* cancel = commands.verb(
      noun, "cancel",
      "Cancel a gift that is neither claimed nor expired: it is refunded, its links stop working, and a mail "
      "that was not sent yet is withdrawn. This cannot be undone. With --key, --request, --campaign or "
      "--since it cancels every such gift for which all that is given holds, after it has shown how many, "
      "their mails and what they cost: first those whose mails have not left, the latest sent first. A gift "
      "that was claimed meanwhile is left out. Ctrl-C ends it after the present gift; the same command goes "
      "on. Pause or revoke the key first, so that nothing new is sent. --campaign alone reads all gifts; "
      "--since "
      "limits that.",
      {"gift cancel 42", "gift cancel 42 --yes", "gift cancel --key gsk_live_Ab3dE5g --since 2h",
       "gift cancel --campaign spring-2026 --since today --dry-run", "gift cancel --request 1042",
       "gift cancel --since 2026-11-28T14:00:00Z"});
  Option* cancelled_id = cancel->add_option("ID", cancelled->id, "The recipient transaction's id");
  cancelled_id->check(whole_number());
  add_cancel_filter(*cancel, cancelled->filter, cancelled_id);
  add_yes_flag(*cancel, cancelled->yes);
  commands.run(cancel, cancelled, cancel_gift);
}

}  // namespace giftsync::cli
