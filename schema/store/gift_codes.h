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
#include "schema/store/change_log.h"

namespace giftsync::schema::store {

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
  std::int64_t import(GiftId gift, std::span<const std::string> codes, platform::UtcMillis now);

  /// For ChangeLog::accept_if: assigns the oldest free code of the item to the recipient. Returns false
  /// when the list is exhausted; does nothing for an item without a list.
  TransactionEffect assign_code(GiftId gift, TransactionId transaction, platform::UtcMillis now);

  /// The recipient's code.
  std::optional<std::string> find_code(TransactionId transaction);
  /// The number of free codes of an item, counted up to `max_count`.
  std::int64_t count_unassigned(GiftId gift, std::int64_t max_count);
  /// For each item that has a list, by its id. `left` is exact up to `exact_left`, also above the bound.
  std::vector<GiftCodeCounts> counts(std::int64_t exact_left = 0);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema::store
