// schema/store: the items that can be sent, with their costs (OPS-21).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/ids.h"
#include "schema/money.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

/// An absent cost is unknown (gifts that were sent elsewhere) or does not apply; it is not 0.00.
struct GiftCosts {
  std::optional<Money> item;
  std::optional<Money> shipping;  ///< physical items only
  std::optional<Money> carbon_neutral;
  std::optional<Money> transaction_fee;
  /// The sum of the known costs; absent when none is known.
  std::optional<Money> total() const { return item + shipping + carbon_neutral + transaction_fee; }
  friend bool operator==(const GiftCosts&, const GiftCosts&) = default;
};

struct GiftItem {
  GiftId id;
  std::string name;
  std::string description;
  GiftCosts costs;
  bool active = true;
  std::string picture;
  std::string redemption_text;
  std::string redemption_link;
  friend bool operator==(const GiftItem&, const GiftItem&) = default;
};

class Catalogue {
 public:
  explicit Catalogue(std::shared_ptr<sql::Database> database);

  struct ImportCounts {
    std::size_t inserted = 0;
    std::size_t updated = 0;
    std::size_t unchanged = 0;
  };
  /// All or none. Other items stay unchanged.
  ImportCounts import(std::span<const GiftItem> items);
  std::vector<GiftItem> items();
  std::optional<GiftItem> item(GiftId id);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
