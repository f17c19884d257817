#include "daemon/crm_of_settings.h"

#include <filesystem>
#include <utility>

#include "daemon/store_address.h"
#include "schema/foreign_crm/foreign_crm.h"
#include "schema/sql_crm/sql_crm.h"
#include "schema/store/store.h"

namespace giftsync::daemon {

std::unique_ptr<schema::Crm> make_crm(const Settings& settings) {
  if (!settings.crm.is_foreign()) return schema::make_sql_crm(sql_crm_options(settings));
  schema::ForeignCrmOptions options = foreign_crm_options(settings);
  // It is asked in the middle of a write to the CRM, which is in another database.
  options.newest = [store = std::make_shared<schema::Store>(store_address(settings.store))](
                       std::span<const schema::TransactionId> ids) {
    std::vector<std::pair<schema::TransactionId, std::int64_t>> versions;
    for (const schema::Gift& gift : store->gifts.gifts(ids))
      versions.emplace_back(gift.transaction.id, gift.transaction.version);
    return versions;
  };
  return schema::make_foreign_crm(options);
}

CrmCheck check_crm(const Settings& settings) {
  if (!settings.crm.is_foreign()) return {schema::match_field_faults(sql_crm_options(settings)), {}};
  // SQLite would make the file.
  if (settings.crm.backend == StoreBackend::sqlite && !std::filesystem::exists(settings.crm.connection))
    return {{"crm.connection: there is no file " + settings.crm.connection}, {}};
  schema::ForeignCrmReport report = schema::check_foreign_crm(foreign_crm_options(settings));
  return {std::move(report.faults), std::move(report.warnings)};
}

void migrate_crm(const Settings& settings) {
  if (!settings.crm.is_foreign()) schema::migrate_managed_crm(store_address(settings.store));
}

}  // namespace giftsync::daemon
