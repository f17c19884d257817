// Test gifts against a real store and CRM: each outcome by the timer, a record that is kept dry, and mail for
// their sender alone.
#include "sync/gift/test_gifts.h"

#include "sync/gift/gift_actions.h"
#include "sync/mail/claimed_mails.h"
#include "tests/support/in_memory_crm.h"
#include "tests/support/json.h"
#include "tests/support/lifecycle_fixture.h"

namespace giftsync::sync {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class TestGifts : public tests::LifecycleFixture {
 protected:
  TransactionId ask(const std::string& email, SendMode mode = SendMode::email) {
    store::NewGiftRequest request;
    request.request.account = {1};
    request.request.mode = mode;
    request.request.gift = {7};
    request.request.item_name = "Coffee";
    request.request.costs = {Money{500}, Money{0}, Money{10}, Money{40}};
    request.request.sender_email = "sam@example.com";
    request.request.created_at = now_;
    request.request.credential_prefix = "gsk_test_abcdefg";
    request.request.is_test = true;
    request.recipients.push_back({email, "Ada", "", "Hi"});
    return store_->gifts.create(std::span(&request, 1)).front().recipients.front().id;
  }
  void advance_seconds(std::int64_t seconds) { now_ = now_ + seconds * kSecondMillis; }
  std::string record_of(TransactionId gift) {
    const auto found = store_->test_gifts.find_records(std::span(&gift, 1));
    return found.empty() ? "" : found.begin()->second;
  }
  std::vector<Status> history(TransactionId gift) {
    std::vector<Status> statuses;
    for (const store::StatusChange& change : store_->changes.history(gift)) statuses.push_back(change.status);
    return statuses;
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, TestGifts, testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// covers: TEST-4
TEST(TestAddress, NamesAnOutcome) {
  EXPECT_EQ(test_outcome_of("redeemed@giftsync.test"), TestOutcome::redeemed);
  EXPECT_EQ(test_outcome_of(" Opted-Out+two@GIFTSYNC.test"), TestOutcome::opted_out);
  EXPECT_EQ(test_outcome_of("do-not-send@giftsync.test"), TestOutcome::do_not_send);
  EXPECT_EQ(test_outcome_of("redeemd@giftsync.test"), std::nullopt);
  EXPECT_EQ(test_outcome_of("redeemed@example.com"), std::nullopt);
  EXPECT_FALSE(is_test_address("redeemed@giftsync.test.example.com"));
  EXPECT_FALSE(is_test_address("redeemed@a.giftsync.test"));
  EXPECT_THAT(test_outcome_words(), HasSubstr("delivered, undelivered, opened"));
  EXPECT_THAT(test_outcome_words(), HasSubstr("do-not-send, held"));
}

// covers: TEST-4, TEST-5
TEST_P(TestGifts, EachOutcomeIsPlayedOneStepASecond) {
  using S = Status;
  const std::vector<std::pair<std::string, std::vector<S>>> outcomes{
      {"delivered", {S::delivered}},
      {"undelivered", {S::undelivered}},
      {"opened", {S::delivered, S::opened}},
      {"redeemed", {S::delivered, S::opened, S::redeemed}},
      {"donated", {S::delivered, S::opened, S::donated}},
      {"expired", {S::delivered, S::expired}},
      {"refunded", {S::delivered, S::expired, S::refunded}},
      {"complained", {S::delivered}},
      {"opted-out", {S::delivered, S::opened}},
      {"held", {S::delivered}},
  };
  std::map<TransactionId, std::vector<S>> gifts;
  for (const auto& [outcome, steps] : outcomes) gifts[ask(outcome + "+1@giftsync.test")] = steps;
  gifts[ask("kim@example.com")] = {S::delivered};
  EXPECT_EQ(run_timers().expired, 0u) << "nothing is due yet";
  for (std::size_t second = 1; second <= 3; ++second) {
    advance_seconds(1);
    const LifecycleStepStats stats = run_timers();
    EXPECT_EQ(stats.expired + stats.refunded, 0u) << "test gifts are not counted";
    for (const auto& [gift, steps] : gifts) {
      EXPECT_EQ(status(gift), steps[std::min(second, steps.size()) - 1]) << gift.value << " after " << second;
    }
  }
  advance_seconds(60);
  run_timers();
  for (const auto& [gift, steps] : gifts) {
    EXPECT_THAT(history(gift), testing::UnorderedElementsAreArray(steps));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(this->gift(gift).transaction.times[steps[i]],
                *from_rfc3339("2026-03-01T12:00:00Z") + static_cast<std::int64_t>(i + 1) * kSecondMillis);
    }
  }
  EXPECT_THAT(scheduled_gifts(), IsEmpty());
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM do_not_send"), "0");
}

// covers: TEST-5
TEST_P(TestGifts, StepsThatAreLateHappenOnceWithTheirTime) {
  const TransactionId gift = ask("refunded@giftsync.test");
  advance_seconds(3600);
  run_timers();
  run_timers();
  EXPECT_EQ(time(gift, Status::expired), "2026-03-01T12:00:02.000Z");
  EXPECT_EQ(time(gift, Status::refunded), "2026-03-01T12:00:03.000Z");
  EXPECT_THAT(history(gift), SizeIs(3));
}

// covers: TEST-5
TEST_P(TestGifts, TheTesterMayEndTheSteps) {
  const TransactionId gift = ask("expired@giftsync.test");
  advance_seconds(1);
  run_timers();
  const auto result = redeem_or_donate(store_->changes, gift, Status::redeemed, now_, {});
  EXPECT_EQ(result.outcome, store::ConditionalOutcome::accepted);
  advance_seconds(10);
  run_timers();
  EXPECT_EQ(status(gift), Status::redeemed);
  EXPECT_THAT(scheduled_gifts(), IsEmpty());
}

// covers: TEST-5
TEST_P(TestGifts, ACancellationOrAnAcceptanceBetweenTheStepsEndsThem) {
  const auto is_accepted = [](const std::string& outcome) { return outcome.ends_with("+accepted"); };
  std::map<TransactionId, std::string> gifts;
  for (const std::string outcome : {"opened", "undelivered", "redeemed", "refunded", "opened+accepted",
                                    "undelivered+accepted", "expired+accepted"})
    gifts[ask(outcome + "@giftsync.test")] = outcome;
  now_ = now_ + 500;
  for (const auto& [id, outcome] : gifts) {
    if (is_accepted(outcome)) {
      EXPECT_EQ(redeem_or_donate(store_->changes, id, Status::redeemed, now_, {}).outcome,
                store::ConditionalOutcome::accepted)
          << outcome;
    } else {
      EXPECT_EQ(cancel(store_->changes, store_->lifecycle, id, "admin", now_).kind, ActionResult::Kind::done)
          << outcome;
    }
  }
  sync();
  const auto state_of = [&](TransactionId id) {
    std::string text = scalar("SELECT cast(has_conflict AS TEXT) FROM recipient_transaction WHERE id = " +
                              std::to_string(id.value));
    for (const Status status : {Status::delivered, Status::undelivered, Status::opened, Status::redeemed,
                                Status::donated, Status::expired, Status::refunded})
      text += " " + time(id, status);
    return text;
  };
  std::map<TransactionId, std::string> before;
  for (const auto& [id, outcome] : gifts) before[id] = state_of(id);
  for (int second = 0; second < 5; ++second) {
    advance_seconds(1);
    run_timers();
  }
  for (const auto& [id, outcome] : gifts) {
    EXPECT_EQ(status(id), is_accepted(outcome) ? Status::redeemed : Status::refunded) << outcome;
    EXPECT_EQ(state_of(id), before[id]) << outcome;
    EXPECT_TRUE(state_of(id).starts_with("0 ")) << outcome << ": a conflict";
  }
}

// covers: TEST-5
TEST_P(TestGifts, OfEndpointBAnotherAddressStaysSent) {
  const TransactionId gift = ask("kim@example.com", SendMode::urls);
  const TransactionId scripted = ask("opened@giftsync.test", SendMode::urls);
  advance_seconds(10);
  run_timers();
  EXPECT_EQ(status(gift), Status::sent);
  EXPECT_EQ(status(scripted), Status::opened);
}

// covers: TEST-3
TEST_P(TestGifts, TheRecordIsKeptDryAndTheCrmIsNotWritten) {
  const TransactionId live = send(1).front();
  const TransactionId gift = ask("redeemed@giftsync.test");
  sync();
  EXPECT_EQ(tests::parse_json(record_of(gift)).at("RecipientTransactionStatus"), "sent");
  advance_seconds(5);
  run_timers();
  const auto record = tests::parse_json(record_of(gift));
  EXPECT_EQ(record.at("RecipientTransactionStatus"), "redeemed");
  EXPECT_TRUE(record.at("warnings").is_array());
  EXPECT_EQ(record_of(live), "");
  EXPECT_THAT(crm_->gift_records().page({0}, 10), SizeIs(1)) << "the live gift's";
  EXPECT_THAT(store_->sync.find_states(std::span(&gift, 1)), IsEmpty()) << "a rematch finds nothing";
  EXPECT_EQ(store_->sync.counts().waiting, 0);
}

// covers: TEST-3
TEST_P(TestGifts, TheDryRecordDoesNotSayWhyAPersonWasMatched) {
  tests::InMemoryCrm crm;
  crm.contacts_by_email["kim@example.com"] = {"003A", "Kim Other", "001A", false, "Email", ""};
  const TransactionId gift = ask("kim@example.com");
  EXPECT_EQ(sync_step(*store_, crm, rules_, {"one", 60'000}, now_).claimed, 1u);
  const std::string record = record_of(gift);
  EXPECT_THAT(record, HasSubstr("003A")) << "it is matched";
  for (const char* const text : {" matched", "equals", "Kim Other"})
    EXPECT_THAT(record, testing::Not(HasSubstr(text)));
  EXPECT_EQ(crm.upserted_rows, 0u);
}

// covers: TEST-2
TEST_P(TestGifts, TheirMailGoesToTheirSender) {
  store_->gifts.set_test_mail(true);
  const TransactionId gift = ask("undelivered@giftsync.test");
  ClaimedMails claimed(*store_, 1, 8, [this] { return now_; });
  const auto mails = claimed.take("one", {});
  ASSERT_THAT(mails, SizeIs(1));
  EXPECT_EQ(mails.front().claim.kind, MailKind::test);
  EXPECT_EQ(mails.front().gift.transaction.id, gift);
  EXPECT_EQ(mails.front().gift.transaction.email, "sam@example.com");
}

// covers: TEST-2
TEST_P(TestGifts, NoneIsSentAgain) {
  const TransactionId gift = ask("kim@example.com");
  const ActionResult result = resend(*store_, {gift, {}, "admin"}, now_);
  EXPECT_EQ(result.kind, ActionResult::Kind::refused);
  EXPECT_THAT(result.reason, HasSubstr("test gift"));
  EXPECT_EQ(cancel(store_->changes, store_->lifecycle, gift, "admin", now_).kind, ActionResult::Kind::done);
  sync();
  EXPECT_EQ(status(gift), Status::refunded);
}

// covers: TEST-9
TEST_P(TestGifts, APurgeTakesSeveralRounds) {
  for (int i = 0; i < 3; ++i) ask("kim@example.com");
  const TransactionId live = send(1).front();
  EXPECT_EQ(purge_test_gifts(store_->test_gifts, now_ + 1, [] { return false; }), 0);
  EXPECT_EQ(purge_test_gifts(store_->test_gifts, now_ + 1, [] { return true; }), 3);
  EXPECT_EQ(status(live), Status::sent);
}

}  // namespace
}  // namespace giftsync::sync
