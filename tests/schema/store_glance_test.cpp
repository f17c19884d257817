// What status tells of requests and deadlines, over every back end.
#include "schema/store/store_glance.h"

#include <gmock/gmock.h>

#include "schema/sql/database.h"
#include "tests/schema/store_ground.h"

namespace giftsync::schema {
namespace {

class StoreGlanceTest : public StoreGround {
 protected:
  void save(const std::string& key, RequestState state, const std::string& error, bool deleted = false) {
    KnownRequest request;
    request.key = key;
    request.number = "R-" + key;
    request.state = state;
    request.error = error;
    request.deleted = deleted;
    const RequestChange change{request, {}};
    ASSERT_FALSE(store_->requests.save(std::span(&change, 1)).empty());
  }
  static std::int64_t of(const StoreGlance& glance, RequestState state) {
    return glance.requests[static_cast<std::size_t>(state)];
  }
};

TEST_P(StoreGlanceTest, an_empty_store_has_nothing_to_tell) {
  const StoreGlance glance = store_glance(database_->address(), kSentAt);
  for (const RequestState state : kAllRequestStates) EXPECT_EQ(of(glance, state), 0);
  EXPECT_EQ(glance.requests_in_error, 0);
  EXPECT_EQ(glance.due_soon, 0);
  EXPECT_EQ(glance.next_due, std::nullopt);
}

TEST_P(StoreGlanceTest, requests_are_counted_with_their_last_error) {
  save("1", RequestState::pending, "");
  save("2", RequestState::approved, "an older one");
  save("3", RequestState::approved, "no such gift");
  save("4", RequestState::sent, "of a rejection that came too late");
  save("5", RequestState::approved, "gone", true);
  const StoreGlance glance = store_glance(database_->address(), kSentAt);
  EXPECT_EQ(of(glance, RequestState::pending), 1);
  EXPECT_EQ(of(glance, RequestState::approved), 2) << "a deleted record waits for nobody";
  EXPECT_EQ(of(glance, RequestState::sent), 1);
  EXPECT_EQ(glance.requests_in_error, 2);
  EXPECT_EQ(glance.request_in_error, "R-3");
  EXPECT_EQ(glance.request_error, "no such gift");
}

TEST_P(StoreGlanceTest, deadlines_are_those_until_then) {
  const std::vector<TransactionId> ids{one_gift(), one_gift(), one_gift()};
  for (std::size_t i = 0; i < 2; ++i) {
    sql("UPDATE recipient_transaction SET due_at = " +
        std::to_string(kSentAt.value + 5 + 5 * static_cast<std::int64_t>(i)) +
        " WHERE id = " + std::to_string(ids[i].value));
  }
  const StoreGlance glance = store_glance(database_->address(), {kSentAt.value + 7});
  EXPECT_EQ(glance.due_soon, 1);
  EXPECT_EQ(glance.next_due, UtcMillis{kSentAt.value + 5});
}

INSTANTIATE_TEST_SUITE_P(BackEnds, StoreGlanceTest, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

}  // namespace
}  // namespace giftsync::schema
