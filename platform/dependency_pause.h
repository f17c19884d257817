// platform: a dependency that is not to be asked before a certain time: its quota is used up, or it has said
// when it will be back. Asking earlier does no harm and gets the same error, without a call.
#pragma once

#include <string>

#include "platform/dependency_error.h"
#include "platform/time.h"

namespace giftsync::platform {

class DependencyPause : public DependencyError {
 public:
  /// `what` names the reason and the time.
  DependencyPause(UtcMillis until, const std::string& what, bool of_external_crm = false)
      : DependencyError(true, what, of_external_crm), until_(until) {}
  UtcMillis until() const { return until_; }

 private:
  UtcMillis until_;
};

}  // namespace giftsync::platform
