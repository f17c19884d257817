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
  /// this object.
  ModeWatch(OrgCalls& calls, const ApiNames& names, OrgMode wanted, FactStorage facts, platform::Clock clock)
      : calls_(calls), names_(names), wanted_(wanted), facts_(std::move(facts)), clock_(std::move(clock)) {}

  /// How the next gift record is written. Throws platform::DependencyPause with the reason and the remedy
  /// where none may be written. Makes two calls (without giftsync's package one) when what is stored is
  /// missing, an hour old, or an obstacle of five minutes ago; else none. In guarded mode the first ten
  /// minutes of a process need no look unless an obstacle is stored: a start with many gifts needs all calls
  /// for them.
  WriteMode require();
  /// Whether a gift's task can be made exactly once; in guarded mode always. Calls as require().
  bool offers_tasks();

 private:
  ModeFinding current();
  ModeFinding look(const std::optional<ModeFinding>& before);

  OrgCalls& calls_;
  const ApiNames& names_;
  const OrgMode wanted_;
  const FactStorage facts_;
  const platform::Clock clock_;
  std::mutex mutex_;  // one look at a time; guards the following
  std::optional<platform::UtcMillis> first_asked_at_;
};

/// Keeps what a description of the org found, as crm check makes it.
void store_mode(const FactStorage& facts, const OrgFacts& org, const ApiNames& names,
                platform::UtcMillis now);

}  // namespace giftsync::daemon::salesforce
