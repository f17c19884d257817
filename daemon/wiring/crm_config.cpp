#include "daemon/wiring/crm_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "crm/sql/external/external_crm.h"
#include "crm/sql/managed/csv_import.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/salesforce_config.h"
#include "daemon/wiring/store_preflight.h"
#include "schema/sql/database_file.h"
#include "schema/store/store.h"

namespace giftsync::wiring {
using config::CrmKind;

CrmCapabilities crm_capabilities(const config::Settings& settings) {
  const CrmKind kind = settings.crm.kind();
  const bool is_managed = kind == CrmKind::managed;
  return {.has_own_database = kind == CrmKind::external,
          .has_package = is_managed,
          .imports_rows = is_managed,
          .is_remote = kind == CrmKind::salesforce};
}

std::unique_ptr<crm::Crm> make_crm(const config::Settings& settings, LookupDuration lookups,
                                   KeepGoing keep_going) {
  if (settings.crm.kind() == CrmKind::salesforce) return make_org_crm(settings, std::move(keep_going));
  if (settings.crm.kind() == CrmKind::managed) {
    crm::managed::ManagedCrmOptions options = managed_crm_options(settings);
    if (lookups == LookupDuration::bounded) options.max_keyed_rows = crm::managed::kKeyedRowsPerStep;
    return crm::managed::make_managed_crm(options);
  }
  crm::external::ExternalCrmOptions options = external_crm_options(settings);
  // Called during a write to the CRM, which is in another database.
  options.newest_versions = [store = std::make_shared<store::Store>(store_dsn(settings.store))](
                                std::span<const TransactionId> ids) {
    std::vector<std::pair<TransactionId, std::int64_t>> versions;
    for (const store::Gift& gift : store->gifts.find(ids))
      versions.emplace_back(gift.transaction.id, gift.transaction.version);
    return versions;
  };
  return crm::external::make_external_crm(options);
}

std::string no_package_clause(const config::Settings& settings) {
  return settings.crm.kind() == CrmKind::salesforce ? "crm.type: salesforce names an org of Salesforce"
                                                    : "crm.connection names an external CRM";
}

std::string no_request_records_clause(const config::Settings& settings) {
  if (settings.crm.kind() == CrmKind::salesforce)
    return "crm.salesforce.mode is bare; request records need giftsync's package in the org, and guarded "
           "mode";
  return no_package_clause(settings) +
         "; request records exist in the built-in CRM and in an org of Salesforce with giftsync's package; "
         "request gifts over HTTP, or use such a CRM";
}

std::string crm_address_key(const config::Settings& settings) {
  return settings.crm.kind() == CrmKind::salesforce ? "crm.salesforce.domain" : "crm.connection";
}

bool crm_has_users(const config::Settings& settings) {
  if (settings.crm.kind() != CrmKind::external) return true;
  const auto& tables = settings.crm.tables;
  return std::find(tables.begin(), tables.end(), std::pair<std::string, std::string>("user", "-")) ==
         tables.end();
}

CrmCheck check_crm(const config::Settings& settings) {
  if (settings.crm.kind() == CrmKind::salesforce) return {};
  if (settings.crm.kind() == CrmKind::managed) {
    const crm::managed::ManagedCrmOptions options = managed_crm_options(settings);
    return {crm::managed::match_field_faults(options), {}, {}, crm::managed::match_order_warnings(options)};
  }
  if (settings.crm.backend == config::StoreBackend::sqlite) {
    // SQLite would create the file.
    if (!std::filesystem::exists(settings.crm.connection))
      return {{"crm.connection: no such file: " + settings.crm.connection}, {}, {}};
    if (const auto refusal = not_read_only(sql::refused_database_file(settings.crm.connection)))
      return {{"crm.connection: " + describe(*refusal)}, {}, {}};
  }
  crm::external::ExternalCrmReport report = crm::external::check_external_crm(external_crm_options(settings));
  return {std::move(report.faults), std::move(report.command_warnings), std::move(report.slow_lookups),
          std::move(report.order_warnings), std::move(report.deletion_marks)};
}

namespace {

std::vector<std::string> unusable_users(crm::Crm& crm, const config::CrmSettings& settings) {
  const std::string& owner = settings.fallback_owner;
  const auto& aliases = settings.sender_aliases;
  std::vector<std::string> faults;
  if (!owner.empty()) {
    const auto user = crm.directory().find_users_by_id(std::span(&owner, 1)).front();
    if (!user || !user->active)
      faults.push_back(fmt::format("crm.fallback_owner: {}; name the Id of an active user",
                                   user ? fmt::format("the user {} is not active in the CRM", owner)
                                        : fmt::format("the CRM has no user with the Id {}", owner)));
  }
  std::vector<std::string> keys;
  for (const auto& [alias, address] : aliases) keys.push_back(address);
  const auto users =
      keys.empty() ? std::vector<std::vector<crm::CrmUser>>() : crm.directory().find_users_by_email(keys);
  for (std::size_t i = 0; i < users.size(); ++i) {
    if (std::ranges::any_of(users[i], &crm::CrmUser::active)) continue;
    faults.push_back(
        fmt::format("crm.sender_aliases: no active user of the CRM has the address {}, which {} stands for; "
                    "correct the address, or remove the alias",
                    aliases[i].second, aliases[i].first));
  }
  return faults;
}

}  // namespace

std::vector<std::string> crm_user_faults(const config::Settings& settings) {
  const config::CrmSettings& crm = settings.crm;
  if (crm.fallback_owner.empty() && crm.sender_aliases.empty()) return {};
  try {
    return unusable_users(*make_crm(settings), crm);
  } catch (const DependencyError& fault) {
    return {fmt::format("{}: whether the CRM has these users is not known: {}; correct that, and check again",
                        crm.fallback_owner.empty() ? "crm.sender_aliases" : "crm.fallback_owner",
                        fault.what())};
  }
}

std::vector<std::string> CrmCheck::warnings() const {
  std::vector<std::string> all = command_warnings;
  all.insert(all.end(), performance_warnings.begin(), performance_warnings.end());
  all.insert(all.end(), order_warnings.begin(), order_warnings.end());
  return all;
}

std::int64_t count_invalid_transaction_ids(const config::Settings& settings) {
  return settings.crm.kind() == CrmKind::external
             ? count_invalid_transaction_ids(external_crm_options(settings))
             : 0;
}

void migrate_crm(const config::Settings& settings) {
  if (crm_capabilities(settings).has_package) crm::managed::migrate_managed_crm(store_dsn(settings.store));
}

CrmUpgradePlan crm_upgrade_plan(const config::Settings& settings) {
  if (!crm_capabilities(settings).has_package) return {};
  return crm::managed::plan_managed_crm_upgrade(store_dsn(settings.store));
}

void publish_crm_settings(const config::Settings& settings) {
  if (!crm_capabilities(settings).has_package) return;
  crm::managed::publish_crm_settings(store_dsn(settings.store), published_settings(settings));
}

std::unique_ptr<crm::RowImport> open_row_import(const config::Settings& settings, crm::ImportObject object,
                                                const std::vector<std::string>& header,
                                                crm::ImportMode mode) {
  if (!crm_capabilities(settings).imports_rows) return nullptr;
  return crm::managed::make_csv_import(store_dsn(settings.store), object, header, mode);
}

}  // namespace giftsync::wiring
