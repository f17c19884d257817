#include "wiring/store_preflight.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "schema/store/store.h"
#include "wiring/crm_config.h"
#include "wiring/database_config.h"

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

}  // namespace

int existing_store_version(const daemon::config::Settings& settings) {
  std::error_code ignored_error;
  const bool has_no_file = settings.store.backend == daemon::config::StoreBackend::sqlite &&
                           !std::filesystem::exists(settings.store.connection, ignored_error);
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
