#include "daemon/store_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace giftsync::daemon {
namespace {

std::string at_key(const Settings& settings, const std::string& key) {
  const auto origin = settings.origins.find(key);
  if (origin == settings.origins.end()) return fmt::format("{}: {}", settings.file, key);
  return fmt::format("{}:{}: {}", settings.file, origin->second.line, key);
}

bool is_folder(const std::filesystem::path& path) {
  std::error_code hidden;  // a folder that may not be looked into is not called missing
  const bool found = std::filesystem::is_directory(path, hidden);
  return found || hidden == std::errc::permission_denied;
}

}  // namespace

std::optional<std::string> missing_folder_fault(const Settings& settings) {
  const auto check = [&](const std::string& section, const std::string& path) -> std::optional<std::string> {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    if (is_folder(folder)) return std::nullopt;
    return fmt::format(
        "{}: {}: the {} cannot be there, for there is no folder {}; make it, or correct {}.connection",
        at_key(settings, section + ".connection"), path, section, folder, section);
  };
  if (settings.store.backend == StoreBackend::sqlite) {
    if (auto fault = check("store", settings.store.connection)) return fault;
  }
  if (settings.crm.is_foreign() && settings.crm.backend == StoreBackend::sqlite)
    return check("crm", settings.crm.connection);
  return std::nullopt;
}

std::optional<std::string> store_folder_fault(const Settings& settings) {
  if (auto missing = missing_folder_fault(settings)) return missing;
  if (settings.store.backend != StoreBackend::sqlite) return std::nullopt;
  const std::string& path = settings.store.connection;
  const auto refused = [&](const std::string& what, int error) {
    return fmt::format("{}: {}: {}; let the service's user write there, or correct store.connection",
                       at_key(settings, "store.connection"), what, std::generic_category().message(error));
  };
  std::error_code hidden;
  if (std::filesystem::is_directory(path, hidden)) return refused(path, EISDIR);
  if (std::filesystem::exists(path, hidden) && access(path.c_str(), R_OK | W_OK) != 0)
    return refused(path, errno);
  // SQLite makes its log beside the file.
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (access(folder.c_str(), W_OK | X_OK) != 0) return refused("the folder " + folder, errno);
  return std::nullopt;
}

}  // namespace giftsync::daemon
