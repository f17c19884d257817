#include "daemon/crm_of_settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "daemon/store_address.h"
#include "schema/foreign_crm/foreign_crm.h"
#include "schema/sql_crm/sql_crm.h"
#include "schema/store/store.h"

namespace giftsync::daemon {
namespace {

/// A disk that takes nothing just now is no fault of the settings.
bool may_write(const std::string& path, int how) {
  return ::access(path.c_str(), how) == 0 || errno == EROFS;
}

/// Why this user cannot write to the CRM's SQLite file. SQLite makes its journal beside it.
std::vector<std::string> file_faults(const std::string& path) {
  const auto fault = [](const std::string& what, int error) {
    return std::vector{fmt::format("crm.connection: {}: {}; let the service's user write there", what,
                                   std::generic_category().message(error))};
  };
  if (!may_write(path, R_OK | W_OK)) return fault(path, errno);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty() && !may_write(folder, W_OK | X_OK)) return fault("the folder " + folder, errno);
  return {};
}

}  // namespace

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

bool crm_has_users(const Settings& settings) {
  if (!settings.crm.is_foreign()) return true;
  const auto& tables = settings.crm.tables;
  return std::find(tables.begin(), tables.end(), std::pair<std::string, std::string>("user", "-")) ==
         tables.end();
}

CrmCheck check_crm(const Settings& settings) {
  if (!settings.crm.is_foreign()) return {schema::match_field_faults(sql_crm_options(settings)), {}, {}};
  if (settings.crm.backend == StoreBackend::sqlite) {
    // SQLite would make the file.
    if (!std::filesystem::exists(settings.crm.connection))
      return {{"crm.connection: there is no file " + settings.crm.connection}, {}, {}};
    if (auto faults = file_faults(settings.crm.connection); !faults.empty())
      return {std::move(faults), {}, {}};
  }
  schema::ForeignCrmReport report = schema::check_foreign_crm(foreign_crm_options(settings));
  return {std::move(report.faults), std::move(report.of_commands), std::move(report.slow)};
}

std::vector<std::string> CrmCheck::warnings() const {
  std::vector<std::string> all = of_commands;
  all.insert(all.end(), slow.begin(), slow.end());
  return all;
}

void migrate_crm(const Settings& settings) {
  if (!settings.crm.is_foreign()) schema::migrate_managed_crm(store_address(settings.store));
}

}  // namespace giftsync::daemon
