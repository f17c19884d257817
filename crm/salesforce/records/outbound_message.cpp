#include "crm/salesforce/records/outbound_message.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "platform/text.h"
#include "platform/visible_text.h"
#include "platform/xml.h"
#include "schema/ids.h"

namespace giftsync::salesforce {
namespace {

constexpr std::string_view kSoap = "http://schemas.xmlsoap.org/soap/envelope/";
constexpr std::string_view kOutbound = "http://soap.sforce.com/2005/09/outbound";
constexpr std::string_view kRecord = "urn:sobject.enterprise.soap.sforce.com";
constexpr std::string_view kSchemaInstance = "http://www.w3.org/2001/XMLSchema-instance";
/// Envelope, Body, notifications, Notification, sObject and its fields make six; a compound field has parts.
constexpr std::size_t kMaxDepth = 16;

using Refused = tl::unexpected<MessageFault>;

Refused malformed(std::string message, std::string reason) {
  message += ". Nothing was accepted; an outbound message of Salesforce is expected.";
  return Refused(MessageFault{MessageFault::Kind::malformed, std::move(message), std::move(reason)});
}

/// The only child of that name.
tl::expected<const XmlElement*, MessageFault> only_child(const XmlElement& parent,
                                                         std::string_view name_space, std::string_view name) {
  const XmlElement* found = nullptr;
  for (const XmlElement& child : parent.children) {
    if (!child.is(name_space, name)) continue;
    if (found) {
      const std::string twice = fmt::format("{} has more than one {}", parent.name, name);
      return malformed(twice, fmt::format("more than one {}", name));
    }
    found = &child;
  }
  if (found) return found;
  return malformed(fmt::format("{} has no {} ({})", parent.name, name, name_space),
                   fmt::format("no {}", name));
}

/// The Id in the only child of that name.
tl::expected<std::string, MessageFault> id_in(const XmlElement& parent, std::string_view name_space,
                                              std::string_view name) {
  const auto child = only_child(parent, name_space, name);
  if (!child) return Refused(child.error());
  const std::string_view text = trimmed((*child)->text);
  if (auto id = long_record_id(text)) return std::move(*id);
  return malformed(
      fmt::format("{} in {} is {}; allowed: an Id of 15 or 18 letters and digits, whose last three "
                  "of 18 fit the others",
                  name, parent.name, in_quotes(text)),
      fmt::format("{} is no Id", name));
}

tl::expected<MessageNotification, MessageFault> read_notification(const XmlElement& element) {
  auto id = id_in(element, kOutbound, "Id");
  if (!id) return Refused(id.error());
  const auto record = only_child(element, kOutbound, "sObject");
  if (!record) return Refused(record.error());
  const auto type = (*record)->attribute(kSchemaInstance, "type");
  if (!type) return malformed("sObject has no xsi:type", "no xsi:type");
  auto record_id = id_in(**record, kRecord, "Id");
  if (!record_id) return Refused(record_id.error());
  const std::string_view object = trimmed(type->substr(type->find(':') + 1));
  return MessageNotification{std::move(*id), std::string(object), std::move(*record_id)};
}

MessageFault too_many() {
  const std::string reason = fmt::format("it has more than {} notifications", kMaxNotifications);
  return {MessageFault::Kind::too_many,
          fmt::format("The message has more than {} notifications. Nothing was accepted.", kMaxNotifications),
          reason};
}

tl::expected<std::vector<MessageNotification>, MessageFault> read_notifications(const XmlElement& list) {
  std::vector<MessageNotification> notifications;
  for (const XmlElement& element : list.children) {
    if (!element.is(kOutbound, "Notification")) continue;
    if (notifications.size() == kMaxNotifications) return Refused(too_many());
    auto notification = read_notification(element);
    if (!notification) return Refused(std::move(notification.error()));
    notifications.push_back(std::move(*notification));
  }
  if (notifications.empty()) return malformed("notifications has no Notification", "no Notification");
  return notifications;
}

bool is_same(std::string_view id, std::string_view other) {
  return long_record_id(id) == long_record_id(other);
}

/// The fault of a notification that is about something else.
std::optional<MessageFault> target_fault(const MessageNotification& notification,
                                         const MessageTarget& target) {
  const auto fault = [](std::string found, std::string reason) {
    return MessageFault{
        MessageFault::Kind::other_object,
        std::move(found) + ". Nothing was accepted; correct the object of the outbound message.",
        std::move(reason)};
  };
  if (ascii_lower(notification.object) != ascii_lower(target.object))
    return fault(
        fmt::format("Found a notification of {}; allowed: {}", in_quotes(notification.object), target.object),
        "it is about another object");
  if (!notification.record_id.starts_with(target.key_prefix))
    return fault(fmt::format("Found the record {}; Ids of {} begin with {}", notification.record_id,
                             target.object, target.key_prefix),
                 "a record's Id has the prefix of another object");
  return std::nullopt;
}

std::string envelope(std::string_view body) {
  return fmt::format(
      R"(<?xml version="1.0" encoding="UTF-8"?>)"
      R"(<soapenv:Envelope xmlns:soapenv="{}"><soapenv:Body>{}</soapenv:Body></soapenv:Envelope>)",
      kSoap, body);
}

}  // namespace

tl::expected<OutboundMessage, MessageFault> read_outbound_message(std::string_view body) {
  const auto root = read_xml(body, {.max_bytes = kMaxOutboundMessageBytes, .max_depth = kMaxDepth});
  if (!root)
    return malformed("The body cannot be read: " + giftsync::describe(root.error()),
                     "it is no XML that is read");
  if (!root->is(kSoap, "Envelope"))
    return malformed("The root is not the Envelope of SOAP 1.1", "no SOAP Envelope");
  const auto soap_body = only_child(*root, kSoap, "Body");
  if (!soap_body) return Refused(soap_body.error());
  const auto list = only_child(**soap_body, kOutbound, "notifications");
  if (!list) return Refused(list.error());
  auto organization = id_in(**list, kOutbound, "OrganizationId");
  if (!organization) return Refused(organization.error());
  auto notifications = read_notifications(**list);
  if (!notifications) return Refused(std::move(notifications.error()));
  return OutboundMessage{std::move(*organization), std::move(*notifications)};
}

tl::expected<std::vector<std::string>, MessageFault> records_of(const OutboundMessage& message,
                                                                const MessageTarget& target) {
  if (!is_same(message.organization_id, target.organization_id))
    return Refused(MessageFault{
        MessageFault::Kind::other_organization,
        fmt::format("The message is of the org {}, and giftsync is connected to another one. Nothing was "
                    "accepted; delete the outbound message in that org.",
                    message.organization_id),
        "it is of another org"});
  std::set<std::string> records;
  for (const MessageNotification& notification : message.notifications) {
    if (auto fault = target_fault(notification, target)) return Refused(std::move(*fault));
    records.insert(notification.record_id);
  }
  return std::vector<std::string>(records.begin(), records.end());
}

std::string acknowledgement() {
  return envelope(
      fmt::format(R"(<notificationsResponse xmlns="{}"><Ack>true</Ack></notificationsResponse>)", kOutbound));
}

std::string soap_fault(SoapFaultSide side, std::string_view message) {
  return envelope(fmt::format(
      "<soapenv:Fault><faultcode>soapenv:{}</faultcode><faultstring>{}</faultstring></soapenv:Fault>",
      side == SoapFaultSide::client ? "Client" : "Server", xml_escaped(message)));
}

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

}  // namespace giftsync::salesforce
