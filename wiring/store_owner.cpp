#include "wiring/store_owner.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <system_error>

namespace giftsync::wiring {
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

/// Of a folder of root's that others may write to: any of them can put something there before it is opened,
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

std::optional<FolderOwner> owner_to_become(const daemon::config::Settings& settings) {
  const bool has_file = settings.store.backend == daemon::config::StoreBackend::sqlite;
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
