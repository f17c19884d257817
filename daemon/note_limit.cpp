#include "daemon/note_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace giftsync::daemon {
namespace {

constexpr std::size_t kMostKinds = 1'000;
constexpr std::size_t kMostKindBytes = 300;

bool names_something(char c) {
  return (c >= '0' && c <= '9') || c == '@';
}

/// Notes are of one kind when they differ only in numbers, ids and addresses: "gift *: its record was
/// deleted".
std::string kind_of(const std::string& note) {
  std::string kind;
  std::size_t at = 0;
  while (at < note.size() && kind.size() < kMostKindBytes) {
    const std::size_t end = std::min(note.find(' ', at), note.size());
    const std::string_view word = std::string_view(note).substr(at, end - at);
    kind.append(std::any_of(word.begin(), word.end(), names_something) ? "*" : word).append(" ");
    at = end + 1;
  }
  return kind;
}

}  // namespace

std::vector<std::string> NoteLimit::lines(const std::vector<std::string>& notes, schema::UtcMillis now) {
  std::vector<std::string> lines;
  for (auto one = kinds_.begin(); one != kinds_.end();) {
    const Kind& kind = one->second;
    const bool is_past = is_over(kind.begun, schema::kHourMillis, now);
    if (is_past && kind.untold > 0)
      lines.push_back(
          fmt::format("{} more of the kind in an hour, the last one: {}", kind.untold, kind.last));
    one = is_past ? kinds_.erase(one) : std::next(one);
  }
  for (const std::string& note : notes) {
    std::string name = kind_of(note);
    if (kinds_.size() >= kMostKinds && !kinds_.contains(name)) name.clear();  // one kind for all that is left
    const auto [at, is_new] = kinds_.try_emplace(std::move(name));
    Kind& kind = at->second;
    if (is_new) kind.begun = now;
    if (kind.told == kMostOfKind) {
      ++kind.untold;
      kind.last = note;
      continue;
    }
    ++kind.told;
    lines.push_back(kind.told < kMostOfKind ? note
                                            : note + " (more of the kind are only counted for an hour)");
  }
  return lines;
}

}  // namespace giftsync::daemon
