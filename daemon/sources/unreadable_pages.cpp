#include "daemon/sources/unreadable_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "platform/digest.h"

namespace giftsync::daemon::sources {
namespace {

/// Fingerprints of unreadable events kept in the cursor. 32 bits each: of two with the same one the second is
/// still quarantined, only not counted.
constexpr std::size_t kMaxUnreadableFingerprints = 300;
constexpr std::size_t kUnreadableFingerprintDigits = 8;

}  // namespace

bool are_all_unreadable(const std::vector<sync::ClassifiedEvent>& classified) {
  return !classified.empty() && std::all_of(classified.begin(), classified.end(),
                                            [](const sync::ClassifiedEvent& one) { return one.unreadable; });
}

bool is_any_readable(const std::vector<sync::ClassifiedEvent>& classified) {
  return std::any_of(classified.begin(), classified.end(),
                     [](const sync::ClassifiedEvent& one) { return !one.unreadable && !one.ignored; });
}

std::string describe_unreadable(const std::vector<sync::ClassifiedEvent>& classified,
                                const CompiledSource& source, const std::string& action) {
  const sync::ClassifiedEvent& first = classified.front();
  std::string keys;
  for (const sync::EventField field : first.faulty_fields)
    keys += fmt::format("{}fields.{} ({})", keys.empty() ? "" : ", ", key_of(field),
                        pointer_of(source.settings.fields, field));
  if (!keys.empty()) keys = fmt::format("; compare it with {} in the settings", keys);
  return fmt::format("none of the {} events on its page can be read, {}; the first one: {}{}",
                     classified.size(), action, first.item.event.detail, keys);
}

std::string page_digest(const std::vector<sync::ClassifiedEvent>& classified) {
  std::string digests;
  for (const sync::ClassifiedEvent& one : classified) digests += one.item.event.digest;
  return platform::sha256(digests);
}

std::vector<std::string> event_fingerprints(const std::vector<sync::ClassifiedEvent>& classified) {
  std::vector<std::string> fingerprints;
  fingerprints.reserve(classified.size() + 1);
  for (const sync::ClassifiedEvent& one : classified)
    fingerprints.push_back(one.item.event.digest.substr(0, kUnreadableFingerprintDigits));
  fingerprints.push_back(platform::to_hex(page_digest(classified)).substr(0, kUnreadableFingerprintDigits));
  return fingerprints;
}

bool is_known_unreadable(const PollCursor& cursor_state, const std::vector<std::string>& fingerprints) {
  const auto is_known = [&](const std::string& fingerprint) {
    return std::find(cursor_state.unreadable_fingerprints.begin(), cursor_state.unreadable_fingerprints.end(),
                     fingerprint) != cursor_state.unreadable_fingerprints.end();
  };
  return is_known(fingerprints.back()) || std::all_of(fingerprints.begin(), fingerprints.end() - 1, is_known);
}

void record_unreadable_page(PollCursor& cursor_state, const std::vector<std::string>& fingerprints) {
  ++cursor_state.consecutive_unreadable_pages;
  std::vector<std::string>& all = cursor_state.unreadable_fingerprints;
  all.insert(all.end(), fingerprints.begin(), fingerprints.end());
  if (all.size() > kMaxUnreadableFingerprints)
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(kMaxUnreadableFingerprints));
}

}  // namespace giftsync::daemon::sources
