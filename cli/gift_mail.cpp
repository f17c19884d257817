#include "cli/gift_mail.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <sstream>

#include "cli/json_array_writer.h"
#include "cli/text_table.h"
#include "sync/gift_links.h"
#include "sync/link_token.h"
#include "wiring/components_config.h"
#include "wiring/config_error.h"
#include "wiring/server_secret_config.h"

namespace giftsync::cli {
namespace {

std::string no_mail(const schema::store::Gift& gift) {
  const std::string number = std::to_string(gift.transaction.id.value);
  if (!gift.transaction.gift_source.empty())
    return "gift " + number + " has no mail here: giftsync did not send it";
  return "gift " + number + " has no mail: its links were issued as URLs";
}

/// Whether and when it was sent.
std::string state_of(const schema::store::DeliveryRow& mail) {
  return fmt::format("{} since {}", to_word(mail.state), platform::to_rfc3339(mail.updated_at));
}

}  // namespace

int show_mail(const Console& console, CliContext& ctx, const schema::store::Gift& gift, bool json) try {
  const auto row = ctx.store.deliveries.find(gift.transaction.id);
  if (!row) return console.fail(EX_DATAERR, no_mail(gift));
  const sync::LinkSigner signer(wiring::load_server_secret(ctx.settings, ctx.store));
  const sync::GiftLinks links(ctx.settings.server.base_url, signer);
  const std::string installation = ctx.store.fact(schema::store::kInstallationIdFact).value_or("");
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

}  // namespace giftsync::cli
