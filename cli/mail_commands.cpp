// cli: `mail retry`.
#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "cli/commands.h"
#include "cli/retry.h"
#include "platform/plural.h"

namespace giftsync::cli {
namespace {

/// Why the gift's mail does not wait for a retry; empty if it is due, or only the pause kept it.
std::string not_waiting_reason(CliContext& ctx, schema::TransactionId id) {
  const auto mail = ctx.store.deliveries.find(id);
  if (!mail)
    return fmt::format("gift {} has no mail; \"giftsyncctl gift list\" shows the gifts by their ids",
                       id.value);
  if (mail->state == schema::DeliveryState::queued) return {};
  return fmt::format(
      "the mail of gift {} does not wait for a retry: it is {}; \"giftsyncctl gift show {}\" shows it",
      id.value, to_word(mail->state), id.value);
}

int retry_mails(const Console& console, CliContext& ctx, const RetryOptions& options) {
  if (options.all && !options.gifts.empty()) return console.fail(EX_USAGE, "give gifts or --all, not both");
  const platform::UtcMillis now = console.now();
  schema::store::DeliveryQueue& deliveries = ctx.store.deliveries;
  const int code =
      retry(console, options,
            {.what = "mail",
             .one =
                 [&](schema::TransactionId gift) {
                   std::string reason = not_waiting_reason(ctx, gift);
                   if (reason.empty()) deliveries.retry_deferred(gift, now);
                   return reason;
                 },
             .all =
                 [&] {
                   const std::int64_t count = deliveries.retry_deferred(std::nullopt, now);
                   return fmt::format("{} {} tried now.", platform::pluralize(count, "deferred mail"),
                                      platform::plural_verb(count, "is", "are"));
                 }});
  if (code != EX_OK) return code;
  console.info(deliveries.reset_breakers_after(now, now)
                   ? "Delivery was paused: one mail tests the relay now, and the others follow if it works."
                   : "Delivery is not paused.");
  return EX_OK;
}

}  // namespace

void add_mail_commands(Commands& commands) {
  CLI::App* noun = commands.noun("mail", "The mail outbox");
  const auto options = std::make_shared<RetryOptions>();
  CLI::App* verb = commands.verb(
      *noun, "retry",
      "End a pause of mail delivery, so that the relay is tried at once. With gifts or --all also try their "
      "mails now that wait because the recipient's server deferred them. A mail whose outcome is unknown "
      "still "
      "waits, since a repeat may be a second copy.",
      {"mail retry", "mail retry 41", "mail retry --all"});
  add_retry_options(*verb, options, "Every deferred mail");
  commands.run(verb, options, retry_mails);
}

}  // namespace giftsync::cli
