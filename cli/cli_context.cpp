#include "cli/cli_context.h"

#include <fmt/format.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/store_path_checks.h"
#include "daemon/config/read_settings.h"
#include "platform/unreachable_error.h"
#include "schema/store/server_check.h"
#include "wiring/crm_config.h"
#include "wiring/database_config.h"
#include "wiring/server_secret_config.h"
#include "wiring/store_preflight.h"

namespace giftsync::cli {
namespace {

/// More text follows.
std::string without_full_stop(std::string text) {
  while (text.ends_with(' ') || text.ends_with('.')) text.pop_back();
  return text;
}

/// With peer authentication the server takes the user of the operating system for its role.
bool is_root_refused(const platform::DependencyError& fault) {
  return ::geteuid() == 0 && std::string_view(fault.what()).find("\"root\"") != std::string_view::npos;
}

std::string check_first(const daemon::config::Settings& settings, const platform::DependencyError& fault,
                        bool is_crm) {
  const daemon::config::StoreBackend backend = is_crm ? settings.crm.backend : settings.store.backend;
  if (backend == daemon::config::StoreBackend::postgresql) {
    if (is_root_refused(fault))
      return fmt::format(
          "the server knows no root; run it as the service's user: runuser -u giftsync -- {}...",
          program_with(settings));
    return fmt::format("check that the server runs and that {}.connection in {} leads to it",
                       is_crm ? "crm" : "store", settings.file);
  }
  const auto full = is_crm ? std::nullopt : wiring::full_disk_clause(settings);
  return full ? *full + "; free some space there"
              : "check the disk and whether another program holds the file";
}

std::string remote_crm_failure(const daemon::config::Settings& settings,
                               const platform::DependencyError& fault) {
  const std::string location = wiring::crm_location(settings);
  if (dynamic_cast<const platform::UnreachableError*>(&fault) == nullptr)
    return fmt::format("{}: {}", location, fault.what());
  return fmt::format("{}: {}; check the network, and that {} in {} leads to the org", location,
                     without_full_stop(fault.what()), wiring::crm_address_key(settings), settings.file);
}

std::optional<Refusal> refuse_to_create(const daemon::config::Settings& settings, StoreAccess access) {
  if (auto fault = wiring::secret_without_store_fault(settings))
    return Refusal{access == StoreAccess::existing ? EX_NOINPUT : EX_CONFIG, {std::move(*fault)}};
  if (access == StoreAccess::existing)
    return Refusal{
        EX_NOINPUT,
        {fmt::format("{}: there is no store; correct store.connection in {}, or make a store: start "
                     "giftsyncd, or run \"giftsyncctl db migrate\"",
                     wiring::store_location(settings), settings.file)}};
  return std::nullopt;
}

}  // namespace

int refuse(const Console& console, const Refusal& refusal) {
  for (const std::string& line : refusal.lines) console.fail(refusal.exit_code, line);
  return refusal.exit_code;
}

std::string database_failure(const daemon::config::Settings& settings,
                             const platform::DependencyError& fault) {
  const bool is_crm = fault.of_external_crm();
  if (is_crm && wiring::crm_capabilities(settings).is_remote) return remote_crm_failure(settings, fault);
  // A retry would fail in the same way.
  const bool is_owners = is_crm && !fault.transient();
  return fmt::format("{}: {}; {}", is_crm ? wiring::crm_location(settings) : wiring::store_location(settings),
                     without_full_stop(fault.what()),
                     is_owners ? "its owner has to correct it" : check_first(settings, fault, is_crm));
}

std::optional<Refusal> refuse_newer_tables(const daemon::config::Settings& settings, int store,
                                           const wiring::CrmUpgradePlan& crm) {
  if (auto fault = wiring::newer_tables_fault(settings, store, crm))
    return Refusal{EX_CONFIG, {std::move(*fault)}};
  return std::nullopt;
}

std::optional<Refusal> refuse_older_store(const daemon::config::Settings& settings, StoreAccess access,
                                          int version, int supported) {
  if (version == 0 || version >= supported || access == StoreAccess::create_or_upgrade) return std::nullopt;
  return Refusal{
      EX_CONFIG,
      {fmt::format(
          "{}: the store is of version {}, and this giftsyncctl works with version {}; start this version's "
          "giftsyncd to upgrade it, or run \"giftsyncctl db migrate\" while no giftsyncd runs",
          wiring::store_location(settings), version, supported)}};
}

Refusal refuse_faults(const daemon::config::Settings& settings, const std::vector<std::string>& faults) {
  Refusal refusal{EX_CONFIG, {}};
  for (const std::string& fault : faults)
    refusal.lines.push_back(fmt::format("{}: {}", settings.file, fault));
  return refusal;
}

std::optional<Refusal> refuse_unusable_crm(const daemon::config::Settings& settings) {
  const wiring::CrmCheck check = wiring::check_crm(settings);
  if (check.faults.empty()) return std::nullopt;
  return refuse_faults(settings, check.faults);
}

tl::expected<daemon::config::Settings, Refusal> read_cli_settings(const std::string& path) {
  auto read = daemon::config::read_settings(path);
  if (!read) return tl::unexpected(Refusal{EX_CONFIG, std::move(read.error().lines)});
  return std::move(*read);
}

tl::expected<std::unique_ptr<CliContext>, Refusal> open_cli_context(daemon::config::Settings settings,
                                                                    const Console& console,
                                                                    StoreAccess access) {
  if (settings.store.backend == daemon::config::StoreBackend::sqlite) {
    const bool exists = wiring::store_file_exists(settings.store.connection);
    if (auto refusal = exists ? std::nullopt : refuse_to_create(settings, access))
      return tl::unexpected(*refusal);
    if (auto refusal = prepare_store_file(settings.store.connection)) return tl::unexpected(*refusal);
  }
  const schema::sql::Dsn address = wiring::store_dsn(settings.store);
  const schema::store::ServerCheck server_check(address, wiring::server_file_of_daemon(settings));
  const int version = schema::store::store_version(address);
  if (auto refusal = version > 0 ? std::nullopt : refuse_to_create(settings, access))
    return tl::unexpected(*refusal);
  if (auto refusal = refuse_newer_tables(settings, version, wiring::crm_upgrade_plan(settings)))
    return tl::unexpected(*refusal);
  if (auto refusal = refuse_older_store(settings, access, version)) return tl::unexpected(*refusal);
  if (version < schema::store::kStoreVersion) schema::store::migrate_store(address);
  wiring::migrate_crm(settings);
  if (version == 0) console.info(fmt::format("The store is new: {}", wiring::store_location(settings)));
  auto crm_calls = std::make_shared<platform::CallDeadline>();
  std::unique_ptr<schema::crm::Crm> crm = wiring::make_crm(settings, wiring::LookupDuration::unlimited,
                                                           [crm_calls] { return crm_calls->may_continue(); });
  return std::unique_ptr<CliContext>(new CliContext{std::move(settings), schema::store::Store(address),
                                                    std::move(crm_calls), std::move(crm)});
}

tl::expected<std::unique_ptr<schema::store::Store>, Refusal> open_store_alone(
    const daemon::config::Settings& settings) {
  constexpr StoreAccess kAccess = StoreAccess::existing;
  const bool is_file = settings.store.backend == daemon::config::StoreBackend::sqlite;
  if (is_file && !wiring::store_file_exists(settings.store.connection))
    return tl::unexpected(*refuse_to_create(settings, kAccess));
  if (auto refusal = is_file ? prepare_store_file(settings.store.connection) : std::nullopt)
    return tl::unexpected(*refusal);
  const schema::sql::Dsn address = wiring::store_dsn(settings.store);
  const schema::store::ServerCheck server_check(address, wiring::server_file_of_daemon(settings));
  const int version = schema::store::store_version(address);
  if (version == 0) return tl::unexpected(*refuse_to_create(settings, kAccess));
  if (auto refusal = refuse_newer_tables(settings, version, {})) return tl::unexpected(*refusal);
  if (auto refusal = refuse_older_store(settings, kAccess, version)) return tl::unexpected(*refusal);
  return std::make_unique<schema::store::Store>(address);
}

}  // namespace giftsync::cli
