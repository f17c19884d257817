#include "daemon/wiring/store_preflight.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "daemon/wiring/components_config.h"
#include "daemon/wiring/crm_config.h"
#include "daemon/wiring/database_config.h"
#include "daemon/wiring/server_secret.h"
#include "platform/logging.h"
#include "platform/text.h"
#include "schema/sql/connection_check.h"
#include "schema/sql/database.h"
#include "schema/store/store.h"

namespace giftsync::wiring {
namespace {

/// The unit's StateDirectory, which systemd creates at the first start: a check may run before that.
constexpr std::string_view kStateDirectory = "/var/lib/giftsync";

std::string key_location(const config::Settings& settings, const std::string& key) {
  const auto source = settings.provenance.find(key);
  if (source == settings.provenance.end()) return fmt::format("{}: {}", settings.file, key);
  return fmt::format("{}:{}: {}", settings.file, source->second.line, key);
}

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored_error;  // a folder without read access does not count as missing
  const bool found = std::filesystem::is_directory(path, ignored_error);
  return found || ignored_error == std::errc::permission_denied;
}

std::optional<std::string> missing_directory(const config::Settings& settings, const std::string& section,
                                             const std::string& path, std::string_view expected_directory) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder == expected_directory || is_folder(folder)) return std::nullopt;
  return fmt::format("{}: {}: the folder of the {}, {}, does not exist; create it, or correct {}.connection",
                     key_location(settings, section + ".connection"), path, section, folder, section);
}

/// `expected_directory`: a folder that systemd creates before it is needed.
std::optional<std::string> missing_directory(const config::Settings& settings,
                                             std::string_view expected_directory) {
  if (settings.store.backend == config::StoreBackend::sqlite) {
    if (auto fault = missing_directory(settings, "store", settings.store.connection, expected_directory))
      return fault;
  }
  if (crm_capabilities(settings).has_own_database && settings.crm.backend == config::StoreBackend::sqlite)
    return missing_directory(settings, "crm", settings.crm.connection, expected_directory);
  return std::nullopt;
}

/// The store lies in the service's state directory, which systemd has not created yet.
bool awaits_state_directory(const config::Settings& settings) {
  return settings.store.backend == config::StoreBackend::sqlite &&
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
  if (free_bytes >= kNeededDiskBytes) return std::nullopt;
  return fmt::format("the disk of {} is full: {} KB are free", folder, free_bytes >> 10);
}

std::optional<std::uint64_t> free_disk_bytes(const std::string& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  return error ? std::nullopt : std::optional<std::uint64_t>(space.available);
}

std::optional<std::string> full_disk_clause(const config::Settings& settings) {
  if (settings.store.backend != config::StoreBackend::sqlite) return std::nullopt;
  const std::filesystem::path folder = std::filesystem::absolute(settings.store.connection).parent_path();
  const auto free = free_disk_bytes(folder);
  return free ? full_disk_clause(folder.string(), *free) : std::nullopt;
}

std::optional<std::string> mail_directory_fault(const config::Settings& settings) {
  if (settings.email.transport != config::MailTransportKind::file) return std::nullopt;
  const std::filesystem::path existing = nearest_existing(settings.email.directory);
  std::string problem = existing.string() + " is no folder; correct email.directory";
  if (is_folder(existing)) {
    const auto refusal = not_read_only(sql::refused_access(existing.string(), W_OK | X_OK));
    if (!refusal) return std::nullopt;
    problem = describe(*refusal) + ", or correct email.directory";
  }
  return fmt::format("{}: {}: mails cannot be written: {}", key_location(settings, "email.directory"),
                     settings.email.directory, problem);
}

std::vector<std::string> local_faults(const config::Settings& settings) {
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

std::vector<std::string> connection_faults(const config::Settings& settings) {
  std::vector<std::string> faults;
  const auto check = [&](const sql::Dsn& database, const std::string& key) {
    auto fault = database.dialect == sql::Dialect::postgresql ? sql::several_hosts_fault(database.connection)
                                                              : std::nullopt;
    if (!fault) fault = sql::pooling_fault(database);
    if (fault) faults.push_back(fmt::format("{}: {}", key_location(settings, key), *fault));
  };
  check(store_dsn(settings.store), "store.connection");
  if (crm_capabilities(settings).has_own_database)
    check(external_crm_options(settings).database, "crm.connection");
  return faults;
}

std::vector<std::string> server_warnings(const config::Settings& settings) {
  std::vector<std::string> warnings =
      sql::durability_warnings(*sql::Database::shared(store_dsn(settings.store)));
  for (std::string& warning : warnings)
    warning = fmt::format("{}: {}", key_location(settings, "store.connection"), warning);
  return warnings;
}

std::optional<std::string> webhook_warning(const config::Settings& settings, store::Store& store) {
  if (settings.feed.enabled) return std::nullopt;
  const auto endpoints = store.webhooks.list();
  const auto count = static_cast<std::int64_t>(std::count_if(
      endpoints.begin(), endpoints.end(),
      [](const store::WebhookEndpoint& endpoint) { return endpoint.state != WebhookState::disabled; }));
  if (count == 0) return std::nullopt;
  return fmt::format(
      "{} is false, so no new events come for {}; set it to true, or disable {} (giftsyncctl webhook list)",
      key_location(settings, "feed.enabled"), pluralize(count, "webhook"), count == 1 ? "it" : "them");
}

DatabaseFindings check_databases(const config::Settings& settings) {
  DatabaseFindings findings;
  const store::ServerCheck server_check(store_dsn(settings.store), server_file_of_daemon(settings));
  findings.faults = connection_faults(settings);
  if (!findings.faults.empty()) return findings;
  if (settings.store.backend == config::StoreBackend::postgresql)
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
  if (version == store::kStoreVersion) {
    store::Store store(store_dsn(settings.store));
    if (auto fault = server_secret_fault(settings, store)) findings.faults.push_back(std::move(*fault));
    if (auto warning = webhook_warning(settings, store)) findings.warnings.push_back(std::move(*warning));
  }
  return findings;
}

bool store_file_exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) || error == std::errc::permission_denied;
}

int existing_store_version(const config::Settings& settings) {
  const bool has_no_file =
      settings.store.backend == config::StoreBackend::sqlite && !store_file_exists(settings.store.connection);
  return has_no_file ? 0 : store::store_version(store_dsn(settings.store));
}

std::optional<FileRefusal> refused_store_file(const std::string& path) {
  return sql::refused_database_file(path);
}

std::optional<FileRefusal> not_read_only(std::optional<FileRefusal> refusal) {
  return refusal && refusal->error == EROFS ? std::nullopt : std::move(refusal);
}

std::optional<std::string> missing_directory_fault(const config::Settings& settings) {
  return missing_directory(settings, kStateDirectory);
}

std::optional<std::string> store_directory_fault(const config::Settings& settings) {
  if (auto missing = missing_directory(settings, "")) return missing;
  if (settings.store.backend != config::StoreBackend::sqlite) return std::nullopt;
  const auto refusal = not_read_only(sql::refused_database_file(settings.store.connection));
  if (!refusal) return std::nullopt;
  return fmt::format("{}: {}, or correct store.connection", key_location(settings, "store.connection"),
                     describe(*refusal));
}

namespace {

void log_upgrade(const CrmUpgradePlan& plan) {
  if (!plan.version) return;
  for (const std::string& step : plan.steps)
    log_event(LogEvent::tables_upgraded,
              fmt::format("upgrading the built-in CRM's tables to version {}", step));
}

void migrate_and_check_crm(const config::Settings& settings) {
  migrate_crm(settings);
  publish_crm_settings(settings);
  const CrmCheck check = check_crm(settings);
  for (const std::string& warning : check.warnings()) log_event(LogEvent::settings_warning, warning);
  std::string faults;
  for (const std::string& fault : check.faults) faults += (faults.empty() ? "" : "; ") + fault;
  if (!faults.empty()) throw ConfigError(settings.file + ": " + faults);
}

int checked_store_version(const config::Settings& settings) {
  try {
    return existing_store_version(settings);
  } catch (const store::IncompatibleStoreError& fault) {
    throw ConfigError(store_location(settings) + ": " + fault.what());
  }
}

}  // namespace

sql::Dsn migrate_and_check_databases(const config::Settings& settings) {
  sql::Dsn address = store_dsn(settings.store);
  if (const auto faults = connection_faults(settings); !faults.empty()) throw ConfigError(faults.front());
  if (settings.store.backend == config::StoreBackend::postgresql) {
    for (const std::string& warning : server_warnings(settings))
      log_event(LogEvent::settings_warning, warning);
  }
  const int store = checked_store_version(settings);
  if (const auto fault = store == 0 ? secret_without_store_fault(settings) : std::nullopt)
    throw ConfigError(*fault);
  const CrmUpgradePlan plan = crm_upgrade_plan(settings);
  if (const auto fault = newer_tables_fault(settings, store, plan)) throw ConfigError(*fault);
  log_upgrade(plan);
  store::migrate_store(address, [](const std::string& wait) { log_event(LogEvent::upgrade_goes_on, wait); });
  if (store == 0)
    log_event(LogEvent::store_created, fmt::format("the store is new: {}", store_location(settings)));
  migrate_and_check_crm(settings);
  return address;
}

std::string describe_sync_fault(const config::Settings& settings, const DependencyError& fault) {
  std::string description = fault.what();
  if (!fault.of_external_crm() || fault.transient()) return description;
  try {
    for (const std::string& found : check_crm(settings).faults) description += "; " + found;
  } catch (const DependencyError&) {
    // The check failed too: report the original fault.
  }
  return description;
}

namespace {

constexpr int kMaxLinks = 40;  // Linux follows no more

std::string reason_of(int error) {
  return std::generic_category().message(error);
}

FolderOwner unreadable(const std::filesystem::path& store, const std::filesystem::path& at, int error) {
  return {0, 0,
          fmt::format("{}: root does not open the store, since it cannot tell whose it is: {}: {}",
                      store.string(), at.string(), reason_of(error))};
}

/// In a folder of root's that others may write to, any of them can put something there before it is opened,
/// so root may become only a user whom the store's file already belongs to.
FolderOwner owner_in_shared_folder(const std::filesystem::path& store, const std::filesystem::path& folder) {
  struct stat found {};
  if (::lstat(store.c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid != 0)
    return {found.st_uid, found.st_gid, {}};
  return {0, 0,
          fmt::format("{}: root does not open the store, since others may write to {} and the store is not a "
                      "regular file of another user; run this as the service's user",
                      store.string(), folder.string())};
}

/// Walks to the folder as the kernel does, because the owner of a part of the way, a link in the middle
/// included, can lead the rest elsewhere at any time. Only what root alone can change may be missing.
std::optional<FolderOwner> first_other_owner(const std::filesystem::path& store) {
  const std::filesystem::path folder = store.parent_path();
  std::deque<std::filesystem::path> rest(folder.begin(), folder.end());
  std::filesystem::path at;
  bool others_write = false;  // to `at`
  for (int links = 0; !rest.empty();) {
    const std::filesystem::path part = rest.front();
    rest.pop_front();
    if (part.empty() || part == ".") continue;
    const std::filesystem::path next = part == ".." ? at.parent_path() : at / part;
    struct stat found {};
    if (::lstat(next.c_str(), &found) != 0) {
      if (errno != ENOENT) return unreadable(store, next, errno);
      return others_write ? std::optional(owner_in_shared_folder(store, at)) : std::nullopt;
    }
    if (found.st_uid != 0) return FolderOwner{found.st_uid, found.st_gid, {}};
    if (S_ISLNK(found.st_mode)) {
      std::error_code error;
      const std::filesystem::path target = std::filesystem::read_symlink(next, error);
      if (error || ++links > kMaxLinks) return unreadable(store, next, error ? error.value() : ELOOP);
      rest.insert(rest.begin(), target.begin(), target.end());
      continue;
    }
    at = next;
    // The group of root is root.
    const mode_t others = found.st_gid == 0 ? S_IWOTH : S_IWGRP | S_IWOTH;
    others_write = S_ISDIR(found.st_mode) && (found.st_mode & others) != 0;
    // In a sticky folder such as /tmp the others can add parts of the way, but not replace root's.
    if (others_write && (found.st_mode & S_ISVTX) == 0) return owner_in_shared_folder(store, at);
  }
  return others_write ? std::optional(owner_in_shared_folder(store, at)) : std::nullopt;
}

/// The user's groups; those of an unknown user are the folder's alone. Returns why not.
std::optional<std::string> take_groups_of(const FolderOwner& owner) {
  std::array<char, 16384> text{};
  passwd entry{};
  passwd* found = nullptr;
  if (const int error = ::getpwuid_r(owner.user, &entry, text.data(), text.size(), &found); error != 0)
    return reason_of(error);
  if (found == nullptr) {
    if (owner.group == 0) return "no such user is known, and the group is root's";
    if (::setgroups(1, &owner.group) != 0 || ::setgid(owner.group) != 0) return reason_of(errno);
    return std::nullopt;
  }
  if (::initgroups(entry.pw_name, entry.pw_gid) != 0 || ::setgid(entry.pw_gid) != 0) return reason_of(errno);
  return std::nullopt;
}

}  // namespace

std::optional<FolderOwner> other_owner_of_folder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path store = std::filesystem::absolute(path, error);
  return error ? unreadable(path, path, error.value()) : first_other_owner(store);
}

std::optional<FolderOwner> owner_to_become(const config::Settings& settings) {
  const bool has_file = settings.store.backend == config::StoreBackend::sqlite;
  return ::geteuid() == 0 && has_file ? other_owner_of_folder(settings.store.connection) : std::nullopt;
}

std::optional<std::string> become(const FolderOwner& owner) {
  if (!owner.refusal.empty()) return owner.refusal;
  auto fault = take_groups_of(owner);
  if (!fault && ::setuid(owner.user) != 0) fault = reason_of(errno);
  if (!fault) return std::nullopt;
  return fmt::format("root cannot become user {}, who owns the store's folder ({}); run this as that user",
                     owner.user, *fault);
}

}  // namespace giftsync::wiring
