#include "daemon/store_address.h"

#include <string>
#include <string_view>

namespace giftsync::daemon {
namespace {

/// A value of a libpq connection string: in quotes, with backslashes before what would end or escape it.
std::string libpq_quoted(std::string_view value) {
  std::string quoted = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted += '\'';
}

schema::PersonMatchFields person_fields(const PersonMatchingSettings& person) {
  return {person.email_fields, person.phone_fields, {person.order_by.field, person.order_by.descending}};
}

}  // namespace

schema::DatabaseAddress store_address(const StoreSettings& store) {
  if (store.backend == StoreBackend::sqlite) return {schema::Dialect::sqlite, store.connection};
  schema::DatabaseAddress address{schema::Dialect::postgresql, store.connection};
  if (!store.password.empty()) address.connection += " password=" + libpq_quoted(store.password.reveal());
  return address;
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

schema::SqlCrmOptions sql_crm_options(const Settings& settings) {
  const StatusLogSettings& log = settings.crm.status_log;
  return {store_address(settings.store),
          settings.crm.name_space,
          match_fields(settings.matching),
          {log.object, log.transaction_id, log.status, log.time}};
}

}  // namespace giftsync::daemon
