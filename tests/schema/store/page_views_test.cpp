// What a page of a gift reads, in each state of the gift, on both back ends; and how the statement runs.
#include "schema/store/page_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "schema/sql/queries.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr GiftId kCoffee{7};
using Span = std::tuple<Status, Premise, UtcMillis, UtcMillis>;

std::vector<Span> sorted(const std::vector<ChangeSpan>& spans) {
  std::vector<Span> all;
  for (const ChangeSpan& one : spans) all.emplace_back(one.status, one.premise, one.earliest, one.latest);
  std::sort(all.begin(), all.end());
  return all;
}

class PageViewsTest : public tests::StoreFixture {
 protected:
  static StatusChange change(TransactionId gift, Status status, std::int64_t after = 5) {
    return {{}, "page", gift, status, kSentAt + after, kSentAt + after, {}};
  }
  void report(const StatusChange& change) { store_->changes.accept(std::span(&change, 1)); }
  void decide(TransactionId gift, Status status, const TransactionEffect& effect) {
    const auto always = [](UtcMillis, std::span<const ChangeSpan>) { return true; };
    ASSERT_EQ(store_->changes.accept_if(change(gift, status), always, effect), ConditionalOutcome::accepted);
  }
  void redeem(TransactionId gift) {
    decide(gift, Status::redeemed, store_->codes.assign_code(kCoffee, gift, kSentAt));
  }
  void donate(TransactionId gift, const Donation& donation) {
    decide(gift, Status::donated, store_->donations.record_effect(gift, donation));
  }
  void void_all(TransactionId gift) {
    for (const StatusChange& one : store_->changes.history(gift))
      store_->changes.void_change(one.id, {kSentAt + 9, "root", "by mistake"});
  }
  /// The view, whose changes are those of the change log.
  PageView view_of(TransactionId gift) {
    const std::optional<PageView> view = store_->page_views.find(gift);
    if (!view) {
      ADD_FAILURE() << "no gift " << gift.value;
      return {};
    }
    EXPECT_EQ(view->gift.transaction.id, gift);
    EXPECT_EQ(sorted(view->changes), sorted(store_->changes.spans_of(std::span(&gift, 1))));
    return *view;
  }
};
INSTANTIATE_TEST_SUITE_P(BackEnds, PageViewsTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(PageViewsTest, UnknownGiftHasNone) {
  EXPECT_FALSE(store_->page_views.find({1}));
  const TransactionId gift = one_gift();
  EXPECT_FALSE(store_->page_views.find({gift.value + 1}));
  EXPECT_FALSE(store_->page_views.find({kMaxId}));
}

TEST_P(PageViewsTest, SentGiftHasItsRequestAndNothingElse) {
  NewGiftRequest request = request_for(2);
  request.request.item_name = "Coffee ☕";
  request.request.sender_name = "Sam";
  request.recipients[1] = {"bob@example.com", "Bob", "Zürn", "Hello\nBob"};
  const auto created = store_->gifts.create(std::span(&request, 1)).front();
  const PageView view = view_of(created.recipients[1].id);
  EXPECT_EQ(view.gift.request.id, created.request);
  EXPECT_EQ(view.gift.request.gift, kCoffee);
  EXPECT_EQ(view.gift.request.item_name, "Coffee ☕");
  EXPECT_EQ(view.gift.request.sender_name, "Sam");
  EXPECT_EQ(view.gift.request.utm_campaign_id, std::nullopt);
  EXPECT_EQ(view.gift.transaction.email, "bob@example.com");
  EXPECT_EQ(view.gift.transaction.last_name, "Zürn");
  EXPECT_EQ(view.gift.transaction.message, "Hello\nBob");
  EXPECT_EQ(view.gift.transaction.times[Status::sent], kSentAt);
  EXPECT_THAT(view.changes, IsEmpty());
  EXPECT_EQ(view.picture + view.redemption_text + view.redemption_link + view.code, "");
  EXPECT_EQ(view.donation, std::nullopt);
}

// PAGE-11
TEST_P(PageViewsTest, ViewedAndExpiredGiftsHaveTheirChangesBeforeTheFold) {
  const TransactionId gift = one_gift();
  for (std::int64_t after = 1; after <= 20; ++after) report(change(gift, Status::delivered, after));
  report(change(gift, Status::opened, 30));
  EXPECT_THAT(sorted(view_of(gift).changes),
              ElementsAre(Span{Status::delivered, Premise::none, kSentAt + 1, kSentAt + 20},
                          Span{Status::opened, Premise::none, kSentAt + 30, kSentAt + 30}));
  StatusChange expiry = change(gift, Status::expired, 40);
  expiry.premise = Premise::unopened;
  report(expiry);
  EXPECT_EQ(view_of(gift).changes.size(), 3u);
  void_all(gift);
  EXPECT_THAT(view_of(gift).changes, IsEmpty());
}

// PAGE-16
TEST_P(PageViewsTest, RedeemedGiftHasItsOwnCodeAndThePresentTextsOfItsItem) {
  GiftItem item;
  item.id = kCoffee;
  item.name = "Coffee";
  item.picture = "https://shop.example/coffee.jpg";
  item.redemption_text = "Show it at the counter.";
  item.redemption_link = "https://shop.example/redeem";
  store_->catalogue.import(std::span(&item, 1));
  store_->codes.import(kCoffee, std::vector<std::string>{"FIRST", "SECOND", "FREE"}, kSentAt);
  const TransactionId first = one_gift();
  const TransactionId second = one_gift();
  const TransactionId other = one_gift();
  redeem(first);
  redeem(second);
  EXPECT_EQ(view_of(first).code, "FIRST");
  EXPECT_EQ(view_of(second).code, "SECOND");
  EXPECT_EQ(view_of(other).code, "");
  EXPECT_EQ(view_of(first).picture, item.picture);
  EXPECT_EQ(view_of(first).redemption_text, item.redemption_text);
  EXPECT_EQ(view_of(first).redemption_link, item.redemption_link);
  item.redemption_text = "Ask for it.";
  store_->catalogue.import(std::span(&item, 1));
  EXPECT_EQ(view_of(first).redemption_text, "Ask for it.");
}

// PAGE-15
TEST_P(PageViewsTest, DonatedGiftHasItsDonationAlsoWithoutACharity) {
  const TransactionId chosen = one_gift();
  const TransactionId unchosen = one_gift();
  donate(chosen, {"Red Cross", "https://redcross.example"});
  donate(unchosen, {});
  EXPECT_EQ(view_of(chosen).donation, (Donation{"Red Cross", "https://redcross.example"}));
  EXPECT_EQ(view_of(unchosen).donation, Donation{});
  void_all(chosen);
  EXPECT_TRUE(view_of(chosen).donation) << "the choice stays, its change does not count";
}

// PAGE-21
TEST_P(PageViewsTest, ReadsByKeysOnly) {
  std::string select = page_view_query();
  for (std::size_t at = 0; (at = select.find(":id")) != std::string::npos;) select.replace(at, 3, "5");
  const std::string plan = plain_sql_->write([&](soci::session& session) {
    std::string lines;
    if (dialect() == sql::Dialect::postgresql) {
      // A small table would be scanned.
      for (const char* way : {"enable_seqscan", "enable_bitmapscan", "enable_sort"})
        session << "SET LOCAL " + std::string(way) + " = off";
      for (const std::string& line : sql::select_column<std::string>(session, "EXPLAIN " + select))
        lines += line + "\n";
    } else {
      const soci::rowset<soci::row> rows = session.prepare << "EXPLAIN QUERY PLAN " + select;
      for (const soci::row& row : rows) lines += row.get<std::string>(3) + "\n";
    }
    return lines;
  });
  // The only rows that are scanned are the spans of the gift's own changes.
  EXPECT_THAT(plan, testing::Not(testing::ContainsRegex("Seq Scan|SCAN [^s]|SCAN s[^ ]|TEMP B-TREE")));
  const std::vector<std::string> keys =
      dialect() == sql::Dialect::sqlite
          ? std::vector<std::string>{"SEARCH t USING INTEGER PRIMARY KEY",
                                     "SEARCH r USING INTEGER PRIMARY KEY",
                                     "SEARCH i USING INTEGER PRIMARY KEY",
                                     "SEARCH d USING INTEGER PRIMARY KEY",
                                     "SEARCH g USING INDEX",
                                     "SEARCH c USING PRIMARY KEY (transaction_id=?)"}
          : std::vector<std::string>{
                "recipient_transaction_pkey", "gift_request_pkey",        "gift_item_pkey", "donation_pkey",
                "gift_code_transaction",      "change_log_transaction_id"};
  for (const std::string& key : keys) EXPECT_THAT(plan, testing::HasSubstr(key));
}

}  // namespace
}  // namespace giftsync::store
