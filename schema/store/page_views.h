// schema/store: all that a page of a gift shows, read with one statement and without a transaction, so that a
// view costs one round trip and sees one state of the store (PAGE-21). It reads by keys only, and at most one
// row for each status and premise of the gift.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/ids.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/gift/gift_requests.h"

namespace giftsync::store {

// The charity of a donated gift (PAGE-15). It is written in the transaction that accepts the
// donation, so each gift donated on a page has exactly one.

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

struct PageView {
  Gift gift;
  std::vector<ChangeSpan> changes;  ///< as of ChangeLog::spans_of
  // The item's present ones in the catalogue; empty also when it is not there.
  std::string picture;
  std::string redemption_text;
  std::string redemption_link;
  // Both stay when the choice is voided: whether they are shown depends on the status.
  std::string code;  ///< empty: none
  std::optional<Donation> donation;
};

class PageViews {
 public:
  explicit PageViews(std::shared_ptr<sql::Database> database);

  /// Nullopt when there is no such gift.
  std::optional<PageView> find(TransactionId gift);

 private:
  std::shared_ptr<sql::Database> database_;
};

// The statement of a page view as SQL. Included by this folder's .cpp files and by the test of
// its plan only.

/// All that a page of the gift :id shows: one row for each span of its changes, or one row with a null status
/// when it has none. The other columns are the same in all rows.
std::string page_view_query();

}  // namespace giftsync::store
