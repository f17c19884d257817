#include "daemon/secret_watch.h"

#include <fmt/format.h>

namespace giftsync::daemon {

void SecretWatch::check(UtcMillis now) {
  const wiring::SecretCheck check = wiring::check_secret_of_process(settings_, store_, secrets_.current, now);
  state_ = check.state;
  if (check.links_until) links_.end_links(*check.links_until);
  if (check.fault.empty() || !has_elapsed(logged_at_, kMinuteMillis, now)) return;
  logged_at_ = now;
  log_event(LogEvent::secret_not_followed,
            "the server secret was rotated, and this daemon has the former one: " + check.fault);
}

void SecretWatch::finish_rotation(UtcMillis now, const std::function<bool()>& may_continue) {
  if (!secrets_.former || has_dropped_) return;
  const bool drops = wiring::may_drop_former(secrets_.former->rotation, now);
  if (!drops && !has_elapsed(sealed_again_at_, kHourMillis, now)) return;
  sealed_again_at_ = now;
  const wiring::SealedAgain done = wiring::finish_rotation(settings_, secrets_, now, may_continue);
  has_dropped_ = drops && done.is_complete;
  if (done.texts > 0)
    log_event(LogEvent::secret_sealed_again,
              fmt::format("{} sealed texts of the store were sealed with the new secret", done.texts));
  if (has_dropped_)
    log_event(LogEvent::secret_dropped, "the former server secret was dropped: its links have ended");
}

}  // namespace giftsync::daemon
