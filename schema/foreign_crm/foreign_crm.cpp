#include "schema/foreign_crm/foreign_crm.h"

#include <mutex>
#include <optional>

#include "schema/foreign_crm/people.h"
#include "schema/foreign_crm/records.h"
#include "schema/foreign_crm/users.h"
#include "schema/sql_crm/status_log.h"

namespace giftsync::schema {
namespace {

using namespace foreign_crm;

using sql_crm::distinct_keys;
using sql_crm::found_for;

class ForeignCrm : public Crm {
 public:
  explicit ForeignCrm(const ForeignCrmOptions& options)
      : options_(options), database_(options.database), mapping_(options.database.dialect, options.names) {}

  std::vector<Candidates> find_candidates(PersonObject object,
                                          std::span<const RecipientKeys> recipients) override {
    const MatchFields& match = options_.match_fields;
    const PersonMatchFields& fields = object == PersonObject::contact ? match.contact : match.lead;
    const auto by_email =
        people_by_email(database_, tables(), object, fields,
                        distinct_keys(recipients, [](const auto& r) { return r.email_key; }));
    const auto by_phone =
        people_by_phone(database_, tables(), object, fields, match.default_region,
                        distinct_keys(recipients, [](const auto& r) { return r.phone_key; }));
    std::vector<Candidates> answers;
    for (const RecipientKeys& keys : recipients)
      answers.push_back({found_for(by_email, keys.email_key), found_for(by_phone, keys.phone_key)});
    return answers;
  }
  std::vector<std::vector<Opportunity>> open_opportunities(std::span<const std::string> contacts) override {
    const auto found =
        opportunities_by_contact(database_, tables(), options_.match_fields.opportunity.order_by,
                                 distinct_keys(contacts, [](const auto& id) { return id; }));
    std::vector<std::vector<Opportunity>> answers;
    for (const std::string& id : contacts) answers.push_back(found_for(found, id));
    return answers;
  }
  std::vector<ConvertedLead> converted_leads(std::span<const std::string> leads) override {
    return foreign_crm::converted_leads(database_, tables(),
                                        distinct_keys(leads, [](const auto& id) { return id; }));
  }
  std::vector<std::vector<CrmUser>> find_users(std::span<const std::string> keys) override {
    const auto found =
        users_by_email(database_, tables(), distinct_keys(keys, [](const auto& key) { return key; }));
    std::vector<std::vector<CrmUser>> answers;
    for (const std::string& key : keys) answers.push_back(found_for(found, key));
    return answers;
  }
  std::vector<std::optional<CrmUser>> users_by_id(std::span<const std::string> ids) override {
    const auto found =
        foreign_crm::users_by_id(database_, tables(), distinct_keys(ids, [](const auto& id) { return id; }));
    std::vector<std::optional<CrmUser>> answers;
    for (const std::string& id : ids) {
      const auto user = found.find(id);
      answers.push_back(user == found.end() ? std::nullopt : std::optional(user->second));
    }
    return answers;
  }
  std::optional<std::vector<std::vector<PermissionSetAssignment>>> permission_sets(
      std::span<const std::string> user_ids) override {
    if (!tables().has("permission_set_assignment")) return std::nullopt;
    const auto found =
        permission_sets_of(database_, tables(), distinct_keys(user_ids, [](const auto& id) { return id; }));
    std::vector<std::vector<PermissionSetAssignment>> answers;
    for (const std::string& id : user_ids) answers.push_back(found_for(found, id));
    return answers;
  }
  std::vector<RowResult> upsert_gift_records(std::span<const GiftUpsert> rows) override {
    return upsert_gifts(database_, tables(), options_.newest, rows);
  }
  std::vector<RowResult> relink_gift_records(std::span<const GiftRelink> rows) override {
    return relink_gifts(database_, tables(), options_.tasks, rows);
  }
  std::vector<std::vector<GiftField>> lost_lookups(std::span<const Associations> links) override {
    return foreign_crm::lost_lookups(database_, tables(), links);
  }
  std::vector<RowResult> upsert_tasks(std::span<const TaskUpsert> rows) override {
    if (options_.tasks) return foreign_crm::upsert_tasks(database_, tables(), rows);
    // Tasks of gifts from when they were on; their table may not be mapped any more.
    return std::vector<RowResult>(rows.size(), {RowResult::Kind::unchanged, {}, {}});
  }
  std::vector<Task> tasks(TransactionId after, std::size_t limit) override {
    return options_.tasks ? tasks_above(database_, tables(), after, limit) : std::vector<Task>();
  }
  std::vector<GiftRecord> find_gift_records(std::span<const TransactionId> transactions) override {
    return find_gifts(database_, tables(), transactions);
  }
  std::vector<GiftRecord> gift_records(TransactionId after, std::size_t limit) override {
    return gifts_above(database_, tables(), after, limit);
  }
  std::vector<TransactionId> transaction_ids_below(TransactionId below, std::size_t limit) override {
    return gifts_below(database_, tables(), below, limit);
  }
  std::vector<TransactionId> transaction_ids_to(const std::string& address) override {
    return gifts_to(database_, tables(), address);
  }
  std::int64_t count_gift_records() override { return count_gifts(database_, tables()); }
  bool has_field(GiftField field) const override { return !mapping_.gift_column(field).empty(); }
  std::optional<StatusLogSize> status_log_size() override {
    return sql_crm::size_of_status_log(database_, options_.status_log);
  }
  void prepare_status_log() override {}  // nothing is made in somebody else's tables
  std::vector<StatusLogSpan> status_log(TransactionId after, std::size_t limit, UtcMillis from,
                                        UtcMillis to) override {
    return sql_crm::read_status_log(database_, options_.status_log, after, limit, from, to);
  }
  std::vector<RecordTimes> record_times(std::span<const TransactionId> transactions) override {
    std::vector<RecordTimes> found;
    for (const GiftRecord& record : find_gift_records(transactions)) {
      RecordTimes& row = found.emplace_back(RecordTimes{record.transaction(), {}});
      for (const Status status : kAllStatuses) {
        const FieldValue& value = record.get(time_field_of(status));
        if (const auto* time = std::get_if<UtcMillis>(&value)) row.times[status] = *time;
      }
    }
    return found;
  }
  std::vector<TransactionId> fill_record_times(std::span<const RecordTimes> times) override {
    return fill_times(database_, tables(), times);
  }

 private:
  /// The columns as they were at the first call; check_foreign_crm() looked at them before.
  const Tables& tables() {
    const std::lock_guard lock(mutex_);
    if (!tables_) {
      database_.read(
          [&](soci::session& session) { tables_.emplace(database_.dialect(), mapping_, options_, session); });
    }
    return *tables_;
  }

  const ForeignCrmOptions options_;
  sql::Database database_;
  const Mapping mapping_;
  std::mutex mutex_;
  std::optional<Tables> tables_;  // guarded by mutex_ until it is there
};

}  // namespace

std::unique_ptr<Crm> make_foreign_crm(const ForeignCrmOptions& options) {
  return std::make_unique<ForeignCrm>(options);
}

}  // namespace giftsync::schema
