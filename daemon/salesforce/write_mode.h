// daemon/salesforce: in which mode gift records are written (ORG-8, ORG-9), from what the settings ask for
// and what was found in the org. What was found is kept in the store as text. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/salesforce/api_names.h"
#include "daemon/salesforce/org_facts.h"
#include "daemon/salesforce/org_findings.h"
#include "platform/time.h"

namespace giftsync::daemon::salesforce {

inline constexpr const char* kModeFact = "salesforce_mode";  ///< of the store's metadata
/// What was found holds for that long; an obstacle is looked at sooner again.
inline constexpr std::int64_t kModeFindingMillis = platform::kHourMillis;
inline constexpr std::int64_t kModeObstacleMillis = 5 * platform::kMinuteMillis;
inline constexpr std::int64_t kFirstLookMillis =
    10 * platform::kMinuteMillis;  ///< after a process' first write

/// What the org allowed when it was looked at.
struct ModeFinding {
  OrgMode mode = OrgMode::none;                  ///< whatever the settings ask for
  std::string reason = {};                       ///< of the mode
  std::string bare_obstacle = {};                ///< why not even bare mode can write; empty: it can
  std::string task_obstacle = {};                ///< why a gift's task could be made twice; empty: it cannot
  bool has_unique_key = false;                   ///< the Transaction Id of the gift record
  bool was_guarded = false;                      ///< then, or at an earlier look at the same objects
  std::vector<schema::GiftField> left_out = {};  ///< see unusable_fields()
  std::string names = {};                        ///< of the objects and fields that it is about
  platform::UtcMillis found_at = {};

  friend bool operator==(const ModeFinding&, const ModeFinding&) = default;
};

/// The objects and fields that decide, as one text.
std::string mode_names(const ApiNames& names);

/// `facts` have at least the gift record, the task and, for guarded mode, the rules. `before`: of the last
/// look.
ModeFinding find_write_mode(const OrgFacts& facts, const ApiNames& names,
                            const std::optional<ModeFinding>& before, platform::UtcMillis now);

std::string to_text(const ModeFinding& finding);
/// Nullopt for a text of another form.
std::optional<ModeFinding> read_mode_finding(std::string_view text);

struct WriteMode {
  OrgMode mode = OrgMode::none;  ///< guarded or bare; none: nothing may be written
  bool creates_by_upsert = false;
  bool offers_tasks = true;
  std::string obstacle = {};  ///< of none: the reason, and what an admin does
};
/// `wanted`: guarded or bare. Guarded never becomes bare.
WriteMode write_mode(OrgMode wanted, const ModeFinding& finding);

/// Until the first look of a process: guarded is wanted, and no obstacle is known.
bool may_assume_guarded(OrgMode wanted, const std::optional<ModeFinding>& finding, const ApiNames& names);

/// The org is to be looked at before the next write.
bool is_due(OrgMode wanted, const std::optional<ModeFinding>& finding, const ApiNames& names,
            platform::UtcMillis now);

}  // namespace giftsync::daemon::salesforce
