#include "sync/crm/backfill_runs.h"

#include "platform/text.h"
#include "schema/enums.h"

namespace giftsync::sync {
namespace {

constexpr auto kStates = enum_words<BackfillState>({{BackfillState::running, "running"},
                                                    {BackfillState::finished, "finished"},
                                                    {BackfillState::failed, "failed"}});

/// What giftsync-backfill.timer runs each week.
constexpr std::string_view kWeekly = "gift-records";
constexpr std::int64_t kLateMillis = 8 * kDayMillis;

}  // namespace

std::string_view to_word(BackfillState state) {
  return kStates.word_of(state);
}

BackfillState state_of(const store::BackfillRun& run) {
  if (!run.error.empty()) return BackfillState::failed;
  return run.ended_at ? BackfillState::finished : BackfillState::running;
}

std::string describe(const store::BackfillRun& run) {
  switch (state_of(run)) {
    case BackfillState::running:
      return "running since " + minute_text(run.started_at) + " UTC, " + run.summary;
    case BackfillState::finished:
      return "finished " + minute_text(*run.ended_at) + " UTC, " + run.summary;
    case BackfillState::failed:
      break;
  }
  return "ended early " + minute_text(run.ended_at.value_or(run.started_at)) + " UTC, " + run.summary + " " +
         run.error;
}

std::optional<UtcMillis> late_since(const store::BackfillRun& run, UtcMillis now) {
  const bool is_late =
      run.name == kWeekly && state_of(run) == BackfillState::finished && now > *run.ended_at + kLateMillis;
  return is_late ? run.ended_at : std::nullopt;
}

std::vector<std::string> warnings(const store::BackfillRun& run, const std::string& program, UtcMillis now) {
  std::vector<std::string> found;
  if (run.differing > 0)
    found.push_back(run.name + " left " + pluralize(run.differing, "difference") + ", which \"" + program +
                    "backfill " + run.name + " --dry-run\" shows");
  if (const auto since = late_since(run, now))
    found.push_back(run.name + " has not run since " + minute_text(*since) +
                    " UTC: \"systemctl status giftsync-backfill.timer\" shows whether it is scheduled");
  return found;
}

}  // namespace giftsync::sync
