#include "sync/task_draft.h"

namespace giftsync::sync {

bool is_complete(schema::Status status) {
  return status == schema::Status::redeemed || status == schema::Status::donated ||
         status == schema::Status::expired || status == schema::Status::refunded;
}

std::optional<schema::crm::TaskUpsert> next_task_write(const schema::store::Gift& gift,
                                                       const schema::store::CrmSyncState& sync_state,
                                                       const schema::GiftRecord& record,
                                                       const TaskRules& rules, bool creates_record) {
  const bool complete = is_complete(gift.transaction.status);
  const bool has_record = creates_record || sync_state.state == schema::store::CrmSyncStatus::written;
  const bool to_make = sync_state.task == schema::store::TaskState::wanted && rules.enabled && has_record;
  const bool to_complete = sync_state.task == schema::store::TaskState::open && complete;
  if (!to_make && !to_complete) return std::nullopt;
  const auto text = [&](schema::GiftField field) {
    const auto* value = std::get_if<std::string>(&record.get(field));
    return value ? *value : std::string();
  };
  schema::crm::TaskUpsert row;
  row.transaction = gift.transaction.id;
  row.exists = !to_make;
  row.completed = complete;
  row.status = complete ? rules.completed_status : rules.initial_status;
  row.type = rules.type;
  row.subject = "Gift sent: " + text(schema::GiftField::name);
  row.contact_id = sync_state.decision.contact_id;
  row.owner_id = text(schema::GiftField::owner);
  row.crm_id = sync_state.task_crm_id;
  row.gift_crm_id = sync_state.crm_id;
  return row;
}

schema::store::TaskState task_state_after(const schema::crm::TaskUpsert& row,
                                          const schema::crm::RowResult& result) {
  if (result.kind == schema::crm::RowResult::Kind::not_found) return schema::store::TaskState::deleted;
  return row.completed ? schema::store::TaskState::completed : schema::store::TaskState::open;
}

}  // namespace giftsync::sync
