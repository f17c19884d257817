// schema/store: what a transaction changes of the counts of reports (NUM-3): summed up in memory and inserted
// in that transaction, a row for each group of gifts that are counted together. Nothing is read and no row of
// another transaction is locked. Included by schema/store's .cpp files only.
#pragma once

#include <map>

#include "schema/gift_numbers.h"
#include "schema/sql/bulk_rows.h"

namespace giftsync::store {

class RollupDeltas {
 public:
  void add(const CountedBy& by, const GiftNumbers& numbers) { sums_[by] += numbers; }
  void subtract(const CountedBy& by, const GiftNumbers& numbers) { sums_[by] -= numbers; }
  /// A gift that was made.
  void add(const CountedGift& gift) { add(gift.by, numbers_of(gift)); }

  /// To be inserted in the transaction; empty if nothing changed. `all`: every measure, else those alone that
  /// a new gift of giftsync has, sent and cost.
  sql::BulkInsert rows(sql::Dialect dialect, bool all = true) const;

 private:
  std::map<CountedBy, GiftNumbers> sums_;
};

/// Whether a daemon runs, or ended in the last minute, of a version that neither inserts differences nor says
/// in crm_outbox.to_fold that a change came.
bool has_former_daemon(soci::session& session);

}  // namespace giftsync::store
