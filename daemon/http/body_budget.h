// daemon/http: the memory that the bodies of requests may take together, those of one client, and those of
// requests that need no credential, which have a part of their own: anyone may announce them (HTTP-50). Any
// thread.
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
  /// Requests without a credential have this part beside the whole, and take nothing of it.
  static constexpr std::size_t kOpenPart = 8;
  /// Its rate_limit_prefix(); nullopt: many clients, without a limit of their own.
  using Client = std::optional<platform::IpAddress>;

  /// What a body is taken from, and given back to.
  struct Account {
    Client client;
    bool has_credential = true;  ///< its request has one of the right form
  };

  explicit BodyBudget(std::size_t max_bytes = kDefaultBytes)
      : parts_{Part{max_bytes / kOpenPart}, Part{max_bytes}} {}

  /// False: others, or the client's other bodies, use too much of it. Anything may be taken while nothing is
  /// used.
  [[nodiscard]] bool try_take(const Account& account, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    Part& part = parts_[account.has_credential];
    if (!fits(part.used, bytes, part.max_bytes)) return false;
    if (account.client) {
      const auto used = part.used_by.find(account.client->octets);
      if (used != part.used_by.end() && !fits(used->second, bytes, part.max_bytes / kClientsAtLeast))
        return false;
      part.used_by[account.client->octets] += bytes;
    }
    part.used += bytes;
    if (used() > kCrowdBytes) crowded_ = true;
    return true;
  }
  /// True: a crowd is over.
  [[nodiscard]] bool give_back(const Account& account, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    Part& part = parts_[account.has_credential];
    if (account.client) {
      const auto used = part.used_by.find(account.client->octets);
      if ((used->second -= bytes) == 0) part.used_by.erase(used);
    }
    part.used -= bytes;
    return used() == 0 && std::exchange(crowded_, false);
  }

 private:
  struct Part {
    std::size_t max_bytes;
    std::size_t used = 0;
    std::map<std::array<std::uint8_t, 16>, std::size_t> used_by = {};
  };
  static bool fits(std::size_t used, std::size_t bytes, std::size_t max_bytes) {
    return used == 0 || (used < max_bytes && bytes <= max_bytes - used);
  }
  std::size_t used() const { return parts_[false].used + parts_[true].used; }

  std::mutex mutex_;
  std::array<Part, 2> parts_;  // guarded by mutex_, like all that follow; by has_credential
  bool crowded_ = false;
};

}  // namespace giftsync::daemon::http
