// How many gifts an address may get, and that the limit holds, on each back end.
#include "schema/store/gift/recipient_frequency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "schema/store/gift/gift_requests.h"
#include "tests/support/query_plan.h"
#include "tests/support/row_counts.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = CreateOutcome::Kind;

class RecipientFrequencyTest : public tests::StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    if (!IsSkipped()) limit_to({.gifts = 2, .days = 30});
  }

  void limit_to(const FrequencyRule& rule) { store_->gifts.set_frequency_rule(rule); }
  static NewGiftRequest to(const std::vector<std::string>& emails, UtcMillis at = kSentAt) {
    NewGiftRequest request = request_for(0);
    request.request.created_at = at;
    for (const std::string& email : emails) request.recipients.push_back({email, "", "", "Hi"});
    return request;
  }
  CreateOutcome create(const NewGiftRequest& request) {
    return store_->gifts.create(std::span(&request, 1)).front();
  }
  void set_status(TransactionId id, const std::string& status) {
    sql("UPDATE recipient_transaction SET status = '" + status + "' WHERE id = " + std::to_string(id.value));
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, RecipientFrequencyTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// covers: GUARD-19
TEST_P(RecipientFrequencyTest, AnAddressGetsNoMoreThanTheLimitWithinTheDays) {
  const UtcMillis later = kSentAt + 5 * kDayMillis;
  EXPECT_EQ(create(to({"kim@example.com"})).kind, Kind::created);
  EXPECT_EQ(create(to({"kim@example.com", "rose@example.com"}, later)).kind, Kind::created);
  const CreateOutcome refused = create(to({"rose@example.com", "kim@example.com"}, later + 1));
  ASSERT_EQ(refused.kind, Kind::refused);
  EXPECT_THAT(refused.exceeded, IsEmpty());
  ASSERT_THAT(refused.recent, SizeIs(1));
  EXPECT_EQ(refused.recent[0].place, 1u);
  EXPECT_EQ(refused.recent[0].email, "kim@example.com");
  EXPECT_EQ(refused.recent[0].gifts, 2);
  EXPECT_EQ(refused.recent[0].newest_at, later);
  EXPECT_EQ(refused.recent[0].fits_at, kSentAt + 30 * kDayMillis);
  EXPECT_EQ(create(to({"kim@example.com"}, kSentAt + 30 * kDayMillis - 1)).kind, Kind::refused);
  EXPECT_EQ(create(to({"kim@example.com"}, kSentAt + 30 * kDayMillis)).kind, Kind::created);
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM recipient_transaction"), "4");
}

// covers: GUARD-19
TEST_P(RecipientFrequencyTest, TheDaysEndWithTheTrustedTimeAndNotWithTheRequestsOwn) {
  UtcMillis trusted = kSentAt;
  store_->gifts.set_frequency_rule({.gifts = 1, .days = 30}, [&] { return trusted; });
  EXPECT_EQ(create(to({"kim@example.com"})).kind, Kind::created);
  const NewGiftRequest ahead = to({"kim@example.com"}, kSentAt + 31 * kDayMillis);
  EXPECT_THAT(store_->gifts.find_beyond_frequency(ahead), SizeIs(1));
  EXPECT_EQ(create(ahead).kind, Kind::refused);
  trusted = kSentAt + 31 * kDayMillis;
  EXPECT_THAT(store_->gifts.find_beyond_frequency(ahead), IsEmpty());
  EXPECT_EQ(create(ahead).kind, Kind::created);
}

// covers: GUARD-19
TEST_P(RecipientFrequencyTest, EqualAddressesOfARequestAndOfAGroupCountTogether) {
  const CreateOutcome thrice = create(to({"kim@example.com", "Kim@example.com", "kim@example.com"}));
  ASSERT_EQ(thrice.kind, Kind::refused);
  ASSERT_THAT(thrice.recent, SizeIs(1));
  EXPECT_EQ(thrice.recent[0].place, 2u);
  EXPECT_EQ(thrice.recent[0].requested, 3);
  EXPECT_EQ(thrice.recent[0].fits_at, std::nullopt) << "it never fits";
  const std::vector<NewGiftRequest> group{to({"kim@example.com"}), to({"kim@example.com", "kim@example.com"}),
                                          to({"kim@example.com"}), to({"kim@example.com"}),
                                          to({"rose@example.com"})};
  std::vector<Kind> kinds;
  for (const CreateOutcome& outcome : store_->gifts.create(group)) kinds.push_back(outcome.kind);
  EXPECT_THAT(kinds, ElementsAre(Kind::created, Kind::refused, Kind::created, Kind::refused, Kind::created));
}

// covers: GUARD-20
TEST_P(RecipientFrequencyTest, AddressesCompareWithoutCaseAndInBothFormsOfADomain) {
  limit_to({.gifts = 1, .days = 30});
  create(to({"Kim@Example.com"}));
  create(to({"kim@bücher.example"}));
  create(to({"rose@xn--bcher-kva.example"}));
  for (const char* email : {" kim@example.COM", "KIM@xn--bcher-kva.example", "rose@bücher.example"})
    EXPECT_EQ(create(to({email})).kind, Kind::refused) << email;
  EXPECT_EQ(create(to({"kim+test@example.com"})).kind, Kind::created) << "a label is a part of the address";
}

// covers: GUARD-20
TEST_P(RecipientFrequencyTest, AnInternationalisedDomainIsFoundInEverySpelling) {
  limit_to({.gifts = 1, .days = 30});
  const std::vector<std::string> spellings{
      "INFO@MÜLLER.DE",   "Info@Müller.de",       "info@müller.de",      "info@xn--mller-kva.de",
      "info@ｍüller。de", "info@mu\u0308ller.de", "info@müller.de\u200B"};
  for (const std::string& first : spellings) {
    sql("DELETE FROM recipient_transaction");
    const CreateOutcome made = create(to({first}));
    ASSERT_EQ(made.kind, Kind::created) << first;
    EXPECT_EQ(made.recipients[0].email, store_->gifts.find_recipients(made.request)[0].email);
    for (const std::string& second : spellings)
      EXPECT_EQ(create(to({second})).kind, Kind::refused) << first << " and " << second;
  }
  sql("DELETE FROM recipient_transaction");
  create(to({"info@müller.de"}));
  sql("UPDATE recipient_transaction SET email = 'INFO@MÜLLER.DE'");
  EXPECT_EQ(create(to({"Info@MÜLLER.de"})).kind, Kind::refused) << "a gift of an earlier version";
}

// covers: GUARD-19
TEST_P(RecipientFrequencyTest, GiftsThatDidNotArriveDoNotCountAndGiftsSentElsewhereDo) {
  const TransactionId first = create(to({"kim@example.com"})).recipients[0].id;
  const TransactionId second = create(to({"kim@example.com"})).recipients[0].id;
  set_status(first, "refunded");
  EXPECT_EQ(create(to({"kim@example.com"})).kind, Kind::created);
  set_status(second, "undelivered");
  EXPECT_EQ(create(to({"kim@example.com"})).kind, Kind::created);
  EXPECT_EQ(create(to({"kim@example.com"})).kind, Kind::refused);
  sql("UPDATE recipient_transaction SET status = 'expired', gift_source = 'shop' WHERE status = 'sent'");
  EXPECT_EQ(create(to({"kim@example.com"})).kind, Kind::refused);
}

// covers: GUARD-20
TEST_P(RecipientFrequencyTest, AnErasureFreesNoAddress) {
  store_->do_not_send.set_erased_address_key(std::string(32, 'k'));
  limit_to({.gifts = 1, .days = 30, .mark_of = [this](std::string_view key) {
              return store_->do_not_send.mark_of(key);
            }});
  const TransactionId gift = create(to({"kim@example.com"})).recipients[0].id;
  set_status(gift, "redeemed");
  store_->person_traces.erase_gifts(std::span(&gift, 1), store_->do_not_send.mark_of("kim@example.com"));
  const CreateOutcome refused = create(to({"Kim@Example.com", "rose@example.com"}, kSentAt + kDayMillis));
  ASSERT_EQ(refused.kind, Kind::refused);
  ASSERT_THAT(refused.recent, SizeIs(1));
  EXPECT_EQ(refused.recent[0].newest_at, kSentAt);
  EXPECT_EQ(create(to({"rose@example.com"})).kind, Kind::created);
}

// covers: GUARD-21
TEST_P(RecipientFrequencyTest, AGiftThatIsSentAgainCountsForItsNewAddressFromThenOn) {
  limit_to({.gifts = 1, .days = 30});
  const TransactionId gift = create(to({"typo@example.com"})).recipients[0].id;
  const UtcMillis again = kSentAt + 35 * kDayMillis;
  store_->lifecycle.enqueue_mail(gift, again, [](const MailContext&) {
    return std::optional(MailOrder{MailKind::gift, "kim@example.com"});
  });
  const CreateOutcome refused = create(to({"kim@example.com"}, again + kDayMillis));
  ASSERT_EQ(refused.kind, Kind::refused);
  EXPECT_EQ(refused.recent[0].newest_at, again);
  EXPECT_EQ(refused.recent[0].fits_at, again + 30 * kDayMillis);
  EXPECT_EQ(create(to({"typo@example.com"}, again + kDayMillis)).kind, Kind::created);
  EXPECT_EQ(create(to({"kim@example.com"}, again + 30 * kDayMillis)).kind, Kind::created);
}

// covers: GUARD-19
TEST_P(RecipientFrequencyTest, WithinAnOrganizationTheGiftsOfOthersDoNotCount) {
  limit_to({.gifts = 1, .days = 30, .within_organization = true});
  NewGiftRequest edge = to({"kim@example.com"});
  edge.request.organization = OrganizationId{3};
  NewGiftRequest other = edge;
  other.request.organization = OrganizationId{4};
  const NewGiftRequest without = to({"kim@example.com"});
  for (const NewGiftRequest& request : {edge, other, without}) {
    EXPECT_EQ(create(request).kind, Kind::created);
    EXPECT_EQ(create(request).kind, Kind::refused);
  }
  sql("UPDATE recipient_transaction SET status = 'refunded' WHERE request_id IN (SELECT id FROM gift_request "
      "WHERE organization_id = 4)");
  EXPECT_EQ(create(other).kind, Kind::created);
  NewGiftRequest fifth = edge;
  fifth.request.organization = OrganizationId{5};
  sql("UPDATE recipient_transaction SET gift_source = 'shop'");
  EXPECT_EQ(create(fifth).kind, Kind::refused) << "the person got what was sent elsewhere";
}

// covers: GUARD-19
TEST_P(RecipientFrequencyTest, AWarningIsStoredWithTheKey) {
  limit_to({.gifts = 1, .days = 30, .refuses = false});
  create(to({"kim@example.com"}));
  NewGiftRequest keyed = to({"kim@example.com"});
  keyed.idempotency = {"key", "hash"};
  keyed.warnings = "[]";
  keyed.warnings_with_recent = [](const std::vector<RecentRecipient>& recent) {
    return "[" + recent.at(0).email + "]";
  };
  const CreateOutcome created = create(keyed);
  EXPECT_EQ(created.kind, Kind::created);
  EXPECT_THAT(created.recent, SizeIs(1));
  EXPECT_EQ(created.warnings, "[kim@example.com]");
  const CreateOutcome repeated = create(keyed);
  EXPECT_EQ(repeated.kind, Kind::replayed);
  EXPECT_EQ(repeated.warnings, "[kim@example.com]");
}

// covers: GUARD-19
TEST_P(RecipientFrequencyTest, ARefusedRequestLeavesItsKeyFreeAndCountsInNoBudget) {
  limit_to({.gifts = 1, .days = 30});
  const UsageLimit budget{"2027-01",
                          usage_scope(BudgetKind::installation),
                          BudgetKind::installation,
                          {9, {}},
                          kSentAt - kDayMillis,
                          kSentAt + kDayMillis};
  store_->gifts.set_sending_charge([&](const GiftRequest&) { return SendingCharge{"2027-01-15", {budget}}; });
  create(to({"kim@example.com"}));
  NewGiftRequest keyed = to({"kim@example.com"});
  keyed.idempotency = {"key", "hash"};
  EXPECT_EQ(create(keyed).kind, Kind::refused);
  EXPECT_EQ(store_->gifts.find_idempotent({1}, SendMode::email, *keyed.idempotency), std::nullopt);
  EXPECT_EQ(store_->sending_usage.find(std::span(&budget, 1)).front().gifts, 1);
}

// covers: VALID-1
TEST_P(RecipientFrequencyTest, LookingSaysTheSameAndWritesNothing) {
  create(to({"kim@example.com", "kim@example.com"}));
  NewGiftRequest asked = to({"rose@example.com", "kim@example.com"});
  asked.idempotency = {"key", "hash"};
  tests::RowCounts rows(address());
  const std::string before = rows.now();
  const std::vector<RecentRecipient> beyond = store_->gifts.find_beyond_frequency(asked);
  ASSERT_THAT(beyond, SizeIs(1));
  EXPECT_EQ(beyond[0].place, 1u);
  EXPECT_EQ(rows.now(), before);
  EXPECT_EQ(create(asked).kind, Kind::refused);
}

// covers: GUARD-21
TEST_P(RecipientFrequencyTest, TheNewestGiftsOfAnAddressAreFoundByItsIndex) {
  const bool is_sqlite = dialect() == sql::Dialect::sqlite;
  std::string query = recent_gifts_query(dialect());
  const auto bind = [&](const std::string& name, const std::string& value) {
    query.replace(query.find(name), name.size(), value);
  };
  bind(":keys", is_sqlite ? "'[\"ada@example.com\"]'" : "'{ada@example.com}'");
  bind(":since", "5");
  sql::Database database(address());
  const std::string plan = tests::plan_of(database, query);
  EXPECT_THAT(plan, testing::HasSubstr("recipient_transaction_email"));
  EXPECT_THAT(plan, testing::Not(testing::ContainsRegex("SCAN [tur]\\b|Seq Scan|TEMP B-TREE")));
}

// covers: GUARD-19
TEST_P(RecipientFrequencyTest, OfManyCallersOfTwoDaemonsOneMakesAGift) {
  limit_to({.gifts = 1, .days = 30});
  Store other(address());
  other.gifts.set_frequency_rule({.gifts = 1, .days = 30});
  std::vector<std::thread> callers;
  std::atomic<int> created{0};
  for (unsigned caller = 0; caller < 16; ++caller) {
    callers.emplace_back([&, caller] {
      GiftRequests& gifts = caller % 2 ? other.gifts : store_->gifts;
      for (int call = 0; call < 5; ++call) {
        const NewGiftRequest asked = to({"kim@example.com", "r" + std::to_string(call) + "@example.com"});
        const CreateOutcome outcome = gifts.create(std::span(&asked, 1)).front();
        EXPECT_TRUE(outcome.kind == Kind::created || outcome.kind == Kind::refused) << outcome.error;
        if (outcome.kind == Kind::created) ++created;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(created, 1);
}

}  // namespace
}  // namespace giftsync::store
