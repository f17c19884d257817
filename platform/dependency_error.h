// platform: the one exception for a broken dependency (store unreachable, disk full, CRM database down).
// Foreseen outcomes are return values; a bug aborts. The HTTP dispatcher, the workers and the programs' top
// level catch it (ARCH-8).
#pragma once

#include <stdexcept>
#include <string>

namespace giftsync::platform {

class DependencyError : public std::runtime_error {
 public:
  DependencyError(bool transient, const std::string& what, bool of_external_crm = false)
      : std::runtime_error(what), transient_(transient), of_external_crm_(of_external_crm) {}
  /// True when a later retry may succeed without a change to the configuration: 503 and Retry-After.
  bool transient() const { return transient_; }
  /// The failed database is the external CRM's, not the store's.
  bool of_external_crm() const { return of_external_crm_; }

 private:
  bool transient_;
  bool of_external_crm_;
};

}  // namespace giftsync::platform
