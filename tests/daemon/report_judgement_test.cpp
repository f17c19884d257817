// From a vendor's document to changes, gifts, and what is kept aside.
#include "daemon/sources/report_judgement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/sources/report_extraction.h"
#include "daemon/sources/source_json.h"
#include "schema/text.h"
#include "sync/gift_record_draft.h"

namespace giftsync::daemon {
namespace {

using schema::AsideReason;
using schema::Status;
using schema::UtcMillis;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr UtcMillis kNow{1'800'000'000'000};  // 2027-01-15T08:00:00Z

SourceSettings vendor() {
  SourceSettings settings;
  settings.name = "vendor";
  settings.fields.transaction_id = "/id";
  settings.fields.status = "/state/word";
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

std::vector<Judgement> judge_text(const std::string& json, const SourceSettings& settings = vendor()) {
  const SourcePlan plan = make_source_plan(settings, "inst");
  const auto read = read_source_json(json);
  const auto reports = extract_reports(std::get<JsonDocument>(read).root(), plan);
  std::vector<Judgement> judged;
  const FindItem items = [](schema::GiftId id) {
    if (id.value != 7) return std::optional<schema::GiftItem>();
    schema::GiftItem item;
    item.name = "Coffee";
    item.costs = {schema::Money{500}, schema::Money{0}, schema::Money{10}, schema::Money{40}};
    return std::optional(item);
  };
  for (const RawReport& report : std::get<std::vector<RawReport>>(reports)) {
    // What is kept aside is read again from its text: that must not change it.
    EXPECT_EQ(raw_report_from_text(to_text(report)), report);
    judged.push_back(judge(report, plan, kNow, items));
  }
  return judged;
}

TEST(Judgement, ReadsOneObjectOrAList) {
  const std::string one = R"({"id":12,"state":{"word":"seen"},"at":"2026-11-21T12:31:07Z","event":"e1"})";
  const auto alone = judge_text(one);
  ASSERT_EQ(alone.size(), 1u);
  ASSERT_TRUE(alone[0].item.change);
  EXPECT_EQ(alone[0].item.change->transaction.value, 12);
  EXPECT_EQ(alone[0].item.change->status, Status::opened);
  EXPECT_EQ(schema::to_rfc3339(alone[0].item.change->occurred_at), "2026-11-21T12:31:07.000Z");
  EXPECT_EQ(alone[0].item.change->event_ids, std::vector<std::string>{"e1"});
  EXPECT_EQ(alone[0].item.change->source, "vendor");
  EXPECT_FALSE(alone[0].item.gift) << "an own source creates nothing";
  EXPECT_EQ(judge_text("[" + one + "," + one + "]").size(), 2u);
  SourceSettings below = vendor();
  below.items = "/data/list";
  EXPECT_EQ(judge_text(R"({"data":{"list":[)" + one + "]}}", below).size(), 1u);
  EXPECT_EQ(judge_text(R"({"data":{"list":[]}})", below).size(), 0u);
  const SourcePlan plan = make_source_plan(below, "inst");
  const auto elsewhere = read_strict_json(R"({"data":[1]})");
  EXPECT_TRUE(
      std::holds_alternative<std::string>(extract_reports(std::get<JsonDocument>(elsewhere).root(), plan)));
}

TEST(Judgement, CountsReportsBeforeItMakesThem) {
  SourceSettings below = vendor();
  below.items = "/list";
  const SourcePlan plan = make_source_plan(below, "inst");
  std::string text = R"({"list":[0)";
  for (std::size_t i = 1; i < kMaxReports; ++i) text += ",0";
  const auto most = read_strict_json(text + "]}");
  const auto taken = extract_reports(std::get<JsonDocument>(most).root(), plan);
  EXPECT_EQ(std::get<std::vector<RawReport>>(taken).size(), kMaxReports);
  const auto one_more = read_strict_json(text + ",0]}");
  const auto refused = extract_reports(std::get<JsonDocument>(one_more).root(), plan);
  EXPECT_EQ(std::get<TooManyReports>(refused).found, kMaxReports + 1);
}

struct AsideCase {
  const char* json;
  AsideReason reason;
  const char* detail;
};
class Asides : public ::testing::TestWithParam<AsideCase> {};
TEST_P(Asides, AreKeptWithTheirReason) {
  const auto judged = judge_text(GetParam().json);
  ASSERT_EQ(judged.size(), 1u);
  EXPECT_TRUE(judged[0].item.kept_aside);
  EXPECT_FALSE(judged[0].item.change);
  EXPECT_EQ(judged[0].item.aside.reason, GetParam().reason);
  EXPECT_THAT(judged[0].item.aside.detail, HasSubstr(GetParam().detail));
}
INSTANTIATE_TEST_SUITE_P(
    Table, Asides,
    ::testing::Values(
        AsideCase{R"({"id":12,"state":{"word":"Seen"},"at":1795000000})", AsideReason::word,
                  "no word \"Seen\""},
        AsideCase{R"({"id":12,"state":{"word":"opened"},"at":1795000000})", AsideReason::word, "\"opened\""},
        AsideCase{R"({"id":12,"state":{"word":"seen"},"at":"2031-01-01T00:00:00Z"})", AsideReason::time,
                  "24 hours in the future"},
        AsideCase{R"({"id":12,"state":{"word":"seen"},"at":"1999-12-31T23:59:59Z"})", AsideReason::time,
                  "2000"},
        AsideCase{R"({"id":"x12","state":{"word":"seen"},"at":1795000000})", AsideReason::faulty,
                  "transaction_id: found \"x12\""},
        AsideCase{R"({"id":1.5,"state":{"word":"seen"},"at":1795000000})", AsideReason::faulty, "\"1.5\""},
        AsideCase{R"({"id":0,"state":{"word":"seen"},"at":1795000000})", AsideReason::faulty, "\"0\""},
        AsideCase{R"({"id":9007199254740993,"state":{"word":"seen"},"at":1795000000})", AsideReason::faulty,
                  "900719"},
        AsideCase{R"({"id":18446744073709551616,"state":{"word":"seen"},"at":1795000000})",
                  AsideReason::faulty, "transaction_id: found \"18446744073709551616\""},
        AsideCase{R"({"id":12,"state":{"word":"seen"},"at":1e400})", AsideReason::faulty,
                  "occurred_at: found \"1e400\""},
        AsideCase{R"({"id":12,"state":{"word":"seen"},"at":1795000000,"x":{"y":1,"y":2}})",
                  AsideReason::faulty, "no field of it was read: The name \"y\" appears twice at \"x\""},
        AsideCase{R"({"id":12,"state":{"word":"seen"},"at":1795000000,"x":"a\u0000"})", AsideReason::faulty,
                  "no field of it was read: The text at \"x\" contains the NUL character"},
        AsideCase{R"({"state":{"word":"seen"},"at":1795000000})", AsideReason::faulty, "found nothing"},
        AsideCase{R"({"id":12,"state":{"word":"seen"},"at":"yesterday"})", AsideReason::faulty,
                  "occurred_at"},
        AsideCase{R"({"id":12,"state":{"word":"seen"},"at":"2026-11-21T12:31:07"})", AsideReason::faulty,
                  "occurred_at"},
        AsideCase{R"({"id":12,"at":1795000000})", AsideReason::faulty, "status: found nothing"},
        AsideCase{R"([null])", AsideReason::faulty, "found nothing"}));

TEST(Judgement, IgnoresTheWordsThatTheMapIgnores) {
  EXPECT_TRUE(judge_text(R"({"id":"no matter","state":{"word":"noise"}})")[0].ignored);
}

TEST(Judgement, WithoutAMapOurOwnWordsCount) {
  SourceSettings plain = vendor();
  plain.status_map.clear();
  EXPECT_EQ(judge_text(R"({"id":"12","state":{"word":"donated"},"at":1795000000123})", plain)[0]
                .item.change->status,
            Status::donated);
}

TEST(Judgement, MaySetLimitsWhatASourceReports) {
  SourceSettings limited = vendor();
  limited.may_set = {"opened"};
  const char* seen = R"({"id":12,"state":{"word":"seen"},"at":1795000000})";
  const char* claimed = R"({"id":12,"state":{"word":"claimed"},"at":1795000000})";
  EXPECT_TRUE(judge_text(seen, limited)[0].item.change);
  EXPECT_EQ(judge_text(claimed, limited)[0].item.aside.reason, AsideReason::may_set);
}

TEST(Judgement, ReadsTimesInEveryForm) {
  EXPECT_EQ(read_time("1795000000"), (UtcMillis{1'795'000'000'000}));
  EXPECT_EQ(read_time("1795000000.25"), (UtcMillis{1'795'000'000'250}));
  EXPECT_EQ(read_time("1795000000123"), (UtcMillis{1'795'000'000'123}));
  EXPECT_EQ(read_time("2014-08-01T13:28:10.2735393-04:00"), schema::from_rfc3339("2014-08-01T17:28:10.273Z"));
  for (const char* bad : {"", "-5", "nan", "inf", "1e400", "17950000001234567", "12 s"})
    EXPECT_FALSE(read_time(bad)) << bad;
}

TEST(Judgement, AnExternalSourceTellsOfGifts) {
  SourceSettings external = vendor();
  external.external = true;
  const auto told = judge_text(
      R"([{"id":5,"state":{"word":"made"},"at":1795000000,"to":[{"email":"ada@example.com"}],"by":"rose@example.com",
           "gift":7,"cost":5.5},
          {"id":6,"state":{"word":"seen"},"at":1795000000,"to":[{"phone":"650 867 3450"}],"sent":1794000000},
          {"id":7,"state":{"word":"seen"},"at":1795000000,"to":[{"email":"ada@example.com"}]},
          {"id":8,"state":{"word":"made"},"at":1795000000,"to":[{"email":"not an address"}]},
          {"id":9,"state":{"word":"made"},"at":1795000000,"to":[{"email":"a@b.com"}],"cost":"5.555"}])",
      external);
  ASSERT_TRUE(told[0].item.gift);
  EXPECT_EQ(told[0].item.change->origin, "vendor");
  EXPECT_EQ(told[0].item.gift->item_name, "Coffee") << "from the catalogue";
  EXPECT_EQ(told[0].item.gift->costs.item, schema::Money{550}) << "as reported";
  EXPECT_EQ(told[0].item.gift->costs.transaction_fee, schema::Money{40});
  EXPECT_EQ(told[0].item.gift->sent_at.value, 1'795'000'000'000);
  EXPECT_EQ(told[0].item.gift->sender_email, "rose@example.com");
  ASSERT_TRUE(told[1].item.gift);
  EXPECT_EQ(told[1].item.gift->costs.total(), std::nullopt) << "nobody told any";
  EXPECT_EQ(told[1].item.gift->phone, "650 867 3450");
  EXPECT_EQ(told[1].item.gift->sent_at.value, 1'794'000'000'000);
  EXPECT_TRUE(told[2].item.change);
  EXPECT_FALSE(told[2].item.gift) << "nobody knows when it was sent: the change waits for that";
  EXPECT_EQ(told[3].item.aside.reason, AsideReason::faulty);
  EXPECT_EQ(told[4].item.aside.reason, AsideReason::faulty);
  EXPECT_FALSE(told[4].item.gift);
}

TEST(Judgement, WhenAGiftFromOutsideWasSentIsAFactOfItsOwn) {
  SourceSettings external = vendor();
  external.external = true;
  const auto told = judge_text(
      R"([{"id":5,"state":{"word":"seen"},"at":1795000000,"event":"e1","sent":1794000000},
          {"id":5,"state":{"word":"made"},"at":1795000000,"sent":1794000000},
          {"id":5,"state":{"word":"made"},"at":1795000000,"sent":1795000000},
          {"id":5,"state":{"word":"made"},"at":1795000000},
          {"id":5,"state":{"word":"seen"},"at":1795000000},
          {"id":5,"state":{"word":"seen"},"at":1795000000,"sent":"soon"}])",
      external);
  for (const std::size_t with_both : {0u, 1u}) {
    ASSERT_TRUE(told[with_both].item.sent) << with_both;
    const schema::StatusChange& sent = *told[with_both].item.sent;
    EXPECT_EQ(sent.status, Status::sent);
    EXPECT_EQ(sent.occurred_at.value, 1'794'000'000'000);
    EXPECT_EQ(sent.transaction.value, 5);
    EXPECT_EQ(sent.origin, "vendor");
    EXPECT_THAT(sent.event_ids, IsEmpty()) << "the event is of the change beside it";
    EXPECT_EQ(told[with_both].item.change->occurred_at.value, 1'795'000'000'000);
  }
  for (const std::size_t without : {2u, 3u, 4u}) EXPECT_FALSE(told[without].item.sent) << without;
  EXPECT_TRUE(told[5].item.kept_aside) << "with or without an address";
  EXPECT_FALSE(
      judge_text(R"({"id":5,"state":{"word":"seen"},"at":1795000000,"sent":1794000000})")[0].item.sent)
      << "ours are sent when we say";
}

TEST(Judgement, TellsWhichTimesOfSendingAreAllowed) {
  SourceSettings external = vendor();
  external.external = true;
  const auto detail_of = [&](const std::string& sent) {
    return judge_text(
               R"({"id":6,"state":{"word":"seen"},"at":1795000000,"to":[{"email":"a@b.com"}],"sent":")" +
                   sent + R"("})",
               external)[0]
        .item.aside.detail;
  };
  EXPECT_EQ(
      detail_of("2031-01-01T00:00:00Z"),
      "sent_at: \"2031-01-01T00:00:00Z\" is more than 24 hours in the future; allowed: a time from 2000 to "
      "24 hours ahead");
  EXPECT_THAT(detail_of("1999-01-01T00:00:00Z"), HasSubstr("is before the year 2000; allowed"));
  EXPECT_THAT(detail_of("soon"), HasSubstr("sent_at: found \"soon\"; allowed: RFC 3339"));
}

TEST(Judgement, KeepsAMessageAsLongAsTheCrmDoesAndTellsWhenThereWasMore) {
  SourceSettings external = vendor();
  external.external = true;
  external.fields.message = "/text";
  const auto message_of = [&](std::size_t code_points) {
    std::string text;
    for (std::size_t i = 0; i < code_points; ++i) text += "\xC3\xA9";
    const auto told =
        judge_text(R"({"id":5,"state":{"word":"made"},"at":1795000000,"to":[{"email":"a@b.com"}],)"
                   R"("text":")" +
                       text + R"("})",
                   external);
    return told[0].item.gift ? told[0].item.gift->message : std::string();
  };
  const auto warnings_of = [](const std::string& message) {
    schema::Gift gift;
    gift.transaction.message = message;
    return sync::draft_gift_record(gift, {}, "", "").warnings;
  };
  const std::string whole = message_of(131'072);
  EXPECT_EQ(schema::count_code_points(whole), 131'072u);
  EXPECT_THAT(warnings_of(whole), IsEmpty());
  const std::string cut = message_of(200'000);
  EXPECT_EQ(schema::count_code_points(cut), 131'073u);
  EXPECT_THAT(warnings_of(cut), ElementsAre("Message was cut to its 131072 characters in the CRM"));
}

TEST(Judgement, WhatIsKeptOfAReportCanBeReadWithOtherPointers) {
  const std::string json =
      R"({"id":12,"state":{"word":"seen"},"at":"soon","made":[1795000000.5,true,null,-7,"a\"b\u0001c"],"o":{}})";
  const auto judged = judge_text(json);
  EXPECT_EQ(judged[0].item.aside.reason, AsideReason::faulty);
  EXPECT_THAT(judged[0].blamed, ElementsAre(ReportField::occurred_at));
  SourceSettings corrected = vendor();
  corrected.fields.occurred_at = "/made/0";
  corrected.fields.event_id = "/made/4";
  const auto kept = raw_report_from_text(judged[0].item.aside.report);
  ASSERT_TRUE(kept);
  const RawReport again = read_again(*kept, make_source_plan(corrected, "inst"));
  EXPECT_EQ(again[ReportField::occurred_at], "1795000000.5");
  EXPECT_EQ(again[ReportField::event_id],
            "a\"b\x01"
            "c");
  EXPECT_EQ(again[ReportField::transaction_id], "12");
  EXPECT_EQ(read_again(again, make_source_plan(vendor(), "inst")), *kept);
  SourcePlan preset;  // has no pointers
  EXPECT_EQ(read_again(*kept, preset), *kept);
  const auto before = raw_report_from_text(R"({"transaction_id":"12","status":"seen"})");
  EXPECT_EQ(read_again(*before, make_source_plan(corrected, "inst")), *before)
      << "kept before there was the vendor's own form";
}

TEST(Judgement, WhatMayBeHeldTellsWhatItLacksForItsGift) {
  const std::string seen = R"({"id":12,"state":{"word":"seen"},"at":"2026-11-21T12:31:07Z")";
  EXPECT_EQ(judge_text(seen + "}")[0].item.held_detail,
            "opened of gift 12 at 2026-11-21T12:31:07.000Z: there is no such gift of ours; if the source's "
            "gifts are sent elsewhere, it needs transactions: external");
  SourceSettings external = vendor();
  external.external = true;
  const auto detail = [&](const std::string& more) {
    return judge_text(seen + more + "}", external)[0].item.held_detail;
  };
  EXPECT_THAT(detail(""),
              HasSubstr("it tells no recipient (fields.recipient_email, fields.recipient_phone) and "
                        "no time of its sending (fields.sent_at)"));
  EXPECT_THAT(detail(R"(,"to":[{"email":"a@b.com"}])"), HasSubstr("it tells no time of its sending"));
  EXPECT_THAT(detail(R"(,"sent":1795000000)"), ::testing::EndsWith("fields.recipient_phone)"));
  EXPECT_EQ(detail(R"(,"sent":1795000000,"to":[{"email":"a@b.com"}])"), "") << "it makes its gift";
  EXPECT_EQ(detail(R"(,"sent":"soon")"), "") << "it is kept aside";
  EXPECT_THAT(detail(R"(,"more":")" + std::string(kMaxItemBytes, 'x') + R"(")"),
              HasSubstr("too long to be kept whole"));
}

TEST(Judgement, ALargeNumberThatIsNotUsedDoesNoHarm) {
  const auto judged = judge_text(
      R"({"id":12,"state":{"word":"seen"},"at":1795000000,"event":18446744073709551617,"x":[1e400]})");
  ASSERT_TRUE(judged[0].item.change);
  EXPECT_EQ(judged[0].item.change->event_ids, std::vector<std::string>{"18446744073709551617"});
}

TEST(Judgement, OfAReportThatMayBeReadInTwoWaysTheWholeFormIsKeptAndNoField) {
  for (const std::size_t more : {std::size_t{1}, kMaxItemBytes}) {
    const auto judged = judge_text(R"({"id":12,"id":13,"state":{"word":"seen"},"at":1795000000,"more":")" +
                                   std::string(more, 'x') + R"("})");
    EXPECT_TRUE(judged[0].unreadable);
    EXPECT_EQ(judged[0].item.aside.transaction, "");
    const auto kept = raw_report_from_text(judged[0].item.aside.report);
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->item.empty(), more == kMaxItemBytes);
    const SourcePlan plan = make_source_plan(vendor(), "inst");
    const Judgement again = judge(read_again(*kept, plan), plan, kNow,
                                  [](schema::GiftId) { return std::optional<schema::GiftItem>(); });
    EXPECT_EQ(again.item.aside.detail, judged[0].item.aside.detail);
    EXPECT_EQ(again.item.aside.report, judged[0].item.aside.report);
  }
}

TEST(Judgement, OfALongReportOnlyWhatDecidesIsKept) {
  const std::string usual = R"({"id":12,"state":{"word":"lost"},"at":1795000000,"to":[{"email":"a@b.com"}],)";
  const std::string more = usual + R"("more":")" + std::string(kMaxItemBytes, 'x') + R"("})";
  const auto long_form = judge_text(more);
  EXPECT_EQ(long_form[0].item.aside.reason, AsideReason::word);
  EXPECT_THAT(long_form[0].item.aside.detail, HasSubstr("too long to be kept whole"));
  EXPECT_LT(long_form[0].item.aside.report.size(), 500u);
  EXPECT_EQ(long_form[0].item.aside.digest, judge_text(usual + R"("more":"x"})")[0].item.aside.digest)
      << "the same report, as far as its fields tell";

  SourceSettings external = vendor();
  external.external = true;
  external.fields.message = "/text";
  const auto long_message = judge_text(usual + R"("text":")" + std::string(131'072, 'x') + R"("})", external);
  EXPECT_THAT(long_message[0].item.aside.detail, HasSubstr("its message is kept up to 4000 characters"));
  const auto kept = raw_report_from_text(long_message[0].item.aside.report);
  ASSERT_TRUE(kept);
  EXPECT_EQ((*kept)[ReportField::message].size(), 4'000u);
  EXPECT_EQ((*kept)[ReportField::transaction_id], "12");
  EXPECT_TRUE(kept->is_item_too_long);
  const Judgement again = judge(*kept, make_source_plan(external, "inst"), kNow,
                                [](schema::GiftId) { return std::optional<schema::GiftItem>(); });
  EXPECT_EQ(again.item.aside.detail, long_message[0].item.aside.detail);
  EXPECT_EQ(again.item.aside.report, long_message[0].item.aside.report);
}

TEST(JsonPointer, FollowsTheExamplesOfItsStandard) {
  const auto read =
      read_strict_json(R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"m~n":8," ":7,"o":{"0":5}})");
  const JsonValue& root = std::get<JsonDocument>(read).root();
  const auto at = [&](const char* pointer) {
    const JsonValue* value = JsonPointer::parse(pointer)->in(root);
    return value ? text_of(*value) : std::string("none");
  };
  EXPECT_EQ(JsonPointer::parse("")->in(root), &root);
  EXPECT_EQ(at("/foo/0"), "bar");
  EXPECT_EQ(at("/"), "0");
  EXPECT_EQ(at("/a~1b"), "1");
  EXPECT_EQ(at("/c%d"), "2");
  EXPECT_EQ(at("/m~0n"), "8");
  EXPECT_EQ(at("/ "), "7");
  EXPECT_EQ(at("/o/0"), "5");
  for (const char* nowhere : {"/foo/2", "/foo/-", "/foo/00", "/foo/x", "/nope", "/foo/0/x"})
    EXPECT_EQ(at(nowhere), "none") << nowhere;
  for (const char* broken : {"foo", "/a~", "/a~2"}) EXPECT_FALSE(JsonPointer::parse(broken)) << broken;
}

}  // namespace
}  // namespace giftsync::daemon
