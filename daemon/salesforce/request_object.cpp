#include "daemon/salesforce/request_object.h"

namespace giftsync::daemon::salesforce {

void store_request_object(const FactStorage& facts, const std::string& key_prefix,
                          const std::string& object) {
  const std::string value = key_prefix + " " + object;
  if (facts.load(kRequestObjectFact) != value) facts.save(kRequestObjectFact, value);
}

std::optional<MessageTarget> stored_message_target(const FactStorage& facts) {
  const auto organization = facts.load(kOrganizationFact);
  const auto object = facts.load(kRequestObjectFact);
  if (!organization || !object) return std::nullopt;
  const std::size_t blank = object->find(' ');
  if (blank == std::string::npos || blank == 0) return std::nullopt;
  return MessageTarget{*organization, object->substr(blank + 1), object->substr(0, blank)};
}

}  // namespace giftsync::daemon::salesforce
