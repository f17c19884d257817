#include "wiring/components_config.h"

#include <optional>
#include <utility>
#include <variant>

#include "daemon/mail/gift_mail.h"
#include "daemon/mail/transports.h"
#include "daemon/sources/providers/provider_webhook.h"
#include "wiring/database_config.h"

namespace giftsync::wiring {

std::unique_ptr<sync::MailTransport> make_transport(const daemon::config::EmailSettings& email) {
  if (email.transport == daemon::config::MailTransportKind::file)
    return daemon::mail::make_file_transport(email.directory);
  daemon::mail::SmtpOptions options;
  options.url = email.smtp_url;
  options.username = email.smtp_username;
  options.password = email.smtp_password.reveal();
  options.require_tls = email.smtp_require_tls;
  options.ca_file = email.smtp_ca_file;
  return daemon::mail::make_smtp_transport(options);
}

sync::DeliveryRules delivery_rules(const daemon::config::Settings& settings,
                                   const std::string& installation_id, const sync::GiftLinks& links) {
  sync::DeliveryRules rules;
  rules.from_address = settings.email.from;
  rules.installation_id = installation_id;
  rules.policy.delivered_when_accepted = settings.email.delivered_when_accepted;
  rules.policy.hold_uncertain = settings.email.hold_uncertain;
  rules.compose = [&settings, &links](const schema::store::Gift& gift, const sync::MailIdentity& identity) {
    return daemon::mail::compose_gift_mail(
        {gift,
         identity,
         settings.email.from,
         links.url_for(sync::LinkKind::redeem, gift.transaction),
         links.url_for(sync::LinkKind::donate, gift.transaction),
         daemon::sources::provider_mail_headers(settings.sources, identity.message_id),
         {settings.pages.language, settings.pages.company_name, settings.pages.colour}});
  };
  return rules;
}

sync::SyncRules sync_rules_with_links(const daemon::config::Settings& settings,
                                      const sync::GiftLinks& links) {
  sync::SyncRules rules = sync_rules(settings);
  rules.link_of = [&links](const auto& gift) { return links.crm_record_url(gift); };
  return rules;
}

}  // namespace giftsync::wiring
