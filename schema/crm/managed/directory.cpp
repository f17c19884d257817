#include "schema/crm/managed/directory.h"

#include "platform/dependency_error.h"
#include "schema/crm/managed/match_key_lookup.h"
#include "schema/crm/managed/match_keys.h"

namespace giftsync::schema::crm::managed {
namespace {

void throw_if_faulty(const std::vector<std::string>& faults) {
  if (faults.empty()) return;
  std::string text;
  for (const std::string& fault : faults) text += (text.empty() ? "" : "; ") + fault;
  throw platform::DependencyError(false, text);
}

/// An import may convert a text column when its first values arrive; other types do not change.
bool is_type_final(const sql_common::Column& order_by) {
  return order_by.type != sql_common::ColumnType::text;
}

}  // namespace

PersonMatchColumns ManagedDirectory::person_columns_for(PersonObject object) {
  const std::lock_guard lock(mutex_);
  const auto known = person_columns_.find(object);
  if (known != person_columns_.end() && is_type_final(known->second.order_by)) return known->second;
  const PersonMatchColumns columns = database_.read([&](soci::session& session) {
    return find_person_match_columns(session, database_.dialect(), object, fields_);
  });
  throw_if_faulty(columns.faults);
  return person_columns_.insert_or_assign(object, columns).first->second;
}

OpportunityOrderColumn ManagedDirectory::current_opportunity_column() {
  const std::lock_guard lock(mutex_);
  if (opportunity_column_ && is_type_final(opportunity_column_->order_by)) return *opportunity_column_;
  const OpportunityOrderColumn columns = database_.read([&](soci::session& session) {
    return find_opportunity_order_column(session, database_.dialect(), fields_);
  });
  throw_if_faulty(columns.faults);
  return opportunity_column_.emplace(columns);
}

void ManagedDirectory::clear_column_cache() {
  const std::lock_guard lock(mutex_);
  person_columns_.clear();
  opportunity_column_.reset();
}

std::vector<std::int64_t> ManagedDirectory::key_field_ids(const std::vector<MatchKeyField>& fields) {
  auto ids = refresh_match_keys(database_, fields, max_keyed_rows_);
  if (ids) return std::move(*ids);
  throw LookupNotReady(
      "the CRM's contacts, leads or users were loaded or changed, and their match keys are still being made; "
      "matching waits until they are complete");
}

/// Fields that the CRM does not have are left to the lookups, which report them.
std::vector<MatchKeyField> ManagedDirectory::compared_fields() {
  std::vector<MatchKeyField> fields{kUserEmail};
  for (const PersonObject object : {PersonObject::contact, PersonObject::lead}) {
    try {
      const PersonMatchColumns columns = person_columns_for(object);
      fields.insert(fields.end(), columns.email_fields.begin(), columns.email_fields.end());
      fields.insert(fields.end(), columns.phone_fields.begin(), columns.phone_fields.end());
    } catch (const platform::DependencyError& fault) {
      if (fault.transient()) throw;
    }
  }
  return fields;
}

bool ManagedDirectory::maintain() {
  if (has_all_fields_) return !process_match_key_queue(database_, max_keyed_rows_);
  has_all_fields_ = refresh_match_keys(database_, compared_fields(), max_keyed_rows_).has_value();
  return !has_all_fields_;
}

std::vector<Candidates> ManagedDirectory::find_by_columns(PersonObject object,
                                                          const PersonMatchColumns& columns,
                                                          std::span<const RecipientMatchKeys> recipients) {
  std::vector<MatchKeyField> fields = columns.email_fields;
  fields.insert(fields.end(), columns.phone_fields.begin(), columns.phone_fields.end());
  const std::vector<std::int64_t> ids = key_field_ids(fields);
  const auto phones_at = ids.begin() + static_cast<std::ptrdiff_t>(columns.email_fields.size());
  const PersonMatchFields& names = match_fields_of(object, fields_);
  const auto people = [&](std::vector<std::int64_t> field_ids, const std::vector<std::string>& field_names,
                          const std::vector<std::string>& keys) {
    if (field_ids.empty() || keys.empty()) return sql_common::RowsByKey<Candidate>();
    return people_by_match_key(
        database_, {object, columns.order_by, names.order_by.descending, std::move(field_ids), field_names},
        keys);
  };
  return sql_common::candidates_for_each(
      recipients,
      people({ids.begin(), phones_at}, names.email_fields,
             sql_common::distinct_keys(recipients, [](const auto& r) { return r.email_key; })),
      people({phones_at, ids.end()}, names.phone_fields,
             sql_common::distinct_keys(recipients, [](const auto& r) { return r.phone_key; })));
}

std::vector<Candidates> ManagedDirectory::find_candidates(PersonObject object,
                                                          std::span<const RecipientMatchKeys> recipients) {
  return retry_with_fresh_columns(
      [&] { return find_by_columns(object, person_columns_for(object), recipients); });
}

}  // namespace giftsync::schema::crm::managed
