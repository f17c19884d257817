#include "daemon/store_address.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "schema/store/store.h"

namespace giftsync::daemon {
namespace {

schema::PersonMatchFields person_fields(const PersonMatchingSettings& person) {
  return {person.email_fields, person.phone_fields, {person.order_by.field, person.order_by.descending}};
}

schema::DatabaseAddress address_of(StoreBackend backend, const std::string& connection,
                                   const Secret& password) {
  if (backend == StoreBackend::sqlite) return {schema::Dialect::sqlite, connection};
  return {schema::Dialect::postgresql, connection, password.reveal()};
}

}  // namespace

schema::DatabaseAddress store_address(const StoreSettings& store) {
  return address_of(store.backend, store.connection, store.password);
}

std::string store_place(const Settings& settings) {
  if (settings.store.backend == StoreBackend::sqlite) return settings.store.connection;
  return fmt::format("the PostgreSQL database of store.connection ({})", settings.file);
}

std::string crm_place(const Settings& settings) {
  if (!settings.crm.is_foreign()) return store_place(settings);
  if (settings.crm.backend == StoreBackend::sqlite) return settings.crm.connection;
  return fmt::format("the PostgreSQL database of crm.connection ({})", settings.file);
}

std::optional<std::string> newer_tables_fault(const Settings& settings, int store,
                                              const schema::ManagedCrmPlan& crm) {
  const auto newer = [&](const std::string& whose, const std::string& has, const std::string& known) {
    return fmt::format(
        "{}: the {} has version {}, this program knows versions up to {}; install the newer giftsync again, "
        "or restore the backup from before it",
        store_place(settings), whose, has, known);
  };
  if (store > schema::kStoreVersion)
    return newer("store", std::to_string(store), std::to_string(schema::kStoreVersion));
  if (crm.newer) return newer("CRM package", *crm.version, schema::kCrmPackageVersion);
  return std::nullopt;
}

schema::MatchFields match_fields(const MatchingSettings& matching) {
  const OpportunityMatchingSettings& opportunity = matching.opportunity;
  return {person_fields(matching.contact),
          person_fields(matching.lead),
          matching.default_region,
          {opportunity.enabled, {opportunity.order_by.field, opportunity.order_by.descending}}};
}

sync::SyncRules sync_rules(const Settings& settings) {
  sync::SyncRules rules;
  rules.match_fields = match_fields(settings.matching);
  rules.skip_unmatched = settings.matching.skip_unmatched;
  rules.integration_user = settings.crm.integration_user;
  const TaskSettings& tasks = settings.tasks;
  rules.tasks = {tasks.enabled, tasks.type, tasks.initial_status, tasks.completed_status};
  return rules;
}

std::vector<std::pair<std::string, std::string>> published_settings(const Settings& settings) {
  std::vector<std::pair<std::string, std::string>> told;
  const auto words = [](const std::vector<std::string>& list) {
    return fmt::format("{}", fmt::join(list, ", "));
  };
  const auto yes_no = [](bool yes) { return std::string(yes ? "true" : "false"); };
  const auto order = [&](const std::string& section, const OrderBySettings& by) {
    told.emplace_back(section + ".order_by.field", by.field);
    told.emplace_back(section + ".order_by.direction", by.descending ? "DESC" : "ASC");
  };
  const MatchingSettings& matching = settings.matching;
  told.emplace_back("crm.namespace", settings.crm.name_space);
  told.emplace_back("crm.integration_user", settings.crm.integration_user);
  for (const auto& [name, person] :
       {std::pair("matching.contact", &matching.contact), std::pair("matching.lead", &matching.lead)}) {
    told.emplace_back(std::string(name) + ".email_fields", words(person->email_fields));
    told.emplace_back(std::string(name) + ".phone_fields", words(person->phone_fields));
    order(name, person->order_by);
  }
  told.emplace_back("matching.opportunity.enabled", yes_no(matching.opportunity.enabled));
  order("matching.opportunity", matching.opportunity.order_by);
  told.emplace_back("matching.on_no_match", matching.skip_unmatched ? "skip" : "create");
  told.emplace_back("matching.default_region", matching.default_region);
  told.emplace_back("tasks.enabled", yes_no(settings.tasks.enabled));
  told.emplace_back("tasks.type", settings.tasks.type);
  told.emplace_back("tasks.initial_status", settings.tasks.initial_status);
  told.emplace_back("tasks.completed_status", settings.tasks.completed_status);
  told.emplace_back("requests.enabled", yes_no(settings.requests.enabled));
  told.emplace_back("requests.auto_approved_default", yes_no(settings.requests.auto_approved_default));
  // The organization token is a secret: it is not among them.
  told.emplace_back("requests.api_endpoint", settings.requests.api_endpoint);
  told.emplace_back("requests.sending_interface_url", settings.requests.sending_interface_url);
  return told;
}

namespace {

schema::StatusLogPlace status_log_place(const StatusLogSettings& log) {
  return {log.object, log.transaction_id, log.status, log.time};
}

}  // namespace

schema::ForeignCrmOptions foreign_crm_options(const Settings& settings) {
  const CrmSettings& crm = settings.crm;
  schema::DatabaseAddress database = address_of(crm.backend, crm.connection, crm.password);
  database.foreign = true;
  return {std::move(database),
          {crm.name_space,
           crm.schema,
           crm.id_column,
           {crm.tables.begin(), crm.tables.end()},
           {crm.columns.begin(), crm.columns.end()}},
          match_fields(settings.matching),
          settings.tasks.enabled,
          {},
          status_log_place(settings.crm.status_log)};
}

schema::SqlCrmOptions sql_crm_options(const Settings& settings) {
  return {store_address(settings.store), settings.crm.name_space, match_fields(settings.matching),
          status_log_place(settings.crm.status_log), settings.crm.integration_user};
}

}  // namespace giftsync::daemon
