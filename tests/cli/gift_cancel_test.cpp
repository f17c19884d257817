// gift cancel by a filter: what is found, asked and done.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <functional>

#include "cli/day_or_time.h"
#include "cli/interruption.h"
#include "sync/gift/lifecycle.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"
#include "tests/support/temporary_database.h"

namespace giftsync::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Args = std::vector<std::string>;

class CliGiftCancel : public ::testing::Test {
 protected:
  struct Sent {
    GiftRequestId request;
    std::vector<std::int64_t> gifts;
  };
  struct Sending {
    std::size_t gifts = 1;
    std::string campaign = "spring";
    std::string key = {};
    SendMode mode = SendMode::email;
    std::int64_t age_millis = 0;
    std::optional<Money> price = Money{500};
    std::string sender = "rose@example.com";
  };
  Sent send(const Sending& sending) {
    store::Store store(cli_.address());
    store.gifts.set_lifecycle_stamp(sync::terms_stamper({}, 90));
    store::NewGiftRequest request;
    request.request.account = {1};
    request.request.gift = {7};
    request.request.mode = sending.mode;
    request.request.item_name = "Coffee";
    request.request.costs = {sending.price, Money{0}, Money{25}, Money{50}};
    request.request.sender_email = sending.sender;
    request.request.utm_campaign_id = sending.campaign;
    request.request.credential_prefix = sending.key;
    request.request.is_test = is_test_key(sending.key);
    request.request.created_at = cli_.now - sending.age_millis;
    for (std::size_t i = 0; i < sending.gifts; ++i)
      request.recipients.push_back({"p" + std::to_string(i) + "@example.com", "Pat", "", "Hi"});
    const auto made = store.gifts.create(std::span(&request, 1)).front();
    Sent sent{made.request, {}};
    for (const auto& one : made.recipients) sent.gifts.push_back(one.id.value);
    return sent;
  }
  /// The first characters of a new key of `email`.
  std::string make_key(const std::string& email, bool is_test = false) {
    cli_.run({"account", "create", "--email", email, "--name", "A", "--plan", "team"});
    Args args{"key", "create", "--account", email};
    if (is_test) args.emplace_back("--test");
    return cli_.run(args).out.substr(0, 16);
  }
  CliFixture::Result cancel(Args more) {
    more.insert(more.begin(), {"gift", "cancel"});
    return cli_.run(more);
  }
  Json shown(Args more) {
    more.push_back("--json");
    const CliFixture::Result result = cancel(more);
    EXPECT_EQ(result.code, 0) << result.err;
    return tests::parse_ordered_json(result.out);
  }
  /// Runs it with a clock that does something each time that it is read.
  CliFixture::Result cancel_with(Args more, const std::function<void()>& at_each_look) {
    more.insert(more.begin(), {"--config", cli_.path("giftsyncd.yaml"), "gift", "cancel"});
    std::ostringstream out;
    std::ostringstream err;
    std::istringstream in;
    const int code = run_command(more, Console{out, err, in, false, [&] {
                                                 at_each_look();
                                                 return cli_.now;
                                               }});
    return {code, out.str(), err.str()};
  }
  void sql(const std::string& statement) { tests::run_sql(cli_.address(), statement); }
  std::string scalar(const std::string& query) {
    return tests::scalar(*tests::open_database(cli_.address()), query);
  }
  std::string cancelled() {
    return scalar(
        "SELECT coalesce(group_concat(transaction_id), '') FROM (SELECT transaction_id FROM gift_action "
        "WHERE "
        "action = 'cancelled' ORDER BY id)");
  }
  void redeem(std::int64_t gift) {
    const std::string at = std::to_string(cli_.now.value);
    sql("INSERT INTO change_log (id, source, transaction_id, status, occurred_at, received_at, orphaned) "
        "VALUES (900000, 'page', " +
        std::to_string(gift) + ", 'redeemed', " + at + ", " + at + ", 0)");
  }
  CliFixture cli_;
};

// MAIL-21
TEST_F(CliGiftCancel, CancelsTheOpenGiftsOfAKeyAndFindsNoneTheSecondTime) {
  const std::string key = make_key("a@example.com");
  const std::string other_key = make_key("b@example.com");
  const Sent sent = send({.gifts = 3, .key = key});
  send({.key = other_key});
  send({.campaign = "autumn", .key = key});
  redeem(sent.gifts[0]);
  const Args filter{"--key", key, "--campaign", "spring"};
  const auto with = [&](Args more) {
    more.insert(more.begin(), filter.begin(), filter.end());
    return more;
  };
  const Json preview = shown(with({"--dry-run"}));
  EXPECT_EQ(preview["filter"]["key"], key);
  EXPECT_EQ(preview["matching"], 3);
  EXPECT_EQ(preview["cancellable"], 2);
  EXPECT_EQ(preview["mails_not_left"], 2);
  EXPECT_EQ(preview["total_price"], "11.50");
  EXPECT_EQ(preview["unknown_prices"], 0);
  EXPECT_EQ(preview["result"], nullptr);
  ASSERT_THAT(preview["first_gifts"], SizeIs(2));
  EXPECT_EQ(preview["first_gifts"][0]["recipient_transaction_id"], sent.gifts[2]) << "the latest first";
  EXPECT_EQ(cancelled(), "");
  const CliFixture::Result asked = cancel(filter);
  EXPECT_EQ(asked.code, 64) << "there is no terminal to ask on";
  EXPECT_THAT(asked.err,
              AllOf(HasSubstr("Cancel 2 gifts?"), HasSubstr("add --yes"), HasSubstr("3 gifts found. 2 can"),
                    HasSubstr(key + " still sends; \"giftsyncctl key pause " + key)));
  EXPECT_EQ(cancelled(), "");
  const Json done = shown(with({"--yes"}));
  EXPECT_EQ(done["result"]["cancelled"], 2);
  EXPECT_EQ(done["result"]["mails_withdrawn_unsent"], 2);
  EXPECT_THAT(done["result"]["left_out"], IsEmpty());
  EXPECT_EQ(cancelled(), std::to_string(sent.gifts[2]) + "," + std::to_string(sent.gifts[1]));
  const CliFixture::Result again = cancel(with({"--yes"}));
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, HasSubstr("3 gifts found. 0 can be cancelled"));
}

// covers: TEST-7
TEST_F(CliGiftCancel, TestGiftsAreFoundByTheirKeyOrRequestAlone) {
  const std::string key = make_key("a@example.com", true);
  ASSERT_TRUE(is_test_key(key)) << key;
  const Sent test = send({.gifts = 2, .key = key});
  send({});
  EXPECT_EQ(shown({"--campaign", "spring", "--dry-run"})["matching"], 1) << "the live gift";
  EXPECT_EQ(shown({"--since", "1h", "--dry-run"})["matching"], 1);
  EXPECT_EQ(shown({"--request", std::to_string(test.request.value), "--dry-run"})["matching"], 2);
  EXPECT_EQ(shown({"--key", key, "--campaign", "spring", "--dry-run"})["matching"], 2);
  EXPECT_EQ(shown({"--key", key, "--yes"})["result"]["cancelled"], 2);
  EXPECT_EQ(cancelled(), fmt::format("{},{}", test.gifts[1], test.gifts[0]));
}

// MAIL-21
TEST_F(CliGiftCancel, SaysWhichMailsHaveLeftAndWhichPricesAreUnknown) {
  const Sent sent = send({.gifts = 6});
  send({.mode = SendMode::urls, .price = std::nullopt, .sender = "sam@example.com"});
  const auto set = [&](std::size_t gift, const std::string& values) {
    sql("UPDATE mail_outbox SET " + values + " WHERE transaction_id = " + std::to_string(sent.gifts[gift]));
  };
  set(0, "state = 'accepted', attempt = 1");
  set(1, "state = 'uncertain', attempt = 1");
  set(2, "state = 'queued', attempt = 2");
  set(3, "state = 'queued', attempt = 1, kind = 'reminder', number = 2");
  const CliFixture::Result result = cancel({"--campaign", "spring", "--dry-run"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(
      result.err,
      AllOf(HasSubstr("7 gifts found. 7 can be cancelled."), HasSubstr("and 2 more, the oldest: gift "),
            HasSubstr("Total price: 35.25 and the unknown price of 1 gift, of 2 senders."),
            HasSubstr("Mails: 2 not left yet, to be withdrawn; 2 already left; 2 tried, which may have "
                      "arrived and are not tried again; 1 gift without a mail")));
}

// MAIL-21
TEST_F(CliGiftCancel, GiftsWhoseMailsHaveNotLeftAreCancelledFirst) {
  const Sent sent = send({.gifts = 4});
  sql("UPDATE mail_outbox SET state = 'accepted', attempt = 1 WHERE transaction_id IN (" +
      std::to_string(sent.gifts[3]) + ", " + std::to_string(sent.gifts[1]) + ")");
  const CliFixture::Result result = cancel({"--request", std::to_string(sent.request.value), "--yes"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err,
              HasSubstr("4 gifts are refunded and their links no longer work; 2 mails did not leave."));
  EXPECT_EQ(cancelled(),
            fmt::format("{},{},{},{}", sent.gifts[2], sent.gifts[0], sent.gifts[3], sent.gifts[1]));
}

// MAIL-21
TEST_F(CliGiftCancel, TheTimeAloneMeansTheGiftsOfAllSendersAndSaysSo) {
  send({.gifts = 2});
  send({.campaign = "autumn", .sender = "sam@example.com"});
  const Sent early = send({.age_millis = kDayMillis});
  const CliFixture::Result result = cancel({"--since", "today"});
  EXPECT_EQ(result.code, 64);
  EXPECT_THAT(result.err,
              HasSubstr("Cancel 3 gifts, ALL that any sender has sent since 2026-11-21 00:00 UTC?"));
  EXPECT_EQ(shown({"--since", "1h", "--campaign", "spring", "--yes"})["result"]["cancelled"], 2);
  EXPECT_THAT(cancelled(), Not(HasSubstr(std::to_string(early.gifts[0]))));
  EXPECT_EQ(shown({"--since", "7d", "--dry-run"})["cancellable"], 2);
}

// MAIL-21
TEST_F(CliGiftCancel, FaultsNameTheOptionAndTheNextStep) {
  const std::string gift = std::to_string(send({}).gifts[0]);
  EXPECT_THAT(cancel({"--key", "gsk_live_zzzz", "--yes"}).err,
              AllOf(HasSubstr("--key: no key begins with"), HasSubstr("giftsyncctl key list")));
  EXPECT_EQ(cancel({"--key", "gsk_live_zzzz", "--yes"}).code, 65);
  EXPECT_THAT(cancel({"--request", "987654", "--yes"}).err, HasSubstr("there is no gift request 987654"));
  EXPECT_EQ(cancel({"--request", "987654", "--yes"}).code, 65);
  const CliFixture::Result none = cancel({"--campaign", "summer", "--yes"});
  EXPECT_EQ(none.code, 0);
  EXPECT_THAT(none.err, HasSubstr("0 gifts found. 0 can be cancelled."));
  for (const Args& args : std::vector<Args>{{},
                                            {"--yes"},
                                            {"--dry-run"},
                                            {gift, "--since", "1h"},
                                            {gift, "--key", "gsk_live_"},
                                            {gift, "--request", "1"},
                                            {gift, "--campaign", "spring"},
                                            {gift, "--dry-run"},
                                            {gift, "--json"},
                                            {"--since", "yesterday"},
                                            {"--key", "", "--since", "1h", "--yes"},
                                            {"--campaign", " ", "--since", "1h", "--yes"},
                                            {"--since", "", "--yes"}})
    EXPECT_EQ(cancel(args).code, 64) << testing::PrintToString(args);
  EXPECT_EQ(cancelled(), "");
}

// MAIL-21
TEST_F(CliGiftCancel, AGiftThatIsClaimedMeanwhileIsNamedAndLeftOut) {
  const Sent sent = send({.gifts = 3});
  bool is_claimed = false;
  const CliFixture::Result result = cancel_with({"--campaign", "spring", "--yes", "--json"}, [&] {
    if (is_claimed || cancelled().empty()) return;
    is_claimed = true;
    redeem(sent.gifts[0]);
  });
  ASSERT_TRUE(is_claimed);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(
      result.err,
      AllOf(HasSubstr(fmt::format("Gift {} was left out: it was redeemed on 2026-11-21T", sent.gifts[0])),
            HasSubstr("2 gifts are refunded"), HasSubstr("; 1 gift left out.")));
  const Json done = tests::parse_ordered_json(result.out)["result"];
  EXPECT_EQ(done["cancelled"], 2);
  ASSERT_THAT(done["left_out"], SizeIs(1));
  EXPECT_EQ(done["left_out"][0]["recipient_transaction_id"], sent.gifts[0]);
  EXPECT_EQ(done["not_yet_cancelled"], 0);
}

// MAIL-21
TEST_F(CliGiftCancel, AnInterruptedRunSaysHowToGoOnAndTheNextDoesTheRest) {
  send({.gifts = 3});
  bool is_interrupted = false;
  const CliFixture::Result result = cancel_with({"--campaign", "spring", "--since", "2h", "--yes"}, [&] {
    if (is_interrupted || cancelled().empty()) return;
    is_interrupted = true;
    std::raise(SIGINT);
  });
  EXPECT_EQ(result.code, kInterruptedExit);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("1 of 3 gifts is cancelled, 2 not yet. To go on: giftsyncctl --config "),
                    HasSubstr("gift cancel --campaign spring --since 2026-11-21T10:31:07.000Z")));
  EXPECT_EQ(
      shown({"--campaign", "spring", "--since", "2026-11-21T10:31:07.000Z", "--yes"})["result"]["cancelled"],
      2);
}

// CON-8
TEST_F(CliGiftCancel, EachGiftAndTheRunHaveAnEvent) {
  const std::string key = make_key("a@example.com");
  const Sent sent = send({.gifts = 3, .key = key});
  std::size_t before = 0;
  const auto events = [&] {
    store::Store store(cli_.address());
    std::vector<std::string> texts;
    for (const auto& one : store.audit.list(store::Viewer::of_command_line(), {}, 1000))
      texts.push_back(one.action + " " + one.object_kind + " " + one.object_id + ": " + one.detail);
    texts.resize(texts.size() - before);
    std::reverse(texts.begin(), texts.end());
    return texts;
  };
  before = events().size();
  cancel({"--key", key, "--dry-run"});
  EXPECT_THAT(events(), IsEmpty());
  bool is_claimed = false;
  cancel_with({"--key", key, "--yes"}, [&] {
    if (is_claimed || cancelled().empty()) return;
    is_claimed = true;
    redeem(sent.gifts[0]);
  });
  EXPECT_THAT(events(),
              ElementsAre(fmt::format("gift.cancel gift {}: --key {}", sent.gifts[2], key),
                          fmt::format("gift.cancel gift {}: --key {}", sent.gifts[1], key),
                          fmt::format("gift.cancel gift : --key {}: 2 gifts cancelled, 1 left out", key)));
}

// OPS-24
TEST(DayOrTime, TodayIsADay) {
  const UtcMillis now{1'795'264'267'000};  // 2026-11-21T12:31:07Z
  EXPECT_EQ(parse_day_or_time("today", now), from_rfc3339("2026-11-21T00:00:00Z"));
  EXPECT_TRUE(is_day("today"));
  EXPECT_EQ(parse_day_or_time("yesterday", now), std::nullopt);
}

}  // namespace
}  // namespace giftsync::cli
