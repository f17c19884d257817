// platform: a dependency that is not to be asked before a certain time: its quota is used up, or it has said
// when it will be back, or it refuses what is asked until an admin has mended something. Asking earlier does
// no harm: it gets the same error, at most for one call.
#pragma once

#include <string>

#include "platform/dependency_error.h"
#include "platform/time.h"

namespace giftsync::platform {

class DependencyPause : public DependencyError {
 public:
  /// `what` names the reason and the time. Not transient: time alone does not help.
  DependencyPause(UtcMillis until, const std::string& what, bool of_external_crm = false,
                  bool transient = true)
      : DependencyError(transient, what, of_external_crm), until_(until) {}
  UtcMillis until() const { return until_; }

 private:
  UtcMillis until_;
};

}  // namespace giftsync::platform
