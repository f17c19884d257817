// platform: a dependency that does not answer, or at whose address something else does: the network, or the
// setting with the address, is to be checked.
#pragma once

#include "platform/dependency_error.h"

namespace giftsync::platform {

class UnreachableError : public DependencyError {
 public:
  using DependencyError::DependencyError;
};

}  // namespace giftsync::platform
