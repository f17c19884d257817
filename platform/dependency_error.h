// platform: the one exception for a broken dependency (store unreachable, disk full, CRM database down).
// Foreseen outcomes are return values; a bug aborts. The HTTP dispatcher, the workers and the programs' top
// level catch it (ARCH-8).
#pragma once

#include <stdexcept>
#include <string>

#include "platform/time.h"

namespace giftsync {

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

// A dependency that is not to be asked before a certain time: its quota is used up, or it has said
// when it will be back, or it refuses what is asked until an admin has mended something. Asking earlier does
// no harm: it gets the same error, at most for one call.

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

// A dependency that does not answer, or at whose address something else does: the network, or the
// setting with the address, is to be checked.

class UnreachableError : public DependencyError {
 public:
  using DependencyError::DependencyError;
};

}  // namespace giftsync
