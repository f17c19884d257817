// Outbound messages: what is read of them, and which are refused as a whole.
#include "crm/salesforce/records/outbound_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "platform/xml.h"
#include "tests/support/outbound_messages.h"

namespace giftsync::salesforce {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using tests::outbound_message;
using Kind = MessageFault::Kind;

const MessageTarget kTarget{tests::kMessageOrganization, "Request_Record__c", "a0B"};
constexpr char kFirst[] = "a0B5g00000AbCdEEAV";
constexpr char kSecond[] = "a0B5g00000AbCdFEAV";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

MessageFault fault_of(const std::string& body, const MessageTarget& target = kTarget) {
  const auto message = read_outbound_message(body);
  if (!message) return message.error();
  const auto records = records_of(*message, target);
  return records ? MessageFault{Kind::malformed, "accepted", ""} : records.error();
}

// MSG-5
TEST(OutboundMessage, IsReadAsIdsOnly) {
  const auto message = read_outbound_message(outbound_message({kFirst, "a0B5g00000AbCdF"}));
  ASSERT_TRUE(message) << message.error().message;
  EXPECT_EQ(message->organization_id, tests::kMessageOrganization);
  ASSERT_THAT(message->notifications, SizeIs(2));
  EXPECT_EQ(message->notifications[0].object, "Request_Record__c");
  EXPECT_EQ(message->notifications[0].record_id, kFirst);
  EXPECT_EQ(message->notifications[1].record_id, kSecond) << "15 characters become 18";
  EXPECT_EQ(message->notifications[0].id.substr(0, 3), "04l");
}

// MSG-7
TEST(OutboundMessage, RecordsAreNamedOnceAndInOrder) {
  const auto message = read_outbound_message(outbound_message({kSecond, kFirst, "a0B5g00000AbCdE", kFirst}));
  ASSERT_TRUE(message) << message.error().message;
  EXPECT_THAT(records_of(*message, kTarget).value(), ElementsAre(kFirst, kSecond));
}

// MSG-6
TEST(OutboundMessage, TheOrgMustBeTheAcceptedOne) {
  MessageTarget target = kTarget;
  target.organization_id = std::string(tests::kMessageOrganization).substr(0, 15);
  EXPECT_EQ(fault_of(outbound_message({kFirst}), target).message, "accepted") << "15 and 18 are one Id";
  target.organization_id = "00D5g000001AbCdEAK";
  const MessageFault fault = fault_of(outbound_message({kFirst}), target);
  EXPECT_EQ(fault.kind, Kind::other_organization);
  EXPECT_THAT(fault.reason, Not(HasSubstr("00D")));
  for (const std::string& unknown : {std::string(), std::string("no id")}) {
    target.organization_id = unknown;
    EXPECT_EQ(fault_of(outbound_message({kFirst}), target).kind, Kind::other_organization) << unknown;
  }
}

// MSG-6
TEST(OutboundMessage, TheObjectAndThePrefixOfItsIdsMustFit) {
  EXPECT_EQ(fault_of(outbound_message({kFirst}, {.object = "request_record__C"})).message, "accepted");
  EXPECT_EQ(fault_of(outbound_message({kFirst}, {.object = "Contact"})).kind, Kind::other_object);
  const MessageFault fault = fault_of(outbound_message({kFirst, "0035g00000AbCdEAAV"}));
  EXPECT_EQ(fault.kind, Kind::other_object) << "one such record refuses the message";
  EXPECT_THAT(fault.message, HasSubstr("begin with a0B"));
  EXPECT_THAT(fault.reason, Not(HasSubstr("003")));
}

// MSG-5
TEST(OutboundMessage, HasAtMostAHundredNotifications) {
  const std::vector<std::string> records(100, kFirst);
  EXPECT_EQ(fault_of(outbound_message(records)).message, "accepted");
  std::vector<std::string> more = records;
  more.emplace_back(kFirst);
  EXPECT_EQ(fault_of(outbound_message(more)).kind, Kind::too_many);
}

// MSG-5
TEST(OutboundMessage, WhatIsNotOneIsRefused) {
  const std::string good = outbound_message({kFirst});
  const std::string id = std::string("<sf:Id>") + kFirst + "</sf:Id>";
  const std::map<std::string, std::string> bodies{
      {"", "found no text"},
      {"{}", "cannot be read"},
      {"<a/>", "Envelope"},
      {good.substr(0, good.size() / 2), "cannot be read"},
      {"<!DOCTYPE a [<!ENTITY x \"y\">]>" + replaced(good, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>", ""),
       "DOCTYPE"},
      {replaced(good, "schemas.xmlsoap.org", "example.org"), "Envelope"},
      {replaced(good, "soap.sforce.com/2005/09", "soap.sforce.com/2006/09"), "notifications"},
      {replaced(good, "sobject.enterprise", "sobject.other"), "has no Id"},
      {replaced(good, id, ""), "has no Id"},
      {replaced(good, id, id + id), "more than one Id"},
      {replaced(good, kFirst, "a0B5g00000AbCdEEAW"), "\"a0B5g00000AbCdEEAW\""},
      {replaced(good, kFirst, "a0B5g00000abcdeEAV"), "15 or 18"},
      {replaced(good, kFirst, "' OR Id != '"), "15 or 18"},
      {replaced(good, kFirst, ""), "15 or 18"},
      {replaced(good, tests::kMessageOrganization, "00D"), "OrganizationId"},
      {replaced(good, "xsi:type=", "xsi:kind="), "xsi:type"},
      {outbound_message({}), "no Notification"},
      {replaced(good, "<soapenv:Body>", "<soapenv:Body/><soapenv:Body>"), "more than one Body"},
      {outbound_message({kFirst}, {.fields = std::string(kMaxOutboundMessageBytes, 'x')}), "at most 262144"}};
  for (const auto& [body, words] : bodies) {
    const MessageFault fault = fault_of(body);
    EXPECT_EQ(fault.kind, Kind::malformed) << fault.message;
    EXPECT_THAT(fault.message, HasSubstr(words)) << body.substr(0, 200);
    EXPECT_THAT(fault.reason, Not(HasSubstr("a0B"))) << fault.reason;
  }
}

TEST(OutboundMessage, ValuesOfTheRecordAreNotLookedAt) {
  EXPECT_EQ(fault_of(outbound_message({kFirst},
                                      {.fields = "<sf:Error_Log__c>&lt;x/&gt; \xC3\xA9</sf:Error_Log__c>"
                                                 "<sf:Place__c><sf:latitude>1</sf:latitude></sf:Place__c>"}))
                .message,
            "accepted");
}

// MSG-8
TEST(OutboundMessage, AnswersAreSoapEnvelopes) {
  const auto acknowledged = read_xml(acknowledgement());
  ASSERT_TRUE(acknowledged);
  const XmlElement& response = acknowledged->children.at(0).children.at(0);
  EXPECT_TRUE(response.is("http://soap.sforce.com/2005/09/outbound", "notificationsResponse"));
  EXPECT_TRUE(response.children.at(0).is("http://soap.sforce.com/2005/09/outbound", "Ack"));
  EXPECT_EQ(response.children.at(0).text, "true");

  const auto refused = read_xml(soap_fault(SoapFaultSide::client, "found \"<a>\" & more"));
  ASSERT_TRUE(refused);
  const XmlElement& fault = refused->children.at(0).children.at(0);
  EXPECT_TRUE(fault.is("http://schemas.xmlsoap.org/soap/envelope/", "Fault"));
  EXPECT_EQ(fault.children.at(0).text, "soapenv:Client");
  EXPECT_EQ(fault.children.at(1).text, "found \"<a>\" & more");
}

// MSG-6
TEST(MessageTarget, IsWhatTheStoreKeepsOfTheOrg) {
  std::map<std::string, std::string> kept;
  int saved = 0;
  const FactStorage facts{.load = [&](const std::string& name) -> std::optional<std::string> {
                            const auto found = kept.find(name);
                            return found == kept.end() ? std::nullopt : std::optional(found->second);
                          },
                          .save =
                              [&](const std::string& name, const std::string& value) {
                                kept[name] = value;
                                ++saved;
                              },
                          .save_if_absent = {}};
  EXPECT_FALSE(stored_message_target(facts));
  kept[kOrganizationFact] = tests::kMessageOrganization;
  EXPECT_FALSE(stored_message_target(facts));
  store_request_object(facts, "a0B", "Request_Record__c");
  store_request_object(facts, "a0B", "Request_Record__c");
  EXPECT_EQ(saved, 1);
  const auto target = stored_message_target(facts);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->organization_id, tests::kMessageOrganization);
  EXPECT_EQ(target->object, "Request_Record__c");
  EXPECT_EQ(target->key_prefix, "a0B");
  kept[kRequestObjectFact] = "odd";
  EXPECT_FALSE(stored_message_target(facts));
}

}  // namespace
}  // namespace giftsync::salesforce
