// crm: the tasks of a CRM that belong to gifts, one for each gift (SYNC-30). Any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "crm/row_result.h"
#include "schema/ids.h"

namespace giftsync::crm {

/// The one task of a gift (SYNC-30): its Related To is always the gift record of that transaction.
struct TaskUpsert {
  TransactionId transaction;
  bool exists =
      false;  ///< it was created before: if it is missing now, it was deleted and is not created again
  bool completed = false;  ///< `status` is written to an existing task as well, and nothing else
  std::string status;
  std::string type;
  std::string subject;
  std::string contact_id;  ///< its Name (WhoId); empty when no contact matched
  std::string owner_id;
  std::string description = {};  ///< empty: none
  std::string due_date = {};     ///< "2026-12-05"; empty: none
  // From earlier writes, each may be empty: they save the CRM a search, as GiftUpsert::crm_id does.
  std::string crm_id = {};       ///< of an existing task
  std::string gift_crm_id = {};  ///< of its gift record
};

struct Task {
  std::string id;
  TransactionId transaction;
  std::string what_id;  ///< the gift record's Id
  std::string who_id;
  std::string type;
  std::string status;
  std::string subject;
  std::string owner_id;
};

class Tasks {
 public:
  virtual ~Tasks() = default;

  /// Upserts by RecipientTransactionId: exactly one task per gift. None is created for a gift record
  /// that does not exist (`not_found`); an existing one is completed without it.
  virtual std::vector<RowResult> upsert(std::span<const TaskUpsert> rows) = 0;

  /// Tasks of gifts with a Transaction Id above `after`, ascending.
  virtual std::vector<Task> page(TransactionId after, std::size_t limit) = 0;
};

}  // namespace giftsync::crm
