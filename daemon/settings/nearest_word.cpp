#include "daemon/settings/nearest_word.h"

#include <algorithm>
#include <cstddef>

namespace giftsync::daemon {
namespace {

/// Optimal string alignment distance: Levenshtein's with swaps of neighbours.
std::size_t changes_between(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> changes(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) changes[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) changes[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = changes[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      changes[i][j] = std::min({replaced, changes[i - 1][j] + 1, changes[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) changes[i][j] = std::min(changes[i][j], changes[i - 2][j - 2] + 1);
    }
  }
  return changes[a.size()][b.size()];
}

constexpr std::size_t kMaxWordBytes = 100;

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > kMaxWordBytes) return {};
  std::string nearest;
  std::size_t fewest = static_cast<std::size_t>(-1);
  for (const std::string& candidate : known) {
    const std::size_t changes = changes_between(word, candidate);
    const std::size_t bearable = std::max<std::size_t>(2, candidate.size() / 3);
    if (changes > bearable || changes >= candidate.size() || changes >= fewest) continue;
    fewest = changes;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace giftsync::daemon
