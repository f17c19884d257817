// schema/store: the transaction ids that stand for the ids of a source's own numbering (SRC-58). An id is
// allotted once and stays, also while its gift is unknown, so that each report of the source finds the same
// gift. Any thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "schema/ids.h"
#include "schema/store/gift/gift_requests.h"

namespace giftsync::store {

class ExternalIds {
 public:
  /// `gifts` allocates the ids; it must outlive this object.
  ExternalIds(std::shared_ptr<sql::Database> database, GiftRequests& gifts);

  /// The transaction of each of those ids of the source; one that has none is allotted, durable on return. A
  /// gift that the source reported under its number as transaction id (transaction_ids: keep) keeps that id.
  std::map<std::string, TransactionId> find_or_allot(const std::string& gift_source,
                                                     const std::set<std::string>& external_ids);

  /// Those of the ids that have a transaction; nothing is allotted.
  std::map<std::string, TransactionId> find_known(const std::string& gift_source,
                                                  const std::set<std::string>& external_ids);

  struct Found {
    std::string gift_source;
    TransactionId transaction;
  };
  /// The transactions with that id, of every source, by source. Includes gifts that are not known yet, and
  /// those whose source keeps its numbers as transaction ids.
  std::vector<Found> find(const std::string& external_id);
  /// The ids that those transactions were allotted for; transactions of other kinds are left out.
  std::map<TransactionId, std::string> of(std::span<const TransactionId> transactions);

 private:
  std::shared_ptr<sql::Database> database_;
  GiftRequests& gifts_;
};

}  // namespace giftsync::store
