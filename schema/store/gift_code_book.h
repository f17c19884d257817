// schema/store: the codes of gift items (design 5, `item import-codes`): a list for an item, of which each
// recipient who accepts is given one. A code is handed out in the transaction that accepts the gift, so it is
// handed out exactly once, whatever breaks and however many accept at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/ids.h"
#include "schema/store/change_log.h"
#include "schema/time.h"

namespace giftsync::schema {

struct GiftCodeCounts {
  GiftId gift;
  std::int64_t left = 0;
  std::int64_t handed_out = 0;
  friend bool operator==(const GiftCodeCounts&, const GiftCodeCounts&) = default;
};

class GiftCodeBook {
 public:
  explicit GiftCodeBook(std::shared_ptr<sql::Database> database);

  /// Adds codes to the item's list, all of them or none; returns how many were not there yet. A code that was
  /// handed out once does not come back.
  std::int64_t import(GiftId gift, std::span<const std::string> codes, UtcMillis now);

  /// For ChangeLog::accept_if: gives the recipient the oldest code of the item that nobody has; says no when
  /// its list has run out, and does nothing for an item that never had one.
  HandOut one_for(GiftId gift, TransactionId transaction, UtcMillis now);

  /// The code that the recipient has.
  std::optional<std::string> code_of(TransactionId transaction);
  /// How many codes are left of an item, counted up to `most`.
  std::int64_t count_left(GiftId gift, std::int64_t most);
  /// Of each item that has a list, by its id.
  std::vector<GiftCodeCounts> counts();

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema
