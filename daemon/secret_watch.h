// daemon: follows a rotation of the server secret by a command while the daemon runs (OPS-38).
#pragma once

#include <atomic>
#include <functional>

#include "daemon/config/settings.h"
#include "daemon/wiring/secret_rotation.h"
#include "daemon/wiring/server_secret.h"
#include "platform/logging.h"
#include "platform/time.h"
#include "schema/store/store.h"
#include "sync/gift/gift_links.h"

namespace giftsync::daemon {

class SecretWatch {
 public:
  /// `secrets` and `links`: with which this application was built. All must outlive it.
  SecretWatch(const config::Settings& settings, store::Store& store, const wiring::ServerSecrets& secrets,
              sync::GiftLinks& links)
      : settings_(settings), store_(store), secrets_(secrets), links_(links) {}

  /// Compares with the store, and logs each minute what only an admin can correct. Ends the links of this
  /// application's secret when the rotation does, whether or not a reload can take the new one. Throws
  /// DependencyError, as the next one does. One thread.
  void check(UtcMillis now);
  /// Seals again what the former secret seals, once an hour, and drops it when it is of no more use. One
  /// thread.
  void finish_rotation(UtcMillis now, const std::function<bool()>& may_continue);

  /// As the last check() found it. Any thread.
  wiring::SecretState state() const { return state_; }

 private:
  const config::Settings& settings_;
  store::Store& store_;
  const wiring::ServerSecrets& secrets_;
  sync::GiftLinks& links_;
  std::atomic<wiring::SecretState> state_ = wiring::SecretState::current;
  UtcMillis logged_at_{INT64_MIN / 2};        ///< used by check() only
  UtcMillis sealed_again_at_{INT64_MIN / 2};  ///< this one and the next: used by finish_rotation() only
  bool has_dropped_ = false;
};

}  // namespace giftsync::daemon
