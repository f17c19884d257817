#include "schema/crm/managed/managed_crm.h"

#include <map>
#include <mutex>

#include "schema/crm/managed/gift_lookups.h"
#include "schema/crm/managed/gift_repository.h"
#include "schema/crm/managed/gift_status_times.h"
#include "schema/crm/managed/match_key_lookup.h"
#include "schema/crm/managed/opportunities.h"
#include "schema/crm/managed/record_lookup.h"
#include "schema/crm/managed/request_record_rows.h"
#include "schema/crm/managed/task_rows.h"
#include "schema/crm/managed/users.h"
#include "schema/crm/sql_common/status_log.h"

namespace giftsync::schema::crm::managed {
namespace {

/// Some ten milliseconds of SQLite's write lock.
constexpr std::size_t kMaxRowsPerCall = 1000;

std::string joined_sentences(const std::vector<std::string>& faults) {
  std::string text;
  for (const std::string& fault : faults) text += (text.empty() ? "" : "; ") + fault;
  return text;
}

/// An import may convert a text column when its first values arrive; other types do not change.
bool is_type_final(const sql_common::Column& order_by) {
  return order_by.type != sql_common::ColumnType::text;
}

class ManagedCrm : public Crm {
 public:
  explicit ManagedCrm(const ManagedCrmOptions& options)
      : options_(options), shared_(sql::Database::shared(options.database)), database_(*shared_) {}

  std::size_t max_rows_per_call() const override { return kMaxRowsPerCall; }
  std::vector<Candidates> find_candidates(PersonObject object,
                                          std::span<const RecipientMatchKeys> recipients) override;
  std::vector<std::vector<Opportunity>> find_open_opportunities(
      std::span<const std::string> contact_ids) override;
  std::vector<ConvertedLead> find_converted_leads(std::span<const std::string> lead_ids) override;
  std::vector<std::vector<CrmUser>> find_users_by_email(std::span<const std::string> email_keys) override;
  std::vector<std::optional<CrmUser>> find_users_by_id(std::span<const std::string> ids) override {
    return read_users(database_, ids);
  }
  std::optional<std::vector<std::vector<PermissionSetAssignment>>> permission_sets(
      std::span<const std::string> user_ids) override {
    return read_permission_sets(database_, user_ids);
  }

  std::vector<RowResult> upsert_gift_records(std::span<const GiftUpsert> rows) override {
    return upsert_gift_rows(database_, rows, options_.name_space);
  }
  std::vector<RowResult> relink_gift_records(std::span<const GiftRelink> rows) override {
    return relink_gift_rows(database_, rows);
  }
  std::vector<std::vector<GiftField>> missing_lookups(std::span<const Associations> links) override {
    return managed::missing_lookups(database_, links);
  }
  std::vector<RowResult> upsert_tasks(std::span<const TaskUpsert> rows) override {
    return upsert_task_rows(database_, rows);
  }
  std::vector<Task> tasks(TransactionId after, std::size_t limit) override {
    return read_task_rows(database_, after, limit);
  }
  std::vector<GiftRecord> find_gift_records(std::span<const TransactionId> transactions) override {
    return find_gift_rows(database_, transactions);
  }
  std::vector<GiftRecord> gift_records(TransactionId after, std::size_t limit) override {
    return read_gift_rows(database_, after, limit);
  }
  std::vector<TransactionId> transaction_ids_below(TransactionId below, std::size_t limit) override {
    return gift_transactions_below(database_, below, limit);
  }
  std::vector<TransactionId> transaction_ids_by_email(const std::string& address) override {
    return gift_transactions_by_email(database_, address);
  }
  std::int64_t count_gift_records() override { return count_gift_rows(database_); }
  bool has_request_records() const override { return true; }
  std::vector<RequestRecordEvent> request_record_events(std::size_t limit) override {
    return read_request_record_events(database_, limit);
  }
  void ack_request_record_events(std::span<const std::int64_t> event_ids) override {
    delete_request_record_events(database_, event_ids);
  }
  void enqueue_open_request_records() override { enqueue_open_request_rows(database_); }
  std::vector<RequestRecord> find_request_records(std::span<const std::string> ids) override {
    return find_request_record_rows(database_, ids);
  }
  std::optional<RequestRecord> find_request_record(const std::string& number_or_id) override {
    return find_request_record_row(database_, number_or_id);
  }
  std::vector<RequestRecord> request_records(const std::string& after,
                                             std::optional<RequestRecordStatus> status,
                                             std::size_t limit) override {
    return read_request_record_rows(database_, after, status, limit);
  }
  std::vector<RowResult> update_request_records(std::span<const RequestRecordUpdate> rows) override {
    return update_request_record_rows(database_, rows, options_.integration_user);
  }
  std::vector<RequestRecord> create_request_records(std::span<const NewRequestRecord> rows) override {
    return insert_request_record_rows(database_, rows);
  }
  std::vector<Person> find_persons(PersonObject object, std::span<const std::string> ids) override {
    return read_people_by_id(database_, object, ids);
  }
  std::vector<Opportunity> find_opportunities(std::span<const std::string> ids) override {
    return read_opportunities_by_id(database_, ids);
  }
  std::optional<StatusLogSize> status_log_size() override {
    return sql_common::size_of_status_log(database_, options_.status_log);
  }
  void prepare_status_log() override { sql_common::index_status_log(database_, options_.status_log); }
  std::vector<StatusLogGroup> status_log(TransactionId after, std::size_t limit, platform::UtcMillis from,
                                         platform::UtcMillis to) override {
    return sql_common::read_status_log(database_, options_.status_log, after, limit, from, to);
  }
  std::vector<GiftStatusTimes> find_status_times(std::span<const TransactionId> transactions) override {
    return read_status_times(database_, transactions);
  }
  std::vector<TransactionId> fill_status_times(std::span<const GiftStatusTimes> times) override {
    return fill_times(database_, times);
  }

 private:
  PersonMatchColumns person_columns_for(PersonObject object);
  OpportunityOrderColumn current_opportunity_column();
  void clear_column_cache();
  std::vector<Candidates> look_up(PersonObject object, const PersonMatchColumns& columns,
                                  std::span<const RecipientMatchKeys> recipients);
  sql_common::RowsByKey<Opportunity> look_up(const std::vector<std::string>& contacts);

  /// Looks up by cached columns; when one of them was dropped, again by the current ones.
  template <class LookUp>
  auto retry_with_fresh_columns(LookUp&& look_up) {
    try {
      return look_up();
    } catch (const platform::DependencyError& fault) {
      if (fault.transient()) throw;
      clear_column_cache();
      return look_up();
    }
  }

  const ManagedCrmOptions options_;
  const std::shared_ptr<sql::Database> shared_;
  sql::Database& database_;
  std::mutex mutex_;
  // What the fields mean in the database, once it is known: guarded by mutex_.
  std::map<PersonObject, PersonMatchColumns> person_columns_;
  std::optional<OpportunityOrderColumn> opportunity_column_;
};

PersonMatchColumns ManagedCrm::person_columns_for(PersonObject object) {
  const std::lock_guard lock(mutex_);
  const auto known = person_columns_.find(object);
  if (known != person_columns_.end() && is_type_final(known->second.order_by)) return known->second;
  const PersonMatchColumns columns = database_.read([&](soci::session& session) {
    return find_person_match_columns(session, database_.dialect(), object, options_.match_fields);
  });
  if (!columns.faults.empty()) throw platform::DependencyError(false, joined_sentences(columns.faults));
  return person_columns_.insert_or_assign(object, columns).first->second;
}

OpportunityOrderColumn ManagedCrm::current_opportunity_column() {
  const std::lock_guard lock(mutex_);
  if (opportunity_column_ && is_type_final(opportunity_column_->order_by)) return *opportunity_column_;
  const OpportunityOrderColumn columns = database_.read([&](soci::session& session) {
    return find_opportunity_order_column(session, database_.dialect(), options_.match_fields);
  });
  if (!columns.faults.empty()) throw platform::DependencyError(false, joined_sentences(columns.faults));
  return opportunity_column_.emplace(columns);
}

void ManagedCrm::clear_column_cache() {
  const std::lock_guard lock(mutex_);
  person_columns_.clear();
  opportunity_column_.reset();
}

std::vector<Candidates> ManagedCrm::look_up(PersonObject object, const PersonMatchColumns& columns,
                                            std::span<const RecipientMatchKeys> recipients) {
  std::vector<MatchKeyField> fields = columns.email_fields;
  fields.insert(fields.end(), columns.phone_fields.begin(), columns.phone_fields.end());
  const std::vector<std::int64_t> ids = refresh_match_keys(database_, fields);
  const auto phones_at = ids.begin() + static_cast<std::ptrdiff_t>(columns.email_fields.size());
  const PersonMatchFields& names = match_fields_of(object, options_.match_fields);
  const auto people = [&](std::vector<std::int64_t> field_ids, const std::vector<std::string>& field_names,
                          const std::vector<std::string>& keys) {
    if (field_ids.empty() || keys.empty()) return sql_common::RowsByKey<Candidate>();
    return people_by_match_key(
        database_, {object, columns.order_by, names.order_by.descending, std::move(field_ids), field_names},
        keys);
  };
  const auto by_email =
      people({ids.begin(), phones_at}, names.email_fields,
             sql_common::distinct_keys(recipients, [](const auto& r) { return r.email_key; }));
  const auto by_phone =
      people({phones_at, ids.end()}, names.phone_fields,
             sql_common::distinct_keys(recipients, [](const auto& r) { return r.phone_key; }));
  std::vector<Candidates> results;
  results.reserve(recipients.size());
  for (const RecipientMatchKeys& keys : recipients)
    results.push_back(
        {sql_common::rows_for(by_email, keys.email_key), sql_common::rows_for(by_phone, keys.phone_key)});
  return results;
}

std::vector<Candidates> ManagedCrm::find_candidates(PersonObject object,
                                                    std::span<const RecipientMatchKeys> recipients) {
  return retry_with_fresh_columns([&] { return look_up(object, person_columns_for(object), recipients); });
}

sql_common::RowsByKey<Opportunity> ManagedCrm::look_up(const std::vector<std::string>& contacts) {
  return opportunities_by_contact(database_, current_opportunity_column().order_by,
                                  options_.match_fields.opportunity.order_by.descending, contacts);
}

std::vector<std::vector<Opportunity>> ManagedCrm::find_open_opportunities(
    std::span<const std::string> contact_ids) {
  sql_common::RowsByKey<Opportunity> found;
  const std::vector<std::string> contacts =
      sql_common::distinct_keys(contact_ids, [](const auto& id) { return id; });
  if (!contacts.empty()) found = retry_with_fresh_columns([&] { return look_up(contacts); });
  std::vector<std::vector<Opportunity>> results;
  results.reserve(contact_ids.size());
  for (const std::string& id : contact_ids) results.push_back(sql_common::rows_for(found, id));
  return results;
}

std::vector<ConvertedLead> ManagedCrm::find_converted_leads(std::span<const std::string> lead_ids) {
  const std::vector<std::string> leads =
      sql_common::distinct_keys(lead_ids, [](const auto& id) { return id; });
  return leads.empty() ? std::vector<ConvertedLead>() : read_converted_leads(database_, leads);
}

std::vector<std::vector<CrmUser>> ManagedCrm::find_users_by_email(std::span<const std::string> email_keys) {
  sql_common::RowsByKey<CrmUser> found;
  const std::vector<std::string> keys =
      sql_common::distinct_keys(email_keys, [](const auto& key) { return key; });
  if (!keys.empty()) {
    const MatchKeyField email{"user", MatchKeyField::Kind::email, "email", ""};
    found = users_by_match_key(database_, refresh_match_keys(database_, {email}).front(), keys);
  }
  std::vector<std::vector<CrmUser>> results;
  results.reserve(email_keys.size());
  for (const std::string& key : email_keys) results.push_back(sql_common::rows_for(found, key));
  return results;
}

}  // namespace

std::unique_ptr<Crm> make_managed_crm(const ManagedCrmOptions& options) {
  return std::make_unique<ManagedCrm>(options);
}

std::vector<std::string> match_field_faults(const ManagedCrmOptions& options) {
  sql::Database database(options.database);
  return database.read([&](soci::session& session) {
    std::vector<std::string> faults;
    for (const PersonObject object : {PersonObject::contact, PersonObject::lead}) {
      const auto columns =
          find_person_match_columns(session, database.dialect(), object, options.match_fields);
      faults.insert(faults.end(), columns.faults.begin(), columns.faults.end());
    }
    if (options.match_fields.opportunity.enabled) {
      const auto columns = find_opportunity_order_column(session, database.dialect(), options.match_fields);
      faults.insert(faults.end(), columns.faults.begin(), columns.faults.end());
    }
    return faults;
  });
}

}  // namespace giftsync::schema::crm::managed
