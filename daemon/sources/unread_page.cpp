#include "daemon/sources/unread_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "daemon/crypto/digest.h"

namespace giftsync::daemon {
namespace {

/// So many marks of what such pages said are in the position. 32 bits each: of two taken for one, the second
/// is kept aside as well and only not counted.
constexpr std::size_t kMostUnreadMarks = 300;
constexpr std::size_t kUnreadMarkDigits = 8;

}  // namespace

bool none_is_readable(const std::vector<Judgement>& judged) {
  return !judged.empty() &&
         std::all_of(judged.begin(), judged.end(), [](const Judgement& one) { return one.unreadable; });
}

bool is_any_read(const std::vector<Judgement>& judged) {
  return std::any_of(judged.begin(), judged.end(),
                     [](const Judgement& one) { return !one.unreadable && !one.ignored; });
}

std::string why_unreadable(const std::vector<Judgement>& judged, const SourcePlan& plan,
                           const std::string& what_now) {
  const Judgement& first = judged.front();
  std::string keys;
  for (const FieldKey& one : kFieldKeys) {
    if (!first.blamed.contains(one.field)) continue;
    keys +=
        fmt::format("{}fields.{} ({})", keys.empty() ? "" : ", ", one.key, plan.settings.fields.*one.pointer);
  }
  if (!keys.empty()) keys = fmt::format("; compare it with {} in the settings", keys);
  return fmt::format("none of the {} reports on its page can be read, {}; the first one: {}{}", judged.size(),
                     what_now, first.item.aside.detail, keys);
}

std::string digest_of(const std::vector<Judgement>& judged) {
  std::string digests;
  for (const Judgement& one : judged) digests += one.item.aside.digest;
  return sha256(digests);
}

std::vector<std::string> marks_of(const std::vector<Judgement>& judged) {
  std::vector<std::string> marks;
  marks.reserve(judged.size() + 1);
  for (const Judgement& one : judged) marks.push_back(one.item.aside.digest.substr(0, kUnreadMarkDigits));
  marks.push_back(to_hex(digest_of(judged)).substr(0, kUnreadMarkDigits));
  return marks;
}

bool is_passed_before(const PollPosition& position, const std::vector<std::string>& marks) {
  const auto is_known = [&](const std::string& mark) {
    return std::find(position.unread.begin(), position.unread.end(), mark) != position.unread.end();
  };
  return is_known(marks.back()) || std::all_of(marks.begin(), marks.end() - 1, is_known);
}

void count_unread_page(PollPosition& position, const std::vector<std::string>& marks) {
  ++position.unread_pages;
  std::vector<std::string>& all = position.unread;
  all.insert(all.end(), marks.begin(), marks.end());
  if (all.size() > kMostUnreadMarks)
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(kMostUnreadMarks));
}

}  // namespace giftsync::daemon
