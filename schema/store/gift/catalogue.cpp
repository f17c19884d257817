#include "schema/store/gift/catalogue.h"

#include "schema/sql/queries.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

std::vector<GiftItem> select_items(soci::session& session, const std::string& where, GiftId id) {
  GiftItem row;
  return sql::select_rows(
      row, session,
      "SELECT gift_id, name, description, item_cost, shipping_cost, carbon_neutral_cost, "
      "transaction_fee, active, picture, redemption_text, redemption_link FROM gift_item " +
          where,
      use(id), into(row.id), into(row.name), into(row.description), into(row.costs.item),
      into(row.costs.shipping), into(row.costs.carbon_neutral), into(row.costs.transaction_fee),
      into(row.active), into(row.picture), into(row.redemption_text), into(row.redemption_link));
}

void upsert_item(soci::session& session, const GiftItem& item) {
  session
      << "INSERT INTO gift_item (gift_id, name, description, item_cost, shipping_cost, carbon_neutral_cost, "
         "transaction_fee, active, picture, redemption_text, redemption_link) VALUES (:id, :name, "
         ":description, "
         ":item, :shipping, :carbon, :fee, :active, :picture, :text, :link) ON CONFLICT (gift_id) DO UPDATE "
         "SET "
         "name = excluded.name, description = excluded.description, item_cost = excluded.item_cost, "
         "shipping_cost = excluded.shipping_cost, carbon_neutral_cost = excluded.carbon_neutral_cost, "
         "transaction_fee = excluded.transaction_fee, active = excluded.active, picture = excluded.picture, "
         "redemption_text = excluded.redemption_text, redemption_link = excluded.redemption_link",
      use(item.id), use(item.name), use(item.description), use(item.costs.item), use(item.costs.shipping),
      use(item.costs.carbon_neutral), use(item.costs.transaction_fee), use(item.active), use(item.picture),
      use(item.redemption_text), use(item.redemption_link);
}

}  // namespace

Catalogue::Catalogue(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

Catalogue::ImportCounts Catalogue::import(std::span<const GiftItem> items) {
  return database_->write([&](soci::session& session) {
    ImportCounts counts;
    for (const GiftItem& item : items) {
      const auto before = select_items(session, "WHERE gift_id = :id", item.id);
      if (!before.empty() && before.front() == item) {
        ++counts.unchanged;
        continue;
      }
      upsert_item(session, item);
      ++(before.empty() ? counts.inserted : counts.updated);
    }
    return counts;
  });
}

std::vector<GiftItem> Catalogue::items() {
  return database_->read([](soci::session& session) {
    return select_items(session, "WHERE gift_id >= :id ORDER BY gift_id", GiftId{0});
  });
}

std::optional<GiftItem> Catalogue::item(GiftId id) {
  return sql::first_of(database_->read(
      [&](soci::session& session) { return select_items(session, "WHERE gift_id = :id", id); }));
}

}  // namespace giftsync::store
