// daemon/config: the keys of `lifecycle` (LIFE-2).
#include <charconv>

#include "daemon/config/settings_keys.h"
#include "sync/calendar_day.h"

namespace giftsync::daemon::config {
namespace {

constexpr std::int64_t kMaxDays = 3650;
constexpr std::int64_t kMaxReminderDay = 365;
constexpr std::size_t kMaxReminders = 5;

template <class T>
Accessor<T> setting(T LifecycleSettings::*member) {
  return [member](Settings& settings) -> T& { return settings.lifecycle.*member; };
}

WholeNumber days(std::int64_t LifecycleSettings::*member) {
  return {setting(member), 1, kMaxDays, "days"};
}

TextFault check_zone(std::string& text) {
  return sync::is_time_zone(text) ? TextFault() : TextFault("which the system's zone data do not have");
}

TextFault check_reminder_day(std::string& text) {
  std::int64_t day = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), day);
  const bool is_number = fault == std::errc() && end == text.data() + text.size() && text.front() != '0';
  if (!is_number || day < 1 || day > kMaxReminderDay) return "which is not such a number";
  return std::nullopt;
}

}  // namespace

void add_lifecycle_keys(std::vector<SettingsKey>& keys) {
  using L = LifecycleSettings;
  keys.push_back({"lifecycle.expire_unopened_days",
                  "Days from sending until an unopened mailed gift expires.",
                  days(&L::expire_unopened_days)});
  keys.push_back({"lifecycle.expire_unopened_link_days",
                  "The same for gifts whose URLs were issued, since campaigns mail them later.",
                  days(&L::expire_unopened_link_days)});
  keys.push_back({"lifecycle.expire_opened_days",
                  "Days from opening until a gift expires that was neither accepted nor donated.",
                  days(&L::expire_opened_days)});
  keys.push_back({"lifecycle.refund_undelivered_days",
                  "Days from the failure of its mail until a gift is refunded, unless it is sent again.",
                  days(&L::refund_undelivered_days)});
  keys.push_back(
      {"lifecycle.refund", "When expired gifts are refunded: on_day, a day of the next month, or at_once.",
       Choice{{"on_day", "at_once"},
              [](Settings& settings, std::size_t index) { settings.lifecycle.refund_at_once = index == 1; },
              [](Settings& settings) -> std::size_t { return settings.lifecycle.refund_at_once ? 1 : 0; }}});
  keys.push_back({"lifecycle.refund_day",
                  "The day for refund: on_day; gifts are refunded when it begins.",
                  WholeNumber{setting(&L::refund_day), 1, 28, "day of the month"},
                  false,
                  {"lifecycle.refund", "on_day"}});
  keys.push_back(
      {"lifecycle.time_zone", "The time zone in which days and months begin.",
       Text{setting(&L::time_zone), "an IANA time zone such as UTC or Europe/Berlin", check_zone}});
  keys.push_back({"lifecycle.reminder_days",
                  "Days from sending until the recipient of an unopened mailed gift is reminded.",
                  TextList{setting(&L::reminder_days), 0, kMaxReminders,
                           "a whole number from 1 to 365 (days)", check_reminder_day}});
}

}  // namespace giftsync::daemon::config
