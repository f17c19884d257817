// The transaction ids of sources with ids of their own, over every back end (SRC-58).
#include "schema/store/gift/external_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "tests/schema/store/sources_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class ExternalIdsConformance : public SourcesFixture {
 protected:
  ExternalIds& ids() { return store().external_ids; }
  TransactionId allot(const std::string& external_id, const std::string& source = "vendor") {
    return ids().find_or_allot(source, {external_id}).at(external_id);
  }
  std::vector<std::pair<std::string, TransactionId>> found(const std::string& external_id) {
    std::vector<std::pair<std::string, TransactionId>> all;
    for (const auto& [source, transaction] : ids().find(external_id)) all.emplace_back(source, transaction);
    return all;
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, ExternalIdsConformance,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(ExternalIdsConformance, AnIdIsAllottedOnceForItsSource) {
  const auto first = ids().find_or_allot("vendor", {"ord_1", "ord_2", "it's \u00fc {,}\\\""});
  ASSERT_THAT(first, SizeIs(3));
  const std::set<TransactionId> distinct{first.at("ord_1"), first.at("ord_2"),
                                         first.at("it's \u00fc {,}\\\"")};
  EXPECT_THAT(distinct, SizeIs(3));
  EXPECT_EQ(ids().find_or_allot("vendor", {"ord_1", "ord_2", "it's \u00fc {,}\\\""}), first);
  EXPECT_NE(allot("ord_1", "other"), first.at("ord_1")) << "each source has ids of its own";
  EXPECT_THAT(found("ord_1"), ElementsAre(Pair("other", testing::_), Pair("vendor", first.at("ord_1"))));
  EXPECT_THAT(found("ORD_1"), IsEmpty()) << "ids are compared exactly";
  const std::vector<TransactionId> asked{first.at("ord_2"), TransactionId{123'456}};
  EXPECT_THAT(ids().of(asked), UnorderedElementsAre(Pair(first.at("ord_2"), "ord_2")));
  EXPECT_THAT(ids().find_or_allot("vendor", {}), IsEmpty());
}

TEST_P(ExternalIdsConformance, NumbersAreNoTransactionIds) {
  const TransactionId own = own_gift();
  const TransactionId allotted = allot(std::to_string(own.value));
  EXPECT_NE(allotted, own);
  EXPECT_FALSE(gift(allotted));
  EXPECT_NE(own_gift(), allotted) << "an allotted number is never used again";
}

TEST_P(ExternalIdsConformance, AGiftReportedUnderItsNumberKeepsIt) {
  const TransactionId id{9'000'000'001};
  InboundBatch page = report("vendor");
  page.items = {external_gift(id)};
  ASSERT_EQ(sources().accept(page).gifts, 1u);
  EXPECT_THAT(found("9000000001"), ElementsAre(Pair("vendor", id))) << "found while the source keeps its ids";
  EXPECT_EQ(allot("9000000001"), id);
  EXPECT_EQ(allot("9000000001"), id);
  EXPECT_NE(allot("09000000001"), id);
  EXPECT_NE(allot("9000000001", "other"), id);
  EXPECT_THAT(found("9000000001"), SizeIs(2));
}

TEST_P(ExternalIdsConformance, AGiftHasItsExternalId) {
  InboundBatch page = report("vendor");
  page.items = {external_gift(allot("ord_1"))};
  page.items.front().gift->external_id = "ord_1";
  ASSERT_EQ(sources().accept(page).gifts, 1u);
  const auto made = gift(allot("ord_1"));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->transaction.external_id, "ord_1");
  EXPECT_FALSE(has_foreign_id(made->transaction));
  EXPECT_THAT(store().gifts.filter_external(std::vector{made->transaction.id}), IsEmpty());
  EXPECT_EQ(store().gifts.highest_transaction_id(), made->transaction.id)
      << "after a restore no new gift gets its number";
}

TEST_P(ExternalIdsConformance, AllottedNumbersLeaveOutThoseOfExternalGifts) {
  const TransactionId next = allot("first");
  InboundBatch page = report("vendor");
  page.items = {external_gift({next.value + 1}), external_gift({next.value + 3})};
  ASSERT_EQ(sources().accept(page).gifts, 2u);
  std::set<TransactionId> allotted;
  for (const auto& [external_id, id] : ids().find_or_allot("vendor", {"a", "b", "c", "d"}))
    allotted.insert(id);
  EXPECT_THAT(allotted, SizeIs(4));
  EXPECT_FALSE(allotted.contains({next.value + 1}));
  EXPECT_FALSE(allotted.contains({next.value + 3}));
}

TEST_P(ExternalIdsConformance, ConcurrentMessagesAgree) {
  std::set<std::string> external_ids;
  for (int i = 0; i < 300; ++i) external_ids.insert("ord_" + std::to_string(i));
  std::vector<std::map<std::string, TransactionId>> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& one : seen) threads.emplace_back([&] { one = ids().find_or_allot("vendor", external_ids); });
  }
  ASSERT_THAT(seen.front(), SizeIs(300));
  for (const auto& one : seen) EXPECT_EQ(one, seen.front());
}

}  // namespace
}  // namespace giftsync::store
