#include "wiring/request_records_config.h"

#include "platform/clock.h"
#include "sync/token_status.h"

namespace giftsync::wiring {

std::string item_page_url(const daemon::config::CatalogueSettings& catalogue, schema::GiftId gift) {
  constexpr std::string_view kPlaceholder = "{gift_id}";
  std::string url = catalogue.item_url;
  const std::size_t at = url.rfind(kPlaceholder);
  return at == std::string::npos ? std::string()
                                 : url.replace(at, kPlaceholder.size(), std::to_string(gift.value));
}

sync::RequestRecordRules request_record_rules(const daemon::config::Settings& settings,
                                              schema::store::Store& store, schema::crm::Crm& crm) {
  sync::RequestRecordRules rules;
  rules.auto_approved_default = settings.requests.auto_approved_default;
  rules.integration_user = settings.crm.integration_user;
  rules.limits.message_code_points = static_cast<std::size_t>(settings.limits.message_code_points);
  rules.limits.name_code_points = static_cast<std::size_t>(settings.limits.name_code_points);
  rules.item_link = [&settings](schema::GiftId gift) { return item_page_url(settings.catalogue, gift); };
  rules.authorize_senders = [&settings, &store, &crm](std::span<const std::string> users) {
    const platform::UtcMillis now = platform::system_now();
    const sync::TokenStatus token =
        sync::token_status(store.organizations, settings.requests.organization_token.reveal(), now);
    return sync::authorize_senders(store.accounts, crm.directory(), token, users, now);
  };
  return rules;
}

}  // namespace giftsync::wiring
