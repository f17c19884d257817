// daemon/pages: slows down who guesses links (design 3.5). Only links that are not known count, by the
// address that they come from; whoever has a good link is served whatever others do behind the same address.
// Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "schema/time.h"

namespace giftsync::daemon {

/// Whom to count a client's address for. Who has one IPv6 address usually has 2^64 of them: they are one.
std::string network_of(const std::string& client);

class GuessLimit {
 public:
  static constexpr std::int64_t kMostGuesses = 20;  ///< of one address in a minute
  static constexpr std::size_t kMostAddresses = 10'000;

  /// Counts one guess. Nothing while there are few; then the seconds after which to try again.
  std::optional<std::int64_t> count(const std::string& client, schema::UtcMillis now);

 private:
  struct Window {
    schema::UtcMillis since;
    std::int64_t guesses = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Window> windows_;  // guarded by mutex_
};

}  // namespace giftsync::daemon
