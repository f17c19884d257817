// schema/store: the charity of a donated gift (PAGE-15). It is written in the transaction that accepts the
// donation, so each gift donated on a page has exactly one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "schema/ids.h"
#include "schema/store/change_log.h"

namespace giftsync::schema::store {

/// A charity as it was named at the time of the choice. Without a name the sender's company chooses.
struct Donation {
  std::string charity;
  std::string link;
  friend bool operator==(const Donation&, const Donation&) = default;
};

class Donations {
 public:
  explicit Donations(std::shared_ptr<sql::Database> database);

  /// For ChangeLog::accept_if: records the donation and replaces the one of a voided choice.
  TransactionEffect record_effect(TransactionId transaction, const Donation& donation);
  std::optional<Donation> find(TransactionId transaction);
  /// The donations of the gifts that have one.
  std::map<TransactionId, Donation> find_all(std::span<const TransactionId> transactions);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema::store
