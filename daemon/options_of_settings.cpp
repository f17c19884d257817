#include "daemon/options_of_settings.h"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>
#include <variant>

#include "daemon/sources/mail_presets.h"
#include "daemon/store_address.h"

namespace giftsync::daemon {

std::unique_ptr<MailTransport> make_transport(const EmailSettings& email) {
  if (email.transport == MailTransportKind::file) return make_file_transport(email.directory);
  SmtpOptions options;
  options.url = email.smtp_url;
  options.username = email.smtp_username;
  options.password = email.smtp_password.reveal();
  options.require_tls = email.smtp_require_tls;
  options.ca_file = email.smtp_ca_file;
  return make_smtp_transport(options);
}

GiftApiOptions api_options(const LimitSettings& limits) {
  GiftApiOptions options;
  options.limits.recipients = static_cast<std::size_t>(limits.recipients);
  options.limits.message_code_points = static_cast<std::size_t>(limits.message_code_points);
  options.limits.name_code_points = static_cast<std::size_t>(limits.name_code_points);
  options.limits.refuse_placeholders = limits.refuse_placeholders;
  options.max_body_bytes = static_cast<std::size_t>(limits.body_bytes);
  return options;
}

FrontOptions front_options(const Settings& settings, const std::string& listen) {
  FrontOptions options;
  options.listen = listen;
  options.max_body_bytes = static_cast<std::size_t>(settings.limits.body_bytes);
  options.max_connections = static_cast<std::size_t>(settings.limits.connections);
  options.max_connections_per_address = static_cast<std::size_t>(settings.limits.connections_per_address);
  options.trusted_proxies = settings.server.trusted_proxies;
  return options;
}

PageFace face_of(const PageSettings& pages) {
  std::optional<Logo> logo;
  if (!pages.logo.empty()) {
    auto read = read_logo(pages.logo);
    // It was good when the settings were read; a page without it is better than none.
    if (auto* good = std::get_if<Logo>(&read))
      logo = std::move(*good);
    else
      spdlog::warn("pages.logo: {}, {}; pages are shown without it", pages.logo, std::get<std::string>(read));
  }
  return page_face(pages.name, pages.colour, std::move(logo));
}

DeliveryRules delivery_rules(const Settings& settings, const std::string& installation,
                             const GiftLinks& links) {
  DeliveryRules rules;
  rules.from_address = settings.email.from;
  rules.face = {settings.pages.language, settings.pages.name, settings.pages.colour};
  rules.installation = installation;
  rules.policy.delivered_when_accepted = settings.email.delivered_when_accepted;
  rules.policy.hold_uncertain = settings.email.hold_uncertain;
  rules.more_headers = [&settings](const std::string& message_id) {
    return mail_arguments(settings.sources, message_id);
  };
  rules.redemption_url = [&links](const auto& gift) { return links.to(LinkKind::redeem, gift); };
  rules.donation_url = [&links](const auto& gift) { return links.to(LinkKind::donate, gift); };
  return rules;
}

sync::SyncRules sync_rules_with(const Settings& settings, const GiftLinks& links) {
  sync::SyncRules rules = sync_rules(settings);
  rules.link_of = [&links](const auto& gift) { return links.of_record(gift); };
  return rules;
}

}  // namespace giftsync::daemon
