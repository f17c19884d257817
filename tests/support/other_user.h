// tests: this process as a user without rights, so that refusals of files can be seen when tests run as root.
#pragma once

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace giftsync::tests {

/// As long as it exists, root has no rights; another user stays as it is.
class OtherUser {
 public:
  OtherUser() {
    if (is_root_ && ::seteuid(kWithoutRights) != 0) throw std::runtime_error("cannot become another user");
  }
  ~OtherUser() {
    if (is_root_ && ::seteuid(0) != 0) std::terminate();
  }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;

 private:
  static constexpr uid_t kWithoutRights = 65'534;
  const bool is_root_ = ::geteuid() == 0;
};

/// A temporary folder in which every user may write, until a test changes that.
class OpenFolder {
 public:
  OpenFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "giftsync-open-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
    allow("", 0777);
  }
  ~OpenFolder() {
    allow("", 0777);
    std::error_code ignored_error;
    std::filesystem::remove_all(path_, ignored_error);
  }
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;

  /// Of the folder itself with an empty name.
  std::string path(const std::string& name = "") const { return name.empty() ? path_ : path_ + "/" + name; }
  void allow(const std::string& name, mode_t mode) const {
    if (::chmod(path(name).c_str(), mode) != 0) throw std::runtime_error("no such file: " + path(name));
  }

 private:
  std::string path_;
};

}  // namespace giftsync::tests
