#include "sync/alert_rules.h"

#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include <algorithm>
#include <map>

#include "platform/digest.h"

namespace giftsync::sync {
namespace {

/// The present conditions with what is said of each; several findings of one object are one alert.
std::map<std::string, store::Alert> present_alerts(std::span<const AttentionItem> items, UtcMillis now) {
  std::map<std::string, store::Alert> alerts;
  for (const AttentionItem& item : items) {
    const std::string name = item.condition + (item.object.empty() ? "" : " ") + item.object;
    store::Alert& alert = alerts[name];
    const std::string separator = alert.what.empty() ? "" : "\n";
    alert.name = name;
    alert.what += separator + item.what;
    alert.next_step += separator + item.next_step;
    alert.began_at = now;
  }
  return alerts;
}

const store::Alert* find(std::span<const store::Alert> alerts, const std::string& name) {
  const auto found = std::find_if(alerts.begin(), alerts.end(),
                                  [&](const store::Alert& alert) { return alert.name == name; });
  return found == alerts.end() ? nullptr : &*found;
}

}  // namespace

bool is_quiet(const QuietTimes& quiet, UtcMillis time) {
  if (quiet.from_minute == quiet.until_minute) return false;
  absl::TimeZone zone;
  if (!absl::LoadTimeZone(quiet.time_zone, &zone)) zone = absl::UTCTimeZone();
  const absl::CivilMinute local = absl::ToCivilMinute(absl::FromUnixMillis(time.value), zone);
  const std::int64_t minute = std::int64_t{60} * local.hour() + local.minute();
  if (quiet.from_minute < quiet.until_minute)
    return minute >= quiet.from_minute && minute < quiet.until_minute;
  return minute >= quiet.from_minute || minute < quiet.until_minute;
}

AlertChanges observe(std::span<const store::Alert> stored, std::span<const AttentionItem> items,
                     const AlertRules& rules, UtcMillis now) {
  AlertChanges changes;
  std::map<std::string, store::Alert> present = present_alerts(items, now);
  for (const store::Alert& alert : stored) {
    store::Alert next = alert;
    if (const auto found = present.find(alert.name); found != present.end()) {
      next.what = found->second.what;
      next.next_step = found->second.next_step;
      next.ended_at.reset();
      present.erase(found);
    } else if (!alert.ended_at) {
      if (!alert.begin_mailed_at && !has_elapsed(alert.began_at, rules.digest_millis, now)) {
        changes.ended.push_back(alert.name);
        continue;
      }
      next.ended_at = now;
    }
    if (next != alert) changes.kept.push_back(next);
  }
  for (const auto& [name, alert] : present) changes.kept.push_back(alert);
  return changes;
}

std::vector<store::Alert> applied(std::span<const store::Alert> stored, const AlertChanges& changes) {
  std::map<std::string, store::Alert> alerts;
  for (const store::Alert& alert : stored) alerts[alert.name] = alert;
  for (const store::Alert& alert : changes.kept) alerts[alert.name] = alert;
  for (const std::string& name : changes.ended) alerts.erase(name);
  std::vector<store::Alert> result;
  for (const auto& [name, alert] : alerts) result.push_back(alert);
  return result;
}

AlertMail due_mail(std::span<const store::Alert> alerts, const AlertRules& rules,
                   std::optional<UtcMillis> last_mailed_at, UtcMillis now) {
  AlertMail mail;
  if (is_quiet(rules.quiet, now)) return mail;
  if (last_mailed_at && !has_elapsed(*last_mailed_at, rules.digest_millis, now)) return mail;
  for (const store::Alert& alert : alerts) {
    if (alert.ended_at) {
      if (has_elapsed(*alert.ended_at, rules.digest_millis, now)) mail.ended.push_back(alert);
    } else if (!alert.begin_mailed_at && has_elapsed(alert.began_at, rules.digest_millis, now)) {
      mail.begun.push_back(alert);
    }
  }
  return mail;
}

AlertChanges after_mail(const AlertMail& mail, std::span<const store::Alert> alerts, UtcMillis now) {
  AlertChanges changes;
  const auto keep_as_mailed = [&](const store::Alert& alert) {
    changes.kept.push_back(alert);
    changes.kept.back().begin_mailed_at = now;
  };
  for (const store::Alert& mailed : mail.begun)
    if (const store::Alert* alert = find(alerts, mailed.name)) keep_as_mailed(*alert);
  for (const store::Alert& mailed : mail.ended) {
    const store::Alert* alert = find(alerts, mailed.name);
    if (!alert) continue;
    if (alert->ended_at) {
      changes.ended.push_back(mailed.name);
    } else {  // it is back, and the mail said that it had ended
      changes.kept.push_back(*alert);
      changes.kept.back().begin_mailed_at.reset();
    }
  }
  return changes;
}

std::string alert_mail_digest(const AlertMail& mail, const std::string& recipient) {
  constexpr std::size_t kDigits = 24;
  std::string text = recipient;
  for (const auto* part : {&mail.begun, &mail.ended}) {
    text += "\n\n";
    for (const store::Alert& alert : *part)
      text += alert.name + "\n" + std::to_string(alert.began_at.value) + "\n" +
              std::to_string(alert.ended_at.value_or(UtcMillis{}).value) + "\n";
  }
  return sha256_hex(text).substr(0, kDigits);
}

}  // namespace giftsync::sync
