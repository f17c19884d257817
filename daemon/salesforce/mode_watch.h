// daemon/salesforce: looks at the org from time to time while gift records are written, and keeps what it
// found in the store, where all daemons and commands find it. An org that is not as the settings want it
// pauses all writes: what is written without the rules of giftsync's package is protected by nothing. Any
// thread.
#pragma once

#include <mutex>
#include <optional>

#include "daemon/salesforce/access_token.h"
#include "daemon/salesforce/api_names.h"
#include "daemon/salesforce/org_calls.h"
#include "daemon/salesforce/write_mode.h"
#include "platform/clock.h"

namespace giftsync::daemon::salesforce {

class ModeWatch {
 public:
  /// `wanted`: guarded or bare. `names` have the package's own fields in both modes; they and `calls` outlive
  /// this object. Fields that the org was found not to show are hidden in them.
  ModeWatch(OrgCalls& calls, const ApiNames& names, OrgMode wanted, FactStorage facts, platform::Clock clock)
      : calls_(calls),
        shown_names_(names),
        names_(names.complete()),
        wanted_(wanted),
        facts_(std::move(facts)),
        clock_(std::move(clock)) {}

  /// How the next gift record is written. Throws platform::DependencyPause with the reason and the remedy
  /// where none may be written. Makes two calls (without giftsync's package one) when what is stored is
  /// missing, an hour old, or an obstacle of five minutes ago; else none. In guarded mode the first ten
  /// minutes of a process need no look unless an obstacle is stored: a start with many gifts needs all calls
  /// for them.
  WriteMode require();
  /// Whether a gift's task can be made exactly once; in guarded mode always. Calls as require().
  bool offers_tasks();
  /// Hides what was found last, in this or another process. Makes no call.
  void hide_unusable_fields();
  /// After the org refused a field: looks at once. True when other fields are hidden than before, so the same
  /// is to be tried again. Looks at most once an hour in vain.
  bool hides_more_fields();

 private:
  ModeFinding current();
  void hide(const std::optional<ModeFinding>& finding);
  ModeFinding look(const std::optional<ModeFinding>& before);

  OrgCalls& calls_;
  const ApiNames& shown_names_;
  const ApiNames names_;
  const OrgMode wanted_;
  const FactStorage facts_;
  const platform::Clock clock_;
  std::mutex mutex_;  // one look at a time; guards the following
  std::optional<platform::UtcMillis> first_asked_at_;
  std::optional<platform::UtcMillis> looked_in_vain_at_;
  std::optional<platform::UtcMillis> found_more_at_;
};

/// `ask` without the fields that the org does not show, and once more where it is found to show fewer.
/// `modes` may be null.
template <class Ask>
auto with_shown_fields(ModeWatch* modes, Ask ask) {
  if (modes != nullptr) modes->hide_unusable_fields();
  try {
    return ask();
  } catch (const FieldsDiffer&) {
    if (modes == nullptr || !modes->hides_more_fields()) throw;
    return ask();
  }
}

/// Keeps what a description of the org found, as crm check makes it.
void store_mode(const FactStorage& facts, const OrgFacts& org, const ApiNames& names,
                platform::UtcMillis now);

}  // namespace giftsync::daemon::salesforce
