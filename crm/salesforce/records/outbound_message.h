// crm/salesforce: outbound messages: the SOAP calls by which an org says that records were inserted or
// changed (MSG-5 to MSG-8). A message is read into values; of these only ids are used. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "crm/salesforce/calls/access_token.h"

namespace giftsync::salesforce {

inline constexpr std::size_t kMaxOutboundMessageBytes = std::size_t{256} * 1024;
inline constexpr std::size_t kMaxNotifications = 100;

struct MessageNotification {
  std::string id;         ///< 18 characters; the same whenever the org sends this notification again
  std::string object;     ///< API name: "Request_Record__c"
  std::string record_id;  ///< 18 characters
};

struct OutboundMessage {
  std::string organization_id;  ///< 18 characters
  std::vector<MessageNotification> notifications;
};

/// Why a message is refused as a whole.
struct MessageFault {
  enum class Kind { malformed, too_many, other_organization, other_object };

  Kind kind = Kind::malformed;
  std::string message;  ///< a sentence with what was found and the next step
  std::string reason;   ///< the same without anything of the message's values
};

/// What messages may be about.
struct MessageTarget {
  std::string organization_id;  ///< 15 or 18 characters
  std::string object;           ///< API name, compared without case
  std::string key_prefix;       ///< of its record Ids, three characters: "a0B"
};

tl::expected<OutboundMessage, MessageFault> read_outbound_message(std::string_view body);

/// The records' Ids, each once and in their order; or the fault that the message is not about `target`.
tl::expected<std::vector<std::string>, MessageFault> records_of(const OutboundMessage& message,
                                                                const MessageTarget& target);

/// The SOAP envelope that makes the org forget the message.
std::string acknowledgement();

enum class SoapFaultSide {
  client,  ///< the message is wrong
  server
};
/// The SOAP envelope of a refusal: the org keeps the message and sends it again.
std::string soap_fault(SoapFaultSide side, std::string_view message);

// What the store keeps of an org so that an outbound message can be checked without a call
// (MSG-6): the accepted org, and the object of request records with the prefix of its record Ids, which each
// org allots for itself. Any thread.

inline constexpr const char* kRequestObjectFact = "salesforce_request_object";  ///< "a0B Request_Record__c"

/// Both as the org's describe has them: `keyPrefix` and `name`. Writes only what is not stored yet.
void store_request_object(const FactStorage& facts, const std::string& key_prefix, const std::string& object);

/// Nullopt until giftsync has signed in to an org and has read its describe of the object.
std::optional<MessageTarget> stored_message_target(const FactStorage& facts);

}  // namespace giftsync::salesforce
