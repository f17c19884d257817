// Random changes in random order, for properties that must hold for all of them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "schema/store/gift/change_log.h"

namespace giftsync::tests {

inline constexpr UtcMillis kSent{1'800'000'000'000};
inline constexpr const char* kSources[] = {"vendor", "relay", "import"};

/// Printed with every failure; GIFTSYNC_TEST_SEED repeats one.
inline unsigned seed() {
  static const unsigned chosen = [] {
    const char* given = std::getenv("GIFTSYNC_TEST_SEED");
    return given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device()();
  }();
  return chosen;
}
inline std::string seed_info(int round) {
  return "GIFTSYNC_TEST_SEED=" + std::to_string(seed()) + ", round " + std::to_string(round);
}

template <class Value>
void shuffle_with_repeats(std::vector<Value>& values, std::mt19937& random) {
  const std::size_t once = values.size();
  for (std::size_t i = 0; i < once; ++i) {
    if (random() % 2) values.push_back(values[random() % once]);
  }
  std::shuffle(values.begin(), values.end(), random);
}

/// Few different times, so that many are equal.
inline store::StatusChange random_change(std::mt19937& random, TransactionId gift = {1}) {
  store::StatusChange change;
  change.transaction = gift;
  change.source = kSources[random() % 3];
  change.status = kAllStatuses[random() % kAllStatuses.size()];
  change.occurred_at = kSent + static_cast<std::int64_t>(random() % 8);
  change.received_at = kSent + 10;
  if (change.status == Status::expired || change.status == Status::refunded)
    change.premise = kAllPremises[random() % kAllPremises.size()];
  return change;
}

}  // namespace giftsync::tests
