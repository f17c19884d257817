#include "wiring/store_preflight.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "schema/sql/database.h"
#include "schema/sql/dsn_check.h"
#include "schema/sql/pooler_probe.h"
#include "schema/store/store.h"
#include "wiring/components_config.h"
#include "wiring/crm_config.h"
#include "wiring/database_config.h"
#include "wiring/server_secret_config.h"

namespace giftsync::wiring {
namespace {

/// The unit's StateDirectory, which systemd creates at the first start: a check may run before that.
constexpr std::string_view kStateDirectory = "/var/lib/giftsync";

std::string key_location(const daemon::config::Settings& settings, const std::string& key) {
  const auto source = settings.provenance.find(key);
  if (source == settings.provenance.end()) return fmt::format("{}: {}", settings.file, key);
  return fmt::format("{}:{}: {}", settings.file, source->second.line, key);
}

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored_error;  // a folder without read access does not count as missing
  const bool found = std::filesystem::is_directory(path, ignored_error);
  return found || ignored_error == std::errc::permission_denied;
}

std::optional<std::string> missing_directory(const daemon::config::Settings& settings,
                                             const std::string& section, const std::string& path,
                                             std::string_view expected_directory) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder == expected_directory || is_folder(folder)) return std::nullopt;
  return fmt::format("{}: {}: the folder of the {}, {}, does not exist; create it, or correct {}.connection",
                     key_location(settings, section + ".connection"), path, section, folder, section);
}

/// `expected_directory`: a folder that systemd creates before it is needed.
std::optional<std::string> missing_directory(const daemon::config::Settings& settings,
                                             std::string_view expected_directory) {
  if (settings.store.backend == daemon::config::StoreBackend::sqlite) {
    if (auto fault = missing_directory(settings, "store", settings.store.connection, expected_directory))
      return fault;
  }
  if (crm_capabilities(settings).has_own_database &&
      settings.crm.backend == daemon::config::StoreBackend::sqlite)
    return missing_directory(settings, "crm", settings.crm.connection, expected_directory);
  return std::nullopt;
}

/// The store lies in the service's state directory, which systemd has not created yet.
bool awaits_state_directory(const daemon::config::Settings& settings) {
  return settings.store.backend == daemon::config::StoreBackend::sqlite &&
         std::filesystem::path(settings.store.connection).parent_path() == kStateDirectory &&
         !is_folder(std::filesystem::path(kStateDirectory));
}

/// `path` itself or the folder that a program would create it in.
std::filesystem::path nearest_existing(std::filesystem::path path) {
  std::error_code ignored_error;
  while (path.has_relative_path() && !std::filesystem::exists(path, ignored_error)) path = path.parent_path();
  return path;
}

}  // namespace

std::optional<std::string> full_disk_clause(const std::string& folder, std::uint64_t free_bytes) {
  constexpr std::uint64_t kNeeded = std::uint64_t{16} << 20;
  if (free_bytes >= kNeeded) return std::nullopt;
  return fmt::format("the disk of {} is full: {} KB are free", folder, free_bytes >> 10);
}

std::optional<std::string> full_disk_clause(const daemon::config::Settings& settings) {
  if (settings.store.backend != daemon::config::StoreBackend::sqlite) return std::nullopt;
  const std::filesystem::path folder = std::filesystem::absolute(settings.store.connection).parent_path();
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  return error ? std::nullopt : full_disk_clause(folder.string(), space.available);
}

std::optional<std::string> mail_directory_fault(const daemon::config::Settings& settings) {
  if (settings.email.transport != daemon::config::MailTransportKind::file) return std::nullopt;
  const std::filesystem::path existing = nearest_existing(settings.email.directory);
  std::string problem = std::generic_category().message(ENOTDIR);
  if (is_folder(existing)) {
    if (may_write(existing.string(), W_OK | X_OK)) return std::nullopt;
    problem = std::generic_category().message(errno);
  }
  return fmt::format(
      "{}: {}: mails cannot be written: {}: {}; let the service's user write there, or correct "
      "email.directory",
      key_location(settings, "email.directory"), settings.email.directory, existing.string(), problem);
}

std::vector<std::string> local_faults(const daemon::config::Settings& settings) {
  std::vector<std::string> faults;
  if (auto missing = missing_directory_fault(settings)) {
    faults.push_back(std::move(*missing));
  } else if (!awaits_state_directory(settings)) {
    if (auto store = store_directory_fault(settings)) faults.push_back(std::move(*store));
  }
  if (auto mail = mail_directory_fault(settings)) faults.push_back(std::move(*mail));
  if (auto relay = relay_fault(settings)) faults.push_back(std::move(*relay));
  return faults;
}

std::vector<std::string> connection_faults(const daemon::config::Settings& settings) {
  std::vector<std::string> faults;
  const auto check = [&](const schema::sql::Dsn& database, const std::string& key) {
    auto fault = database.dialect == schema::sql::Dialect::postgresql
                     ? schema::sql::several_hosts_fault(database.connection)
                     : std::nullopt;
    if (!fault) fault = schema::sql::pooling_fault(database);
    if (fault) faults.push_back(fmt::format("{}: {}", key_location(settings, key), *fault));
  };
  check(store_dsn(settings.store), "store.connection");
  if (crm_capabilities(settings).has_own_database)
    check(external_crm_options(settings).database, "crm.connection");
  return faults;
}

std::vector<std::string> server_warnings(const daemon::config::Settings& settings) {
  std::vector<std::string> warnings =
      schema::sql::durability_warnings(*schema::sql::Database::shared(store_dsn(settings.store)));
  for (std::string& one : warnings)
    one = fmt::format("{}: {}", key_location(settings, "store.connection"), one);
  return warnings;
}

DatabaseFindings check_databases(const daemon::config::Settings& settings) {
  DatabaseFindings findings;
  const schema::store::ServerCheck server_check(store_dsn(settings.store), server_file_of_daemon(settings));
  findings.faults = connection_faults(settings);
  if (!findings.faults.empty()) return findings;
  if (settings.store.backend == daemon::config::StoreBackend::postgresql)
    findings.warnings = server_warnings(settings);
  const int version = existing_store_version(settings);
  if (version == 0) {
    if (auto fault = secret_without_store_fault(settings)) findings.faults.push_back(std::move(*fault));
  }
  if (crm_capabilities(settings).is_remote)
    findings.unchecked.emplace_back(
        "the org of Salesforce was not called, since giftsyncd starts without it; \"giftsyncctl crm check\" "
        "examines it");
  const bool is_in_store = crm_capabilities(settings).has_package;
  if (is_in_store && version == 0) {
    findings.unchecked.emplace_back("there is no store yet, so the CRM's fields were not checked");
    return findings;
  }
  const CrmUpgradePlan plan = is_in_store ? crm_upgrade_plan(settings) : CrmUpgradePlan{};
  if (auto fault = newer_tables_fault(settings, version, plan)) {
    findings.faults.push_back(std::move(*fault));
  } else if (!plan.steps.empty()) {
    findings.unchecked.emplace_back(
        "the start upgrades the CRM's tables first, so the CRM's fields were not checked");
  } else {
    for (const std::string& found : check_crm(settings).faults)
      findings.faults.push_back(settings.file + ": " + found);
  }
  if (version == schema::store::kStoreVersion) {
    schema::store::Store store(store_dsn(settings.store));
    if (auto fault = server_secret_fault(settings, store)) findings.faults.push_back(std::move(*fault));
  }
  return findings;
}

bool store_file_exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) || error == std::errc::permission_denied;
}

int existing_store_version(const daemon::config::Settings& settings) {
  const bool has_no_file = settings.store.backend == daemon::config::StoreBackend::sqlite &&
                           !store_file_exists(settings.store.connection);
  return has_no_file ? 0 : schema::store::store_version(store_dsn(settings.store));
}

bool may_write(const std::string& path, int mode) {
  return access(path.c_str(), mode) == 0 || errno == EROFS;
}

std::optional<std::string> missing_directory_fault(const daemon::config::Settings& settings) {
  return missing_directory(settings, kStateDirectory);
}

std::optional<std::string> store_directory_fault(const daemon::config::Settings& settings) {
  if (auto missing = missing_directory(settings, "")) return missing;
  if (settings.store.backend != daemon::config::StoreBackend::sqlite) return std::nullopt;
  const std::string& path = settings.store.connection;
  const auto refused = [&](const std::string& what, int error) {
    return fmt::format("{}: {}: {}; let the service's user write there, or correct store.connection",
                       key_location(settings, "store.connection"), what,
                       std::generic_category().message(error));
  };
  std::error_code ignored_error;
  if (std::filesystem::is_directory(path, ignored_error)) return refused(path, EISDIR);
  if (std::filesystem::exists(path, ignored_error) && !may_write(path, R_OK | W_OK))
    return refused(path, errno);
  // SQLite creates its log beside the file.
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!may_write(folder, W_OK | X_OK)) return refused("the folder " + folder, errno);
  return std::nullopt;
}

}  // namespace giftsync::wiring
