// crm/salesforce: in which mode gift records are written (ORG-8, ORG-9), from what the settings ask for
// and what was found in the org. What was found is kept in the store as text. Pure; any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crm/salesforce/calls/access_token.h"
#include "crm/salesforce/calls/api_names.h"
#include "crm/salesforce/calls/org_calls.h"
#include "crm/salesforce/org/org_description.h"
#include "crm/salesforce/org/org_findings.h"
#include "platform/clock.h"
#include "platform/time.h"

namespace giftsync::salesforce {

inline constexpr const char* kModeFact = "salesforce_mode";  ///< of the store's metadata
/// What was found holds for that long; an problem is looked at sooner again.
inline constexpr std::int64_t kModeFindingMillis = kHourMillis;
inline constexpr std::int64_t kModeProblemMillis = 5 * kMinuteMillis;
inline constexpr std::int64_t kFirstLookMillis = 10 * kMinuteMillis;  ///< after a process' first write

/// What the org allowed when it was looked at.
struct ModeFinding {
  OrgMode mode = OrgMode::none;          ///< whatever the settings ask for
  std::string reason = {};               ///< of the mode
  std::string bare_problem = {};         ///< why not even bare mode can write; empty: it can
  std::string task_problem = {};         ///< why a gift's task could be made twice; empty: it cannot
  bool has_unique_key = false;           ///< the Transaction Id of the gift record
  bool was_guarded = false;              ///< then, or at an earlier look at the same objects
  std::vector<GiftField> left_out = {};  ///< see unusable_fields()
  std::string names = {};                ///< of the objects and fields that it is about
  UtcMillis found_at = {};

  friend bool operator==(const ModeFinding&, const ModeFinding&) = default;
};

/// The objects and fields that decide, as one text.
std::string mode_names(const ApiNames& names);

/// `facts` have at least the gift record, the task and, for guarded mode, the rules. `before`: of the last
/// look.
ModeFinding find_write_mode(const OrgFacts& facts, const ApiNames& names,
                            const std::optional<ModeFinding>& before, UtcMillis now);

std::string to_text(const ModeFinding& finding);
/// Nullopt for a text of another form.
std::optional<ModeFinding> read_mode_finding(std::string_view text);

struct WriteMode {
  OrgMode mode = OrgMode::none;  ///< guarded or bare; none: nothing may be written
  bool creates_by_upsert = false;
  bool offers_tasks = true;
  std::string problem = {};  ///< of none: the reason, and what an admin does
};
/// `wanted`: guarded or bare. Guarded never becomes bare.
WriteMode write_mode(OrgMode wanted, const ModeFinding& finding);

/// Until the first look of a process: guarded is wanted, and no problem is known.
bool may_assume_guarded(OrgMode wanted, const std::optional<ModeFinding>& finding, const ApiNames& names);

/// The org is to be looked at before the next write.
bool is_due(OrgMode wanted, const std::optional<ModeFinding>& finding, const ApiNames& names, UtcMillis now);

// Looks at the org from time to time while gift records are written, and keeps what it
// found in the store, where all daemons and commands find it. An org that is not as the settings want it
// pauses all writes: what is written without the rules of giftsync's package is protected by nothing. Any
// thread.

class ModeWatch {
 public:
  /// `wanted`: guarded or bare. `names` have the package's own fields in both modes; they and `calls` outlive
  /// this object. Fields that the org was found not to show are hidden in them.
  ModeWatch(OrgCalls& calls, const ApiNames& names, OrgMode wanted, FactStorage facts, Clock clock)
      : calls_(calls),
        shown_names_(names),
        names_(names.complete()),
        wanted_(wanted),
        facts_(std::move(facts)),
        clock_(std::move(clock)) {}

  /// How the next gift record is written. Throws giftsync::DependencyPause with the reason and the remedy
  /// where none may be written. Makes two calls (without giftsync's package one) when what is stored is
  /// missing, an hour old, or an problem of five minutes ago; else none. In guarded mode the first ten
  /// minutes of a process need no look unless an problem is stored: a start with many gifts needs all calls
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
  const Clock clock_;
  std::mutex mutex_;  // one look at a time; guards the following
  std::optional<UtcMillis> first_asked_at_;
  std::optional<UtcMillis> looked_in_vain_at_;
  std::optional<UtcMillis> found_more_at_;
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
void store_mode(const FactStorage& facts, const OrgFacts& org, const ApiNames& names, UtcMillis now);

// The mode in which giftsync can write to an org, and what it can offer there, with the
// reason of each refusal. Pure; any thread.

struct FoundMode {
  OrgMode mode = OrgMode::none;
  std::string reason = {};
};
/// What the org allows, whatever the settings ask for.
FoundMode find_mode(const OrgFacts& facts, const ApiNames& names);

/// Why gift records cannot even be written without the package's rules; nullopt when they can.
std::optional<std::string> bare_problem(const OrgFacts& facts, const ApiNames& names);
/// What an admin does about a bare_problem().
inline constexpr std::string_view kBareRemedy =
    "give the user a permission set to create and edit gift records, and make the Transaction Id an external "
    "id "
    "(Setup, Object Manager: a number of 18 digits without decimal places, External ID, better also Unique)";

/// Why the package's rule does not keep its promise; nullopt when it does. `object` as in the settings.
std::optional<std::string> rule_fault(const OrgFacts& facts, const ApiNames& names, std::string_view object,
                                      std::string_view rule);

/// Why a gift's task could be made twice; nullopt when it cannot.
std::optional<std::string> task_problem(const OrgFacts& facts, const ApiNames& names);
/// Why request records cannot be claimed; nullopt when they can.
std::optional<std::string> request_problem(const OrgFacts& facts, const ApiNames& names);

/// The field has whole numbers up to 2^53, the limit of giftsync's ids.
bool holds_ids(const FieldFacts& field);

}  // namespace giftsync::salesforce
