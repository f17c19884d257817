// crm/salesforce: the tasks of an org that belong to gifts. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "crm/row_result.h"
#include "crm/salesforce/calls/answers.h"
#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/calls/error_class.h"
#include "crm/salesforce/calls/org_calls.h"
#include "crm/salesforce/calls/row_writes.h"
#include "crm/salesforce/records/bare_writes.h"
#include "crm/tasks.h"
#include "schema/ids.h"

namespace giftsync::salesforce {

class SalesforceTasks : public crm::Tasks {
 public:
  /// All outlive this object. `is_enabled`: false writes and lists none, as in an org where a gift's task
  /// could be made twice (ORG-10).
  SalesforceTasks(OrgCalls& calls, const ApiNames& names, bool is_enabled, WriteControl control = {})
      : calls_(calls), names_(names), is_enabled_(is_enabled), control_(control) {}

  std::vector<crm::RowResult> upsert(std::span<const crm::TaskUpsert> rows) override;
  std::vector<crm::Task> page(TransactionId after, std::size_t limit) override;

 private:
  OrgCalls& calls_;
  const ApiNames& names_;
  const bool is_enabled_;
  const WriteControl control_;
};

// Writes the tasks of gifts in rounds, like gift records: a new one on its unique
// Transaction Id, Related To the gift record; an existing one by its Id, only its status, and Related To
// where it was created without its record (ORG-20). One call at a time; the object is made for it.

/// An Id that no record can have would refuse the row.
void drop_invalid_lookups(crm::TaskUpsert& task);

/// One task while it is written. Ids come from earlier writes or from queries: what an Id of an earlier
/// write does not name any more is looked up.
struct TaskWrite {
  enum class Next {
    find_gift,      ///< the Id of its gift record
    find_task,      ///< its own
    check_lookups,  ///< which targets are lost
    create,
    update,
    done
  };
  Next next = Next::find_gift;
  crm::TaskUpsert task;
  std::string id;
  std::string gift_id;
  bool is_looked_up = false;            ///< `id` is from a query
  bool lacks_gift = false;              ///< it is there, and related to nothing
  bool is_gift_looked_up = false;       ///< likewise `gift_id`
  std::string refusal;                  ///< the words of the last error
  bool is_duplicate = false;            ///< the org said that the task is there already
  bool may_be_ours = false;             ///< a lost answer may have created it
  std::int64_t retry_after_millis = 0;  ///< after the last error
  crm::RowResult result;
};

class TaskUpserts {
 public:
  /// `sets_relation`: tasks are created together with their records, so one may lack Related To.
  TaskUpserts(OrgCalls& calls, const ApiNames& names, bool sets_relation)
      : calls_(calls), names_(names), sets_relation_(sets_relation) {}

  std::vector<crm::RowResult> run(std::span<const crm::TaskUpsert> rows);

 private:
  void round();
  void look_up();
  void check_lookups();
  void write();
  void take(TaskWrite& task, const RowWrite& write);
  void classify_failure(TaskWrite& task, const ApiError& error, ErrorClass error_class);
  std::vector<TaskWrite*> with(TaskWrite::Next next);

  OrgCalls& calls_;
  const ApiNames& names_;
  const bool sets_relation_;
  std::vector<TaskWrite> tasks_;  ///< in the order of the rows
};

}  // namespace giftsync::salesforce
