// daemon/config: the keys of `lifecycle` (LIFE-2).

#include "daemon/config/settings_table.h"
#include "platform/text.h"
#include "sync/calendar_day.h"

namespace giftsync::daemon::config {
namespace {

constexpr std::int64_t kMaxDays = 3650;
constexpr std::int64_t kMaxReminderDay = 365;
constexpr std::size_t kMaxReminders = 5;

WholeNumber days(std::int64_t LifecycleSettings::*member) {
  return {setting(&Settings::lifecycle, member), 1, kMaxDays, "days"};
}

TextFault check_zone(std::string& text) {
  return sync::is_time_zone(text) ? TextFault() : TextFault("which the system's zone data do not have");
}

TextFault check_reminder_day(std::string& text) {
  const auto day = platform::parse_number<std::int64_t>(text);
  if (!day || text.front() == '0' || *day < 1 || *day > kMaxReminderDay) return "which is not such a number";
  return std::nullopt;
}

}  // namespace

KeyTable lifecycle_keys() {
  using L = LifecycleSettings;
  return {
      {"lifecycle.expire_unopened_days", "Days from sending until an unopened mailed gift expires.",
       days(&L::expire_unopened_days)},
      {"lifecycle.expire_unopened_link_days",
       "The same for gifts whose URLs were issued, since campaigns mail them later.",
       days(&L::expire_unopened_link_days)},
      {"lifecycle.expire_opened_days",
       "Days from opening until a gift expires that was neither accepted nor donated.",
       days(&L::expire_opened_days)},
      {"lifecycle.refund_undelivered_days",
       "Days from the failure of its mail until a gift is refunded, unless it is sent again.",
       days(&L::refund_undelivered_days)},
      {"lifecycle.refund", "When expired gifts are refunded: on_day, a day of the next month, or at_once.",
       choice({"on_day", "at_once"}, setting(&Settings::lifecycle, &L::refund_at_once))},
      {"lifecycle.refund_day",
       "The day for refund: on_day; gifts are refunded when it begins.",
       WholeNumber{setting(&Settings::lifecycle, &L::refund_day), 1, 28, "day of the month"},
       {.only_with = {"lifecycle.refund", "on_day"}}},
      {"lifecycle.time_zone", "The time zone in which days and months begin.",
       Text{setting(&Settings::lifecycle, &L::time_zone),
            {"an IANA time zone such as UTC or Europe/Berlin", check_zone,
             R"({"maxLength": 64, "pattern": "^[A-Za-z0-9_+-][A-Za-z0-9_+/-]*$"})"}}},
      {"lifecycle.reminder_days",
       "Days from sending until the recipient of an unopened mailed gift is reminded.",
       TextList{setting(&Settings::lifecycle, &L::reminder_days),
                0,
                kMaxReminders,
                {"a whole number from 1 to 365 (days)", check_reminder_day,
                 R"({"type": "integer", "minimum": 1, "maximum": 365})"}},
       {.example = "[7, 21]"}}};
}

}  // namespace giftsync::daemon::config
