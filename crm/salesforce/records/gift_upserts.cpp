#include "crm/salesforce/records/gift_upserts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "crm/salesforce/calls/composite.h"
#include "crm/salesforce/calls/org_queries.h"
#include "crm/salesforce/calls/soql.h"
#include "crm/salesforce/records/lookup_targets.h"
#include "crm/salesforce/records/statements.h"
#include "crm/salesforce/records/tasks.h"
#include "platform/dependency_error.h"

namespace giftsync::salesforce {
namespace {
using crm::GiftUpsert;
using crm::RowResult;
using Kind = RowResult::Kind;
using Next = GiftWrite::Next;

constexpr int kRounds = 6;

std::string text_of(const GiftRecord& record, GiftField field) {
  const auto* text = std::get_if<std::string>(&record.get(field));
  return text ? *text : std::string();
}

/// Rows of one account are together: parts of one call do not wait for each other's locks.
auto order_key(const GiftWrite& gift) {
  return std::tuple(text_of(gift.record, GiftField::account),
                    text_of(gift.record, GiftField::recipient_contact), gift.record.transaction().value);
}

bool has_transaction(const GiftRecord& record) {
  return std::holds_alternative<std::int64_t>(record.get(GiftField::transaction_id));
}

/// An Id that no record can have would refuse the whole call.
void clear_invalid_lookups(GiftWrite& gift, const ApiNames& names) {
  for (const GiftField lookup : written_lookups()) {
    const std::string id = text_of(gift.record, lookup);
    if (!id.empty() && !names.field(lookup).empty() && !is_record_id(id)) clear(gift, lookup);
  }
}

/// An address that the org does not take would refuse the row.
void leave_out_long_addresses(GiftWrite& gift) {
  for (const GiftField field : {GiftField::recipient_email, GiftField::sender_email}) {
    const bool is_kept = as_kept(descriptor_of(field), gift.record.get(field)) != FieldValue();
    if (!is_kept) gift.left_out.push_back(field);
  }
}

GiftWrite gift_of(const GiftUpsert& given, std::size_t row, const ApiNames& names) {
  GiftWrite gift;
  gift.row = row;
  gift.record = given.record;
  gift.exists = given.exists;
  gift.may_adopt = given.may_adopt;
  gift.task = given.task;
  leave_out_long_addresses(gift);
  if (!given.exists)
    clear_invalid_lookups(gift, names);
  else if (is_record_id(given.crm_id))
    gift.id = given.crm_id;
  return gift;
}

}  // namespace

std::vector<RowResult> GiftUpserts::run(std::span<const GiftUpsert> rows) {
  results_.assign(rows.size(), RowResult{Kind::unchanged, {}, {}});
  plan(rows);
  leave_out_older_versions();
  for (int i = 0; i < kRounds; ++i) {
    if (std::ranges::all_of(gifts_, [](const GiftWrite& gift) { return gift.next == Next::done; })) break;
    round();
  }
  for (GiftWrite& gift : gifts_) {
    if (gift.next != Next::done) finish(gift, Kind::retry, gift.refusal, gift.retry_after_millis);
    results_[gift.row] = std::move(gift.result);
  }
  return std::move(results_);
}

/// The newest version among the rows of one transaction is written; the others stay `unchanged`.
void GiftUpserts::plan(std::span<const GiftUpsert> rows) {
  std::map<std::int64_t, std::size_t> by_transaction;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!has_transaction(rows[i].record)) {
      results_[i] = {Kind::rejected, "the row has no " + names_.field(GiftField::transaction_id), {}};
      continue;
    }
    const auto [entry, is_new] =
        by_transaction.try_emplace(rows[i].record.transaction().value, gifts_.size());
    if (is_new) {
      gifts_.push_back(gift_of(rows[i], i, names_));
      continue;
    }
    GiftWrite& known = gifts_[entry->second];
    const bool exists = known.exists && rows[i].exists;
    if (rows[i].record.version > known.record.version) known = gift_of(rows[i], i, names_);
    known.exists = exists;
  }
  for (GiftWrite& gift : gifts_) {
    // A creation that a unique field does not guard must not meet a record that is there.
    if (!gift.exists)
      gift.next = turn_.mode().creates_by_upsert ? Next::look_up : Next::create;
    else
      gift.next = gift.id.empty() ? Next::look_up : Next::update;
  }
  std::ranges::sort(gifts_, {}, order_key);
}

/// The store has them before they are written anywhere, and this is the only writer meanwhile.
void GiftUpserts::leave_out_older_versions() {
  if (turn_.bare() == nullptr) return;
  std::vector<TransactionId> ids;
  for (const GiftWrite& gift : gifts_) ids.push_back(gift.record.transaction());
  const auto newest = turn_.bare()->newest_versions(ids);
  for (GiftWrite& gift : gifts_) {
    const auto known = newest.find(gift.record.transaction().value);
    if (known == newest.end() || known->second <= gift.record.version) continue;
    gift.is_older = true;
    if (gift.exists)
      finish(gift, Kind::unchanged);
    else
      gift.next = Next::look_up;
  }
}

FoundGift GiftUpserts::found_gift(const GiftWrite& gift, const ReadRecord<GiftRecord>& read) const {
  const bool is_ours =
      turn_.bare() == nullptr ? read.record.version > 0 : is_own_record(read.record, gift.record);
  return {read.id, turn_.bare() == nullptr ? read.record.version : 0, is_ours};
}

std::vector<GiftWrite*> GiftUpserts::with(Next next) {
  std::vector<GiftWrite*> found;
  for (GiftWrite& gift : gifts_)
    if (gift.next == next) found.push_back(&gift);
  return found;
}

/// Results that are known stay so when the org breaks off.
void GiftUpserts::round() {
  if (leaves_out_more_) leaves_out_more_ = false;
  try {
    look_up();
    check_lookups();
    write();
  } catch (const giftsync::DependencyError& fault) {
    if (dynamic_cast<const FieldsDiffer*>(&fault) && leaves_out_more()) return calls_.end_refusals();
    if (!has_results_) throw;
    for (GiftWrite& gift : gifts_)
      if (gift.next != Next::done) finish(gift, Kind::retry, fault.what(), calls_.rest_after(fault));
  }
}

/// After the org refused a field: at the first time the org is looked at.
/// A look that fails shows nothing: what is known of the rows already written stays.
bool GiftUpserts::leaves_out_more() {
  if (leaves_out_more_) return *leaves_out_more_;
  leaves_out_more_ = false;
  try {
    leaves_out_more_ = turn_.hides_more_fields();
  } catch (const giftsync::DependencyError&) {
  }
  return *leaves_out_more_;
}

void GiftUpserts::look_up() {
  std::vector<GiftWrite*> gifts = with(Next::look_up);
  std::vector<TransactionId> ids;
  for (const GiftWrite* gift : gifts) ids.push_back(gift->record.transaction());
  std::map<std::int64_t, std::vector<ReadRecord<GiftRecord>>> found;
  const auto statements = [this](std::span<const TransactionId> some) {
    return gift_keys_by_transaction(names_, some);
  };
  each_row(calls_, query_of(std::span<const TransactionId>(ids), statements), CallPurpose::status,
           [&](const JsonValue& row) {
             ReadRecord<GiftRecord> read = read_gift(names_, row);
             if (has_transaction(read.record))
               found[read.record.transaction().value].push_back(std::move(read));
           });
  for (GiftWrite* gift : gifts) {
    const auto at = found.find(gift->record.transaction().value);
    std::optional<FoundGift> record;
    if (at != found.end()) {
      record = found_gift(*gift, at->second.front());
      record->count = at->second.size();
    }
    resolve_existing(*gift, record);
    has_results_ = has_results_ || gift->next == Next::done;
  }
}

/// Without a lost target the lookups that the error named are left out; without a name the row is refused.
void GiftUpserts::check_lookups() {
  const std::vector<GiftWrite*> gifts = with(Next::check_lookups);
  const auto id_in = [&](const GiftWrite& gift, GiftField lookup) {
    const bool is_written = !names_.field(lookup).empty() && std::ranges::count(gift.left_out, lookup) == 0;
    return is_written ? text_of(gift.record, lookup) : std::string();
  };
  TargetIds ids;
  for (const GiftWrite* gift : gifts) {
    for (const GiftField lookup : written_lookups()) {
      const std::string id = id_in(*gift, lookup);
      if (!id.empty()) ids[std::string(target_object(lookup))].insert(id);
    }
  }
  TargetIds lost = lost_targets(calls_, names_, ids, CallPurpose::matching);
  for (GiftWrite* gift : gifts) {
    const std::size_t before = gift->cleared.size();
    for (const GiftField lookup : written_lookups()) {
      const std::string id = id_in(*gift, lookup);
      if (!id.empty() && lost[std::string(target_object(lookup))].contains(id)) clear(*gift, lookup);
    }
    if (gift->cleared.size() == before) {
      for (const GiftField field : gift->refused_lookups)
        if (!id_in(*gift, field).empty() && !target_object(field).empty()) clear(*gift, field);
    }
    if (gift->cleared.size() == before)
      finish(*gift, Kind::rejected, gift->refusal, policy_for(ErrorClass::refused).retry_after_millis);
    else
      gift->next = Next::create;
  }
}

WriteRow GiftUpserts::creation(const GiftWrite& gift) const {
  std::string json = gift_create_row(names_, gift.record, gift.left_out);
  if (!turn_.mode().creates_by_upsert) return {Operation::create, std::move(json)};
  return {Operation::upsert, std::move(json),
          names_.object("gift_record") + "/" + names_.field(GiftField::transaction_id)};
}

void GiftUpserts::write() {
  std::vector<GiftWrite*> gifts;
  std::vector<WriteRow> rows;
  bool has_creations = false;
  for (GiftWrite& gift : gifts_) {
    if (gift.next == Next::create) {
      rows.push_back(creation(gift));
      has_creations = true;
    } else if (gift.next == Next::update) {
      rows.push_back({Operation::update, gift_update_row(names_, gift.id, gift.record, gift.left_out)});
    } else {
      continue;
    }
    gifts.push_back(&gift);
  }
  const std::vector<GiftWrite*> with_tasks = add_tasks(gifts, rows);
  const std::vector<RowWrite> writes =
      write_rows(calls_, rows, has_creations ? CallPurpose::gifts : CallPurpose::status);
  for (std::size_t i = 0; i < gifts.size(); ++i) {
    take(*gifts[i], writes[i]);
    has_results_ = has_results_ || writes[i].answer.is_answered;
  }
  for (std::size_t i = 0; i < with_tasks.size(); ++i) {
    const WrittenRow& task = writes[gifts.size() + i].answer.written;
    crm::RowResult& result = with_tasks[i]->result;
    if (result.kind == Kind::created && task.is_success) result.task_crm_id = task.id;
  }
}

/// The tasks of the records that this write creates, each after all records (ORG-20). Which tasks the org did
/// not take, and why, is looked at by TaskUpserts.
std::vector<GiftWrite*> GiftUpserts::add_tasks(const std::vector<GiftWrite*>& gifts,
                                               std::vector<WriteRow>& rows) const {
  std::vector<GiftWrite*> with_tasks;
  const std::string gift_field = names_.field("task", "WhatId");
  const auto creations = static_cast<std::size_t>(std::ranges::count(gifts, Next::create, &GiftWrite::next));
  const bool fits = rows.size() + creations <= calls_.rows_per_call();
  if (!fits || !has_tasks_ || turn_.bare() != nullptr || gift_field.empty() ||
      !calls_.allows(CallPurpose::tasks))
    return with_tasks;
  for (std::size_t i = 0; i < gifts.size(); ++i) {
    GiftWrite& gift = *gifts[i];
    if (gift.next != Next::create || !gift.task || !gift.cleared.empty()) continue;
    drop_invalid_lookups(*gift.task);
    std::string json = task_create_row(names_, *gift.task, {});
    if (reads_as_reference(rows[i].json) || reads_as_reference(json)) continue;
    rows.push_back({Operation::create, std::move(json), {}, RowReference{gift_field, i}});
    with_tasks.push_back(&gift);
  }
  return with_tasks;
}

void GiftUpserts::take(GiftWrite& gift, const RowWrite& write) {
  gift.may_be_ours = gift.may_be_ours || (write.was_repeated && gift.next == Next::create);
  const RowAnswer& answer = write.answer;
  if (!answer.is_answered)
    return finish(gift, Kind::retry, write.unanswered_reason(), write.retry_after_millis);
  if (answer.written.is_success) {
    // What an upsert found was created by its own lost call, or by a user a moment ago.
    const bool is_found = answer.written.is_created == false && !gift.may_be_ours;
    const bool is_creation = gift.next == Next::create && !is_found;
    if (gift.next == Next::create) gift.id = answer.written.id;
    return finish(gift, is_creation ? Kind::created : Kind::updated);
  }
  const ApiError error = first_error(answer.written.errors);
  const ErrorClass found = classify(error, answer.context(names_.field(GiftField::transaction_id)));
  if (policy_for(found).halves_rows) calls_.count_split();
  if (found == ErrorClass::fields_differ && leaves_out_more()) return;  // written again without the field
  classify_failure(gift, error, found, names_);
}

}  // namespace giftsync::salesforce
