// daemon: the composition root. It builds the rooms in order (store, secret, CRM, transport, writer, doors,
// loops), is the only place that names adapters, and takes them down in the opposite order. Main thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/settings/settings.h"
#include "daemon/timer_clock.h"
#include "daemon/unusable_settings.h"

namespace giftsync::daemon {

class House {
 public:
  /// Migrates the store, opens the doors and starts the loops. Throws UnusableSettings, schema::BrokenWorld,
  /// or std::runtime_error when an address cannot be listened on.
  /// `timer_clock` outlives it.
  House(const Settings& settings, TimerClock& timer_clock);
  /// Doors, loops, writer, store, in this order; requests in flight are answered first.
  ~House();
  House(const House&) = delete;
  House& operator=(const House&) = delete;

  /// "127.0.0.1:8480", one for each door.
  std::vector<std::string> listens_on() const;
  /// False when a loop has shown no sign of life for too long: the watchdog is not fed then.
  bool loops_alive() const;

 private:
  struct Rooms;
  std::unique_ptr<Rooms> rooms_;
};

}  // namespace giftsync::daemon
