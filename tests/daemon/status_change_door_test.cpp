// The door for webhooks with a real store behind it: what it answers, and that an answer of 2xx is durable.
#include "daemon/http/status_change_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "daemon/crypto/digest.h"
#include "tests/daemon/temporary_store.h"

namespace giftsync::daemon {
namespace {

using namespace schema;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

bool go_on() {
  return true;
}

class StatusChangeDoorTest : public ::testing::Test {
 protected:
  StatusChangeDoorTest() {
    SourceSettings settings;
    settings.name = "vendor";
    settings.signature = SourceSignature::hmac;
    settings.signature_header = "X-Signature";
    settings.secrets = {Secret("hush")};
    settings.fields.transaction_id = "/id";
    settings.fields.status = "/what";
    settings.fields.occurred_at = "/at";
    SourceSettings poll = settings;
    poll.name = "feed";
    poll.kind = SourceKind::poll;
    SourceSettings mails;
    mails.name = "mails";
    mails.preset = SourcePreset::ses;
    mails.topic = "arn:aws:sns:us-west-2:1:T";
    plans_ = {make_source_plan(settings, "inst"), make_source_plan(poll, "inst"),
              make_source_plan(mails, "inst")};
    for (const SourcePlan& plan : plans_) watch_.open(plan.settings.name, plan.origin, kNow);
    door_ = std::make_unique<StatusChangeDoor>(
        plans_, intake_, watch_, [this] { return now_; }, [](const auto&) { return std::nullopt; }, 1000);
  }
  HttpResponse call(const std::string& body, const std::string& source = "vendor") {
    HttpRequest request;
    request.method = "POST";
    request.body = body;
    request.headers.emplace("X-Signature", to_hex(hmac_sha256("hush", body)));
    return door_->answer(request, source);
  }
  static nlohmann::json data_of(const HttpResponse& response) {
    return nlohmann::json::parse(response.body).at("data");
  }
  static std::string report(TransactionId id, const std::string& word = "opened") {
    return R"({"id":)" + std::to_string(id.value) + R"(,"what":")" + word + R"(","at":1799990000})";
  }
  static std::string header(const HttpResponse& response, const std::string& name) {
    for (const auto& [known, value] : response.headers) {
      if (known == name) return value;
    }
    return {};
  }

  void hold_as_many_as_may_be() {
    for (std::int64_t i = 0; i < kMaxHeldChanges; i += 20'000) {
      std::vector<StatusChange> held;
      for (std::int64_t j = 0; j < 20'000; ++j)
        held.push_back({{}, "vendor", {1'000'000 + i + j}, Status::opened, kNow, kNow, {}});
      store_->changes.accept(held);
    }
  }

  UtcMillis now_ = kNow;
  TemporaryStore store_;
  SourceWatch watch_{*store_};
  int woken_ = 0;
  SourceIntake intake_{*store_, watch_, [this] { ++woken_; }};
  std::vector<SourcePlan> plans_;
  std::unique_ptr<StatusChangeDoor> door_;
};

TEST_F(StatusChangeDoorTest, TakesOneReportOrAList) {
  const auto ids = store_.gifts(2);
  EXPECT_EQ(call(report(ids[0])).status, 200);
  EXPECT_EQ(woken_, 1);
  const HttpResponse many = call("[" + report(ids[0]) + "," + report(ids[1]) + "," + report({999}) + "," +
                                 report(ids[1], "strange") + "]");
  EXPECT_EQ(many.status, 200);
  const nlohmann::json data = data_of(many);
  EXPECT_EQ(data["accepted"], 1);
  EXPECT_EQ(data["repeated"], 1);
  EXPECT_EQ(data["held"], 1);
  EXPECT_EQ(data["kept_aside"], 1);
  EXPECT_THAT(store_->changes.history(ids[1]), SizeIs(1));
  EXPECT_EQ(call("[]").status, 200);
}

TEST_F(StatusChangeDoorTest, RefusesByNameMethodSizeSignatureAndForm) {
  const std::string body = report(store_.gifts(1)[0]);
  EXPECT_EQ(call(body, "nobody").status, 404);
  EXPECT_EQ(call(body, "feed").status, 404) << "a poll has no door";
  HttpRequest request;
  request.method = "GET";
  EXPECT_EQ(door_->answer(request, "vendor").status, 405);
  request.method = "POST";
  request.body_too_large = true;
  EXPECT_EQ(door_->answer(request, "vendor").status, 413);
  request.body_too_large = false;
  request.body = body;
  const HttpResponse unsigned_one = door_->answer(request, "vendor");
  EXPECT_EQ(unsigned_one.status, 401);
  EXPECT_NE(header(unsigned_one, "WWW-Authenticate"), "");
  request.headers.emplace("Content-Encoding", "gzip");
  const HttpResponse compressed = door_->answer(request, "vendor");
  EXPECT_EQ(compressed.status, 415) << "whatever its signature is of";
  EXPECT_THAT(compressed.body, HasSubstr("only identity is taken"));
  const HttpResponse no_json = call("{");
  EXPECT_EQ(no_json.status, 400);
  EXPECT_THAT(no_json.body, HasSubstr("Nothing was taken; send the message as JSON"));
  EXPECT_EQ(call("5").status, 400);
  const HttpResponse faulty = call(R"([{"id":"x","what":"opened","at":1},{}])");
  EXPECT_EQ(faulty.status, 400);
  EXPECT_THAT(nlohmann::json::parse(faulty.body).at("errors"), SizeIs(2));
  watch_.catch_up(now_);
  const SourceStanding row = store_->sources.standings().back();
  EXPECT_EQ(row.name, "vendor");
  EXPECT_EQ(row.state, "garbage");
  EXPECT_EQ(row.refused, 6) << "each but those without a source or a message";
  EXPECT_EQ(row.kept_aside, 0) << "a message that is refused leaves nothing behind";
}

TEST_F(StatusChangeDoorTest, ALargeNumberOrANameGivenTwiceCostsNoOtherReport) {
  const TransactionId id = store_.gifts(1)[0];
  const std::string good = report(id);
  const std::string larger = good.substr(0, good.size() - 1) + R"(,"more":18446744073709551616})";
  const std::string twice = good.substr(0, good.size() - 1) + R"(,"x":1,"x":2})";
  EXPECT_EQ(call("[" + larger + "," + twice + "]").status, 200);
  EXPECT_THAT(store_->changes.history(id), SizeIs(1));
  EXPECT_EQ(store_->sources.standings().back().kept_aside, 1);
  const HttpResponse refused = call(twice);
  EXPECT_EQ(refused.status, 400) << "as any message of which nothing can be read";
  EXPECT_THAT(refused.body, HasSubstr("appears twice"));
}

TEST_F(StatusChangeDoorTest, RefusesMoreReportsThanOneMessageMayHold) {
  const TransactionId id = store_.gifts(1)[0];
  const auto message_of = [&](std::size_t reports) {
    std::string body = "[" + report(id);
    for (std::size_t i = 1; i < reports; ++i) body += ",0";
    return body + "]";
  };
  const HttpResponse refused = call(message_of(kMaxReports + 1));
  EXPECT_EQ(refused.status, 413);
  EXPECT_FALSE(refused.close) << "its body was read to the end";
  const nlohmann::json problem = nlohmann::json::parse(refused.body);
  EXPECT_EQ(problem.at("code"), "too_many_reports");
  EXPECT_THAT(problem.at("detail").get<std::string>(), HasSubstr("holds 10001 reports; at most 10000 are"));
  EXPECT_THAT(store_->changes.history(id), SizeIs(0)) << "all or nothing";
  watch_.catch_up(now_);
  const SourceStanding row = store_->sources.standings().back();
  EXPECT_EQ(row.state, "garbage");
  EXPECT_THAT(row.reason, HasSubstr("10001 reports"));
  EXPECT_EQ(row.refused, 1);
  EXPECT_EQ(call(message_of(kMaxReports)).status, 200);
  EXPECT_THAT(store_->changes.history(id), SizeIs(1));
}

TEST_F(StatusChangeDoorTest, WhatCannotBeCheckedNowIsToComeAgain) {
  const HttpResponse answer = call(
      R"({"Type":"Notification","MessageId":"m","TopicArn":"arn:aws:sns:us-west-2:1:T","Message":"{}",
          "Timestamp":"2027-01-15T08:00:00Z","SignatureVersion":"2","Signature":"AAAA","SigningCertURL":
          "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3.pem"})",
      "mails");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(header(answer, "Retry-After"), "60");
  for (const SourceStanding& row : store_->sources.standings()) {
    EXPECT_EQ(row.state, row.name == "mails" ? "fails" : "new");
    EXPECT_EQ(row.refused, 0);
  }
}

TEST_F(StatusChangeDoorTest, AStateIsToldOnceAMinuteHoweverOftenItFlaps) {
  const std::string good = report(store_.gifts(1)[0]);
  call(good);
  for (int i = 0; i < 5; ++i) {
    call("{");
    call(good);
  }
  call("{");
  EXPECT_EQ(store_->sources.standings().back().state, "works");
  now_ = kNow + 61'000;
  watch_.catch_up(now_);
  EXPECT_EQ(store_->sources.standings().back().state, "garbage");
}

TEST_F(StatusChangeDoorTest, WhatAnotherDaemonSaidOfASourceDoesNotStay) {
  const std::string good = report(store_.gifts(1)[0]);
  call(good);
  ASSERT_EQ(store_->sources.standings().back().state, "works");
  store_->sources.note_state("vendor", "fails", "another daemon could not reach it", now_);
  now_ = kNow + 4'000;
  call(good);
  EXPECT_EQ(store_->sources.standings().back().state, "fails") << "not with every message";
  now_ = kNow + 6'000;
  watch_.catch_up(now_);
  EXPECT_EQ(store_->sources.standings().back().state, "works");
  EXPECT_EQ(store_->sources.standings().back().reason, "");
  store_->sources.note_state("vendor", "fails", "it cannot be reached any more", now_);
  now_ = kNow + 60'000;
  watch_.catch_up(now_);
  EXPECT_EQ(store_->sources.standings().back().state, "fails") << "nothing was heard here since";
}

TEST_F(StatusChangeDoorTest, AsksToComeBackWhenTooMuchIsHeld) {
  hold_as_many_as_may_be();
  const auto ids = store_.gifts(1);
  const HttpResponse full = call("[" + report(ids[0]) + "," + report({5'000'000}) + "]");
  EXPECT_EQ(full.status, 503);
  EXPECT_EQ(header(full, "Retry-After"), "300");
  EXPECT_THAT(store_->changes.history(ids[0]), SizeIs(0)) << "all or nothing";
  EXPECT_EQ(call(report(ids[0])).status, 200) << "what is known passes";
}

TEST_F(StatusChangeDoorTest, WhatWasKeptAsideIsAppliedOnceItMakesSense) {
  const auto ids = store_.gifts(1);
  EXPECT_EQ(data_of(call("[" + report(ids[0], "unwrapped") + "," + report(ids[0], "noise") + "," +
                         report(ids[0], "lost") + "]"))["kept_aside"],
            3);
  EXPECT_EQ(intake_.review_aside(plans_[0], kNow + 5, go_on), 0u);
  SourceSettings taught = plans_[0].settings;
  taught.status_map = {{"unwrapped", "redeemed"}, {"noise", "ignore"}};
  EXPECT_EQ(intake_.review_aside(make_source_plan(taught, "inst"), kNow + 5, go_on), 2u);
  const auto history = store_->changes.history(ids[0]);
  ASSERT_THAT(history, SizeIs(1));
  EXPECT_EQ(history.front().status, Status::redeemed);
  EXPECT_EQ(history.front().received_at, kNow) << "as it was received";
  ASSERT_THAT(store_->sources.aside("vendor", 0, 10), SizeIs(1));
  EXPECT_EQ(store_->sources.aside("vendor", 0, 10).front().word, "lost");
}

TEST_F(StatusChangeDoorTest, WhatStaysAsideTellsItsReasonOfNow) {
  const auto ids = store_.gifts(1);
  call(report(ids[0], "unwrapped"));
  SourceSettings other = plans_[0].settings;
  other.fields.status = "/nothing";
  for (int times = 0; times < 2; ++times) {
    EXPECT_EQ(intake_.review_aside(make_source_plan(other, "inst"), kNow + 5, go_on), 0u);
    const auto kept = store_->sources.aside("vendor", 0, 10);
    ASSERT_THAT(kept, SizeIs(1));
    EXPECT_EQ(kept.front().reason, AsideReason::faulty);
    EXPECT_EQ(kept.front().detail, "status: found nothing");
    EXPECT_EQ(kept.front().received_at, kNow);
  }
}

TEST_F(StatusChangeDoorTest, AReviewSettlesWhatItCanWhileTooMuchIsHeld) {
  const auto ids = store_.gifts(1);
  call("[" + report({5'000'000}, "unwrapped") + "," + report(ids[0], "unwrapped") + "]");
  hold_as_many_as_may_be();
  SourceSettings taught = plans_[0].settings;
  taught.status_map = {{"unwrapped", "redeemed"}};
  const SourcePlan plan = make_source_plan(taught, "inst");
  EXPECT_EQ(intake_.review_aside(plan, kNow + 5, go_on), 1u);
  EXPECT_THAT(store_->changes.history(ids[0]), SizeIs(1));
  const auto kept = store_->sources.aside("vendor", 0, 10);
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept.front().transaction, "5000000");
  EXPECT_EQ(kept.front().reason, AsideReason::word);
  EXPECT_THAT(kept.front().detail, HasSubstr("could be applied now"));
  EXPECT_THAT(kept.front().detail, HasSubstr("giftsyncctl change discard --source vendor"));
  store_->changes.discard_held("vendor", {std::numeric_limits<std::int64_t>::max()});
  EXPECT_EQ(intake_.review_aside(plan, kNow + 6, go_on), 1u);
  EXPECT_THAT(store_->sources.aside("vendor", 0, 10), SizeIs(0));
  EXPECT_EQ(store_->sources.standings().back().held, 1);
}

TEST_F(StatusChangeDoorTest, AReviewShowsLifeWithEachBatchAndEndsWhenAsked) {
  const auto ids = store_.gifts(1);
  std::vector<RawReport> reports(1200);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    reports[i].set(ReportField::transaction_id, std::to_string(ids[0].value));
    reports[i].set(ReportField::status, "unwrapped");
    reports[i].set(ReportField::occurred_at, std::to_string(1'799'990'000 + i));
  }
  intake_.take(plans_[0], intake_.judge_all(plans_[0], reports, kNow), {}, kNow);
  SourceSettings taught = plans_[0].settings;
  taught.status_map = {{"unwrapped", "redeemed"}};
  const SourcePlan plan = make_source_plan(taught, "inst");
  int asked = 0;
  EXPECT_EQ(intake_.review_aside(plan, kNow, [&] { return ++asked == 1; }), 500u);
  EXPECT_EQ(asked, 2);
  EXPECT_THAT(store_->sources.aside("vendor", 0, 2000), SizeIs(700));
  asked = 0;
  EXPECT_EQ(intake_.review_aside(plan, kNow, [&] { return ++asked > 0; }), 700u);
  EXPECT_EQ(asked, 3) << "two batches, and the end";
}

TEST_F(StatusChangeDoorTest, ReviewingWhatIsAnothersComesToAnEnd) {
  const auto ids = store_.gifts(1);
  SourceSettings external = plans_[0].settings;
  external.external = true;
  const SourcePlan plan = make_source_plan(external, "inst");
  RawReport report;
  report.set(ReportField::transaction_id, std::to_string(ids[0].value));
  report.set(ReportField::status, "opened");
  report.set(ReportField::occurred_at, "1799990000");
  const auto taken = intake_.take(plan, intake_.judge_all(plan, std::span(&report, 1), kNow), {}, kNow);
  EXPECT_EQ(taken.receipt.kept_aside, 1u);
  EXPECT_EQ(intake_.review_aside(plan, kNow + 5, go_on), 0u);
  EXPECT_THAT(store_->sources.aside("vendor", 0, 10), SizeIs(1));
}

TEST_F(StatusChangeDoorTest, WhatIsHeldMakesItsGiftOnceItsSourceIsSetUpRight) {
  const std::string with_recipient = R"({"id":8000,"what":"sent","at":1799990000,"to":"ada@example.com"})";
  EXPECT_EQ(data_of(call(with_recipient))["held"], 1);
  EXPECT_EQ(data_of(call(report({8000}, "redeemed")))["held"], 1);
  ASSERT_THAT(store_->sources.held_reports("vendor", 0, 10), SizeIs(2));
  EXPECT_THAT(store_->sources.held_reports("vendor", 0, 1).front().detail,
              HasSubstr("sent of gift 8000 at 2027-01-15T05:13:20.000Z: there is no such gift of ours; if"));
  EXPECT_EQ(intake_.review_held(plans_[0], kNow + 5, go_on), 0u);

  SourceSettings corrected = plans_[0].settings;
  corrected.external = true;
  SourcePlan plan = make_source_plan(corrected, "inst");
  watch_.open("vendor", plan.origin, kNow);
  for (int times = 0; times < 2; ++times)
    EXPECT_EQ(intake_.review_held(plan, kNow + 5, go_on), 0u) << "no pointer leads to the recipient";
  const auto kept = store_->sources.held_reports("vendor", 0, 10);
  ASSERT_THAT(kept, SizeIs(2));
  EXPECT_THAT(kept[0].detail, HasSubstr("it tells no recipient (fields.recipient_email"));
  EXPECT_THAT(kept[1].detail, HasSubstr("and no time of its sending (fields.sent_at)"));
  EXPECT_EQ(kept[0].received_at, kNow);

  woken_ = 0;
  corrected.fields.recipient_email = "/to";
  plan = make_source_plan(corrected, "inst");
  EXPECT_EQ(intake_.review_held(plan, kNow + 6, go_on), 1u);
  EXPECT_EQ(woken_, 1);
  const TransactionId id{8000};
  ASSERT_THAT(store_->gifts.gifts(std::span(&id, 1)), SizeIs(1));
  EXPECT_EQ(store_->gifts.gifts(std::span(&id, 1)).front().transaction.email, "ada@example.com");
  store_->changes.release_held(kNow);
  EXPECT_THAT(store_->changes.changes_of(std::span(&id, 1)), SizeIs(2)) << "sent and redeemed";
  EXPECT_THAT(store_->sources.held_reports("vendor", 0, 10), SizeIs(0));
  EXPECT_EQ(store_->sources.standings().back().held, 0);
  EXPECT_EQ(intake_.review_held(plan, kNow + 7, go_on), 0u);
}

TEST_F(StatusChangeDoorTest, WhatIsHeldAndCannotBeAppliedAnyMoreIsKeptAside) {
  call(report({8000}));
  SourceSettings other = plans_[0].settings;
  other.may_set = {"redeemed"};
  EXPECT_EQ(intake_.review_held(make_source_plan(other, "inst"), kNow + 5, go_on), 0u);
  EXPECT_THAT(store_->sources.held_reports("vendor", 0, 10), SizeIs(0));
  ASSERT_THAT(store_->sources.aside("vendor", 0, 10), SizeIs(1));
  EXPECT_EQ(store_->sources.aside("vendor", 0, 10).front().reason, AsideReason::may_set);
  EXPECT_EQ(intake_.review_aside(plans_[0], kNow + 6, go_on), 1u);
  EXPECT_THAT(store_->sources.held_reports("vendor", 0, 10), SizeIs(1)) << "and beside its change again";
  other.may_set = {};
  other.status_map = {{"opened", "ignore"}};
  EXPECT_EQ(intake_.review_held(make_source_plan(other, "inst"), kNow + 7, go_on), 0u);
  EXPECT_THAT(store_->sources.held_reports("vendor", 0, 10), SizeIs(1)) << "its change is held all the same";
}

TEST_F(StatusChangeDoorTest, AMessageIsKnownOnlyUnderTheSettingsThatReadIt) {
  RawReport raw;
  raw.set(ReportField::transaction_id, "8000");
  raw.set(ReportField::status, "sent");
  raw.set(ReportField::occurred_at, "1799990000");
  raw.set(ReportField::recipient_email, "ada@example.com");
  const auto take = [&](const SourceSettings& settings) {
    const SourcePlan plan = make_source_plan(settings, "inst");
    return intake_
        .take(plan, intake_.judge_all(plan, std::span(&raw, 1), kNow), {"msg_1", std::nullopt}, kNow)
        .receipt;
  };
  SourceSettings settings = plans_[0].settings;
  EXPECT_EQ(take(settings).held, 1u);
  EXPECT_EQ(take(settings).kind, SourceReceipt::Kind::replayed);
  settings.secrets = {Secret("another")};
  EXPECT_EQ(take(settings).kind, SourceReceipt::Kind::replayed) << "it means the same";
  settings.external = true;
  watch_.open("vendor", "vendor", kNow);
  const SourceReceipt corrected = take(settings);
  EXPECT_EQ(corrected.gifts, 1u);
  EXPECT_EQ(corrected.repeated, 1u) << "what is known of it changes nothing";
  EXPECT_EQ(take(settings).kind, SourceReceipt::Kind::replayed);
  for (const auto& edit : std::vector<std::function<void(SourceSettings&)>>{
           [](SourceSettings& one) { one.items = "/list"; },
           [](SourceSettings& one) { one.fields.sent_at = "/sent"; },
           [](SourceSettings& one) {
             one.status_map = {{"sent", "sent"}};
           },
           [](SourceSettings& one) { one.may_set = {"sent"}; }}) {
    SourceSettings edited = settings;
    edit(edited);
    EXPECT_EQ(take(edited).kind, SourceReceipt::Kind::taken);
  }
}

TEST_F(StatusChangeDoorTest, ASeenMailgunTokenBringsNoOtherEventWhateverIsEdited) {
  const TransactionId id = store_.gifts(1)[0];
  const std::string token(50, 'e');
  const std::string timestamp = std::to_string(kNow.value / 1000);
  const auto event = [&](const std::string& what, const std::string& seen) {
    return R"({"signature":{"token":")" + seen + R"(","timestamp":")" + timestamp + R"(","signature":")" +
           to_hex(hmac_sha256("hush", timestamp + seen)) +
           R"("},"event-data":{"id":"a","timestamp":1799990000,)" + R"("event":")" + what +
           R"(","message":{"headers":{"message-id":"gift-)" + std::to_string(id.value) +
           R"(.0.inst@example.com"}}}})";
  };
  SourceSettings settings;
  settings.name = "mails";
  settings.preset = SourcePreset::mailgun;
  settings.secrets = {Secret("hush")};
  const auto set_up = [&] {
    plans_ = {make_source_plan(settings, "inst")};
    door_ = std::make_unique<StatusChangeDoor>(
        plans_, intake_, watch_, [this] { return now_; }, [](const auto&) { return std::nullopt; }, 1000);
  };
  set_up();
  EXPECT_EQ(data_of(call(event("delivered", token), "mails"))["accepted"], 1);
  settings.may_set = {"delivered", "opened"};
  set_up();
  EXPECT_THAT(call(event("opened", token), "mails").body, HasSubstr("Known already."));
  SourceReport older;
  older.source = "mails";
  older.message_id = std::string(50, 'f');
  ASSERT_EQ(store_->sources.accept(older).kind, SourceReceipt::Kind::taken)
      << "as an older giftsync noted it";
  EXPECT_THAT(call(event("opened", *older.message_id), "mails").body, HasSubstr("Known already."));
  EXPECT_THAT(store_->changes.history(id), SizeIs(1));
}

}  // namespace
}  // namespace giftsync::daemon
