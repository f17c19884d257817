// schema/store: all that a page of a gift shows, read with one statement and without a transaction, so that a
// view costs one round trip and sees one state of the store (PAGE-21). It reads by keys only, and at most one
// row for each status and premise of the gift.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schema/store/change_log.h"
#include "schema/store/donations.h"
#include "schema/store/gift_requests.h"

namespace giftsync::schema::store {

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

}  // namespace giftsync::schema::store
