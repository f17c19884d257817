// daemon/http: the memory that the bodies of requests may take together, and those of one client (HTTP-50).
// Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "platform/ip_address.h"

namespace giftsync::daemon::http {

class BodyBudget {
 public:
  static constexpr std::size_t kDefaultBytes = 32 * 1024 * 1024;
  /// Bodies up to this size do not count: a crowd of large bodies holds up no ordinary request.
  static constexpr std::size_t kFreeBytes = 16 * 1024;
  /// Beyond it the memory is given back to the system once all bodies have been handled.
  static constexpr std::size_t kCrowdBytes = 4 * 1024 * 1024;
  /// A client may take this part of the whole: a credential's form shows no valid one, and bodies may be
  /// announced and never sent.
  static constexpr std::size_t kClientsAtLeast = 4;
  /// Its rate_limit_prefix(); nullopt: many clients, without a limit of their own.
  using Client = std::optional<platform::IpAddress>;

  explicit BodyBudget(std::size_t max_bytes = kDefaultBytes) : max_bytes_(max_bytes) {}

  /// False: others, or the client's other bodies, use too much of it. Anything may be taken while nothing is
  /// used.
  [[nodiscard]] bool try_take(const Client& client, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!fits(used_, bytes, max_bytes_)) return false;
    if (client) {
      const auto used = used_by_.find(client->octets);
      if (used != used_by_.end() && !fits(used->second, bytes, max_bytes_ / kClientsAtLeast)) return false;
      used_by_[client->octets] += bytes;
    }
    used_ += bytes;
    if (used_ > kCrowdBytes) crowded_ = true;
    return true;
  }
  /// True: a crowd is over.
  [[nodiscard]] bool give_back(const Client& client, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (client) {
      const auto used = used_by_.find(client->octets);
      if ((used->second -= bytes) == 0) used_by_.erase(used);
    }
    used_ -= bytes;
    return used_ == 0 && std::exchange(crowded_, false);
  }

 private:
  static bool fits(std::size_t used, std::size_t bytes, std::size_t max_bytes) {
    return used == 0 || (used < max_bytes && bytes <= max_bytes - used);
  }

  const std::size_t max_bytes_;
  std::mutex mutex_;
  std::size_t used_ = 0;  // guarded by mutex_, like all that follow
  std::map<std::array<std::uint8_t, 16>, std::size_t> used_by_;
  bool crowded_ = false;
};

}  // namespace giftsync::daemon::http
