// What a source's rules make of an event's texts: a change, a gift, an ignored or a quarantined event.
#include "sync/status/event_classification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace giftsync::sync {
namespace {

using store::QuarantineReason;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr UtcMillis kNow{1'800'000'000'000};
constexpr const char* kTime = "1799990000";

using Fields = std::vector<std::pair<EventField, const char*>>;

InboundEvent event_of(const Fields& fields) {
  InboundEvent event;
  for (const auto& [field, text] : fields) event.set(field, text);
  return event;
}

EventRules rules_of_own_gifts() {
  EventRules rules;
  rules.source = "vendor";
  rules.status_map = {{"seen", Status::opened},
                      {"made", Status::sent},
                      {"claimed", Status::redeemed},
                      {"noise", std::nullopt}};
  rules.may_set = {Status::sent, Status::opened};
  rules.mapping_fingerprint = "0a1b";
  return rules;
}
EventRules rules_of_external_gifts() {
  EventRules rules = rules_of_own_gifts();
  rules.gift_source = rules.source;
  return rules;
}

ClassifiedEvent classify(const InboundEvent& event, const EventRules& rules = rules_of_own_gifts(),
                         const std::string& omission = "") {
  return classify_event(event, {"text", "fields", "whole", omission}, rules, kNow, [](GiftId id) {
    store::GiftItem item;
    item.name = "Coffee";
    item.costs.item = Money{500};
    return id.value == 7 ? std::optional(item) : std::nullopt;
  });
}

struct Case {
  const char* name;
  Fields fields;
  std::optional<QuarantineReason> reason;  ///< absent: it is a change
  bool unreadable;
  const char* detail;
};

// SRC-4, SRC-5, SRC-6
TEST(EventClassification, FollowsTheRulesOfTheSource) {
  using enum EventField;
  const std::vector<Case> cases{
      {"applicable", {{transaction_id, "12"}, {status, "seen"}, {occurred_at, kTime}}, {}, false, ""},
      {"a word without a meaning",
       {{transaction_id, "12"}, {status, "lost"}, {occurred_at, kTime}},
       QuarantineReason::unknown_status,
       false,
       "the status map has no status \"lost\""},
      {"outside of may_set",
       {{transaction_id, "12"}, {status, "claimed"}, {occurred_at, kTime}},
       QuarantineReason::may_set,
       false,
       "vendor may not set redeemed"},
      {"in the future",
       {{transaction_id, "12"}, {status, "seen"}, {occurred_at, "1800090000"}},
       QuarantineReason::implausible_time,
       false,
       "2027-01-16T09:00:00.000Z is more than 24 hours in the future"},
      {"without a status",
       {{transaction_id, "12"}, {occurred_at, kTime}},
       QuarantineReason::malformed,
       true,
       "status: found nothing"},
      {"id and time",
       {{transaction_id, "0"}, {status, "lost"}, {occurred_at, "soon"}},
       QuarantineReason::malformed,
       true,
       "transaction_id: found \"0\"; allowed: a whole number from 1 to 9007199254740992; occurred_at: found "
       "\"soon\"; allowed: ISO 8601 with a zone, or seconds or milliseconds since 1970"},
  };
  for (const Case& one : cases) {
    const ClassifiedEvent classified = classify(event_of(one.fields));
    EXPECT_FALSE(classified.ignored) << one.name;
    EXPECT_EQ(classified.item.quarantined, one.reason.has_value()) << one.name;
    EXPECT_EQ(classified.item.change.has_value(), !one.reason) << one.name;
    if (one.reason) {
      EXPECT_EQ(classified.item.event.reason, *one.reason) << one.name;
    }
    EXPECT_EQ(classified.unreadable, one.unreadable) << one.name;
    EXPECT_EQ(classified.item.event.detail, one.detail) << one.name;
    EXPECT_EQ(classified.item.event.digest, one.unreadable ? "whole" : "fields") << one.name;
    EXPECT_EQ(classified.item.event.payload, "text") << one.name;
  }
}

TEST(EventClassification, AnIgnoredStatusNeedsNothingElse) {
  const ClassifiedEvent classified =
      classify(event_of({{EventField::status, "noise"}, {EventField::transaction_id, "no number"}}));
  EXPECT_TRUE(classified.ignored);
  EXPECT_THAT(classified.faulty_fields, IsEmpty());
}

// SRC-63
TEST(EventClassification, AnIgnoredEventSaysWhy) {
  const InboundEvent event = event_of({{EventField::status, "noise"}, {EventField::transaction_id, "5"}});
  const ClassifiedEvent classified = classify(event);
  EXPECT_EQ(classified.item.event.state, store::EventState::ignored);
  EXPECT_EQ(classified.item.event.reason, std::nullopt);
  EXPECT_EQ(classified.item.event.detail, "status \"noise\" is mapped to ignore");
  EXPECT_EQ(classified.item.event.status_word, "noise");
  EXPECT_EQ(classified.item.event.transaction, "5");
  EXPECT_EQ(classified.item.event.payload, "text");
  EXPECT_EQ(classified.item.event.digest, "fields");
  EventRules provider = rules_of_own_gifts();
  provider.mapping_fingerprint.clear();
  EXPECT_EQ(classify(event, provider).item.event.detail, "status \"noise\" is ignored")
      << "a mail provider's events have no status map in the settings";
}

TEST(EventClassification, AnEventOfWhichNoFieldWasReadIsUnreadable) {
  InboundEvent event;
  event.unread_reason = "two names";
  const ClassifiedEvent classified = classify(event);
  EXPECT_TRUE(classified.unreadable);
  EXPECT_EQ(classified.item.event.detail, "no field was read: two names");
  EXPECT_THAT(classified.faulty_fields, IsEmpty());
}

// SRC-18, SRC-19
TEST(EventClassification, AnExternalEventStatesItsGift) {
  using enum EventField;
  const ClassifiedEvent classified = classify(event_of({{transaction_id, "5"},
                                                        {status, "seen"},
                                                        {occurred_at, kTime},
                                                        {event_id, "e1"},
                                                        {sent_at, "1799980000"},
                                                        {recipient_email, "ada@example.com"},
                                                        {gift_id, "7"},
                                                        {shipping_cost, "1.50"}}),
                                              rules_of_external_gifts());
  ASSERT_TRUE(classified.item.gift);
  EXPECT_EQ(classified.item.gift->item_name, "Coffee");
  EXPECT_EQ(classified.item.gift->costs.item, Money{500}) << "from the catalogue";
  EXPECT_EQ(classified.item.gift->costs.shipping, Money{150}) << "as reported";
  ASSERT_TRUE(classified.item.sent);
  EXPECT_EQ(classified.item.sent->status, Status::sent);
  EXPECT_THAT(classified.item.sent->event_ids, IsEmpty());
  EXPECT_THAT(classified.item.change->event_ids, ElementsAre("e1"));
  EXPECT_EQ(classified.item.change->gift_source, "vendor");
}

TEST(EventClassification, AFaultOfTheGiftQuarantinesItsChangeToo) {
  using enum EventField;
  const Fields faults{{recipient_email, "no address"},
                      {sender_email, "none"},
                      {gift_id, "x"},
                      {item_cost, "5.555"},
                      {item_cost, "-1"},
                      {sent_at, "soon"}};
  for (const auto& [field, text] : faults) {
    InboundEvent event = event_of(
        {{transaction_id, "5"}, {status, "made"}, {occurred_at, kTime}, {recipient_phone, "650 867 3450"}});
    event.set(field, text);
    const ClassifiedEvent classified = classify(event, rules_of_external_gifts());
    EXPECT_EQ(classified.item.event.reason, QuarantineReason::malformed) << text;
    EXPECT_THAT(classified.faulty_fields, ElementsAre(field)) << text;
    EXPECT_THAT(classified.item.event.detail, HasSubstr(std::string(key_of(field)) + ": ")) << text;
    EXPECT_FALSE(classified.item.change || classified.item.sent || classified.item.gift) << text;
    EXPECT_FALSE(classified.unreadable) << "its change could be read";
  }
}

// SRC-58
TEST(EventClassification, IdsOfAnyKindAreAllottedWhereTheSettingsSaySo) {
  using enum EventField;
  EventRules rules = rules_of_external_gifts();
  rules.allots_ids = true;
  const std::string longest(255, 'x');
  for (const std::string& id : {std::string("ord_1a2b"), std::string("0f8fad5b-d9cb-469f-a165-70867728950e"),
                                std::string("12"), std::string("\u00fcber"), longest}) {
    const ClassifiedEvent classified = classify(event_of({{transaction_id, id.c_str()},
                                                          {status, "seen"},
                                                          {occurred_at, kTime},
                                                          {sent_at, kTime},
                                                          {recipient_email, "ada@example.com"}}),
                                                rules);
    ASSERT_TRUE(classified.item.gift) << id << classified.item.event.detail;
    EXPECT_EQ(classified.item.gift->external_id, id);
    EXPECT_EQ(classified.item.event.transaction, id);
    EXPECT_EQ(classified.item.change->transaction, TransactionId{}) << "allotted with the batch";
  }
  for (const std::string& id : {std::string(), longest + "x"}) {
    const ClassifiedEvent classified =
        classify(event_of({{transaction_id, id.c_str()}, {status, "seen"}, {occurred_at, kTime}}), rules);
    EXPECT_TRUE(classified.unreadable) << id;
    EXPECT_THAT(classified.item.event.detail, HasSubstr("a text of 1 to 255 characters"));
  }
  const ClassifiedEvent orphaned =
      classify(event_of({{transaction_id, "ord_1a2b"}, {status, "seen"}, {occurred_at, kTime}}), rules);
  EXPECT_THAT(orphaned.item.orphan_detail, HasSubstr("of gift \"ord_1a2b\" at"));
}

// SRC-58
TEST(EventClassification, AnIdThatCannotBeKeptSaysWhatToSet) {
  using enum EventField;
  const InboundEvent event = event_of({{transaction_id, "ord_1a2b"}, {status, "seen"}, {occurred_at, kTime}});
  EXPECT_THAT(classify(event, rules_of_external_gifts()).item.event.detail,
              HasSubstr("set transaction_ids: allot"));
  EXPECT_THAT(classify(event, rules_of_own_gifts()).item.event.detail,
              testing::Not(HasSubstr("transaction_ids")));
}

TEST(EventClassification, WhatIsOmittedIsSaidWithTheEvent) {
  using enum EventField;
  const InboundEvent event = event_of({{transaction_id, "5"}, {status, "seen"}, {occurred_at, kTime}});
  const ClassifiedEvent classified = classify(event, rules_of_own_gifts(), "it is long");
  EXPECT_EQ(classified.item.event.detail, "; it is long");
  EXPECT_THAT(classified.item.orphan_detail, HasSubstr("set transactions: external; it is long"));
  EventRules provider = rules_of_own_gifts();
  provider.mapping_fingerprint.clear();
  EXPECT_EQ(classify(event, provider, "it is long").item.orphan_detail, "")
      << "events of mail providers are not kept with orphaned changes";
}

}  // namespace
}  // namespace giftsync::sync
