#include "sync/task_draft.h"

namespace giftsync::sync {

using schema::Status;
using schema::TaskState;

bool is_complete(Status status) {
  return status == Status::redeemed || status == Status::donated || status == Status::expired ||
         status == Status::refunded;
}

std::optional<schema::TaskUpsert> task_due(const schema::Gift& gift, const schema::GiftMirror& mirror,
                                           const schema::GiftRecord& record, const TaskRules& rules) {
  const bool complete = is_complete(gift.transaction.status);
  const bool has_record = mirror.state == schema::MirrorState::written;
  const bool to_make = mirror.task == TaskState::wanted && rules.enabled && has_record;
  const bool to_complete = mirror.task == TaskState::open && complete;
  if (!to_make && !to_complete) return std::nullopt;
  const auto text = [&](schema::GiftField field) {
    const auto* value = std::get_if<std::string>(&record.get(field));
    return value ? *value : std::string();
  };
  schema::TaskUpsert row;
  row.transaction = gift.transaction.id;
  row.exists = !to_make;
  row.completed = complete;
  row.status = complete ? rules.completed_status : rules.initial_status;
  row.type = rules.type;
  row.subject = "Gift sent: " + text(schema::GiftField::name);
  row.contact_id = mirror.decision.contact_id;
  row.owner_id = text(schema::GiftField::owner);
  return row;
}

TaskState task_state_after(const schema::TaskUpsert& row, const schema::RowResult& result) {
  if (result.kind == schema::RowResult::Kind::gone) return TaskState::gone;
  return row.completed ? TaskState::completed : TaskState::open;
}

}  // namespace giftsync::sync
