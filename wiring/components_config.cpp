#include "wiring/components_config.h"

#include <algorithm>
#include <string>

#include "daemon/mail/approver_mail.h"
#include "daemon/mail/sender_mail.h"
#include "daemon/mail/smtp_option_checks.h"
#include "daemon/mail/transports.h"
#include "daemon/sources/compiled_source.h"
#include "daemon/sources/providers/provider_webhook.h"
#include "platform/clock.h"
#include "platform/host_identity.h"
#include "sync/token_status.h"
#include "wiring/crm_config.h"
#include "wiring/database_config.h"

namespace giftsync::wiring {
namespace {

/// While one waits for the disk, another composes; more would only wait for each other.
constexpr std::size_t kFileWriters = 2;

/// The page of an item (catalogue.item_url); empty when there is none.
std::string item_page_url(const daemon::config::CatalogueSettings& catalogue, schema::GiftId gift) {
  constexpr std::string_view kPlaceholder = "{gift_id}";
  std::string url = catalogue.item_url;
  const std::size_t at = url.rfind(kPlaceholder);
  return at == std::string::npos ? std::string()
                                 : url.replace(at, kPlaceholder.size(), std::to_string(gift.value));
}

daemon::mail::MailBranding mail_branding(const daemon::config::PageSettings& pages) {
  return {pages.language, pages.company_name, daemon::content::color_scheme_of(pages.colour)};
}

daemon::mail::GiftMailData mail_data(const daemon::config::Settings& settings,
                                     const daemon::mail::MailBranding& branding, const sync::GiftLinks& links,
                                     const schema::store::Gift& gift, const sync::MailIdentity& identity) {
  return {gift,
          identity,
          settings.email.from,
          links.url_for(sync::LinkKind::redeem, gift.transaction),
          links.url_for(sync::LinkKind::donate, gift.transaction),
          daemon::sources::provider_mail_headers(settings.sources, identity.message_id),
          branding};
}

daemon::mail::SmtpOptions smtp_options(const daemon::config::EmailSettings& email) {
  daemon::mail::SmtpOptions options;
  options.url = email.smtp_url;
  options.username = email.smtp_username;
  options.password = email.smtp_password.reveal();
  options.require_tls = email.smtp_require_tls;
  options.ca_file = email.smtp_ca_file;
  options.client_name = email.smtp_client_name.empty()
                            ? daemon::mail::default_client_name(platform::host_name(), email.from)
                            : email.smtp_client_name;
  return options;
}

}  // namespace

std::vector<std::unique_ptr<sync::MailTransport>> make_transports(
    const daemon::config::EmailSettings& email) {
  std::vector<std::unique_ptr<sync::MailTransport>> transports;
  if (email.transport == daemon::config::MailTransportKind::file) {
    for (std::size_t i = 0; i < kFileWriters; ++i)
      transports.push_back(daemon::mail::make_file_transport(email.directory));
    return transports;
  }
  for (std::int64_t i = 0; i < email.smtp_connections; ++i)
    transports.push_back(daemon::mail::make_smtp_transport(smtp_options(email)));
  return transports;
}

std::optional<std::string> relay_fault(const daemon::config::Settings& settings) {
  if (settings.email.transport != daemon::config::MailTransportKind::smtp) return std::nullopt;
  const std::string fault = daemon::mail::smtp_options_fault(smtp_options(settings.email));
  return fault.empty() ? std::nullopt : std::optional(settings.file + ": " + fault);
}

sync::DeliveryRules delivery_rules(const daemon::config::Settings& settings,
                                   const std::string& installation_id, const sync::GiftLinks& links) {
  sync::DeliveryRules rules;
  rules.from_address = settings.email.from;
  rules.installation_id = installation_id;
  rules.policy.delivered_when_accepted = settings.email.delivered_when_accepted;
  rules.policy.hold_uncertain = settings.email.hold_uncertain;
  rules.compose = [&settings, &links, branding = mail_branding(settings.pages)](
                      const schema::store::Gift& gift, const sync::MailIdentity& identity) {
    return daemon::mail::compose_gift_mail(mail_data(settings, branding, links, gift, identity));
  };
  rules.compose_for_approver = [&settings](const std::string& email,
                                           std::span<const schema::store::ApproverNotice> notices,
                                           const sync::MailIdentity& identity) {
    return daemon::mail::compose_approver_mail({email, notices, identity, settings.email.from,
                                                settings.server.admin_url + "/console",
                                                settings.pages.language});
  };
  rules.compose_for_sender = [&settings](const schema::store::SenderMail& mail,
                                         const sync::MailIdentity& identity) {
    return daemon::mail::compose_sender_mail(
        {mail, identity, settings.email.from,
         settings.console.enabled ? settings.server.admin_url + "/console" : std::string(),
         settings.pages.language});
  };
  return rules;
}

daemon::mail::ReadableMail readable_mail(const daemon::config::Settings& settings,
                                         const sync::GiftLinks& links, const schema::store::Gift& gift,
                                         const sync::MailIdentity& identity) {
  return daemon::mail::readable_gift_mail(
      mail_data(settings, mail_branding(settings.pages), links, gift, identity));
}

std::string relay_fingerprint(const daemon::config::EmailSettings& email, const sync::LinkSigner& signer) {
  const bool is_file = email.transport == daemon::config::MailTransportKind::file;
  return signer.settings_fingerprint(daemon::sources::joined_with_lengths(
      {is_file ? "file" : "smtp", email.directory, email.smtp_url, email.smtp_username,
       email.smtp_password.reveal(), email.smtp_require_tls ? "tls" : "", email.smtp_ca_file, email.from,
       email.smtp_client_name}));
}

sync::SyncRules sync_rules_with_links(const daemon::config::Settings& settings,
                                      const sync::GiftLinks& links) {
  sync::SyncRules rules = sync_rules(settings);
  rules.link_of = [&links](const auto& gift) { return links.crm_record_url(gift); };
  return rules;
}

sync::LifecycleTerms lifecycle_terms(const daemon::config::LifecycleSettings& settings) {
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

sync::ApproverNoticeRules approver_notice_rules(const daemon::config::Settings& settings,
                                                schema::store::Store& store) {
  const sync::TokenStatus token = sync::token_status(
      store.organizations, settings.requests.organization_token.reveal(), platform::system_now());
  sync::ApproverNoticeRules rules;
  if (token.state == sync::TokenStatus::State::active) rules.organization = token.organization;
  rules.allow_self_approval = settings.requests.allow_self_approval;
  return rules;
}

sync::RequestRecordRules request_record_rules(const daemon::config::Settings& settings,
                                              schema::store::Store& store, schema::crm::Crm& crm) {
  sync::RequestRecordRules rules;
  rules.auto_approved_default = settings.requests.auto_approved_default;
  rules.integration_user = settings.crm.integration_user;
  if (crm_capabilities(settings).is_remote) rules.most_sender_rest_millis = platform::kDayMillis;
  rules.limits.message_code_points = static_cast<std::size_t>(settings.limits.message_code_points);
  rules.limits.name_code_points = static_cast<std::size_t>(settings.limits.name_code_points);
  rules.item_link = [&settings](schema::GiftId gift) { return item_page_url(settings.catalogue, gift); };
  rules.authorize_senders = [&settings, &store, &crm](std::span<const std::string> users) {
    const platform::UtcMillis now = platform::system_now();
    const sync::TokenStatus token =
        sync::token_status(store.organizations, settings.requests.organization_token.reveal(), now);
    return sync::authorize_senders(store.accounts, crm.directory(), token, users, now);
  };
  // In an org people approve in Salesforce.
  if (settings.console.enabled && settings.crm.kind() == daemon::config::CrmKind::managed)
    rules.approver_notices = [&settings, &store] { return approver_notice_rules(settings, store); };
  return rules;
}

sync::CrmRoleRules crm_role_rules(const daemon::config::ConsoleSettings& settings) {
  return {settings.sender_sets, settings.approver_sets, settings.admin_sets};
}

}  // namespace giftsync::wiring
