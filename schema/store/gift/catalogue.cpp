#include "schema/store/gift/catalogue.h"

#include "schema/sql/record_rows.h"

namespace giftsync::store {
namespace {

using soci::use;

// One field a line.
// clang-format off
constexpr auto kGiftItemFields = record_fields(
    "gift_item",
    field<&GiftItem::id>("gift_id"),
    field<&GiftItem::name>("name"),
    field<&GiftItem::description>("description"),
    field<&GiftItem::costs, &GiftCosts::item>("item_cost"),
    field<&GiftItem::costs, &GiftCosts::shipping>("shipping_cost"),
    field<&GiftItem::costs, &GiftCosts::carbon_neutral>("carbon_neutral_cost"),
    field<&GiftItem::costs, &GiftCosts::transaction_fee>("transaction_fee"),
    field<&GiftItem::active>("active"),
    field<&GiftItem::picture>("picture"),
    field<&GiftItem::redemption_text>("redemption_text"),
    field<&GiftItem::redemption_link>("redemption_link"));
// clang-format on

std::optional<GiftItem> find_item(soci::session& session, GiftId id) {
  return sql::first_of(sql::find_records(kGiftItemFields, session, "WHERE gift_id = :id", use(id)));
}

}  // namespace

Catalogue::Catalogue(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

Catalogue::ImportCounts Catalogue::import(std::span<const GiftItem> items) {
  return database_->write([&](soci::session& session) {
    ImportCounts counts;
    for (const GiftItem& item : items) {
      if (find_item(session, item.id) == item) {
        ++counts.unchanged;
        continue;
      }
      const bool is_new =
          sql::insert_record(session, kGiftItemFields, item, "ON CONFLICT (gift_id) DO NOTHING");
      if (!is_new)
        sql::update_record(session, kGiftItemFields, item, {"gift_id"}, "WHERE gift_id = :gift_id");
      ++(is_new ? counts.inserted : counts.updated);
    }
    return counts;
  });
}

std::vector<GiftItem> Catalogue::items() {
  return database_->read(
      [](soci::session& session) { return sql::find_records(kGiftItemFields, session, "ORDER BY gift_id"); });
}

std::optional<GiftItem> Catalogue::item(GiftId id) {
  return database_->read([&](soci::session& session) { return find_item(session, id); });
}

}  // namespace giftsync::store
