// Change events of a CRM's messages and the tokens of its URL, on both back ends.
#include "schema/store/crm/crm_change_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

class CrmMessages : public tests::StoreFixture {
 protected:
  bool add(const std::vector<std::string>& records, UtcMillis at = kNow) {
    return store_->crm_change_events.add(records, 1, at);
  }
  std::vector<std::string> records(std::size_t limit = 100) {
    std::vector<std::string> found;
    for (const CrmChangeEvent& event : store_->crm_change_events.list(limit))
      found.push_back(event.record_id);
    return found;
  }
  void acknowledge(const std::vector<CrmChangeEvent>& events) {
    std::vector<std::int64_t> ids;
    for (const CrmChangeEvent& event : events) ids.push_back(event.id);
    store_->crm_change_events.acknowledge(ids);
  }
  static Credential token(const std::string& name) {
    Credential made;
    made.prefix = "gmt_live_" + name;
    made.hash = "hash of " + name;
    made.created_at = kNow;
    return made;
  }
  std::vector<Credential> tokens() { return store_->credentials.list(CredentialKind::message_token); }
  std::vector<std::string> prefixes() {
    std::vector<std::string> found;
    for (const Credential& one : tokens()) found.push_back(one.prefix);
    return found;
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, CrmMessages,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(CrmMessages, TheBacklogHasItsOldestEventAndIsCleared) {
  EXPECT_EQ(store_->crm_change_events.backlog().count, 0);
  EXPECT_EQ(store_->crm_change_events.backlog().oldest, std::nullopt);
  EXPECT_TRUE(add({"a02", "a03"}));
  EXPECT_TRUE(add({"a01", "a03"}, kNow + 10));
  EXPECT_EQ(store_->crm_change_events.backlog().count, 3);
  EXPECT_EQ(store_->crm_change_events.backlog().oldest, kNow);
  store_->crm_change_events.clear();
  EXPECT_THAT(records(), IsEmpty());
  EXPECT_EQ(store_->crm_change_events.backlog().count, 0);
}

// MSG-7
TEST_P(CrmMessages, EachRecordHasOneEventInTheOrderOfArrival) {
  EXPECT_THAT(records(), IsEmpty());
  EXPECT_TRUE(add({"a02", "a03"}));
  EXPECT_TRUE(add({"a01", "a03"}, kNow + 10));
  EXPECT_TRUE(add({"A01"}, kNow + 20)) << "the case of an Id counts";
  EXPECT_THAT(records(), ElementsAre("a02", "a03", "a01", "A01"));
  EXPECT_THAT(records(2), ElementsAre("a02", "a03"));
  EXPECT_EQ(store_->crm_change_events.list(2)[1].received_at, kNow) << "of the first message";
  EXPECT_EQ(store_->crm_change_events.count(), 4);
  acknowledge(store_->crm_change_events.list(3));
  EXPECT_THAT(records(), ElementsAre("A01"));
  acknowledge({});
  store_->crm_change_events.acknowledge(std::vector<std::int64_t>{987});
  EXPECT_THAT(records(), ElementsAre("A01"));
}

// MSG-7
TEST_P(CrmMessages, ARecordThatChangesWhileItIsLookedUpIsLookedUpAgain) {
  add({"a01", "a02"});
  const auto looked_up = store_->crm_change_events.list(10);
  add({"a02"}, kNow + 5);
  acknowledge(looked_up);
  EXPECT_THAT(records(), ElementsAre("a02"));
  const auto again = store_->crm_change_events.list(10);
  acknowledge(again);
  EXPECT_THAT(records(), IsEmpty());
  add({"a02"}, kNow + 9);
  acknowledge(looked_up);
  acknowledge(again);
  EXPECT_THAT(records(), ElementsAre("a02")) << "an id is not used again, whichever daemon is late";
}

// MSG-7
TEST_P(CrmMessages, ThoseOfTwoDaemonsAreTogetherAndOutliveThem) {
  Store other(address());
  add({"a01"});
  const std::vector<std::string> theirs{"a01", "a02"};
  EXPECT_TRUE(other.crm_change_events.add(theirs, 1, kNow + 1));
  EXPECT_THAT(records(), ElementsAre("a01", "a02"));
  store_ = std::make_unique<Store>(address());
  EXPECT_THAT(records(), ElementsAre("a01", "a02"));
}

// MSG-9
TEST_P(CrmMessages, TooManyAreRefusedAsAWholeAndRepeatsAreNot) {
  const std::string rows =
      "INSERT INTO crm_change_event (record_id, event_id, received_at) WITH RECURSIVE n (i) AS "
      "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
      std::to_string(kMaxCrmChangeEvents - 1) + ") SELECT 'r' || cast(i AS TEXT), 1000000000 + i, 1 FROM n";
  sql(rows);
  EXPECT_FALSE(add({"a01", "a02"}));
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM crm_change_event WHERE record_id = 'a01'"), "0");
  EXPECT_TRUE(add({"a01", "r1"}));
  EXPECT_FALSE(add({"a02"}));
  EXPECT_TRUE(add({"a01", "r1", "r2"})) << "they have a place";
  EXPECT_EQ(store_->crm_change_events.count(), static_cast<std::int64_t>(kMaxCrmChangeEvents));
  acknowledge(store_->crm_change_events.list(1));
  EXPECT_TRUE(add({"a02"}));
}

// MSG-2, MSG-4
TEST_P(CrmMessages, OneTokenIsCurrentAndTwoWorkDuringARotation) {
  EXPECT_FALSE(store_->credentials.rotate_message_token(token("0"), kNow + 100))
      << "there is none to replace";
  EXPECT_TRUE(store_->credentials.create_message_token(token("1")));
  EXPECT_FALSE(store_->credentials.create_message_token(token("x")));
  EXPECT_TRUE(store_->credentials.rotate_message_token(token("2"), kNow + 100));
  EXPECT_THAT(prefixes(), ElementsAre("gmt_live_1", "gmt_live_2"));
  EXPECT_EQ(tokens()[0].expires_at, kNow + 100);
  EXPECT_EQ(tokens()[1].expires_at, std::nullopt);
  EXPECT_EQ(tokens()[1].hash, "hash of 2");
  EXPECT_FALSE(store_->credentials.create_message_token(token("x")));
  EXPECT_TRUE(store_->credentials.rotate_message_token(token("3"), kNow + 200));
  EXPECT_THAT(prefixes(), ElementsAre("gmt_live_2", "gmt_live_3")) << "never three";
  EXPECT_TRUE(store_->credentials.rotate_message_token(token("4"), std::nullopt));
  EXPECT_THAT(prefixes(), ElementsAre("gmt_live_4"));
  store_->credentials.remove_message_token(tokens()[0].id);
  EXPECT_THAT(prefixes(), IsEmpty());
  EXPECT_TRUE(store_->credentials.create_message_token(token("5")));
}

// MSG-2
TEST_P(CrmMessages, ATokenShowsWhenAMessageWasLastStored) {
  store_->credentials.create_message_token(token("1"));
  const std::int64_t id = tokens()[0].id.value;
  EXPECT_EQ(tokens()[0].last_used_at, std::nullopt);
  const std::vector<std::string> records{"a01"};
  store_->crm_change_events.add(records, id, kNow + 7);
  EXPECT_EQ(tokens()[0].last_used_at, kNow + 7);
  store_->credentials.rotate_message_token(token("2"), kNow + 100);
  EXPECT_EQ(tokens()[0].last_used_at, kNow + 7);
  ASSERT_THAT(tokens(), SizeIs(2));
}

}  // namespace
}  // namespace giftsync::store
