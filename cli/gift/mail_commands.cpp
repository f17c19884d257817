// cli: `mail list` and `mail retry`.
#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "platform/text.h"
#include "sync/mail/delivery_rules.h"

namespace giftsync::cli {
namespace {

constexpr std::size_t kPageRows = 500;

struct ListOptions {
  std::string state = "held";
  std::int64_t limit = 0;  ///< 0: all
  bool json = false;
};

int list_mails(const Console& console, CliContext& ctx, const ListOptions& options) {
  using Kind = TextTable::Kind;
  const DeliveryState state = delivery_state_from_word(options.state).value();
  const bool is_due_again = state == DeliveryState::queued || state == DeliveryState::uncertain;
  Listing list(console.out, options.json);
  std::optional<TransactionId> before;
  const std::int64_t count = each_row(
      console, options.limit,
      [&] {
        auto page = ctx.store.deliveries.list(store::Viewer::of_command_line(), state, before, kPageRows);
        if (!page.empty()) before = page.back().transaction;
        return page;
      },
      [&](const store::ListedMail& mail) {
        list.add([&](ListedRow& row) {
          if (is_of_gift(mail.kind))
            row.add("recipient_transaction_id", {"GIFT", Kind::number}, mail.transaction.value);
          else  // a mail to an approver or a sender belongs to no gift
            row.add("recipient_transaction_id", {"GIFT", Kind::number}, nullptr, "-");
          row.add("kind", {"KIND"}, to_word(mail.kind));
          row.add("email", {"RECIPIENT", Kind::elastic}, mail.email);
          row.add("attempts", {"ATTEMPTS", Kind::number}, mail.attempts);
          row.add("updated_at", {"CHANGED (UTC)"}, mail.updated_at);
          row.add("next_attempt_at", {"NEXT ATTEMPT (UTC)"}, json_time(mail.next_attempt_at),
                  is_due_again ? minute_text(mail.next_attempt_at) : "");
          row.add("last_reply", {"LAST REPLY", Kind::elastic}, mail.last_reply);
        });
      });
  list.finish();
  if (count == 0 && !options.json) console.info(fmt::format("No mail is {}.", options.state));
  return EX_OK;
}

void add_list(Commands& commands, Command& noun) {
  const auto options = std::make_shared<ListOptions>();
  Command* verb = commands.verb(
      noun, "list",
      "List the mails in one state, those that are held if none is given, the newest gift first; behind the "
      "mails of gifts those to approvers, admins and senders.",
      {"mail list", "mail list --state queued", "mail list --json | jq -r '.[].email'"});
  verb->add_option("--state", options->state, "Only mails in this state")
      ->option_text("STATE")
      ->check(one_of({"held", "uncertain", "undelivered", "queued", "sending", "withdrawn"}));
  verb->add_option("--limit", options->limit, "At most N mails")->option_text("N")->check(whole_number());
  verb->add_flag("--json", options->json, "Print a JSON array");
  commands.run(verb, options, list_mails);
}

/// Why the gift's mail does not wait for a retry; empty if it is due, or only the pause kept it.
std::string not_waiting_reason(CliContext& ctx, TransactionId id) {
  const auto mail = ctx.store.deliveries.find(id);
  if (!mail)
    return fmt::format("gift {} has no mail; \"giftsyncctl gift list\" shows the gifts by their ids",
                       id.value);
  if (mail->state == DeliveryState::queued) return {};
  return fmt::format(
      "the mail of gift {} does not wait for a retry: it is {}; \"giftsyncctl gift show {}\" shows it",
      id.value, to_word(mail->state), id.value);
}

int retry_mails(const Console& console, CliContext& ctx, const RetryOptions& options) {
  if (options.all && !options.gifts.empty()) return console.fail(EX_USAGE, "give gifts or --all, not both");
  const UtcMillis now = console.now();
  store::DeliveryQueue& deliveries = ctx.store.deliveries;
  store::AuditEvent event = command_event(console, "mail.retry-all", {});
  event.object_kind = "mail";
  const int code = retry(console, options,
                         {.what = "mail",
                          .one =
                              [&](TransactionId gift) {
                                std::string reason = not_waiting_reason(ctx, gift);
                                if (!reason.empty()) return reason;
                                auto of_gift = gift_command_event(console, ctx.store, "mail.retry", gift);
                                of_gift.detail = "deferred mails";
                                deliveries.retry_deferred(gift, now, of_gift);
                                return reason;
                              },
                          .all =
                              [&] {
                                event.detail = "deferred mails";
                                const std::int64_t count =
                                    deliveries.retry_deferred(std::nullopt, now, event);
                                return fmt::format("{} {} tried now.", pluralize(count, "deferred mail"),
                                                   plural_verb(count, "is", "are"));
                              }});
  if (code != EX_OK) return code;
  event.action = "mail.end-pauses";
  event.detail = "pauses";
  const bool has_ended_pauses = deliveries.reset_breakers_after(now, now, event);
  if (const auto pause = ctx.store.mail_pauses.state().pause)
    console.info(fmt::format("No mail is sent: {}. Only \"giftsyncctl mail resume\" ends that pause.",
                             printable(sync::describe(*pause))));
  else
    console.info(has_ended_pauses
                     ? "Delivery was paused: one mail tests the relay now, and the others follow if it works."
                     : "Delivery is not paused.");
  return EX_OK;
}

}  // namespace

void add_mail_commands(Commands& commands) {
  Command* noun = commands.noun("mail", "The mail outbox");
  add_list(commands, *noun);
  const auto options = std::make_shared<RetryOptions>();
  Command* verb = commands.verb(
      *noun, "retry",
      "End a pause of mail delivery, so that the relay is tried at once. With gifts or --all also try their "
      "mails now that wait because the recipient's server deferred them. A mail whose outcome is unknown "
      "still waits, since a repeat may be a second copy. The pause of \"mail pause\" stays.",
      {"mail retry", "mail retry 41", "mail retry --all"});
  add_retry_options(*verb, options, "Every deferred mail");
  commands.run(verb, options, retry_mails);
  add_mail_pause_commands(commands, *noun);
}

}  // namespace giftsync::cli
