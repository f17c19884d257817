#include "daemon/store_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace giftsync::daemon {
namespace {

/// The unit's StateDirectory, which systemd makes at the first start: a check may come before it.
constexpr std::string_view kStateFolder = "/var/lib/giftsync";

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

std::optional<std::string> no_folder(const Settings& settings, const std::string& section,
                                     const std::string& path, std::string_view to_come) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder == to_come || is_folder(folder)) return std::nullopt;
  return fmt::format(
      "{}: {}: the {} cannot be there, for there is no folder {}; make it, or correct {}.connection",
      at_key(settings, section + ".connection"), path, section, folder, section);
}

/// A disk that takes nothing just now is no fault of the settings: the store tells of it, and systemd tries
/// again.
bool may_write(const std::string& path, int how) {
  return access(path.c_str(), how) == 0 || errno == EROFS;
}

/// `to_come`: a folder that is there by the time it is needed.
std::optional<std::string> no_folder(const Settings& settings, std::string_view to_come) {
  if (settings.store.backend == StoreBackend::sqlite) {
    if (auto fault = no_folder(settings, "store", settings.store.connection, to_come)) return fault;
  }
  if (settings.crm.is_foreign() && settings.crm.backend == StoreBackend::sqlite)
    return no_folder(settings, "crm", settings.crm.connection, to_come);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> missing_folder_fault(const Settings& settings) {
  return no_folder(settings, kStateFolder);
}

std::optional<std::string> store_folder_fault(const Settings& settings) {
  if (auto missing = no_folder(settings, "")) return missing;
  if (settings.store.backend != StoreBackend::sqlite) return std::nullopt;
  const std::string& path = settings.store.connection;
  const auto refused = [&](const std::string& what, int error) {
    return fmt::format("{}: {}: {}; let the service's user write there, or correct store.connection",
                       at_key(settings, "store.connection"), what, std::generic_category().message(error));
  };
  std::error_code hidden;
  if (std::filesystem::is_directory(path, hidden)) return refused(path, EISDIR);
  if (std::filesystem::exists(path, hidden) && !may_write(path, R_OK | W_OK)) return refused(path, errno);
  // SQLite makes its log beside the file.
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!may_write(folder, W_OK | X_OK)) return refused("the folder " + folder, errno);
  return std::nullopt;
}

}  // namespace giftsync::daemon
