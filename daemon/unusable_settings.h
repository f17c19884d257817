// daemon: settings that can be read but not worked with.
#pragma once

#include <stdexcept>

namespace giftsync::daemon {

/// Wrong server secret, unknown match field...: the daemon exits 78 (EX_CONFIG), and systemd does not try
/// again.
class UnusableSettings : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace giftsync::daemon
