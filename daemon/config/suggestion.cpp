#include "daemon/config/suggestion.h"

#include <algorithm>
#include <cstddef>

namespace giftsync::daemon::config {
namespace {

/// Optimal string alignment distance: Levenshtein's with swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> distances(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) distances[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) distances[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = distances[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      distances[i][j] = std::min({replaced, distances[i - 1][j] + 1, distances[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) distances[i][j] = std::min(distances[i][j], distances[i - 2][j - 2] + 1);
    }
  }
  return distances[a.size()][b.size()];
}

constexpr std::size_t kMaxWordBytes = 100;

}  // namespace

std::string suggestion_for(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > kMaxWordBytes) return {};
  std::string best;
  std::size_t min_distance = static_cast<std::size_t>(-1);
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    const std::size_t max_distance = std::max<std::size_t>(2, candidate.size() / 3);
    if (distance > max_distance || distance >= candidate.size() || distance >= min_distance) continue;
    min_distance = distance;
    best = candidate;
  }
  return best;
}

}  // namespace giftsync::daemon::config
