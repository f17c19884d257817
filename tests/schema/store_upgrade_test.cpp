// A store that an older giftsync made, with what was in it.
#include <gtest/gtest.h>

#include "embedded/giftsync_schema.h"
#include "tests/schema/store_ground.h"

namespace giftsync::schema {
namespace {

class StoreUpgrade : public DatabaseGround<> {
 protected:
  void make_version_two() {
    plain_->write([&](soci::session& session) {
      for (const std::string_view step :
           {embedded::schema_sql_store_001_sql, embedded::schema_sql_store_002_sql})
        sql::run_script(session, dialect(), step);
      session << "INSERT INTO store_fact (name, value) VALUES ('version', '2')";
    });
  }
  void insert_gift(std::int64_t id, const std::string& mode, const std::string& costs) {
    const std::string key = std::to_string(id);
    sql("INSERT INTO gift_request (id, account_id, mode, gift_id, item_name, item_description, item_cost, "
        "shipping_cost, carbon_neutral_cost, transaction_fee, sender_email, sender_name, utm_campaign_id, "
        "triggered_by, created_at, terms) VALUES (" +
        key + ", 1, '" + mode + "', 7, 'Coffee', 'A cup', " + costs +
        ", 'rose@example.com', 'Rose', 'spring', '005R', 1700000000000, 'v1')");
    sql("INSERT INTO recipient_transaction (id, request_id, position, email, first_name, last_name, message, "
        "generation, status, sent_at, version) VALUES (" +
        key + ", " + key + ", 0, 'ada@example.com', '', '', 'Thanks', 0, 'sent', 1700000000000, 1)");
  }
  static Gift gift(Store& store, TransactionId id) { return store.gifts.gifts(std::span(&id, 1)).at(0); }
};
INSTANTIATE_TEST_SUITE_P(BackEnds, StoreUpgrade, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(StoreUpgrade, OfVersionTwoKeepsAllAndNoLongerInventsCosts) {
  make_version_two();
  insert_gift(1, "email", "500, 0, 10, 40");
  insert_gift(2, "email", "0, 0, 0, 0");
  insert_gift(3, "external", "0, 0, 0, 40");
  insert_gift(4, "external", "0, 0, 0, 0");
  sql("INSERT INTO gift_item (gift_id, name, description, item_cost, shipping_cost, carbon_neutral_cost, "
      "transaction_fee, active, picture, redemption_text, redemption_link) VALUES (7, 'Coffee', 'A cup', "
      "500, 0, "
      "10, 40, 1, 'p', 't', 'l')");
  migrate_store(address());
  Store store(address());
  EXPECT_EQ(store_version(address()), kStoreVersion);
  EXPECT_EQ(gift(store, {1}).request.costs, (GiftCosts{Money{500}, Money{0}, Money{10}, Money{40}}));
  EXPECT_EQ(gift(store, {2}).request.costs.total(), Money{0}) << "ours: what it costs is known";
  EXPECT_EQ(gift(store, {3}).request.costs, (GiftCosts{Money{0}, Money{0}, Money{0}, Money{40}}));
  EXPECT_EQ(gift(store, {4}).request.costs.total(), std::nullopt);
  const GiftRequest kept = gift(store, {1}).request;
  EXPECT_EQ(kept.item_name + kept.item_description + kept.sender_email + kept.sender_name +
                kept.triggered_by + kept.terms + kept.utm_campaign_id.value_or(""),
            "CoffeeA cuprose@example.comRose005Rv1spring");
  EXPECT_EQ(store.catalogue.items(),
            (std::vector{GiftItem{
                {7}, "Coffee", "A cup", {Money{500}, Money{0}, Money{10}, Money{40}}, true, "p", "t", "l"}}));
}

}  // namespace
}  // namespace giftsync::schema
