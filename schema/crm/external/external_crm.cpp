#include "schema/crm/external/external_crm.h"

#include <mutex>
#include <optional>

#include "schema/crm/external/gift_repository.h"
#include "schema/crm/external/person_lookup.h"
#include "schema/crm/external/users.h"
#include "schema/crm/sql_common/status_log.h"

namespace giftsync::schema::crm::external {
namespace {

class ExternalCrm : public Crm {
 public:
  explicit ExternalCrm(const ExternalCrmOptions& options)
      : options_(options), database_(options.database), mapping_(options.database.dialect, options.names) {}

  std::vector<Candidates> find_candidates(PersonObject object,
                                          std::span<const RecipientMatchKeys> recipients) override {
    const MatchFields& match = options_.match_fields;
    const PersonMatchFields& fields = object == PersonObject::contact ? match.contact : match.lead;
    const auto by_email =
        people_by_email(database_, tables(), object, fields,
                        sql_common::distinct_keys(recipients, [](const auto& r) { return r.email_key; }));
    const auto by_phone =
        people_by_phone(database_, tables(), object, fields, match.default_region,
                        sql_common::distinct_keys(recipients, [](const auto& r) { return r.phone_key; }));
    std::vector<Candidates> results;
    for (const RecipientMatchKeys& keys : recipients)
      results.push_back(
          {sql_common::rows_for(by_email, keys.email_key), sql_common::rows_for(by_phone, keys.phone_key)});
    return results;
  }
  std::vector<std::vector<Opportunity>> find_open_opportunities(
      std::span<const std::string> contacts) override {
    const auto found =
        opportunities_by_contact(database_, tables(), options_.match_fields.opportunity.order_by,
                                 sql_common::distinct_keys(contacts, [](const auto& id) { return id; }));
    std::vector<std::vector<Opportunity>> results;
    for (const std::string& id : contacts) results.push_back(sql_common::rows_for(found, id));
    return results;
  }
  std::vector<ConvertedLead> find_converted_leads(std::span<const std::string> leads) override {
    return external::find_converted_leads(
        database_, tables(), sql_common::distinct_keys(leads, [](const auto& id) { return id; }));
  }
  std::vector<std::vector<CrmUser>> find_users_by_email(std::span<const std::string> keys) override {
    const auto found = users_by_email(database_, tables(),
                                      sql_common::distinct_keys(keys, [](const auto& key) { return key; }));
    std::vector<std::vector<CrmUser>> results;
    for (const std::string& key : keys) results.push_back(sql_common::rows_for(found, key));
    return results;
  }
  std::vector<std::optional<CrmUser>> find_users_by_id(std::span<const std::string> ids) override {
    const auto found = external::find_users_by_id(
        database_, tables(), sql_common::distinct_keys(ids, [](const auto& id) { return id; }));
    std::vector<std::optional<CrmUser>> results;
    for (const std::string& id : ids) {
      const auto user = found.find(id);
      results.push_back(user == found.end() ? std::nullopt : std::optional(user->second));
    }
    return results;
  }
  std::optional<std::vector<std::vector<PermissionSetAssignment>>> permission_sets(
      std::span<const std::string> user_ids) override {
    if (!tables().has("permission_set_assignment")) return std::nullopt;
    const auto found = permission_sets_of(
        database_, tables(), sql_common::distinct_keys(user_ids, [](const auto& id) { return id; }));
    std::vector<std::vector<PermissionSetAssignment>> results;
    for (const std::string& id : user_ids) results.push_back(sql_common::rows_for(found, id));
    return results;
  }
  std::vector<RowResult> upsert_gift_records(std::span<const GiftUpsert> rows) override {
    return upsert_gifts(database_, tables(), options_.newest_versions, rows);
  }
  std::vector<RowResult> relink_gift_records(std::span<const GiftRelink> rows) override {
    return relink_gifts(database_, tables(), options_.tasks, rows);
  }
  std::vector<std::vector<GiftField>> missing_lookups(std::span<const Associations> links) override {
    return external::missing_lookups(database_, tables(), links);
  }
  std::vector<RowResult> upsert_tasks(std::span<const TaskUpsert> rows) override {
    if (options_.tasks) return external::upsert_tasks(database_, tables(), rows);
    // Tasks of gifts from when they were on; their table may not be mapped any more.
    return std::vector<RowResult>(rows.size(), {RowResult::Kind::unchanged, {}, {}});
  }
  std::vector<Task> tasks(TransactionId after, std::size_t limit) override {
    return options_.tasks ? tasks_after(database_, tables(), after, limit) : std::vector<Task>();
  }
  std::vector<GiftRecord> find_gift_records(std::span<const TransactionId> transactions) override {
    return find_gifts(database_, tables(), transactions);
  }
  std::vector<GiftRecord> gift_records(TransactionId after, std::size_t limit) override {
    return gifts_after(database_, tables(), after, limit);
  }
  std::vector<TransactionId> transaction_ids_below(TransactionId below, std::size_t limit) override {
    return gifts_below(database_, tables(), below, limit);
  }
  std::vector<TransactionId> transaction_ids_by_email(const std::string& address) override {
    return gifts_by_email(database_, tables(), address);
  }
  std::int64_t count_gift_records() override { return count_gifts(database_, tables()); }
  bool has_field(GiftField field) const override { return !mapping_.gift_column(field).empty(); }
  std::optional<StatusLogSize> status_log_size() override {
    return sql_common::size_of_status_log(database_, options_.status_log);
  }
  void prepare_status_log() override {}  // external tables: nothing is created
  std::vector<StatusLogGroup> status_log(TransactionId after, std::size_t limit, platform::UtcMillis from,
                                         platform::UtcMillis to) override {
    return sql_common::read_status_log(database_, options_.status_log, after, limit, from, to);
  }
  std::vector<GiftStatusTimes> find_status_times(std::span<const TransactionId> transactions) override {
    std::vector<GiftStatusTimes> found;
    for (const GiftRecord& record : find_gift_records(transactions)) {
      GiftStatusTimes& row = found.emplace_back(GiftStatusTimes{record.transaction(), {}});
      for (const Status status : kAllStatuses) {
        const FieldValue& value = record.get(time_field_of(status));
        if (const auto* time = std::get_if<platform::UtcMillis>(&value)) row.times[status] = *time;
      }
    }
    return found;
  }
  std::vector<TransactionId> fill_status_times(std::span<const GiftStatusTimes> times) override {
    return fill_times(database_, tables(), times);
  }

 private:
  /// The columns as of the first call; check_external_crm() has checked them before.
  const MappedTables& tables() {
    const std::lock_guard lock(mutex_);
    if (!tables_) {
      database_.read(
          [&](soci::session& session) { tables_.emplace(database_.dialect(), mapping_, options_, session); });
    }
    return *tables_;
  }

  const ExternalCrmOptions options_;
  sql::Database database_;
  const Mapping mapping_;
  std::mutex mutex_;
  std::optional<MappedTables> tables_;  // guarded by mutex_ until it is there
};

}  // namespace

std::unique_ptr<Crm> make_external_crm(const ExternalCrmOptions& options) {
  return std::make_unique<ExternalCrm>(options);
}

}  // namespace giftsync::schema::crm::external
