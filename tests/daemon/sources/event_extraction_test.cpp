// From a vendor's document to changes, gifts and quarantined events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/sources/kept_event.h"
#include "platform/text.h"
#include "sync/crm/gift_record_draft.h"

namespace giftsync::sources {
namespace {
using store::QuarantineReason;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr UtcMillis kNow{1'800'000'000'000};  // 2027-01-15T08:00:00Z

config::SourceSettings vendor_settings() {
  config::SourceSettings settings;
  settings.name = "vendor";
  settings.fields.transaction_id = "/id";
  settings.fields.status = "/state/status";
  settings.fields.occurred_at = "/at";
  settings.fields.event_id = "/event";
  settings.fields.recipient_email = "/to/0/email";
  settings.fields.recipient_phone = "/to/0/phone";
  settings.fields.sender_email = "/by";
  settings.fields.gift_id = "/gift";
  settings.fields.sent_at = "/sent";
  settings.fields.item_cost = "/cost";
  settings.status_map = {{"seen", "opened"}, {"claimed", "redeemed"}, {"made", "sent"}, {"noise", "ignore"}};
  return settings;
}

std::vector<sync::ClassifiedEvent> classify_text(const std::string& json,
                                                 const config::SourceSettings& settings = vendor_settings()) {
  const CompiledSource source = compile_source(settings, "inst");
  const auto read = parse_lenient_json(json);
  const auto events = extract_events(read->root(), source);
  std::vector<sync::ClassifiedEvent> classified;
  const sync::FindItem items = [](GiftId id) {
    if (id.value != 7) return std::optional<store::GiftItem>();
    store::GiftItem item;
    item.name = "Coffee";
    item.costs = {Money{500}, Money{0}, Money{10}, Money{40}};
    return std::optional(item);
  };
  for (const sync::InboundEvent& event : *events) {
    // A quarantined event is parsed again from its stored text; the result must be the same.
    EXPECT_EQ(parse_inbound_event(serialize(event)), event);
    classified.push_back(sync::classify_event(event, keep(event), source.rules, kNow, items));
  }
  return classified;
}

sync::ClassifiedEvent classify_again(const sync::InboundEvent& event, const CompiledSource& source) {
  return sync::classify_event(event, keep(event), source.rules, kNow, [](GiftId) { return std::nullopt; });
}

// SRC-3
TEST(EventExtraction, ReadsOneObjectOrAList) {
  const std::string one = R"({"id":12,"state":{"status":"seen"},"at":"2026-11-21T12:31:07Z","event":"e1"})";
  const auto alone = classify_text(one);
  ASSERT_EQ(alone.size(), 1u);
  ASSERT_TRUE(alone[0].item.change);
  EXPECT_EQ(alone[0].item.change->transaction.value, 12);
  EXPECT_EQ(alone[0].item.change->status, Status::opened);
  EXPECT_EQ(to_rfc3339(alone[0].item.change->occurred_at), "2026-11-21T12:31:07.000Z");
  EXPECT_EQ(alone[0].item.change->event_ids, std::vector<std::string>{"e1"});
  EXPECT_EQ(alone[0].item.change->source, "vendor");
  EXPECT_FALSE(alone[0].item.gift) << "a source of giftsync's own gifts creates none";
  EXPECT_EQ(classify_text("[" + one + "," + one + "]").size(), 2u);
  config::SourceSettings below = vendor_settings();
  below.items = "/data/list";
  EXPECT_EQ(classify_text(R"({"data":{"list":[)" + one + "]}}", below).size(), 1u);
  EXPECT_EQ(classify_text(R"({"data":{"list":[]}})", below).size(), 0u);
  const CompiledSource source = compile_source(below, "inst");
  const auto elsewhere = parse_json(R"({"data":[1]})");
  EXPECT_TRUE(std::holds_alternative<std::string>(extract_events(elsewhere->root(), source).error()));
}

// SRC-2
TEST(EventExtraction, CountsEventsBeforeExtractingThem) {
  config::SourceSettings below = vendor_settings();
  below.items = "/list";
  const CompiledSource source = compile_source(below, "inst");
  std::string text = R"({"list":[0)";
  for (std::size_t i = 1; i < kMaxEvents; ++i) text += ",0";
  const auto at_limit = parse_json(text + "]}");
  const auto taken = extract_events(at_limit->root(), source);
  EXPECT_EQ(taken->size(), kMaxEvents);
  const auto over_limit = parse_json(text + ",0]}");
  const auto refused = extract_events(over_limit->root(), source);
  EXPECT_EQ(std::get<TooManyEvents>(refused.error()).found, kMaxEvents + 1);
}

struct QuarantineCase {
  const char* json;
  store::QuarantineReason reason;
  const char* detail;
};
class QuarantinedEvents : public ::testing::TestWithParam<QuarantineCase> {};
// SRC-6
TEST_P(QuarantinedEvents, AreKeptWithTheirReason) {
  const auto classified = classify_text(GetParam().json);
  ASSERT_EQ(classified.size(), 1u);
  EXPECT_TRUE(classified[0].item.quarantined);
  EXPECT_FALSE(classified[0].item.change);
  EXPECT_EQ(classified[0].item.event.reason, GetParam().reason);
  EXPECT_THAT(classified[0].item.event.detail, HasSubstr(GetParam().detail));
}
INSTANTIATE_TEST_SUITE_P(
    Table, QuarantinedEvents,
    ::testing::Values(
        QuarantineCase{R"({"id":12,"state":{"status":"Seen"},"at":1795000000})",
                       store::QuarantineReason::unknown_status, "no status \"Seen\""},
        QuarantineCase{R"({"id":12,"state":{"status":"opened"},"at":1795000000})",
                       store::QuarantineReason::unknown_status, "\"opened\""},
        QuarantineCase{R"({"id":12,"state":{"status":"seen"},"at":"2031-01-01T00:00:00Z"})",
                       store::QuarantineReason::implausible_time, "24 hours in the future"},
        QuarantineCase{R"({"id":12,"state":{"status":"seen"},"at":"1999-12-31T23:59:59Z"})",
                       store::QuarantineReason::implausible_time, "2000"},
        QuarantineCase{R"({"id":"x12","state":{"status":"seen"},"at":1795000000})",
                       store::QuarantineReason::malformed, "transaction_id: found \"x12\""},
        QuarantineCase{R"({"id":1.5,"state":{"status":"seen"},"at":1795000000})",
                       store::QuarantineReason::malformed, "\"1.5\""},
        QuarantineCase{R"({"id":0,"state":{"status":"seen"},"at":1795000000})",
                       store::QuarantineReason::malformed, "\"0\""},
        QuarantineCase{R"({"id":9007199254740993,"state":{"status":"seen"},"at":1795000000})",
                       store::QuarantineReason::malformed, "900719"},
        QuarantineCase{R"({"id":18446744073709551616,"state":{"status":"seen"},"at":1795000000})",
                       store::QuarantineReason::malformed, "transaction_id: found \"18446744073709551616\""},
        QuarantineCase{R"({"id":12,"state":{"status":"seen"},"at":1e400})",
                       store::QuarantineReason::malformed, "occurred_at: found \"1e400\""},
        QuarantineCase{R"({"id":12,"state":{"status":"seen"},"at":1795000000,"state":{"status":"made"}})",
                       store::QuarantineReason::malformed,
                       "no field was read: The name \"state\" appears twice at the top level"},
        QuarantineCase{R"({"id":12,"state":{"status":"seen"},"at":1795000000,"event":"a\u0000"})",
                       store::QuarantineReason::malformed,
                       "no field was read: The text at \"/event\" contains the NUL character"},
        QuarantineCase{R"({"state":{"status":"seen"},"at":1795000000})", store::QuarantineReason::malformed,
                       "found nothing"},
        QuarantineCase{R"({"id":12,"state":{"status":"seen"},"at":"yesterday"})",
                       store::QuarantineReason::malformed, "occurred_at"},
        QuarantineCase{R"({"id":12,"state":{"status":"seen"},"at":"2026-11-21T12:31:07"})",
                       store::QuarantineReason::malformed, "occurred_at"},
        QuarantineCase{R"({"id":12,"at":1795000000})", store::QuarantineReason::malformed,
                       "status: found nothing"},
        QuarantineCase{R"([null])", store::QuarantineReason::malformed, "found nothing"}));

TEST(EventExtraction, IgnoresStatusesMappedToIgnore) {
  EXPECT_TRUE(classify_text(R"({"id":"no matter","state":{"status":"noise"}})")[0].ignored);
}

// SRC-4
TEST(EventExtraction, WithoutAStatusMapGiftsyncStatusesApply) {
  config::SourceSettings plain = vendor_settings();
  plain.status_map.clear();
  EXPECT_EQ(classify_text(R"({"id":"12","state":{"status":"donated"},"at":1795000000123})", plain)[0]
                .item.change->status,
            Status::donated);
}

// SRC-5
TEST(EventExtraction, MaySetLimitsWhatASourceReports) {
  config::SourceSettings limited = vendor_settings();
  limited.may_set = {"opened"};
  const char* seen = R"({"id":12,"state":{"status":"seen"},"at":1795000000})";
  const char* claimed = R"({"id":12,"state":{"status":"claimed"},"at":1795000000})";
  EXPECT_TRUE(classify_text(seen, limited)[0].item.change);
  EXPECT_EQ(classify_text(claimed, limited)[0].item.event.reason, store::QuarantineReason::may_set);
}

TEST(EventExtraction, ReadsTimesInEveryForm) {
  EXPECT_EQ(sync::parse_event_time("1795000000"), (UtcMillis{1'795'000'000'000}));
  EXPECT_EQ(sync::parse_event_time("1795000000.25"), (UtcMillis{1'795'000'000'250}));
  EXPECT_EQ(sync::parse_event_time("1795000000123"), (UtcMillis{1'795'000'000'123}));
  EXPECT_EQ(sync::parse_event_time("2014-08-01T13:28:10.2735393-04:00"),
            from_rfc3339("2014-08-01T17:28:10.273Z"));
  for (const char* bad : {"", "-5", "nan", "inf", "1e400", "17950000001234567", "12 s"})
    EXPECT_FALSE(sync::parse_event_time(bad)) << bad;
}

// SRC-18, SRC-19
TEST(EventExtraction, AnExternalSourceCreatesGifts) {
  config::SourceSettings external = vendor_settings();
  external.external = true;
  const auto classified = classify_text(
      R"([{"id":5,"state":{"status":"made"},"at":1795000000,"to":[{"email":"ada@example.com"}],"by":"rose@example.com",
           "gift":7,"cost":5.5},
          {"id":6,"state":{"status":"seen"},"at":1795000000,"to":[{"phone":"650 867 3450"}],"sent":1794000000},
          {"id":7,"state":{"status":"seen"},"at":1795000000,"to":[{"email":"ada@example.com"}]},
          {"id":8,"state":{"status":"made"},"at":1795000000,"to":[{"email":"not an address"}]},
          {"id":9,"state":{"status":"made"},"at":1795000000,"to":[{"email":"a@b.com"}],"cost":"5.555"}])",
      external);
  ASSERT_TRUE(classified[0].item.gift);
  EXPECT_EQ(classified[0].item.change->gift_source, "vendor");
  EXPECT_EQ(classified[0].item.gift->item_name, "Coffee") << "from the catalogue";
  EXPECT_EQ(classified[0].item.gift->costs.item, Money{550}) << "as reported";
  EXPECT_EQ(classified[0].item.gift->costs.transaction_fee, Money{40});
  EXPECT_EQ(classified[0].item.gift->sent_at.value, 1'795'000'000'000);
  EXPECT_EQ(classified[0].item.gift->sender_email, "rose@example.com");
  ASSERT_TRUE(classified[1].item.gift);
  EXPECT_EQ(classified[1].item.gift->costs.total(), std::nullopt) << "no event has one";
  EXPECT_EQ(classified[1].item.gift->phone, "650 867 3450");
  EXPECT_EQ(classified[1].item.gift->sent_at.value, 1'794'000'000'000);
  EXPECT_TRUE(classified[2].item.change);
  EXPECT_FALSE(classified[2].item.gift) << "the sending time is unknown: the change stays orphaned";
  EXPECT_EQ(classified[3].item.event.reason, store::QuarantineReason::malformed);
  EXPECT_EQ(classified[4].item.event.reason, store::QuarantineReason::malformed);
  EXPECT_FALSE(classified[4].item.gift);
}

TEST(EventExtraction, TheSentTimeOfAnExternalGiftIsAChangeOfItsOwn) {
  config::SourceSettings external = vendor_settings();
  external.external = true;
  const auto classified = classify_text(
      R"([{"id":5,"state":{"status":"seen"},"at":1795000000,"event":"e1","sent":1794000000},
          {"id":5,"state":{"status":"made"},"at":1795000000,"sent":1794000000},
          {"id":5,"state":{"status":"made"},"at":1795000000,"sent":1795000000},
          {"id":5,"state":{"status":"made"},"at":1795000000},
          {"id":5,"state":{"status":"seen"},"at":1795000000},
          {"id":5,"state":{"status":"seen"},"at":1795000000,"sent":"soon"}])",
      external);
  for (const std::size_t with_both : {0u, 1u}) {
    ASSERT_TRUE(classified[with_both].item.sent) << with_both;
    const store::StatusChange& sent = *classified[with_both].item.sent;
    EXPECT_EQ(sent.status, Status::sent);
    EXPECT_EQ(sent.occurred_at.value, 1'794'000'000'000);
    EXPECT_EQ(sent.transaction.value, 5);
    EXPECT_EQ(sent.gift_source, "vendor");
    EXPECT_THAT(sent.event_ids, IsEmpty()) << "the event id belongs to the other change";
    EXPECT_EQ(classified[with_both].item.change->occurred_at.value, 1'795'000'000'000);
  }
  for (const std::size_t without : {2u, 3u, 4u}) EXPECT_FALSE(classified[without].item.sent) << without;
  EXPECT_TRUE(classified[5].item.quarantined) << "with or without an address";
  EXPECT_FALSE(
      classify_text(R"({"id":5,"state":{"status":"seen"},"at":1795000000,"sent":1794000000})")[0].item.sent)
      << "giftsync sets the sending time of its own gifts";
}

TEST(EventExtraction, NamesTheAllowedSentTimes) {
  config::SourceSettings external = vendor_settings();
  external.external = true;
  const auto detail_of = [&](const std::string& sent) {
    return classify_text(
               R"({"id":6,"state":{"status":"seen"},"at":1795000000,"to":[{"email":"a@b.com"}],"sent":")" +
                   sent + R"("})",
               external)[0]
        .item.event.detail;
  };
  EXPECT_EQ(
      detail_of("2031-01-01T00:00:00Z"),
      "sent_at: \"2031-01-01T00:00:00Z\" is more than 24 hours in the future; allowed: a time from 2000 to "
      "24 hours ahead");
  EXPECT_THAT(detail_of("1999-01-01T00:00:00Z"), HasSubstr("is before the year 2000; allowed"));
  EXPECT_THAT(detail_of("soon"), HasSubstr("sent_at: found \"soon\"; allowed: ISO 8601"));
}

// SYNC-14
TEST(EventExtraction, KeepsAMessageUpToTheCrmLengthAndWarnsWhenItWasTruncated) {
  config::SourceSettings external = vendor_settings();
  external.external = true;
  external.fields.message = "/text";
  const auto message_of = [&](std::size_t code_points) {
    std::string text;
    for (std::size_t i = 0; i < code_points; ++i) text += "\xC3\xA9";
    const auto classified =
        classify_text(R"({"id":5,"state":{"status":"made"},"at":1795000000,"to":[{"email":"a@b.com"}],)"
                      R"("text":")" +
                          text + R"("})",
                      external);
    return classified[0].item.gift ? classified[0].item.gift->message : std::string();
  };
  const auto warnings_of = [](const std::string& message) {
    store::Gift gift;
    gift.transaction.message = message;
    return sync::draft_gift_record(gift, {}, "", "").warnings;
  };
  const std::string whole = message_of(131'072);
  EXPECT_EQ(count_code_points(whole), 131'072u);
  EXPECT_THAT(warnings_of(whole), IsEmpty());
  const std::string cut = message_of(200'000);
  EXPECT_EQ(count_code_points(cut), 131'073u);
  EXPECT_THAT(warnings_of(cut), ElementsAre("Message was cut to its 131072 characters in the CRM"));
}

TEST(EventExtraction, AKeptPayloadCanBeReadWithOtherPointers) {
  const std::string json =
      R"({"id":12,"state":{"status":"seen"},"at":"soon","made":[1795000000.5,true,null,-7,"a\"b\u0001c"],"o":{}})";
  const auto classified = classify_text(json);
  EXPECT_EQ(classified[0].item.event.reason, store::QuarantineReason::malformed);
  EXPECT_THAT(classified[0].faulty_fields, ElementsAre(sync::EventField::occurred_at));
  config::SourceSettings corrected = vendor_settings();
  corrected.fields.occurred_at = "/made/0";
  corrected.fields.event_id = "/made/4";
  const auto kept = parse_inbound_event(classified[0].item.event.payload);
  ASSERT_TRUE(kept);
  const sync::InboundEvent again = reextract(*kept, compile_source(corrected, "inst"));
  EXPECT_EQ(again[sync::EventField::occurred_at], "1795000000.5");
  EXPECT_EQ(again[sync::EventField::event_id],
            "a\"b\x01"
            "c");
  EXPECT_EQ(again[sync::EventField::transaction_id], "12");
  EXPECT_EQ(reextract(again, compile_source(vendor_settings(), "inst")), *kept);
  CompiledSource preset;  // has no pointers
  EXPECT_EQ(reextract(*kept, preset), *kept);
  const auto before = parse_inbound_event(R"({"transaction_id":"12","status":"seen"})");
  EXPECT_EQ(reextract(*before, compile_source(corrected, "inst")), *before)
      << "stored without the vendor's JSON";
}

TEST(EventExtraction, AnOrphanedChangeNamesTheFieldsMissingForItsGift) {
  const std::string seen = R"({"id":12,"state":{"status":"seen"},"at":"2026-11-21T12:31:07Z")";
  EXPECT_EQ(classify_text(seen + "}")[0].item.orphan_detail,
            "opened of gift 12 at 2026-11-21T12:31:07.000Z: there is no such gift of giftsync's own; if the "
            "source's gifts are sent elsewhere, set transactions: external");
  config::SourceSettings external = vendor_settings();
  external.external = true;
  const auto detail = [&](const std::string& more) {
    return classify_text(seen + more + "}", external)[0].item.orphan_detail;
  };
  EXPECT_THAT(detail(""),
              HasSubstr("it has no recipient (fields.recipient_email, fields.recipient_phone) and "
                        "no sending time (fields.sent_at)"));
  EXPECT_THAT(detail(R"(,"to":[{"email":"a@b.com"}])"), HasSubstr("it has no sending time"));
  EXPECT_THAT(detail(R"(,"sent":1795000000)"), ::testing::EndsWith("fields.recipient_phone)"));
  EXPECT_EQ(detail(R"(,"sent":1795000000,"to":[{"email":"a@b.com"}])"), "") << "it creates its gift";
  EXPECT_EQ(detail(R"(,"sent":"soon")"), "") << "it is quarantined";
  EXPECT_THAT(detail(R"(,"more":")" + std::string(kMaxPayloadBytes, 'x') + R"(")"),
              HasSubstr("too long to be kept whole"));
}

TEST(EventExtraction, AnUnusedLargeNumberIsHarmless) {
  const auto classified = classify_text(
      R"({"id":12,"state":{"status":"seen"},"at":1795000000,"event":18446744073709551617,"x":[1e400]})");
  ASSERT_TRUE(classified[0].item.change);
  EXPECT_EQ(classified[0].item.change->event_ids, std::vector<std::string>{"18446744073709551617"});
}

TEST(EventExtraction, OfAnAmbiguousEventThePayloadIsKeptAndNoField) {
  for (const std::size_t more : {std::size_t{1}, kMaxPayloadBytes}) {
    const auto classified =
        classify_text(R"({"id":12,"id":13,"state":{"status":"seen"},"at":1795000000,"more":")" +
                      std::string(more, 'x') + R"("})");
    EXPECT_TRUE(classified[0].unreadable);
    EXPECT_EQ(classified[0].item.event.transaction, "");
    const auto kept = parse_inbound_event(classified[0].item.event.payload);
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->payload.empty(), more == kMaxPayloadBytes);
    const CompiledSource source = compile_source(vendor_settings(), "inst");
    const sync::ClassifiedEvent again = classify_again(reextract(*kept, source), source);
    EXPECT_EQ(again.item.event.detail, classified[0].item.event.detail);
    EXPECT_EQ(again.item.event.payload, classified[0].item.event.payload);
  }
}

// SRC-8
TEST(EventExtraction, OfALongEventOnlyTheFieldsAreKept) {
  const std::string usual =
      R"({"id":12,"state":{"status":"lost"},"at":1795000000,"to":[{"email":"a@b.com"}],)";
  const std::string more = usual + R"("more":")" + std::string(kMaxPayloadBytes, 'x') + R"("})";
  const auto long_payload = classify_text(more);
  EXPECT_EQ(long_payload[0].item.event.reason, store::QuarantineReason::unknown_status);
  EXPECT_THAT(long_payload[0].item.event.detail, HasSubstr("too long to be kept whole"));
  EXPECT_LT(long_payload[0].item.event.payload.size(), 500u);
  EXPECT_EQ(long_payload[0].item.event.digest, classify_text(usual + R"("more":"x"})")[0].item.event.digest)
      << "the same event, by its fields";

  config::SourceSettings external = vendor_settings();
  external.external = true;
  external.fields.message = "/text";
  const auto long_message =
      classify_text(usual + R"("text":")" + std::string(131'072, 'x') + R"("})", external);
  EXPECT_THAT(long_message[0].item.event.detail, HasSubstr("its message is kept up to 4000 characters"));
  const auto kept = parse_inbound_event(long_message[0].item.event.payload);
  ASSERT_TRUE(kept);
  EXPECT_EQ((*kept)[sync::EventField::message].size(), 4'000u);
  EXPECT_EQ((*kept)[sync::EventField::transaction_id], "12");
  EXPECT_TRUE(kept->is_payload_too_long);
  const sync::ClassifiedEvent again = classify_again(*kept, compile_source(external, "inst"));
  EXPECT_EQ(again.item.event.detail, long_message[0].item.event.detail);
  EXPECT_EQ(again.item.event.payload, long_message[0].item.event.payload);
}

TEST(JsonPointer, ResolvesTheExamplesOfRfc6901) {
  const auto read = parse_json(R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"m~n":8," ":7,"o":{"0":5}})");
  const JsonValue& root = read->root();
  const auto at = [&](const char* pointer) {
    const JsonValue* value = JsonPointer::parse(pointer)->resolve(root);
    return value ? scalar_text(*value) : std::string("none");
  };
  EXPECT_EQ(JsonPointer::parse("")->resolve(root), &root);
  EXPECT_EQ(at("/foo/0"), "bar");
  EXPECT_EQ(at("/"), "0");
  EXPECT_EQ(at("/a~1b"), "1");
  EXPECT_EQ(at("/c%d"), "2");
  EXPECT_EQ(at("/m~0n"), "8");
  EXPECT_EQ(at("/ "), "7");
  EXPECT_EQ(at("/o/0"), "5");
  for (const char* missing : {"/foo/2", "/foo/-", "/foo/00", "/foo/x", "/nope", "/foo/0/x"})
    EXPECT_EQ(at(missing), "none") << missing;
  for (const char* invalid : {"foo", "/a~", "/a~2"}) EXPECT_FALSE(JsonPointer::parse(invalid)) << invalid;
}

}  // namespace
}  // namespace giftsync::sources
