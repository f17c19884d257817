#include "schema/sql_crm/sql_crm.h"

#include <map>
#include <mutex>

#include "schema/sql_crm/candidates.h"
#include "schema/sql_crm/gift_lookups.h"
#include "schema/sql_crm/gift_rows.h"
#include "schema/sql_crm/named_rows.h"
#include "schema/sql_crm/opportunities.h"
#include "schema/sql_crm/record_times.h"
#include "schema/sql_crm/request_rows.h"
#include "schema/sql_crm/status_log.h"
#include "schema/sql_crm/task_rows.h"
#include "schema/sql_crm/users.h"

namespace giftsync::schema {
namespace {

using namespace sql_crm;

/// Some ten milliseconds of SQLite's write lock.
constexpr std::size_t kRowsACall = 1000;

std::string sentences(const std::vector<std::string>& faults) {
  std::string text;
  for (const std::string& fault : faults) text += (text.empty() ? "" : "; ") + fault;
  return text;
}

/// An import gives a text column its type when the first values come; other types stay.
bool is_settled(const Column& order_by) {
  return order_by.type != ColumnType::text;
}

class SqlCrm : public Crm {
 public:
  explicit SqlCrm(const SqlCrmOptions& options)
      : options_(options), shared_(sql::Database::of(options.database)), database_(*shared_) {}

  std::size_t rows_a_call() const override { return kRowsACall; }
  std::vector<Candidates> find_candidates(PersonObject object,
                                          std::span<const RecipientKeys> recipients) override;
  std::vector<std::vector<Opportunity>> open_opportunities(std::span<const std::string> contact_ids) override;
  std::vector<ConvertedLead> converted_leads(std::span<const std::string> lead_ids) override;
  std::vector<std::vector<CrmUser>> find_users(std::span<const std::string> email_keys) override;
  std::vector<std::optional<CrmUser>> users_by_id(std::span<const std::string> ids) override {
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
  std::vector<std::vector<GiftField>> lost_lookups(std::span<const Associations> links) override {
    return sql_crm::lost_lookups(database_, links);
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
  std::vector<TransactionId> transaction_ids_to(const std::string& address) override {
    return gift_transactions_to(database_, address);
  }
  std::int64_t count_gift_records() override { return count_gift_rows(database_); }
  bool has_requests() const override { return true; }
  std::vector<RequestNote> request_notes(std::size_t limit) override {
    return read_request_notes(database_, limit);
  }
  void settle_request_notes(std::span<const std::int64_t> notes) override {
    delete_request_notes(database_, notes);
  }
  void note_open_requests() override { note_open_request_rows(database_); }
  std::vector<RequestRecord> find_requests(std::span<const std::string> ids) override {
    return find_request_rows(database_, ids);
  }
  std::optional<RequestRecord> find_request(const std::string& number_or_id) override {
    return find_request_row(database_, number_or_id);
  }
  std::vector<RequestRecord> requests(const std::string& after, std::optional<RequestStatus> status,
                                      std::size_t limit) override {
    return read_request_rows(database_, after, status, limit);
  }
  std::vector<RowResult> write_requests(std::span<const RequestWrite> rows) override {
    return write_request_rows(database_, rows, options_.integration_user);
  }
  std::vector<RequestRecord> create_requests(std::span<const NewRequest> rows) override {
    return create_request_rows(database_, rows);
  }
  std::vector<Person> find_people(PersonObject object, std::span<const std::string> ids) override {
    return find_people_by_id(database_, object, ids);
  }
  std::vector<Opportunity> find_opportunities(std::span<const std::string> ids) override {
    return find_opportunities_by_id(database_, ids);
  }
  std::optional<StatusLogSize> status_log_size() override {
    return size_of_status_log(database_, options_.status_log);
  }
  void prepare_status_log() override { index_status_log(database_, options_.status_log); }
  std::vector<StatusLogSpan> status_log(TransactionId after, std::size_t limit, UtcMillis from,
                                        UtcMillis to) override {
    return read_status_log(database_, options_.status_log, after, limit, from, to);
  }
  std::vector<RecordTimes> record_times(std::span<const TransactionId> transactions) override {
    return read_record_times(database_, transactions);
  }
  std::vector<TransactionId> fill_record_times(std::span<const RecordTimes> times) override {
    return fill_times(database_, times);
  }

 private:
  PersonSource source_of(PersonObject object);
  OpportunitySource opportunity_source_now();
  void forget_sources();
  std::vector<Candidates> look_up(PersonObject object, const PersonSource& source,
                                  std::span<const RecipientKeys> recipients);
  FoundByKey<Opportunity> look_up(const std::vector<std::string>& contacts);

  /// Looks up by remembered columns; when one of them was dropped, once more by those that are there now.
  template <class LookUp>
  auto with_sources(LookUp&& look_up) {
    try {
      return look_up();
    } catch (const BrokenWorld& fault) {
      if (fault.transient()) throw;
      forget_sources();
      return look_up();
    }
  }

  const SqlCrmOptions options_;
  const std::shared_ptr<sql::Database> shared_;
  sql::Database& database_;
  std::mutex mutex_;
  // What the fields mean in the database, once it is known: guarded by mutex_.
  std::map<PersonObject, PersonSource> person_sources_;
  std::optional<OpportunitySource> opportunity_source_;
};

PersonSource SqlCrm::source_of(PersonObject object) {
  const std::lock_guard lock(mutex_);
  const auto known = person_sources_.find(object);
  if (known != person_sources_.end() && is_settled(known->second.order_by)) return known->second;
  const PersonSource source = database_.read([&](soci::session& session) {
    return person_source(session, database_.dialect(), object, options_.match_fields);
  });
  if (!source.faults.empty()) throw BrokenWorld(false, sentences(source.faults));
  return person_sources_.insert_or_assign(object, source).first->second;
}

OpportunitySource SqlCrm::opportunity_source_now() {
  const std::lock_guard lock(mutex_);
  if (opportunity_source_ && is_settled(opportunity_source_->order_by)) return *opportunity_source_;
  const OpportunitySource source = database_.read([&](soci::session& session) {
    return opportunity_source(session, database_.dialect(), options_.match_fields);
  });
  if (!source.faults.empty()) throw BrokenWorld(false, sentences(source.faults));
  return opportunity_source_.emplace(source);
}

void SqlCrm::forget_sources() {
  const std::lock_guard lock(mutex_);
  person_sources_.clear();
  opportunity_source_.reset();
}

std::vector<Candidates> SqlCrm::look_up(PersonObject object, const PersonSource& source,
                                        std::span<const RecipientKeys> recipients) {
  std::vector<KeyField> fields = source.email_fields;
  fields.insert(fields.end(), source.phone_fields.begin(), source.phone_fields.end());
  const std::vector<std::int64_t> ids = bring_keys_up_to_date(database_, fields);
  const auto phones_at = ids.begin() + static_cast<std::ptrdiff_t>(source.email_fields.size());
  const PersonMatchFields& names = fields_of(object, options_.match_fields);
  const auto people = [&](std::vector<std::int64_t> field_ids, const std::vector<std::string>& field_names,
                          const std::vector<std::string>& keys) {
    if (field_ids.empty() || keys.empty()) return FoundByKey<Candidate>();
    return people_by_key(
        database_, {object, source.order_by, names.order_by.descending, std::move(field_ids), field_names},
        keys);
  };
  const auto by_email = people({ids.begin(), phones_at}, names.email_fields,
                               distinct_keys(recipients, [](const auto& r) { return r.email_key; }));
  const auto by_phone = people({phones_at, ids.end()}, names.phone_fields,
                               distinct_keys(recipients, [](const auto& r) { return r.phone_key; }));
  std::vector<Candidates> answers;
  answers.reserve(recipients.size());
  for (const RecipientKeys& keys : recipients)
    answers.push_back({found_for(by_email, keys.email_key), found_for(by_phone, keys.phone_key)});
  return answers;
}

std::vector<Candidates> SqlCrm::find_candidates(PersonObject object,
                                                std::span<const RecipientKeys> recipients) {
  return with_sources([&] { return look_up(object, source_of(object), recipients); });
}

FoundByKey<Opportunity> SqlCrm::look_up(const std::vector<std::string>& contacts) {
  return opportunities_by_contact(database_, opportunity_source_now().order_by,
                                  options_.match_fields.opportunity.order_by.descending, contacts);
}

std::vector<std::vector<Opportunity>> SqlCrm::open_opportunities(std::span<const std::string> contact_ids) {
  FoundByKey<Opportunity> found;
  const std::vector<std::string> contacts = distinct_keys(contact_ids, [](const auto& id) { return id; });
  if (!contacts.empty()) found = with_sources([&] { return look_up(contacts); });
  std::vector<std::vector<Opportunity>> answers;
  answers.reserve(contact_ids.size());
  for (const std::string& id : contact_ids) answers.push_back(found_for(found, id));
  return answers;
}

std::vector<ConvertedLead> SqlCrm::converted_leads(std::span<const std::string> lead_ids) {
  const std::vector<std::string> leads = distinct_keys(lead_ids, [](const auto& id) { return id; });
  return leads.empty() ? std::vector<ConvertedLead>() : read_converted_leads(database_, leads);
}

std::vector<std::vector<CrmUser>> SqlCrm::find_users(std::span<const std::string> email_keys) {
  FoundByKey<CrmUser> found;
  const std::vector<std::string> keys = distinct_keys(email_keys, [](const auto& key) { return key; });
  if (!keys.empty()) {
    const KeyField email{"user", KeyField::Kind::email, "email", ""};
    found = users_by_key(database_, bring_keys_up_to_date(database_, {email}).front(), keys);
  }
  std::vector<std::vector<CrmUser>> answers;
  answers.reserve(email_keys.size());
  for (const std::string& key : email_keys) answers.push_back(found_for(found, key));
  return answers;
}

}  // namespace

std::unique_ptr<Crm> make_sql_crm(const SqlCrmOptions& options) {
  return std::make_unique<SqlCrm>(options);
}

std::vector<std::string> match_field_faults(const SqlCrmOptions& options) {
  sql::Database database(options.database);
  return database.read([&](soci::session& session) {
    std::vector<std::string> faults;
    for (const PersonObject object : {PersonObject::contact, PersonObject::lead}) {
      const auto source = person_source(session, database.dialect(), object, options.match_fields);
      faults.insert(faults.end(), source.faults.begin(), source.faults.end());
    }
    if (options.match_fields.opportunity.enabled) {
      const auto source = opportunity_source(session, database.dialect(), options.match_fields);
      faults.insert(faults.end(), source.faults.begin(), source.faults.end());
    }
    return faults;
  });
}

}  // namespace giftsync::schema
