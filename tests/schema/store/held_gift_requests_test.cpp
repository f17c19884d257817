// Requests that wait for a person, on each back end: held in place of gifts, decided once, and sent in the
// transaction of the approval.
#include "schema/store/gift/held_gift_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "schema/store/gift/gift_requests.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = CreateOutcome::Kind;

class HeldGiftRequestsTest : public tests::StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    if (IsSkipped()) return;
    store_->gifts.set_hold_terms(
        {kDayMillis,
         [](const std::vector<ExceededLimit>& exceeded, const std::vector<RecentRecipient>& recent) {
           std::vector<HoldReason> reasons;
           for (const ExceededLimit& limit : exceeded)
             reasons.push_back({"budget_exceeded", "", limit.limit.period + "\tis full\n"});
           for (const RecentRecipient& recipient : recent)
             reasons.push_back({"recent_gift", "", recipient.email});
           return reasons;
         }});
    store_->gifts.set_sending_charge([this](const GiftRequest&) {
      return SendingCharge{"2027-01-15", limits_};
    });
  }

  static UsageLimit limit(std::int64_t gifts, bool holds) {
    return {"2027-01-15",
            usage_scope(BudgetKind::account, 1),
            BudgetKind::account,
            {gifts, {}},
            kSentAt,
            kSentAt + kDayMillis,
            holds};
  }
  static UsageLimit burst(std::int64_t gifts, bool holds) {
    return {"burst:1799999400000:10",
            "gsk_live_abcdefg",
            std::nullopt,
            {gifts, {}},
            kSentAt,
            kSentAt + 10 * kMinuteMillis,
            holds};
  }
  static NewGiftRequest held_request(std::size_t gifts = 2, SendMode mode = SendMode::email) {
    NewGiftRequest request = request_for(gifts, mode);
    request.hold_reasons = {{"recipients_above", "", "It has many recipients."}};
    request.idempotency = {"key", "hash"};
    return request;
  }
  CreateOutcome create(const NewGiftRequest& request) {
    return store_->gifts.create(std::span(&request, 1)).front();
  }
  static CreateOutcome approve_in(Store& store, GiftRequestId id, const std::string& who,
                                  UtcMillis now = kSentAt + 1000) {
    NewGiftRequest request = *request_in(*store.held.find(id));
    request.request.created_at = now;
    request.approval =
        std::make_shared<HeldDecision>(HeldDecision{id, who, "fine", event("held.approve", id)});
    return store.gifts.create(std::span(&request, 1)).front();
  }
  CreateOutcome approve(GiftRequestId id, const std::string& who = "rose", UtcMillis now = kSentAt + 1000) {
    return approve_in(*store_, id, who, now);
  }
  static AuditEvent event(const std::string& action, GiftRequestId id) {
    AuditEvent made;
    made.action = action;
    made.object_kind = "held";
    made.object_id = std::to_string(id.value);
    return made;
  }
  std::string count(const std::string& rows) { return scalar("SELECT cast(count(*) AS TEXT) FROM " + rows); }

  std::vector<UsageLimit> limits_;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, HeldGiftRequestsTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// covers: GUARD-25
TEST_P(HeldGiftRequestsTest, AHeldRequestIsNoGiftAndCountsNowhere) {
  limits_ = {limit(100, false)};
  const CreateOutcome outcome = create(held_request());
  ASSERT_EQ(outcome.kind, Kind::held);
  EXPECT_EQ(count("gift_request"), "0");
  EXPECT_EQ(count("mail_outbox"), "0");
  EXPECT_EQ(store_->sending_usage.find(limits_).front().gifts, 0);
  const auto held = store_->held.find(outcome.request);
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(held->state, HeldState::held);
  EXPECT_EQ(held->gifts, 2);
  EXPECT_EQ(held->expires_at, kSentAt + kDayMillis);
  ASSERT_THAT(reasons_of(*held), SizeIs(1));
  EXPECT_EQ(reasons_of(*held).front().code, "recipients_above");
  EXPECT_EQ(store_->held.count_waiting(), 1);
}

// covers: GUARD-24
TEST_P(HeldGiftRequestsTest, ALimitThatHoldsHoldsAndOneThatRefusesRefuses) {
  limits_ = {limit(1, true)};
  NewGiftRequest request = request_for(2);
  const CreateOutcome held = create(request);
  ASSERT_EQ(held.kind, Kind::held);
  EXPECT_EQ(reasons_of(*held.held).front().message, "2027-01-15 is full ");
  EXPECT_EQ(create(request_for(1)).kind, Kind::created) << "a smaller one still fits";
  limits_.push_back(limit(1, false));
  EXPECT_EQ(create(request).kind, Kind::refused) << "both are exceeded";
}

// covers: GUARD-12
TEST_P(HeldGiftRequestsTest, BehindARequestThatABurstHeldASmallerOneFits) {
  limits_ = {burst(3, true)};
  EXPECT_EQ(create(request_for(4)).kind, Kind::held);
  EXPECT_EQ(create(request_for(3)).kind, Kind::created);
  EXPECT_EQ(create(request_for(1)).kind, Kind::held);
  limits_ = {burst(6, true), limit(3, false)};
  EXPECT_EQ(create(request_for(7)).kind, Kind::refused) << "the budget refuses it";
  EXPECT_EQ(create(request_for(3)).kind, Kind::created) << "what was refused counts in no burst that holds";
}

// covers: GUARD-19
TEST_P(HeldGiftRequestsTest, AFrequencyThatHoldsHoldsUnlessALimitRefuses) {
  store_->gifts.set_frequency_rule({.gifts = 1, .days = 30, .holds = true});
  EXPECT_EQ(create(request_for(1)).kind, Kind::created);
  const CreateOutcome held = create(request_for(1));
  ASSERT_EQ(held.kind, Kind::held);
  EXPECT_EQ(reasons_of(*held.held).front().code, "recent_gift");
  limits_ = {limit(0, true)};
  const CreateOutcome by_both = create(request_for(1));
  ASSERT_EQ(by_both.kind, Kind::held);
  EXPECT_THAT(reasons_of(*by_both.held), SizeIs(2));
  limits_ = {limit(0, false)};
  const CreateOutcome refused = create(request_for(1));
  EXPECT_EQ(refused.kind, Kind::refused);
  EXPECT_THAT(refused.exceeded, SizeIs(1));
  EXPECT_THAT(refused.recent, IsEmpty()) << "no approval would help with the budget";
  EXPECT_EQ(approve(held.request).kind, Kind::created) << "an approval overrides both";
  EXPECT_EQ(count("recipient_transaction"), "2");
}

// covers: GUARD-15
TEST_P(HeldGiftRequestsTest, WhatIsHeldCountsInABurstThatPauses) {
  Account rose;
  rose.email = "rose@example.com";
  Credential key;
  key.account = *store_->accounts.create(rose);
  key.prefix = "gsk_live_abcdefg";
  key.hash = "hash";
  store_->credentials.insert(key);
  const auto pauses = [&] { return count("api_key WHERE paused_at IS NOT NULL"); };
  NewGiftRequest asked = held_request(2);
  asked.idempotency.reset();
  limits_ = {burst(5, false)};
  const GiftRequestId first = create(asked).request;
  limits_ = {limit(1, true), burst(5, false)};
  EXPECT_EQ(create(request_for(2)).kind, Kind::held) << "by the budget";
  EXPECT_EQ(pauses(), "0");
  const CreateOutcome refused = create(asked);
  EXPECT_EQ(refused.kind, Kind::refused);
  ASSERT_THAT(refused.exceeded, SizeIs(1));
  EXPECT_TRUE(refused.exceeded.front().is_new_pause);
  EXPECT_EQ(pauses(), "1");
  EXPECT_EQ(store_->held.count_waiting(), 2);
  EXPECT_EQ(approve(first).kind, Kind::created) << "an approval counts in no burst";
}

// covers: GUARD-26
TEST_P(HeldGiftRequestsTest, AnApprovalSendsUnderTheAllottedIdAndCountsBeyondTheLimit) {
  limits_ = {limit(1, true)};
  NewGiftRequest asked = held_request(3);
  asked.request.utm_campaign_id = "spring \"27\"\n";
  asked.request.triggered_by = "005A";
  asked.recipients[1] = {"bea@example.com",
                         "B\xc3\xa9"
                         "a",
                         "\\", "line\nbreak\ttab"};
  const GiftRequestId id = create(asked).request;
  const CreateOutcome sent = approve(id);
  ASSERT_EQ(sent.kind, Kind::created);
  EXPECT_EQ(sent.request, id);
  const auto request = store_->gifts.find_gift_request(id);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->created_at, kSentAt + 1000);
  EXPECT_EQ(request->utm_campaign_id, asked.request.utm_campaign_id);
  EXPECT_EQ(request->triggered_by, "005A");
  const auto gifts = store_->gifts.find_recipients(id);
  ASSERT_THAT(gifts, SizeIs(3));
  EXPECT_EQ(gifts[1].message, asked.recipients[1].message);
  EXPECT_EQ(gifts[1].first_name, asked.recipients[1].first_name);
  EXPECT_EQ(count("mail_outbox"), "3");
  EXPECT_EQ(store_->sending_usage.find(limits_).front().gifts, 3);
  EXPECT_EQ(count("audit_event WHERE action = 'held.approve'"), "1");
  const auto held = store_->held.find(id);
  EXPECT_EQ(held->state, HeldState::sent);
  EXPECT_EQ(held->decided_by, "rose");
}

// covers: GUARD-26
TEST_P(HeldGiftRequestsTest, OfSeveralDecisionsOneCounts) {
  const GiftRequestId id = create(held_request()).request;
  Store other(address());
  std::vector<std::thread> people;
  std::atomic<int> sent = 0;
  std::atomic<int> ended = 0;
  for (int i = 0; i < 4; ++i) {
    people.emplace_back([&, i] {
      Store& daemon = i % 2 == 0 ? *store_ : other;
      sent += approve_in(daemon, id, "p" + std::to_string(i)).kind == Kind::created;
    });
    people.emplace_back([&] {
      ended += other.held.reject({id, "q", "", event("held.reject", id)}, kSentAt) ? 1 : 0;
    });
    people.emplace_back([&] { ended += static_cast<int>(store_->held.expire(kSentAt + kDayMillis).size()); });
  }
  for (std::thread& person : people) person.join();
  EXPECT_EQ(sent + ended, 1);
  EXPECT_EQ(count("recipient_transaction"), sent == 1 ? "2" : "0");
  EXPECT_EQ(count("audit_event"), "1");
  EXPECT_EQ(approve(id).kind, Kind::failed);
}

// covers: GUARD-28
TEST_P(HeldGiftRequestsTest, ARepeatGetsWhatTheRequestIsNow) {
  const NewGiftRequest asked = held_request();
  const GiftRequestId id = create(asked).request;
  const CreateOutcome again = create(asked);
  EXPECT_EQ(again.kind, Kind::held);
  EXPECT_EQ(again.request, id);
  EXPECT_EQ(count("held_gift_request"), "1");
  EXPECT_EQ(store_->gifts.find_idempotent({1}, SendMode::email, {"key", "other"})->kind, Kind::body_mismatch);
  approve(id);
  for (const CreateOutcome& repeat :
       {create(asked), *store_->gifts.find_idempotent({1}, SendMode::email, *asked.idempotency)}) {
    EXPECT_EQ(repeat.kind, Kind::replayed);
    EXPECT_EQ(repeat.request, id);
    EXPECT_THAT(repeat.recipients, SizeIs(2));
  }
  NewGiftRequest other = asked;
  other.idempotency = {"other key", "hash"};
  const GiftRequestId rejected = create(other).request;
  store_->held.reject({rejected, "rose", "no", event("held.reject", rejected)}, kSentAt);
  const CreateOutcome refused = create(other);
  ASSERT_EQ(refused.kind, Kind::held);
  EXPECT_EQ(refused.held->state, HeldState::rejected);
}

// covers: GUARD-27
TEST_P(HeldGiftRequestsTest, ItExpiresAndIsNotApprovedAfterwards) {
  const GiftRequestId id = create(held_request()).request;
  const UtcMillis end = kSentAt + kDayMillis;
  EXPECT_THAT(store_->held.expire(end + -1), IsEmpty());
  EXPECT_EQ(approve(id, "rose", end).kind, Kind::failed) << "also before a worker has expired it";
  EXPECT_THAT(store_->held.expire(end), ElementsAre(id));
  EXPECT_THAT(store_->held.expire(end), IsEmpty());
  EXPECT_EQ(store_->held.find(id)->state, HeldState::expired);
  EXPECT_EQ(count("gift_request"), "0");
  EXPECT_EQ(count("audit_event WHERE action = 'held.expire'"), "1");
  store_->held.empty_contents(end);
  EXPECT_TRUE(request_in(*store_->held.find(id)).has_value());
  store_->held.empty_contents(end + 1);
  EXPECT_FALSE(request_in(*store_->held.find(id)).has_value());
}

TEST_P(HeldGiftRequestsTest, AListingHasTheWaitingOnesOfAnOrganization) {
  NewGiftRequest asked = request_for(1);
  asked.hold_reasons = held_request().hold_reasons;
  const GiftRequestId of_none = create(asked).request;
  asked.request.organization = OrganizationId{3};
  asked.request.credential_prefix = "gsk_live_abc";
  const GiftRequestId of_three = create(asked).request;
  const auto ids = [&](const HeldFilter& filter, GiftRequestId after = {}) {
    std::vector<GiftRequestId> found;
    for (const HeldGiftRequest& held : store_->held.list(filter, after, 10)) found.push_back(held.id);
    return found;
  };
  EXPECT_THAT(ids({}), ElementsAre(of_none, of_three));
  EXPECT_EQ(store_->held.list({}, {}, 1).front().content, "") << "which may have megabytes";
  EXPECT_NE(store_->held.find(of_none)->content, "");
  EXPECT_THAT(ids({}, of_none), ElementsAre(of_three));
  EXPECT_THAT(ids({.credential_prefix = "gsk_live_abc"}), ElementsAre(of_three));
  EXPECT_THAT(ids({.credential_prefix = "gsk_live_a"}), ElementsAre(of_three));
  EXPECT_THAT(ids({.credential_prefix = "gsk_live_A"}), IsEmpty());
  EXPECT_THAT(ids({.credential_prefix = "gsk_live_abcd"}), IsEmpty());
  EXPECT_THAT(ids({.organization = std::optional<OrganizationId>()}), ElementsAre(of_none));
  EXPECT_THAT(ids({.organization = OrganizationId{3}}), ElementsAre(of_three));
  EXPECT_THAT(ids({.state = HeldState::sent}), IsEmpty());
}

// covers: GUARD-24
TEST_P(HeldGiftRequestsTest, ADomainIsNewUntilAGiftWasRequestedThere) {
  NewGiftRequest asked = request_for(1);
  asked.recipients[0].email = "Ada@Example.ORG";
  EXPECT_EQ(store_->gifts.first_new_domain(asked.recipients), "example.org");
  NewGiftRequest waiting = asked;
  waiting.hold_reasons = held_request().hold_reasons;
  create(waiting);
  EXPECT_EQ(store_->gifts.first_new_domain(asked.recipients), "example.org") << "a held request is no gift";
  create(asked);
  EXPECT_EQ(store_->gifts.first_new_domain(asked.recipients), "");
  store::Store other(address());
  EXPECT_EQ(other.gifts.first_new_domain(asked.recipients), "") << "by another daemon";
  const std::vector<NewGiftRequest> known(2, asked);
  for (const CreateOutcome& outcome : other.gifts.create(known))
    EXPECT_EQ(outcome.kind, Kind::created) << "a domain that is there is no fault";
  EXPECT_EQ(count("recipient_domain"), "1");
}

// MATCH-1
TEST_P(HeldGiftRequestsTest, AnInternationalisedDomainIsKnownInBothForms) {
  const std::string unicode = "bücher.example";
  const std::string ascii = "xn--bcher-kva.example";
  for (const std::string& known : {unicode, ascii}) {
    sql("DELETE FROM recipient_domain");
    sql("INSERT INTO recipient_domain (domain, first_at) VALUES ('" + known + "', 1)");
    store::Store store(address());
    for (const std::string& asked : {unicode, ascii}) {
      NewGiftRequest request = request_for(2);
      request.recipients[0].email = "ada@new.example";
      request.recipients[1].email = "ada@" + asked;
      EXPECT_EQ(store.gifts.first_new_domain(request.recipients), "new.example");
      EXPECT_EQ(store.gifts.first_new_domain(std::span(request.recipients).subspan(1)), "")
          << asked << ", of " << known;
    }
  }
}

}  // namespace
}  // namespace giftsync::store
