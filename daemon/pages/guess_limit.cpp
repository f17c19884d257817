#include "daemon/pages/guess_limit.h"

#include <arpa/inet.h>

namespace giftsync::daemon {

std::string network_of(const std::string& client) {
  in6_addr address{};
  if (inet_pton(AF_INET6, client.c_str(), &address) != 1) return client;
  return {reinterpret_cast<const char*>(&address), 8};
}

std::optional<std::int64_t> GuessLimit::count(const std::string& client, schema::UtcMillis now) {
  const std::lock_guard lock(mutex_);
  if (windows_.size() >= kMostAddresses) {
    std::erase_if(windows_,
                  [now](const auto& one) { return is_over(one.second.since, schema::kMinuteMillis, now); });
    // Guesses from so many addresses at a time are not stopped by counting each one's.
    if (windows_.size() >= kMostAddresses) windows_.clear();
  }
  Window& window = windows_[network_of(client)];
  if (window.guesses == 0 || is_over(window.since, schema::kMinuteMillis, now)) window = {now, 0};
  if (++window.guesses <= kMostGuesses) return std::nullopt;
  return (window.since.value + schema::kMinuteMillis - now.value + 999) / 1000;
}

}  // namespace giftsync::daemon
