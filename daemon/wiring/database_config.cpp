#include "daemon/wiring/database_config.h"

#include <fmt/format.h>

#include "daemon/wiring/salesforce_config.h"
#include "schema/store/store.h"

namespace giftsync::wiring {
namespace {

crm::PersonMatchFields person_fields(const config::PersonMatchingSettings& person) {
  return {person.email_fields, person.phone_fields, {person.order_by.field, person.order_by.descending}};
}

sql::Dsn make_dsn(config::StoreBackend backend, const std::string& connection,
                  const config::Secret& password) {
  if (backend == config::StoreBackend::sqlite) return {sql::Dialect::sqlite, connection};
  return {sql::Dialect::postgresql, connection, password.reveal()};
}

crm::sql_crm::StatusLogLocation status_log_location(const config::StatusLogSettings& log) {
  return {log.object, log.transaction_id, log.status, log.time};
}

}  // namespace

sql::Dsn store_dsn(const config::StoreSettings& store) {
  return make_dsn(store.backend, store.connection, store.password);
}

std::string store_location(const config::Settings& settings) {
  if (settings.store.backend == config::StoreBackend::sqlite) return settings.store.connection;
  return fmt::format("the PostgreSQL database of store.connection ({})", settings.file);
}

std::string crm_location(const config::Settings& settings) {
  if (settings.crm.kind() == config::CrmKind::salesforce) return org_location(settings);
  if (settings.crm.kind() == config::CrmKind::managed) return store_location(settings);
  if (settings.crm.backend == config::StoreBackend::sqlite) return settings.crm.connection;
  return fmt::format("the PostgreSQL database of crm.connection ({})", settings.file);
}

std::optional<std::string> newer_tables_fault(const config::Settings& settings, int store,
                                              const crm::managed::ManagedCrmUpgradePlan& crm) {
  const auto newer = [&](const std::string& subject, const std::string& has, const std::string& known) {
    return fmt::format(
        "{}: the {} has version {}, this program knows versions up to {}; install the newer giftsync again, "
        "or restore the backup from before it: \"Go back\" in backup-and-upgrade.md",
        store_location(settings), subject, has, known);
  };
  if (store > store::kStoreVersion)
    return newer("store", std::to_string(store), std::to_string(store::kStoreVersion));
  if (crm.newer) return newer("CRM package", *crm.version, crm::managed::kCrmPackageVersion);
  return std::nullopt;
}

crm::MatchFields match_fields(const config::MatchingSettings& matching) {
  const config::OpportunityMatchingSettings& opportunity = matching.opportunity;
  return {person_fields(matching.contact),
          person_fields(matching.lead),
          matching.default_region,
          {opportunity.enabled, {opportunity.order_by.field, opportunity.order_by.descending}}};
}

sync::SyncRules sync_rules(const config::Settings& settings) {
  sync::SyncRules rules;
  rules.match_fields = match_fields(settings.matching);
  rules.skip_unmatched = settings.matching.skip_unmatched;
  rules.integration_user = settings.crm.integration_user;
  const config::TaskSettings& tasks = settings.tasks;
  rules.tasks = {tasks.enabled,        tasks.type,
                 tasks.initial_status, tasks.completed_status,
                 tasks.subject,        tasks.description,
                 tasks.due_days,       static_cast<sync::TaskAssignee>(tasks.assignee)};
  rules.sender_aliases = {settings.crm.sender_aliases.begin(), settings.crm.sender_aliases.end()};
  rules.fallback_owner = settings.crm.fallback_owner;
  return rules;
}

std::vector<std::pair<std::string, std::string>> published_settings(const config::Settings& settings) {
  const auto yes_no = [](bool yes) { return yes ? "true" : "false"; };
  const auto direction = [](const config::OrderBySettings& order_by) {
    return order_by.descending ? "DESC" : "ASC";
  };
  const config::MatchingSettings& matching = settings.matching;
  std::vector<std::pair<std::string, std::string>> published{
      {"crm.namespace", settings.crm.name_space}, {"crm.integration_user", settings.crm.integration_user}};
  for (const auto& [name, person] :
       {std::pair("matching.contact", &matching.contact), std::pair("matching.lead", &matching.lead)}) {
    const std::string section = name;
    published.insert(published.end(),
                     {{section + ".email_fields", fmt::format("{}", fmt::join(person->email_fields, ", "))},
                      {section + ".phone_fields", fmt::format("{}", fmt::join(person->phone_fields, ", "))},
                      {section + ".order_by.field", person->order_by.field},
                      {section + ".order_by.direction", direction(person->order_by)}});
  }
  // The organization token is a secret: it is not among them.
  published.insert(published.end(),
                   {{"matching.opportunity.enabled", yes_no(matching.opportunity.enabled)},
                    {"matching.opportunity.order_by.field", matching.opportunity.order_by.field},
                    {"matching.opportunity.order_by.direction", direction(matching.opportunity.order_by)},
                    {"matching.on_no_match", matching.skip_unmatched ? "skip" : "create"},
                    {"matching.default_region", matching.default_region},
                    {"tasks.enabled", yes_no(settings.tasks.enabled)},
                    {"tasks.type", settings.tasks.type},
                    {"tasks.initial_status", settings.tasks.initial_status},
                    {"tasks.completed_status", settings.tasks.completed_status},
                    {"requests.enabled", yes_no(settings.requests.enabled)},
                    {"requests.auto_approved_default", yes_no(settings.requests.auto_approved_default)},
                    {"requests.api_endpoint", settings.requests.api_endpoint},
                    {"requests.sending_interface_url", settings.requests.sending_interface_url}});
  return published;
}

std::vector<std::string> task_fields_of(const config::TaskSettings& tasks) {
  std::vector<std::string> fields;
  if (!tasks.description.empty()) fields.emplace_back(crm::external::kTaskDescription);
  if (tasks.due_days > 0) fields.emplace_back(crm::external::kDueDate);
  return fields;
}

crm::external::ExternalCrmOptions external_crm_options(const config::Settings& settings) {
  const config::CrmSettings& crm = settings.crm;
  sql::Dsn database = make_dsn(crm.backend, crm.connection, crm.password);
  database.is_external_crm = true;
  const bool account_owners = settings.tasks.assignee == config::TaskAssignee::account_owner;
  return {std::move(database),
          {crm.name_space,
           crm.schema,
           crm.id_column,
           {crm.tables.begin(), crm.tables.end()},
           {crm.columns.begin(), crm.columns.end()}},
          match_fields(settings.matching),
          settings.tasks.enabled,
          {},
          status_log_location(settings.crm.status_log),
          task_fields_of(settings.tasks),
          settings.tasks.enabled && account_owners};
}

crm::managed::ManagedCrmOptions managed_crm_options(const config::Settings& settings) {
  return {store_dsn(settings.store), settings.crm.name_space, match_fields(settings.matching),
          status_log_location(settings.crm.status_log), settings.crm.integration_user};
}

}  // namespace giftsync::wiring
