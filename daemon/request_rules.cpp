#include "daemon/request_rules.h"

#include "daemon/clock.h"
#include "daemon/organization_token.h"

namespace giftsync::daemon {

std::string item_page(const CatalogueSettings& catalogue, schema::GiftId gift) {
  constexpr std::string_view kPlace = "{gift_id}";
  std::string url = catalogue.item_url;
  const std::size_t at = url.rfind(kPlace);
  return at == std::string::npos ? std::string() : url.replace(at, kPlace.size(), std::to_string(gift.value));
}

sync::RequestRules request_rules(const Settings& settings, schema::Store& store, schema::Crm& crm) {
  sync::RequestRules rules;
  rules.auto_approved_default = settings.requests.auto_approved_default;
  rules.integration_user = settings.crm.integration_user;
  rules.limits.message_code_points = static_cast<std::size_t>(settings.limits.message_code_points);
  rules.limits.name_code_points = static_cast<std::size_t>(settings.limits.name_code_points);
  rules.item_link = [&settings](schema::GiftId gift) { return item_page(settings.catalogue, gift); };
  rules.check_senders = [&settings, &store, &crm](std::span<const std::string> users) {
    const schema::UtcMillis now = system_now();
    const sync::TokenStanding token =
        token_standing(store.organizations, settings.requests.organization_token.reveal(), now);
    return sync::check_senders(store.accounts, crm, token, users, now);
  };
  return rules;
}

}  // namespace giftsync::daemon
