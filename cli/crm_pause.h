// cli: a command that a CRM may keep waiting: it says until when, waits and goes on by itself, or when
// another command has the CRM asked again (SYNC-70).
#pragma once

#include <optional>
#include <string>

#include "cli/console.h"
#include "cli/progress.h"
#include "platform/dependency_pause.h"
#include "schema/store/store.h"

namespace giftsync::cli {

/// What schema/store/crm_wake.h leaves in the store; nullopt while the store does not respond.
std::optional<std::string> wake_mark(schema::store::Store& store);

/// Says why the command waits and until when, and returns at that time, or within seconds when the store has
/// another mark than `seen`. A command that is ended meanwhile loses nothing.
void wait_for_crm(const Console& console, schema::store::Store& store, std::optional<std::string> seen,
                  const platform::DependencyPause& pause);

/// The result of `action`, which is begun again each time when the CRM's pause ends. `progress` may be null.
template <class Action>
auto repeat_after_pauses(const Console& console, schema::store::Store& store, WorkProgress* progress,
                         Action action) {
  while (true) {
    const std::optional<std::string> seen = wake_mark(store);
    try {
      return action();
    } catch (const platform::DependencyPause& pause) {
      if (!pause.transient()) throw;  // time alone does not help
      if (progress) progress->clear();
      wait_for_crm(console, store, seen, pause);
    }
  }
}

}  // namespace giftsync::cli
