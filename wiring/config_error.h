// wiring: settings that are readable but unusable.
#pragma once

#include <stdexcept>

namespace giftsync::wiring {

/// Wrong server secret, unknown match field...: the daemon exits with 78 (EX_CONFIG), and systemd does not
/// restart it.
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace giftsync::wiring
