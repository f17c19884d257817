#include "sync/lifecycle_terms.h"

#include "platform/text.h"

namespace giftsync::sync {
namespace {

std::optional<std::int64_t> parse_number(std::string_view text) {
  const auto number = platform::parse_number<std::int64_t>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

/// Returns the part before `separator` and removes both from `rest`.
std::string_view split_off(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

bool parse_days(std::string_view text, std::vector<std::int64_t>& days) {
  while (!text.empty()) {
    const auto day = parse_number(split_off(text, ','));
    if (!day) return false;
    days.push_back(*day);
  }
  return true;
}

bool parse_term(std::string_view name, std::string_view value, LifecycleTerms& terms) {
  if (name == "remind") return parse_days(value, terms.reminder_days);
  if (name == "zone") {
    terms.time_zone = value;
    return true;
  }
  std::int64_t* number = name == "unopened"      ? &terms.unopened_days
                         : name == "opened"      ? &terms.opened_days
                         : name == "undelivered" ? &terms.undelivered_days
                         : name == "refund"      ? &terms.refund_day
                                                 : nullptr;
  const auto read = parse_number(value);
  if (!number || !read) return false;
  *number = *read;
  return true;
}

}  // namespace

std::string format_terms(const LifecycleTerms& terms) {
  std::string text = "unopened=" + std::to_string(terms.unopened_days) +
                     " opened=" + std::to_string(terms.opened_days) +
                     " undelivered=" + std::to_string(terms.undelivered_days) +
                     " refund=" + std::to_string(terms.refund_day) + " zone=" + terms.time_zone;
  for (std::size_t i = 0; i < terms.reminder_days.size(); ++i)
    text += (i == 0 ? " remind=" : ",") + std::to_string(terms.reminder_days[i]);
  return text;
}

std::optional<LifecycleTerms> parse_terms(std::string_view text) {
  if (text.empty()) return std::nullopt;
  LifecycleTerms terms;
  while (!text.empty()) {
    std::string_view value = split_off(text, ' ');
    const std::string_view name = split_off(value, '=');
    if (!parse_term(name, value, terms)) return std::nullopt;
  }
  return terms;
}

}  // namespace giftsync::sync
