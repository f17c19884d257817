#include "wiring/lifecycle_config.h"

#include <algorithm>

namespace giftsync::wiring {

sync::LifecycleTerms lifecycle_terms(const daemon::config::LifecycleSettings& settings) {
  sync::LifecycleTerms terms;
  terms.unopened_days = settings.expire_unopened_days;
  terms.opened_days = settings.expire_opened_days;
  terms.undelivered_days = settings.refund_undelivered_days;
  terms.refund_day = settings.refund_at_once ? 0 : settings.refund_day;
  terms.time_zone = settings.time_zone;
  for (const std::string& day : settings.reminder_days) terms.reminder_days.push_back(std::stoll(day));
  std::sort(terms.reminder_days.begin(), terms.reminder_days.end());
  return terms;
}

}  // namespace giftsync::wiring
