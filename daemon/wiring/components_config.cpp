#include "daemon/wiring/components_config.h"

#include <algorithm>

#include "daemon/mail/notice_mail.h"
#include "daemon/mail/transports.h"
#include "daemon/sources/compiled_source.h"
#include "daemon/sources/provider_webhook.h"
#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/database_config.h"
#include "platform/clock.h"
#include "platform/host_identity.h"
#include "sync/access/credential.h"

namespace giftsync::wiring {
namespace {

/// While one waits for the disk, another composes; more would only wait for each other.
constexpr std::size_t kFileWriters = 2;

/// The page of an item (catalogue.item_url); empty when there is none.
std::string item_page_url(const config::CatalogueSettings& catalogue, GiftId gift) {
  constexpr std::string_view kPlaceholder = "{gift_id}";
  std::string url = catalogue.item_url;
  const std::size_t at = url.rfind(kPlaceholder);
  return at == std::string::npos ? std::string()
                                 : url.replace(at, kPlaceholder.size(), std::to_string(gift.value));
}

mail::MailBranding mail_branding(const config::PageSettings& pages) {
  return {pages.language, pages.company_name, content::color_scheme_of(pages.colour)};
}

mail::GiftMailData mail_data(const config::Settings& settings, const mail::MailBranding& branding,
                             const sync::GiftLinks& links, const store::Gift& gift,
                             const sync::MailIdentity& identity) {
  return {gift,
          identity,
          settings.email.from,
          links.url_for(sync::LinkKind::redeem, gift.transaction),
          links.url_for(sync::LinkKind::donate, gift.transaction),
          sources::provider_mail_headers(settings.sources, identity.message_id),
          branding};
}

mail::SmtpOptions smtp_options(const config::EmailSettings& email) {
  mail::SmtpOptions options;
  options.url = email.smtp_url;
  options.username = email.smtp_username;
  options.password = email.smtp_password.reveal();
  options.require_tls = email.smtp_require_tls;
  options.ca_file = email.smtp_ca_file;
  options.client_name = email.smtp_client_name.empty() ? mail::default_client_name(host_name(), email.from)
                                                       : email.smtp_client_name;
  return options;
}

}  // namespace

std::vector<std::unique_ptr<sync::MailTransport>> make_transports(const config::EmailSettings& email) {
  std::vector<std::unique_ptr<sync::MailTransport>> transports;
  if (email.transport == config::MailTransportKind::file) {
    for (std::size_t i = 0; i < kFileWriters; ++i)
      transports.push_back(mail::make_file_transport(email.directory));
    return transports;
  }
  for (std::int64_t i = 0; i < email.smtp_connections; ++i)
    transports.push_back(mail::make_smtp_transport(smtp_options(email)));
  return transports;
}

std::optional<std::string> relay_fault(const config::Settings& settings) {
  if (settings.email.transport != config::MailTransportKind::smtp) return std::nullopt;
  const std::string fault = mail::smtp_options_fault(smtp_options(settings.email));
  return fault.empty() ? std::nullopt : std::optional(settings.file + ": " + fault);
}

sync::DeliveryRules delivery_rules(const config::Settings& settings, const std::string& installation_id,
                                   const sync::GiftLinks& links) {
  sync::DeliveryRules rules;
  rules.from_address = settings.email.from;
  rules.installation_id = installation_id;
  rules.policy.delivered_when_accepted = settings.email.delivered_when_accepted;
  rules.policy.hold_uncertain = settings.email.hold_uncertain;
  rules.compose = [&settings, &links, branding = mail_branding(settings.pages)](
                      const store::Gift& gift, const sync::MailIdentity& identity) {
    return mail::compose_gift_mail(mail_data(settings, branding, links, gift, identity));
  };
  rules.compose_for_approver = [&settings](const std::string& email,
                                           std::span<const store::ApproverNotice> notices,
                                           const sync::MailIdentity& identity) {
    return mail::compose_approver_mail({email, notices, identity, settings.email.from,
                                        settings.server.admin_url + "/console", settings.pages.language});
  };
  rules.compose_for_sender = [&settings](const store::SenderMail& mail, const sync::MailIdentity& identity) {
    return mail::compose_sender_mail(
        {mail, identity, settings.email.from,
         settings.console.enabled ? settings.server.admin_url + "/console" : std::string(),
         settings.pages.language});
  };
  return rules;
}

mail::ReadableMail readable_mail(const config::Settings& settings, const sync::GiftLinks& links,
                                 const store::Gift& gift, const sync::MailIdentity& identity) {
  return mail::readable_gift_mail(mail_data(settings, mail_branding(settings.pages), links, gift, identity));
}

std::string relay_fingerprint(const config::EmailSettings& email, const sync::LinkSigner& signer) {
  const bool is_file = email.transport == config::MailTransportKind::file;
  return signer.settings_fingerprint(sources::joined_with_lengths(
      {is_file ? "file" : "smtp", email.directory, email.smtp_url, email.smtp_username,
       email.smtp_password.reveal(), email.smtp_require_tls ? "tls" : "", email.smtp_ca_file, email.from,
       email.smtp_client_name}));
}

sync::SyncRules sync_rules_with_links(const config::Settings& settings, const sync::GiftLinks& links) {
  sync::SyncRules rules = sync_rules(settings);
  rules.link_of = [&links](const auto& gift) { return links.crm_record_url(gift); };
  return rules;
}

sync::LifecycleTerms lifecycle_terms(const config::LifecycleSettings& settings) {
  sync::LifecycleTerms terms;
  terms.unopened_days = settings.expire_unopened_days;
  terms.opened_days = settings.expire_opened_days;
  terms.undelivered_days = settings.refund_undelivered_days;
  terms.refund_day = settings.refund_at_once ? 0 : settings.refund_day;
  terms.time_zone = settings.time_zone;
  for (const std::string& day : settings.reminder_days) terms.reminder_days.push_back(std::stoll(day));
  std::sort(terms.reminder_days.begin(), terms.reminder_days.end());
  return terms;
}

sync::ApproverNoticeRules approver_notice_rules(const config::Settings& settings, store::Store& store) {
  const sync::TokenStatus token =
      sync::token_status(store.credentials, settings.requests.organization_token.reveal(), system_now());
  sync::ApproverNoticeRules rules;
  if (token.state == sync::TokenStatus::State::active) rules.organization = token.organization;
  rules.allow_self_approval = settings.requests.allow_self_approval;
  return rules;
}

sync::RequestRecordRules request_record_rules(const config::Settings& settings, store::Store& store,
                                              crm::Crm& crm) {
  sync::RequestRecordRules rules;
  rules.auto_approved_default = settings.requests.auto_approved_default;
  rules.integration_user = settings.crm.integration_user;
  if (crm_capabilities(settings).is_remote) rules.most_sender_retry_after_millis = kDayMillis;
  rules.limits.message_code_points = static_cast<std::size_t>(settings.limits.message_code_points);
  rules.limits.name_code_points = static_cast<std::size_t>(settings.limits.name_code_points);
  rules.item_link = [&settings](GiftId gift) { return item_page_url(settings.catalogue, gift); };
  rules.authorize_senders = [&settings, &store, &crm](std::span<const std::string> users) {
    const UtcMillis now = system_now();
    const sync::TokenStatus token =
        sync::token_status(store.credentials, settings.requests.organization_token.reveal(), now);
    return sync::authorize_senders(store.accounts, crm.directory(), token, users, now);
  };
  // In an org people approve in Salesforce.
  if (settings.console.enabled && settings.crm.kind() == config::CrmKind::managed)
    rules.approver_notices = [&settings, &store] { return approver_notice_rules(settings, store); };
  return rules;
}

sync::CrmRoleRules crm_role_rules(const config::ConsoleSettings& settings) {
  return {settings.sender_sets, settings.approver_sets, settings.admin_sets};
}

}  // namespace giftsync::wiring
