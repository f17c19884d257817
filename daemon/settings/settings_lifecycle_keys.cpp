// daemon/settings: the keys of `lifecycle` (design 3.6): how long gifts that are sent from now on live.
#include <charconv>

#include "daemon/settings/settings_keys.h"
#include "sync/local_day.h"

namespace giftsync::daemon {
namespace {

constexpr std::int64_t kMostDays = 3650;
constexpr std::int64_t kMostReminderDay = 365;
constexpr std::size_t kMostReminders = 5;

template <class T>
Place<T> of(T LifecycleSettings::*member) {
  return [member](Settings& settings) -> T& { return settings.lifecycle.*member; };
}

WholeNumber days(std::int64_t LifecycleSettings::*member) {
  return {of(member), 1, kMostDays, "days"};
}

TextFault check_zone(std::string& text) {
  return sync::is_time_zone(text) ? TextFault() : TextFault("which the system's zone data do not have");
}

TextFault check_reminder_day(std::string& text) {
  std::int64_t day = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), day);
  const bool is_number = fault == std::errc() && end == text.data() + text.size() && text.front() != '0';
  if (!is_number || day < 1 || day > kMostReminderDay) return "which is no such number";
  return std::nullopt;
}

}  // namespace

void add_lifecycle_keys(std::vector<SettingsKey>& keys) {
  using L = LifecycleSettings;
  keys.push_back({"lifecycle.expire_unopened_days",
                  "So many days after it was sent a mailed gift expires that nobody has opened.",
                  days(&L::expire_unopened_days)});
  keys.push_back({"lifecycle.expire_unopened_link_days",
                  "The same for gifts whose URLs were handed out, since campaigns mail them later.",
                  days(&L::expire_unopened_link_days)});
  keys.push_back({"lifecycle.expire_opened_days",
                  "So many days after it was opened a gift expires that nobody has accepted or donated.",
                  days(&L::expire_opened_days)});
  keys.push_back({"lifecycle.refund_undelivered_days",
                  "So many days after its mail failed a gift is refunded, unless it is sent again.",
                  days(&L::refund_undelivered_days)});
  keys.push_back(
      {"lifecycle.refund", "When expired gifts are refunded: on_day, a day of the next month, or at_once.",
       Choice{{"on_day", "at_once"},
              [](Settings& settings, std::size_t word) { settings.lifecycle.refund_at_once = word == 1; },
              [](Settings& settings) -> std::size_t { return settings.lifecycle.refund_at_once ? 1 : 0; }}});
  keys.push_back({"lifecycle.refund_day",
                  "That day; gifts are refunded when it begins.",
                  WholeNumber{of(&L::refund_day), 1, 28, "day of the month"},
                  false,
                  {"lifecycle.refund", "on_day"}});
  keys.push_back({"lifecycle.time_zone", "The time zone in which days and months begin.",
                  Text{of(&L::time_zone), "an IANA time zone such as UTC or Europe/Berlin", check_zone}});
  keys.push_back({"lifecycle.reminder_days",
                  "So many days after it was sent the recipient of a mailed gift is reminded of it, while "
                  "nobody has opened it.",
                  TextList{of(&L::reminder_days), 0, kMostReminders, "a whole number from 1 to 365 (days)",
                           check_reminder_day}});
}

}  // namespace giftsync::daemon
