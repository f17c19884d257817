#include "crm/salesforce/records/tasks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "crm/salesforce/calls/org_queries.h"
#include "crm/salesforce/calls/record_json.h"
#include "crm/salesforce/calls/soql.h"
#include "crm/salesforce/records/lookup_targets.h"
#include "crm/salesforce/records/statements.h"
#include "platform/dependency_error.h"
#include "platform/visible_text.h"

namespace giftsync::salesforce {

using crm::RowResult;
using crm::Task;
using crm::TaskUpsert;

std::vector<RowResult> SalesforceTasks::upsert(std::span<const TaskUpsert> rows) {
  std::vector<RowResult> unchanged(rows.size(), {RowResult::Kind::unchanged, {}, {}});
  if (!is_enabled_ || rows.empty()) return unchanged;
  const WriteContext turn(control_);
  if (!turn.mode().offers_tasks) return unchanged;
  return TaskUpserts(calls_, names_, turn.bare() == nullptr).run(rows);
}

std::vector<Task> SalesforceTasks::page(TransactionId after, std::size_t limit) {
  std::vector<Task> tasks;
  const bool is_offered = is_enabled_ && (control_.modes == nullptr || control_.modes->offers_tasks());
  if (!is_offered || limit == 0) return tasks;
  each_row(calls_, query_of(task_page(names_, after, limit), true), CallPurpose::backfill,
           [&](const JsonValue& row) {
             if (auto task = read_task(names_, row)) tasks.push_back(std::move(*task));
           });
  return tasks;
}

namespace {
using crm::RowResult;
using crm::Task;
using crm::TaskUpsert;
using Kind = RowResult::Kind;
using Next = TaskWrite::Next;

/// A completed gift whose record was deleted: create, look for lost lookups, for the record, for the task.
constexpr int kRounds = 4;

void finish(TaskWrite& task, Kind kind, std::string reason = {}, std::int64_t retry_after_millis = 0) {
  task.next = Next::done;
  task.result = {kind, std::move(reason), {}};
  if (kind != Kind::not_found) task.result.crm_id = task.id;
  task.result.retry_after_millis = retry_after_millis;
}

std::vector<TransactionId> transactions_of(const std::vector<TaskWrite*>& tasks) {
  std::vector<TransactionId> ids;
  for (const TaskWrite* task : tasks) ids.push_back(task->task.transaction);
  return ids;
}

Next first_step(const TaskWrite& task, bool is_first_of_gift) {
  if (task.task.exists) return task.task.completed && !task.id.empty() ? Next::update : Next::find_task;
  // A second row of a gift finds the task of the first one.
  if (!is_first_of_gift) return Next::find_task;
  return task.gift_id.empty() ? Next::find_gift : Next::create;
}

void resolve_existing(TaskWrite& task, const Task& found, bool sets_relation) {
  task.id = found.id;
  // No record of a gift was created with it (ORG-20). A task of an earlier write is a user's to relate.
  task.lacks_gift = sets_relation && found.what_id.empty() && !task.task.exists && !task.gift_id.empty();
  if (task.lacks_gift) {
    task.next = Next::update;
    return;
  }
  if (task.may_be_ours) return finish(task, Kind::created);
  if (!task.task.completed || found.status == task.task.status) return finish(task, Kind::unchanged);
  task.next = Next::update;
}

void treat_missing(TaskWrite& task) {
  if (task.task.exists) return finish(task, Kind::not_found, "the task was deleted in the CRM");
  task.next = Next::find_gift;  // it was deleted meanwhile
}

}  // namespace

void drop_invalid_lookups(TaskUpsert& task) {
  if (!is_record_id(task.contact_id)) task.contact_id.clear();
  if (!is_record_id(task.owner_id)) task.owner_id.clear();
}

std::vector<RowResult> TaskUpserts::run(std::span<const TaskUpsert> rows) {
  std::set<TransactionId> seen;
  for (const TaskUpsert& row : rows) {
    TaskWrite& task = tasks_.emplace_back();
    task.task = row;
    drop_invalid_lookups(task.task);
    if (row.exists && is_record_id(row.crm_id)) task.id = row.crm_id;
    if (is_record_id(row.gift_crm_id)) task.gift_id = row.gift_crm_id;
    task.next = first_step(task, seen.insert(row.transaction).second);
  }
  for (int i = 0; i < kRounds; ++i) {
    if (std::ranges::all_of(tasks_, [](const TaskWrite& task) { return task.next == Next::done; })) break;
    round();
  }
  std::vector<RowResult> results;
  for (TaskWrite& task : tasks_) {
    if (task.next != Next::done) finish(task, Kind::retry, task.refusal, task.retry_after_millis);
    results.push_back(std::move(task.result));
  }
  return results;
}

std::vector<TaskWrite*> TaskUpserts::with(Next next) {
  std::vector<TaskWrite*> found;
  for (TaskWrite& task : tasks_)
    if (task.next == next) found.push_back(&task);
  return found;
}

/// Results that are known stay so when the org breaks off.
void TaskUpserts::round() {
  try {
    look_up();
    check_lookups();
    write();
  } catch (const giftsync::DependencyError& fault) {
    if (with(Next::done).empty()) throw;
    for (TaskWrite& task : tasks_)
      if (task.next != Next::done) finish(task, Kind::retry, fault.what(), calls_.rest_after(fault));
  }
}

void TaskUpserts::look_up() {
  const std::vector<TaskWrite*> without_gift = with(Next::find_gift);
  const std::vector<TaskWrite*> without_task = with(Next::find_task);
  const std::vector<TransactionId> gift_ids = transactions_of(without_gift);
  const std::vector<TransactionId> task_ids = transactions_of(without_task);
  const std::vector<Query> queries{
      query_of(std::span<const TransactionId>(gift_ids),
               [this](auto some) { return gift_keys_by_transaction(names_, some); }),
      query_of(
          std::span<const TransactionId>(task_ids),
          [this](auto some) { return tasks_by_transaction(names_, some); }, true)};
  const Answers answers = ask(calls_, queries, CallPurpose::tasks);
  std::map<TransactionId, std::string> gifts;
  for (const JsonValue* row : answers.of_query[0].rows) {
    const ReadRecord<GiftRecord> read = read_gift(names_, *row);
    const auto* id = std::get_if<std::int64_t>(&read.record.get(GiftField::transaction_id));
    if (id) gifts.emplace(TransactionId{*id}, read.id);
  }
  std::map<TransactionId, Task> tasks;
  for (const JsonValue* row : answers.of_query[1].rows) {
    if (auto task = read_task(names_, *row)) tasks.emplace(task->transaction, std::move(*task));
  }
  const bool has_gift_field = !names_.field("task", "WhatId").empty();
  for (TaskWrite* task : without_gift) {
    const auto at = gifts.find(task->task.transaction);
    if (at == gifts.end()) {
      // A task that is there is completed also without its gift record.
      if (task->task.completed && !task->is_duplicate) {
        task->next = Next::find_task;
        task->task.exists = true;
        continue;
      }
      finish(*task, Kind::not_found, "the task's gift record is not in the CRM");
      continue;
    }
    task->gift_id = at->second;
    task->is_gift_looked_up = true;
    task->next = Next::create;
  }
  for (TaskWrite* task : without_task) {
    const auto at = tasks.find(task->task.transaction);
    task->is_looked_up = true;
    at == tasks.end() ? treat_missing(*task)
                      : resolve_existing(*task, at->second, sets_relation_ && has_gift_field);
  }
}

void TaskUpserts::check_lookups() {
  const std::vector<TaskWrite*> tasks = with(Next::check_lookups);
  TargetIds ids;
  for (const TaskWrite* task : tasks) {
    if (!task->task.contact_id.empty()) ids["contact"].insert(task->task.contact_id);
    if (!task->task.owner_id.empty()) ids["user"].insert(task->task.owner_id);
    if (!task->is_gift_looked_up) ids["gift_record"].insert(task->gift_id);
  }
  TargetIds lost = lost_targets(calls_, names_, ids, CallPurpose::tasks);
  for (TaskWrite* task : tasks) {
    const auto is_lost = [&](const char* object, const std::string& id) {
      return lost[object].contains(id) || names_id(task->refusal, id);
    };
    const bool is_contact_lost = is_lost("contact", task->task.contact_id);
    const bool is_owner_lost = is_lost("user", task->task.owner_id);
    if (is_contact_lost) task->task.contact_id.clear();
    if (is_owner_lost) task->task.owner_id.clear();
    if (!task->is_gift_looked_up && lost["gift_record"].contains(task->gift_id)) task->next = Next::find_gift;
    // Nothing of its own is lost: its gift record was deleted since it was read, or the org refuses it.
    else if (!is_contact_lost && !is_owner_lost)
      finish(*task, Kind::rejected, task->refusal, policy_for(ErrorClass::refused).retry_after_millis);
    else
      task->next = Next::create;
  }
}

void TaskUpserts::write() {
  std::vector<TaskWrite*> tasks;
  std::vector<WriteRow> rows;
  for (TaskWrite& task : tasks_) {
    if (task.next == Next::create)
      rows.push_back({Operation::create, task_create_row(names_, task.task, task.gift_id)});
    else if (task.next == Next::update)
      rows.push_back({Operation::update, task_update_row(names_, task.id, task.task,
                                                         task.lacks_gift ? task.gift_id : std::string())});
    else
      continue;
    tasks.push_back(&task);
  }
  const std::vector<RowWrite> writes = write_rows(calls_, rows, CallPurpose::tasks);
  for (std::size_t i = 0; i < tasks.size(); ++i) take(*tasks[i], writes[i]);
}

void TaskUpserts::take(TaskWrite& task, const RowWrite& write) {
  task.may_be_ours = task.may_be_ours || (write.was_repeated && task.next == Next::create);
  const RowAnswer& answer = write.answer;
  if (!answer.is_answered)
    return finish(task, Kind::retry, write.unanswered_reason(), write.retry_after_millis);
  if (answer.written.is_success) {
    const bool is_creation = task.next == Next::create;
    if (is_creation) task.id = answer.written.id;
    return finish(task, is_creation ? Kind::created : Kind::updated);
  }
  const ApiError error = first_error(answer.written.errors);
  const ErrorClass found = classify(error, answer.context(names_.field(OwnField::task_transaction)));
  if (policy_for(found).halves_rows) calls_.count_split();
  classify_failure(task, error, found);
}

void TaskUpserts::classify_failure(TaskWrite& task, const ApiError& error, ErrorClass error_class) {
  task.refusal = "Salesforce: " + error.code + ": " + visible_text(error.message);
  task.retry_after_millis = policy_for(error_class).retry_after_millis;
  const bool is_creation = task.next == Next::create;
  if (error_class == ErrorClass::already_created && !task.is_duplicate) {
    task.is_duplicate = true;
    task.next = Next::find_task;
    return;
  }
  if (error_class == ErrorClass::gone) {
    // It is there: one that is deleted since is not found by the next attempt.
    if (task.is_looked_up) return finish(task, Kind::retry, task.refusal, task.retry_after_millis);
    task.id.clear();
    task.next = Next::find_task;
    return;
  }
  if (error_class == ErrorClass::lost_lookup && is_creation) {
    task.next = Next::check_lookups;
    return;
  }
  if (error_class == ErrorClass::inactive_owner && is_creation && !task.task.owner_id.empty()) {
    task.task.owner_id.clear();
    return;
  }
  const Treatment treatment = policy_for(error_class);
  if (treatment.next == Treatment::Next::unchanged) return finish(task, Kind::unchanged);
  const bool is_retry = treatment.is_transient && treatment.is_later();
  const std::int64_t least = is_retry ? 0 : policy_for(ErrorClass::refused).retry_after_millis;
  if (!is_retry) task.refusal += remedy_of_row(error_class);
  finish(task, is_retry ? Kind::retry : Kind::rejected, task.refusal,
         std::max(task.retry_after_millis, least));
}

}  // namespace giftsync::salesforce
