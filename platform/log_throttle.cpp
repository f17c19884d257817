#include "platform/log_throttle.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace giftsync::platform {
namespace {

constexpr std::size_t kMaxKinds = 1'000;
constexpr std::size_t kMaxKindBytes = 300;

bool is_variable_part(char c) {
  return (c >= '0' && c <= '9') || c == '@';
}

/// Messages are of one kind when they differ only in numbers, ids and addresses: "gift *: its record was
/// deleted".
std::string message_kind(const std::string& message) {
  std::string kind;
  std::size_t at = 0;
  while (at < message.size() && kind.size() < kMaxKindBytes) {
    const std::size_t end = std::min(message.find(' ', at), message.size());
    const std::string_view word = std::string_view(message).substr(at, end - at);
    kind.append(std::any_of(word.begin(), word.end(), is_variable_part) ? "*" : word).append(" ");
    at = end + 1;
  }
  return kind;
}

}  // namespace

bool SuppressionWindow::admit(const std::string& line, std::size_t limit) {
  if (logged < limit) {
    ++logged;
    return true;
  }
  ++suppressed;
  last_suppressed = line;
  return false;
}

std::vector<std::string> LogThrottle::lines_to_log(const std::vector<std::string>& messages, UtcMillis now) {
  std::vector<std::string> lines;
  for (auto one = kinds_.begin(); one != kinds_.end();) {
    const SuppressionWindow& kind = one->second;
    const bool is_past = has_elapsed(kind.since, kHourMillis, now);
    if (is_past && kind.suppressed > 0)
      lines.push_back(fmt::format("{} similar messages suppressed within an hour, the last one: {}",
                                  kind.suppressed, kind.last_suppressed));
    one = is_past ? kinds_.erase(one) : std::next(one);
  }
  for (const std::string& message : messages) {
    std::string name = message_kind(message);
    if (kinds_.size() >= kMaxKinds && !kinds_.contains(name)) name.clear();  // one kind for all the rest
    const auto [at, is_new] = kinds_.try_emplace(std::move(name));
    SuppressionWindow& kind = at->second;
    if (is_new) kind.since = now;
    if (!kind.admit(message, kMaxLinesPerKind)) continue;
    lines.push_back(kind.logged < kMaxLinesPerKind ? message
                                                   : message + " (similar messages suppressed for 1 h)");
  }
  return lines;
}

}  // namespace giftsync::platform
