// cli: `mail pause` and `mail resume` (MAIL-36).
#include <fmt/format.h>
#include <sysexits.h>

#include <array>
#include <memory>

#include "cli/command_audit.h"
#include "cli/commands.h"
#include "cli/listing.h"
#include "sync/attention.h"
#include "sync/mail/delivery_rules.h"

namespace giftsync::cli {
namespace {

std::string waiting_mails(store::Store& store) {
  constexpr std::array kQueued{DeliveryState::queued};
  return sync::count_text(store.deliveries.count_by_state(kQueued).front().second, "waiting mail");
}

struct PauseOptions {
  std::string reason;
};

int pause_mail(const Console& console, store::Store& store, const PauseOptions& options) {
  audit_object(console, "");
  if (store.mail_pauses.begin({console.now(), os_user(), options.reason})) {
    console.info(
        "Mail is paused: within two seconds no daemon of this store begins another mail, until \"giftsyncctl "
        "mail resume\". Requests are accepted, and their mails wait.");
    return EX_OK;
  }
  const auto pause = store.mail_pauses.state().pause;
  console.info(fmt::format("Mail is already paused{}.",
                           pause ? ": " + printable(sync::describe(*pause)) : ", or was until now"));
  return EX_OK;
}

struct ResumeOptions {};

int resume_mail(const Console& console, store::Store& store, const ResumeOptions&) {
  audit_object(console, "");
  const auto ended = store.mail_pauses.end(console.now());
  if (!ended) {
    console.info(
        "Mail is already sent: no admin has paused it; \"giftsyncctl status\" shows pauses of the relay.");
    return EX_OK;
  }
  console.info(
      fmt::format("Mail is sent again within two seconds, with {}. It was paused since {} UTC by {}.",
                  waiting_mails(store), minute_text(ended->since), printable(ended->by)));
  return EX_OK;
}

}  // namespace

void add_mail_pause_commands(Commands& commands, Command& mail) {
  const auto options = std::make_shared<PauseOptions>();
  Command* verb = commands.verb(
      mail, "pause",
      "Pause all mail of this store, until \"mail resume\": within two seconds no daemon "
      "begins another mail, of gifts, reminders, to approvers, admins and senders. A mail that a "
      "connection is sending ends normally. Requests are accepted, and their mails wait; gifts "
      "expire by their terms meanwhile. It holds across restarts.",
      {"mail pause", "mail pause --reason \"wrong item\""});
  verb->add_option("--reason", options->reason, "Why, for the other admins")
      ->option_text("TEXT")
      ->check(plain_reason());
  commands.run_with_store_alone(verb, options, pause_mail);
  verb = commands.verb(mail, "resume",
                       "End the pause of \"mail pause\": the mails that wait are sent. A mail that its "
                       "recipient's server deferred before is tried for another day.",
                       {"mail resume"});
  commands.run_with_store_alone(verb, std::make_shared<ResumeOptions>(), resume_mail);
}

}  // namespace giftsync::cli
