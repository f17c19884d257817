#include "daemon/wiring/components_config.h"

#include <algorithm>

#include "daemon/config/text_checks.h"
#include "daemon/mail/notice_mail.h"
#include "daemon/mail/transports.h"
#include "daemon/sources/compiled_source.h"
#include "daemon/sources/provider_webhook.h"
#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/host_identity.h"
#include "platform/clock.h"
#include "platform/text.h"
#include "sync/access/credential.h"
#include "sync/access/sending_policy.h"

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
  return {gift, identity, settings.email.from, links.url_for(sync::LinkKind::redeem, gift.transaction),
          links.url_for(sync::LinkKind::donate, gift.transaction),
          sources::provider_mail_headers(settings.sources, identity.message_id), branding,
          // The sender who gets a test gift's mail must not end the recipient's gifts.
          has_stop_link(settings) && !gift.request.is_test
              ? links.url_for(sync::LinkKind::stop, gift.transaction)
              : std::string()};
}

std::string console_url(const config::Settings& settings) {
  return settings.console.enabled ? settings.server.admin_url + "/console" : std::string();
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

bool has_stop_link(const config::Settings& settings) {
  return settings.sending.do_not_send.opt_out_link;
}

bool mails_sign_in_links(const config::Settings& settings) {
  const config::ConsoleSettings& console = settings.console;
  const bool has_provider = console.sign_in && !settings.sso.connections.empty();
  return console.enabled && (console.mail_links == config::MailLinks::always ||
                             (console.mail_links == config::MailLinks::without_provider && !has_provider));
}

sync::DeliveryRules delivery_rules(const config::Settings& settings, const std::string& installation_id,
                                   const sync::GiftLinks& links) {
  sync::DeliveryRules rules;
  rules.from_address = settings.email.from;
  rules.installation_id = installation_id;
  rules.policy.delivered_when_accepted = settings.email.delivered_when_accepted;
  rules.policy.hold_uncertain = settings.email.hold_uncertain;
  rules.have_links_ended = [&links](UtcMillis now) { return links.have_ended(now); };
  if (settings.sending.do_not_send.bounces) rules.bounce_days = settings.sending.do_not_send.bounce_days;
  rules.compose = [&settings, &links, branding = mail_branding(settings.pages)](
                      const store::Gift& gift, const sync::MailIdentity& identity) {
    return mail::compose_gift_mail(mail_data(settings, branding, links, gift, identity));
  };
  rules.compose_for_approver = [&settings, url = console_url(settings)](const store::ApproverMail& mail,
                                                                        const sync::MailIdentity& identity) {
    return mail::compose_approver_mail({mail.email, mail.notices, identity, settings.email.from, url,
                                        settings.pages.language, mail.admin_notices});
  };
  rules.compose_for_sender = [&settings, url = console_url(settings)](const store::SenderMail& mail,
                                                                      const sync::MailIdentity& identity) {
    return mail::compose_sender_mail({mail, identity, settings.email.from, url, settings.pages.language});
  };
  rules.compose_for_sign_in = [&settings, &links, url = settings.server.admin_url + "/console/link/"](
                                  const store::SignInMail& mail, const sync::MailIdentity& identity) {
    return mail::compose_sign_in_mail(
        {mail, identity, settings.email.from, url + links.sign_in_token(mail.salt),
         config::host_of_url(settings.server.admin_url), settings.pages.language});
  };
  return rules;
}

namespace {

/// 1320 of "22:00"; 0 of an empty text.
std::int64_t minute_of_day(const std::string& time) {
  if (time.empty()) return 0;
  const std::size_t colon = time.find(':');
  return 60 * parse_number<std::int64_t>(time.substr(0, colon)).value_or(0) +
         parse_number<std::int64_t>(time.substr(colon + 1)).value_or(0);
}

}  // namespace

sync::AlertRules alert_rules(const config::AlertSettings& settings) {
  return {settings.digest_minutes * kMinuteMillis,
          {minute_of_day(settings.quiet_from), minute_of_day(settings.quiet_until), settings.time_zone}};
}

sync::OutgoingMail alert_mail(const config::Settings& settings, const std::string& installation_id,
                              const sync::AlertMail& mail, const std::string& to, UtcMillis now) {
  return mail::compose_alert_mail({mail, now, settings.email.from, to, installation_id,
                                   config::host_of_url(settings.server.base_url), console_url(settings)});
}

mail::ReadableMail readable_mail(const config::Settings& settings, const sync::GiftLinks& links,
                                 const store::Gift& gift, const sync::MailIdentity& identity) {
  return mail::readable_gift_mail(mail_data(settings, mail_branding(settings.pages), links, gift, identity));
}

std::string relay_fingerprint(const config::EmailSettings& email, const store::DoNotSend& do_not_send) {
  const bool is_file = email.transport == config::MailTransportKind::file;
  constexpr std::size_t kDigits = 16;
  const std::string texts = sources::joined_with_lengths(
      {is_file ? "file" : "smtp", email.directory, email.smtp_url, email.smtp_username,
       email.smtp_password.reveal(), email.smtp_require_tls ? "tls" : "", email.smtp_ca_file, email.from,
       email.smtp_client_name});
  return do_not_send.hash_of("relay settings " + texts).substr(0, kDigits);
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

namespace {

sync::BudgetValues budget_values(const config::BudgetSettings& settings) {
  // 0 sets no limit.
  const auto gifts = [](std::int64_t limit) { return limit > 0 ? std::optional(limit) : std::nullopt; };
  const auto amount = [](const std::string& text) {
    const auto limit = from_decimal(text);
    return limit && limit->minor_units > 0 ? limit : std::nullopt;
  };
  return {{gifts(settings.day_gifts), amount(settings.day_amount)},
          {gifts(settings.month_gifts), amount(settings.month_amount)}};
}

}  // namespace

sync::SendingBudgetRules sending_budget_rules(const config::SendingSettings& settings) {
  sync::SendingBudgetRules rules;
  rules.time_zone = settings.time_zone;
  rules.account = budget_values(settings.budgets.account);
  rules.organization = budget_values(settings.budgets.organization);
  rules.installation = budget_values(settings.budgets.installation);
  rules.warn_at.clear();
  for (const std::string& percent : settings.budgets.warn_at) rules.warn_at.push_back(std::stoll(percent));
  std::ranges::sort(rules.warn_at);
  rules.burst_gifts = settings.burst.gifts;
  rules.burst_minutes = settings.burst.minutes;
  rules.budgets_hold = settings.budgets.holds;
  rules.burst_holds = settings.burst.holds;
  return rules;
}

store::FrequencyRule frequency_rule(const config::FrequencySettings& settings,
                                    const store::DoNotSend& do_not_send) {
  return {settings.gifts,
          settings.days,
          settings.within_organization,
          settings.on_excess != config::FrequencyExcess::warn,
          settings.on_excess == config::FrequencyExcess::hold,
          [&do_not_send](std::string_view address_key) { return do_not_send.mark_of(address_key); }};
}

std::vector<sync::ApprovalRule> approval_rules(const config::SendingApprovalSettings& settings) {
  std::vector<sync::ApprovalRule> rules;
  for (const config::ApprovalRuleSettings& written : settings.rules) {
    sync::ApprovalRule& rule = rules.emplace_back();
    rule.name = written.name;
    rule.amount_above = from_decimal(written.amount_above);  // empty: none
    rule.recipients_above = written.recipients_above;
    rule.first_gift_to_domain = written.first_gift_to_domain;
    for (const std::string& item : written.items) rule.items.insert(GiftId{std::stoll(item)});
    for (const std::string& account : written.accounts) sync::add_account(rule, account);
    rule.credentials = written.credentials;
    for (const std::string& word : written.endpoints)
      if (const auto endpoint = sync::gift_endpoint_from_word(word)) rule.endpoints.insert(*endpoint);
  }
  return rules;
}

std::vector<std::string> unknown_in_rules(const config::SendingApprovalSettings& settings,
                                          store::Store& store, UtcMillis now) {
  std::vector<std::string> usable;  // read where a rule names credentials: there may be many
  if (std::ranges::any_of(settings.rules, [](const auto& rule) { return !rule.credentials.empty(); })) {
    for (const CredentialKind kind : {CredentialKind::api_key, CredentialKind::organization_token})
      for (store::Credential& one : store.credentials.list(kind))
        if (sync::is_usable(sync::state_of(one, now))) usable.push_back(std::move(one.prefix));
  }
  std::vector<std::string> warnings;
  for (const config::ApprovalRuleSettings& rule : settings.rules) {
    const std::string start = "sending.approval.rules: the rule " + rule.name + " names the ";
    for (const std::string& item : rule.items)
      if (!store.catalogue.item({std::stoll(item)}))
        warnings.push_back(start + "item " + item + ", which the catalogue does not have");
    for (const std::string& account : rule.accounts)
      if (!store.accounts.find_by_email(account))
        warnings.push_back(start + "account " + account + ", which does not exist");
    for (const std::string& prefix : rule.credentials)
      if (std::ranges::none_of(usable, [&](const std::string& one) { return one.starts_with(prefix); }))
        warnings.push_back(start + "key or token " + prefix +
                           ", but no usable one begins so: name the one that replaced it, or remove it");
  }
  return warnings;
}

std::set<std::string> rules_naming(const config::SendingApprovalSettings& settings,
                                   const std::string& credential_prefix) {
  std::set<std::string> names;
  for (const config::ApprovalRuleSettings& rule : settings.rules)
    if (std::ranges::any_of(rule.credentials,
                            [&](const std::string& prefix) { return credential_prefix.starts_with(prefix); }))
      names.insert(rule.name);
  return names;
}

store::HoldTerms hold_terms(const config::SendingApprovalSettings& settings) {
  return {settings.expire_days * kDayMillis, sync::limit_reasons};
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
  rules.refuse_recipients = [&settings, &store](std::span<const std::string> emails) {
    std::vector<std::optional<std::string>> refusals;
    for (auto& finding :
         sync::refused_recipients(store.do_not_send, settings.sending.allowed_domains, emails, system_now()))
      refusals.push_back(finding ? std::optional(std::move(finding->message)) : std::nullopt);
    return refusals;
  };
  if (const auto approval = approval_rules(settings.sending.approval); !approval.empty())
    rules.hold_reasons = [approval, &store](const store::NewGiftRequest& request) {
      const bool asks = sync::asks_for_domains(approval);
      return sync::hold_reasons(approval, request,
                                asks ? store.gifts.first_new_domain(request.recipients) : std::string());
    };
  // In an org people approve in Salesforce.
  if (settings.console.enabled && settings.crm.kind() == config::CrmKind::managed)
    rules.approver_notices = [&settings, &store] { return approver_notice_rules(settings, store); };
  return rules;
}

validation::GiftRequestLimits gift_request_limits(const config::LimitSettings& settings) {
  return {static_cast<std::size_t>(settings.max_recipients),
          static_cast<std::size_t>(settings.message_code_points),
          static_cast<std::size_t>(settings.name_code_points), settings.refuse_placeholders};
}

sync::CrmRoleRules crm_role_rules(const config::ConsoleSettings& settings) {
  return {settings.sender_sets, settings.approver_sets, settings.admin_sets};
}

}  // namespace giftsync::wiring
