// daemon/salesforce: what the store keeps of an org so that an outbound message can be checked without a call
// (MSG-6): the accepted org, and the object of request records with the prefix of its record Ids, which each
// org allots for itself. Any thread.
#pragma once

#include <optional>
#include <string>

#include "daemon/salesforce/access_token.h"
#include "daemon/salesforce/outbound_message.h"

namespace giftsync::daemon::salesforce {

inline constexpr const char* kRequestObjectFact = "salesforce_request_object";  ///< "a0B Request_Record__c"

/// Both as the org's describe has them: `keyPrefix` and `name`. Writes only what is not stored yet.
void store_request_object(const FactStorage& facts, const std::string& key_prefix, const std::string& object);

/// Nullopt until giftsync has signed in to an org and has read its describe of the object.
std::optional<MessageTarget> stored_message_target(const FactStorage& facts);

}  // namespace giftsync::daemon::salesforce
