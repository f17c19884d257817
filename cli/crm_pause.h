// cli: a command that a CRM may keep waiting: it says until when, waits and goes on by itself.
#pragma once

#include "cli/console.h"
#include "cli/progress.h"
#include "platform/dependency_pause.h"

namespace giftsync::cli {

/// Says why the command waits and until when, and returns at that time. A command that is ended meanwhile
/// loses nothing.
void wait_for_crm(const Console& console, const platform::DependencyPause& pause);

/// The result of `action`, which is begun again each time when the CRM's pause ends. `progress` may be null.
template <class Action>
auto repeat_after_pauses(const Console& console, WorkProgress* progress, Action action) {
  while (true) {
    try {
      return action();
    } catch (const platform::DependencyPause& pause) {
      if (progress) progress->clear();
      wait_for_crm(console, pause);
    }
  }
}

}  // namespace giftsync::cli
