// daemon/identity: how many threads may wait for identity providers, so that one that hangs stops no other
// sign-in (SIGN-14). Any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace giftsync::daemon::identity {

class ProviderPlaces {
 public:
  static constexpr int kOfOne = 4;   ///< connection
  static constexpr int kOfAll = 12;  ///< of the 16 threads for sign-ins (HTTP-48)
  /// Gives the place back at its end.
  using Place = std::unique_ptr<const std::string, std::function<void(const std::string*)>>;

  /// Null: too many wait for this connection's provider, or for all.
  Place try_take(const std::string& connection) {
    const std::lock_guard lock(mutex_);
    if (all_ == kOfAll || taken_[connection] == kOfOne) return {};
    ++all_;
    ++taken_[connection];
    return {new std::string(connection), [this](const std::string* name) {
              const std::unique_ptr<const std::string> owner(name);
              const std::lock_guard end(mutex_);
              --all_;
              --taken_[*name];
            }};
  }

 private:
  std::mutex mutex_;
  int all_ = 0;  // guarded by mutex_, as what follows
  std::map<std::string, int> taken_;
};

}  // namespace giftsync::daemon::identity
