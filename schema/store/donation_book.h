// schema/store: where the value of a donated gift goes (design 3.5). It is written in the transaction that
// accepts the donation, so each donated gift of a page has exactly one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "schema/ids.h"
#include "schema/store/change_log.h"

namespace giftsync::schema {

/// A charity as it was named when it was chosen. No name: the sender's company chooses.
struct Donation {
  std::string charity;
  std::string link;
  friend bool operator==(const Donation&, const Donation&) = default;
};

class DonationBook {
 public:
  explicit DonationBook(std::shared_ptr<sql::Database> database);

  /// For ChangeLog::accept_if: records the donation; one from a choice that was voided since gives way.
  HandOut record(TransactionId transaction, const Donation& donation);
  std::optional<Donation> donation(TransactionId transaction);
  /// Of those of the gifts that have one.
  std::map<TransactionId, Donation> donations(std::span<const TransactionId> transactions);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema
