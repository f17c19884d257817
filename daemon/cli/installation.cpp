#include "daemon/cli/installation.h"

#include <fmt/format.h>
#include <sysexits.h>

#include <algorithm>

#include "daemon/cli/store_file.h"
#include "daemon/crm_of_settings.h"
#include "daemon/settings/read_settings.h"
#include "daemon/store_address.h"
#include "schema/sql_crm/sql_crm.h"

namespace giftsync::daemon {
namespace {

/// So that the sentence can go on.
std::string without_full_stop(std::string text) {
  while (text.ends_with(' ') || text.ends_with('.')) text.pop_back();
  return text;
}

std::string check_first(const Settings& settings, bool is_crm) {
  const StoreBackend backend = is_crm ? settings.crm.backend : settings.store.backend;
  if (backend == StoreBackend::postgresql) {
    return fmt::format("check that the server runs and that {}.connection in {} leads to it",
                       is_crm ? "crm" : "store", settings.file);
  }
  return "check the disk and whether another program holds the file";
}

Refusal refuse_older_store(const Settings& settings, int version) {
  return {EX_CONFIG,
          {fmt::format(
              "{}: the store is of version {}, and this giftsyncctl works with version {}; it is brought "
              "there by the start of this version's giftsyncd, or by \"giftsyncctl db migrate\" while no "
              "giftsyncd runs",
              store_place(settings), version, schema::kStoreVersion)}};
}

}  // namespace

int refuse(const Console& console, const Refusal& refusal) {
  for (const std::string& line : refusal.lines) console.fail(refusal.exit_code, line);
  return refusal.exit_code;
}

std::string database_failure(const Settings& settings, const schema::BrokenWorld& fault) {
  const bool is_crm = fault.of_foreign_crm();
  // It answers, and would answer the same tomorrow.
  const bool is_owners = is_crm && !fault.transient();
  return fmt::format("{}: {}; {}", is_crm ? crm_place(settings) : store_place(settings),
                     without_full_stop(fault.what()),
                     is_owners ? "whoever owns that database can mend it" : check_first(settings, is_crm));
}

std::optional<Refusal> refuse_newer_tables(const Settings& settings, int store,
                                           const schema::ManagedCrmPlan& crm) {
  if (auto fault = newer_tables_fault(settings, store, crm)) return Refusal{EX_CONFIG, {std::move(*fault)}};
  return std::nullopt;
}

Refusal refuse_faults(const Settings& settings, const std::vector<std::string>& faults) {
  Refusal refusal{EX_CONFIG, {}};
  for (const std::string& fault : faults)
    refusal.lines.push_back(fmt::format("{}: {}", settings.file, fault));
  return refusal;
}

std::optional<Refusal> refuse_unusable_crm(const Settings& settings) {
  const CrmCheck check = check_crm(settings);
  if (check.faults.empty()) return std::nullopt;
  return refuse_faults(settings, check.faults);
}

std::variant<Settings, Refusal> read_installation_settings(const std::string& path) {
  auto read = read_settings(path);
  if (auto* faults = std::get_if<SettingsFaults>(&read)) return Refusal{EX_CONFIG, std::move(faults->lines)};
  return std::move(std::get<Settings>(read));
}

std::variant<std::unique_ptr<Installation>, Refusal> open_installation(Settings settings,
                                                                       const Console& console,
                                                                       OlderStore older) {
  if (settings.store.backend == StoreBackend::sqlite) {
    if (auto refusal = prepare_store_file(settings.store.connection)) return std::move(*refusal);
  }
  const schema::DatabaseAddress address = store_address(settings.store);
  const int version = schema::store_version(address);
  const auto crm_plan =
      settings.crm.is_foreign() ? schema::ManagedCrmPlan() : schema::plan_managed_crm(address);
  if (auto refusal = refuse_newer_tables(settings, version, crm_plan)) return std::move(*refusal);
  const bool is_older = version > 0 && version < schema::kStoreVersion;
  if (is_older && older == OlderStore::refuse) return refuse_older_store(settings, version);
  if (version < schema::kStoreVersion) schema::migrate_store(address);
  migrate_crm(settings);
  if (version == 0) console.note(fmt::format("The store is new: {}", store_place(settings)));
  std::unique_ptr<schema::Crm> crm = make_crm(settings);
  return std::unique_ptr<Installation>(
      new Installation{std::move(settings), schema::Store(address), std::move(crm)});
}

}  // namespace giftsync::daemon
