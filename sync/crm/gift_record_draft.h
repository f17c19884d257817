// sync: the gift record that a gift should have in the CRM, computed from the store (SYNC-3, SYNC-4). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crm/crm.h"
#include "schema/gift_record.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/gift/sync_queue.h"

namespace giftsync::sync {

struct GiftRecordDraft {
  GiftRecord record;
  std::vector<std::string> warnings;  ///< one for each text that was cut to its field's length
};

/// `link` is the read-only link to the gift. `integration_user` is giftsync's CRM user id; if it is empty the
/// sender counts as the one who triggered the gift.
GiftRecordDraft draft_gift_record(const store::Gift& gift, const store::MatchDecision& decision,
                                  const std::string& link, const std::string& integration_user);

// The task that a gift should have in the CRM (SYNC-30, SYNC-33). Pure.

/// Who owns a gift's task; without such a user the record's owner.
enum class TaskAssignee { owner, sender, account_owner };

struct TaskRules {
  bool enabled = false;  ///< gifts that are decided from now on get a task
  std::string type;
  std::string initial_status;
  std::string completed_status;
  std::string subject = "Gift sent: {name}";  ///< with placeholders, as `description`
  std::string description = {};               ///< empty: none
  std::int64_t due_days = 0;                  ///< after the day (UTC) of sending; 0: no due date
  TaskAssignee assignee = TaskAssignee::owner;
};

/// What may stand in braces in the texts of a task.
inline constexpr auto kTaskPlaceholders = std::to_array<std::string_view>(
    {"name", "item", "recipient", "sender", "campaign", "price", "status", "link"});
/// Why this is no text with placeholders, as a clause; empty: it is one.
std::string task_text_fault(std::string_view text);

/// What the CRM says of those who may own new rows, as far as it was asked.
struct OwnerFacts {
  std::set<std::string> unusable;                 ///< users whom it does not have, or not as active ones
  std::map<std::string, std::string> of_account;  ///< the owner of each account
};
struct Owners {
  std::string record;
  std::string task;
};
/// The owners of a gift's new record and task (SYNC-75, SYNC-77): `record_owner` is who triggered the gift.
/// Without a `fallback` no user is replaced.
Owners owners_of(const std::string& record_owner, const store::MatchDecision& decision, TaskAssignee assignee,
                 const std::string& fallback, const OwnerFacts& facts);

/// Whether the gift has reached a final status: redeemed, donated, expired or refunded.
bool is_complete(Status status);

/// What must be written of a gift's task; nullopt when the CRM has everything. A task is created only
/// for a gift whose record is written, or about to be (`creates_record`). An existing task is completed even
/// while `enabled` is off and after the gift's record was deleted.
std::optional<crm::TaskUpsert> next_task_write(const store::Gift& gift, const store::CrmSyncState& sync_state,
                                               const GiftRecord& record, const TaskRules& rules,
                                               bool creates_record = false);

/// The task's state after such a row was written.
store::TaskState task_state_after(const crm::TaskUpsert& row, const crm::RowResult& result);

// When gifts of external sources were sent (STATUS-30). For giftsync's own gifts giftsync sets the
// time, for adopted gifts their record; for external gifts their source is the authority.

/// For those gifts that are external: the earliest "sent" report that counts, in whatever order the reports
/// arrived. While none counts, the earliest voided one, because the gift was sent at some time.
/// `effective_spans` are the gifts' changes that count.
std::map<TransactionId, UtcMillis> reported_sent_times(store::ChangeLog& log,
                                                       std::span<const store::Gift* const> gifts,
                                                       std::span<const store::ChangeSpan> effective_spans);

}  // namespace giftsync::sync
