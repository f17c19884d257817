#include "cli/os_user.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>

namespace giftsync::cli {

namespace {

std::string current_os_user() {
  const uid_t uid = ::getuid();
  std::array<char, 4096> text{};
  passwd entry{};
  passwd* found = nullptr;
  const bool named = ::getpwuid_r(uid, &entry, text.data(), text.size(), &found) == 0 && found != nullptr;
  std::string name = named ? std::string(entry.pw_name) : "uid " + std::to_string(uid);
  const char* sudo = std::getenv("SUDO_USER");
  if (uid == 0 && sudo != nullptr && *sudo != '\0') name += std::string(" (sudo: ") + sudo + ")";
  return name;
}

std::optional<std::string>& remembered_os_user() {
  static std::optional<std::string> name;
  return name;
}

}  // namespace

std::string os_user() {
  return remembered_os_user().value_or(current_os_user());
}

void remember_os_user() {
  remembered_os_user() = current_os_user();
}

}  // namespace giftsync::cli
