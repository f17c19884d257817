// daemon/salesforce: what a write of gift records and tasks asks before it begins.
#pragma once

#include <cstddef>
#include <optional>

#include "daemon/salesforce/bare_writes.h"
#include "daemon/salesforce/mode_watch.h"

namespace giftsync::daemon::salesforce {

/// Rows that are written one by one, 25 a call, in one turn of bare mode: a backfill that had the turn for
/// minutes would keep live gifts from being written.
inline constexpr std::size_t kSinglesPerBareTurn = 100;

/// Without `modes` the org is guarded and nothing is asked. `bare` needs `modes`.
struct WriteControl {
  ModeWatch* modes = nullptr;
  BareWrites* bare = nullptr;
};

/// One write of several rows. Throws platform::DependencyPause where none may be written now. In bare mode
/// its owner is the only writer as long as it exists.
class WriteTurn {
 public:
  explicit WriteTurn(const WriteControl& control)
      : modes_(control.modes),
        mode_(control.modes != nullptr ? control.modes->require() : WriteMode{.mode = OrgMode::guarded}),
        bare_(control.bare) {
    if (bare_ != nullptr) turn_.emplace(*bare_);
  }

  /// After the org refused a field: whether to try again without fields that it does not show.
  bool hides_more_fields() const { return modes_ != nullptr && modes_->hides_more_fields(); }

  const WriteMode& mode() const { return mode_; }
  /// Null in guarded mode.
  BareWrites* bare() const { return bare_; }

 private:
  ModeWatch* const modes_;
  const WriteMode mode_;
  BareWrites* const bare_;
  std::optional<BareWrites::Turn> turn_;
};

}  // namespace giftsync::daemon::salesforce
