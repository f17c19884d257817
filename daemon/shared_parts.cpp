#include "daemon/shared_parts.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <span>
#include <utility>

#include "daemon/wiring/components_config.h"
#include "daemon/wiring/crm_config.h"
#include "platform/call_deadline.h"
#include "platform/clock.h"
#include "sync/crm/crm_roles.h"

namespace giftsync::daemon {
namespace {

/// Called every 15 s: with a whole 30 s every other call would come a moment too early.
constexpr std::int64_t kSqlIntervalMillis = 29 * kSecondMillis;
/// Two clocks are compared with one another's intervals: a daemon alone must not come a moment too early.
constexpr std::int64_t kToleranceMillis = 15 * kSecondMillis;
/// Then a sign-in does not wait for the CRM any more.
constexpr std::int64_t kSignInMillis = 2 * kSecondMillis;
constexpr const char* kReadAtFact = "crm_roles_read_at";

}  // namespace

CrmRoleRefresh::CrmRoleRefresh(SharedParts& shared)
    : shared_(shared), read_at_(wiring::store_dsn(shared.settings.store), kReadAtFact) {}

/// After a start or a reload the settings may name other permission sets, so nothing is taken from before.
bool CrmRoleRefresh::asks_itself() {
  if (!wiring::crm_capabilities(shared_.settings).is_remote) return true;
  const std::int64_t interval = shared_.settings.console.permission_set_minutes * kMinuteMillis;
  const bool is_first = !std::exchange(has_begun_, true);
  return read_at_.begin_after(is_first ? 0 : interval - kToleranceMillis);
}

void CrmRoleRefresh::run(UtcMillis now) {
  const config::ConsoleSettings& settings = shared_.settings.console;
  if (!settings.enabled) return;
  const std::int64_t interval = wiring::crm_capabilities(shared_.settings).is_remote
                                    ? settings.permission_set_minutes * kMinuteMillis
                                    : kSqlIntervalMillis;
  if (!has_elapsed(asked_at_, std::max(interval, refusal_millis_), now)) return;
  asked_at_ = now;
  refusal_millis_ = 0;
  if (!asks_itself()) return;
  try {
    const std::size_t changed =
        sync::crm_role_step(shared_.store, shared_.crm->directory(), wiring::crm_role_rules(settings), now);
    if (changed > 0) spdlog::info("the CRM has changed the roles of {} users of the console", changed);
  } catch (const DependencyError& fault) {
    if (!fault.of_external_crm()) throw;
    if (!fault.transient()) refusal_millis_ = kHourMillis;
    spdlog::debug("roles of the console: {}", fault.what());  // the sync worker logs what lasts
  }
}

std::optional<std::vector<store::UserRole>> crm_roles_of(SharedParts& shared, const std::string& address) {
  const ThreadCallDeadline deadline(kSignInMillis);
  try {
    auto roles =
        sync::read_crm_roles(shared.crm->directory(), wiring::crm_role_rules(shared.settings.console),
                             std::span(&address, 1), system_now());
    if (!roles) return std::nullopt;
    return std::move(roles->front());
  } catch (const DependencyError& fault) {
    spdlog::warn("the CRM could not say which roles a user of the console has, who keeps those of before: {}",
                 fault.what());
    return std::nullopt;
  }
}

}  // namespace giftsync::daemon
