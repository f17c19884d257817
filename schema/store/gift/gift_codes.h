// schema/store: the codes of gift items (`item codes import`, OPS-22, PAGE-13): a list per item. Each
// recipient who accepts is assigned one code in the transaction that accepts the gift, so a code is
// assigned exactly once, also under concurrency and after a crash.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/statements/bounded_count.h"

namespace giftsync::store {

struct GiftCodeCounts {
  GiftId gift;
  std::int64_t left = 0;        ///< bounded, as handed_out
  std::int64_t handed_out = 0;  ///< bounded_count.h
  friend bool operator==(const GiftCodeCounts&, const GiftCodeCounts&) = default;
};

class GiftCodes {
 public:
  explicit GiftCodes(std::shared_ptr<sql::Database> database);

  /// Adds codes to the item's list, all or none; returns how many were new. A code that was assigned
  /// once is not added again.
  std::int64_t import(GiftId gift, std::span<const std::string> codes, UtcMillis now);

  /// For ChangeLog::accept_if: assigns the oldest free code of the item to the recipient. Returns false
  /// when the list is exhausted; does nothing for an item without a list.
  TransactionEffect assign_code(GiftId gift, TransactionId transaction, UtcMillis now);

  /// The recipient's code.
  std::optional<std::string> find_code(TransactionId transaction);
  /// The number of free codes of an item, counted up to `max_count`.
  std::int64_t count_unassigned(GiftId gift, std::int64_t max_count);
  /// For each item that has a list, by its id. `left` is exact up to `exact_left`, also above the bound.
  std::vector<GiftCodeCounts> counts(std::int64_t exact_left = 0);

 private:
  std::shared_ptr<sql::Database> database_;
};

// The counts of gift codes by item, as SQL. It finds the items one by one in an index and stops
// counting the codes of each (OPS-33). Included by this folder's .cpp files and their tests only.

/// gift_id, unassigned and assigned codes; in any order.
inline std::string gift_code_counts_query(std::int64_t max_left) {
  const auto count = [](const std::string& condition, std::int64_t max) {
    return "(SELECT count(*) FROM (SELECT 1 FROM gift_code c WHERE c.gift_id = listed.gift_id AND "
           "c.transaction_id IS " +
           condition + " LIMIT " + std::to_string(max + 1) + ") counted)";
  };
  return "WITH RECURSIVE listed (gift_id) AS (SELECT min(gift_id) FROM gift_code UNION ALL SELECT (SELECT "
         "min(c.gift_id) FROM gift_code c WHERE c.gift_id > listed.gift_id) FROM listed WHERE "
         "listed.gift_id IS NOT NULL) SELECT gift_id, " +
         count("NULL", max_left) + ", " + count("NOT NULL", kMaxCounted) +
         " FROM listed WHERE gift_id IS NOT NULL";
}

}  // namespace giftsync::store
