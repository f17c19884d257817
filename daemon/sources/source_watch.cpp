#include "daemon/sources/source_watch.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "schema/broken_world.h"
#include "schema/spelling.h"

namespace giftsync::daemon {
namespace {

constexpr std::int64_t kWritePaceMillis = 5 * schema::kSecondMillis;
constexpr std::int64_t kTellPaceMillis = schema::kMinuteMillis;
constexpr std::int64_t kRefusalPaceMillis = schema::kHourMillis;

constexpr auto kWords = schema::spelling<SourceState>({{SourceState::fresh, "new"},
                                                       {SourceState::works, "works"},
                                                       {SourceState::fails, "fails"},
                                                       {SourceState::garbage, "garbage"},
                                                       {SourceState::full, "full"}});

/// So begins what is told of a source of which everything is held, after what else there is to say.
constexpr std::string_view kOnlyHeld = "all that it reported is held so far: ";
constexpr std::string_view kBetweenReasons = "; ";

}  // namespace

std::string_view to_word(SourceState state) {
  return kWords.of(state);
}

SourceWatch::SourceWatch(schema::Store& store) : store_(store) {
  for (const schema::SourceStanding& row : store_.sources.standings()) {
    Standing& standing = standings_[row.name];
    standing.now = standing.told = kWords.read(row.state).value_or(SourceState::fresh);
    const std::size_t at = std::min(row.reason.find(kOnlyHeld), row.reason.size());
    standing.only_held = row.reason.substr(at);
    standing.reason = row.reason.substr(0, at);
    if (standing.reason.ends_with(kBetweenReasons))
      standing.reason.resize(standing.reason.size() - kBetweenReasons.size());
    standing.told_doubt = standing.doubt();
  }
}

std::string SourceWatch::Standing::whole_reason() const {
  if (now != SourceState::works || only_held.empty()) return reason;
  return reason.empty() ? only_held : reason + std::string(kBetweenReasons) + only_held;
}

void SourceWatch::open(const std::string& source, const std::string& origin, schema::UtcMillis now) {
  store_.sources.open(source, origin, now);
  const std::lock_guard lock(mutex_);
  standings_[source];
}

void SourceWatch::tell_if_due(const std::string& source, Standing& standing, schema::UtcMillis now,
                              std::vector<StateNote>& due) {
  // Also when nothing changed here: another daemon may have written something else meanwhile.
  if (standing.heard && is_over(standing.written_at, kWritePaceMillis, now)) {
    due.push_back({source, standing.now, standing.whole_reason(), now});
    standing.heard = false;
    standing.written_at = now;
  }
  if (standing.missed_state == standing.now) standing.missed.clear();
  const bool is_news =
      standing.now != standing.told || standing.doubt() != standing.told_doubt || !standing.missed.empty();
  if (is_news && is_over(standing.told_at, kTellPaceMillis, now)) tell(source, standing, now);
}

void SourceWatch::write(const std::vector<StateNote>& due) {
  std::size_t written = 0;
  try {
    for (; written < due.size(); ++written) {
      const StateNote& note = due[written];
      store_.sources.note_state(note.source, std::string(to_word(note.state)), note.reason, note.at);
    }
  } catch (const schema::BrokenWorld&) {
    // The others would have to wait as long for the same.
    const std::lock_guard lock(mutex_);
    for (; written < due.size(); ++written) standings_[due[written].source].heard = true;
  }
}

void SourceWatch::tell(const std::string& source, Standing& standing, schema::UtcMillis now) {
  const std::string doubt = standing.doubt();
  if (standing.now == SourceState::works) {
    const std::string again = standing.told != SourceState::fresh && standing.told != SourceState::works
                                  ? " again, it was: " + std::string(to_word(standing.told))
                              : standing.missed.empty() ? ""
                                                        : " again";
    spdlog::log(doubt.empty() ? spdlog::level::info : spdlog::level::warn, "source {}: works{}{}{}", source,
                again, doubt.empty() ? "" : ", but " + doubt, standing.missed);
  } else {
    spdlog::warn("source {}: {}: {}{}", source, to_word(standing.now), standing.reason, standing.missed);
  }
  standing.missed.clear();
  standing.told = standing.now;
  standing.told_doubt = doubt;
  standing.told_at = now;
}

void SourceWatch::note(const std::string& source, SourceState state, const std::string& reason,
                       schema::UtcMillis now) {
  std::vector<StateNote> due;
  {
    const std::lock_guard lock(mutex_);
    take_note(source, state, reason, now, due);
  }
  write(due);
}

void SourceWatch::take_note(const std::string& source, SourceState state, const std::string& reason,
                            schema::UtcMillis now, std::vector<StateNote>& due) {
  Standing& standing = standings_[source];
  const bool is_trouble = standing.now != SourceState::works && standing.now != SourceState::fresh;
  if (is_trouble && standing.now != standing.told && standing.now != state) {
    standing.missed_state = standing.now;
    standing.missed = fmt::format("; in between: {}: {}", to_word(standing.now), standing.reason);
  }
  standing.now = state;
  standing.reason = reason;
  standing.heard = true;
  tell_if_due(source, standing, now, due);
}

void SourceWatch::note_taken(const std::string& source, schema::UtcMillis now) {
  {
    const std::lock_guard lock(mutex_);
    if (standings_[source].now == SourceState::works) return;
  }
  note(source, SourceState::works, "", now);
}

void SourceWatch::note_message(const std::string& source, schema::UtcMillis now) {
  std::vector<StateNote> due;
  {
    const std::lock_guard lock(mutex_);
    const Standing& standing = standings_[source];
    const std::string reason = standing.now == SourceState::works ? standing.reason : std::string();
    take_note(source, SourceState::works, reason, now, due);
  }
  write(due);
}

void SourceWatch::note_only_held(const std::string& source, const std::string& why, schema::UtcMillis now) {
  std::vector<StateNote> due;
  {
    const std::lock_guard lock(mutex_);
    Standing& standing = standings_[source];
    const std::string only_held = why.empty() ? std::string() : std::string(kOnlyHeld) + why;
    if (standing.only_held == only_held) return;
    standing.only_held = only_held;
    if (standing.now == SourceState::works) standing.heard = true;
    tell_if_due(source, standing, now, due);
  }
  write(due);
}

void SourceWatch::note_room(const std::string& source, schema::UtcMillis now) {
  {
    const std::lock_guard lock(mutex_);
    if (standings_[source].now != SourceState::full) return;
  }
  note(source, SourceState::works, "", now);
}

void SourceWatch::note_refused(const std::string& source, const std::string& why, schema::UtcMillis now) {
  const std::lock_guard lock(mutex_);
  Standing& standing = standings_[source];
  ++standing.refusals_unwritten;
  ++standing.refusals_untold;
  if (!is_over(standing.refusal_told_at, kRefusalPaceMillis, now)) return;
  spdlog::warn("source {}: a message {} was refused{}", source, why,
               standing.refusals_untold > 1 ? ", and " + std::to_string(standing.refusals_untold - 1) +
                                                  " others since the last such line"
                                            : "");
  standing.refusal_told_at = now;
  standing.refusals_untold = 0;
}

void SourceWatch::count_refused(const std::string& source) {
  const std::lock_guard lock(mutex_);
  ++standings_[source].refusals_unwritten;
}

void SourceWatch::warn(const std::string& source, const std::string& what, schema::UtcMillis now) {
  const std::lock_guard lock(mutex_);
  Standing& standing = standings_[source];
  ++standing.warnings_untold;
  if (!is_over(standing.warned_at, kTellPaceMillis, now)) return;
  spdlog::warn("source {}: {}{}; \"giftsyncctl source aside\" lists it", source, what,
               standing.warnings_untold > 1
                   ? " (and " + std::to_string(standing.warnings_untold - 1) + " more of the kind)"
                   : "");
  standing.warned_at = now;
  standing.warnings_untold = 0;
}

void SourceWatch::catch_up(schema::UtcMillis now) {
  std::vector<StateNote> due;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [source, standing] : standings_) tell_if_due(source, standing, now, due);
  }
  write(due);
  write_counters();
}

void SourceWatch::close(schema::UtcMillis now) {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [source, standing] : standings_) standing.told_at = standing.written_at = {INT64_MIN / 2};
  }
  catch_up(now);
}

void SourceWatch::write_counters() {
  std::map<std::string, std::int64_t> refused;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [source, standing] : standings_) {
      if (standing.refusals_unwritten > 0) refused[source] = std::exchange(standing.refusals_unwritten, 0);
    }
  }
  try {
    while (!refused.empty()) {
      store_.sources.add_refused(refused.begin()->first, refused.begin()->second);
      refused.erase(refused.begin());
    }
  } catch (const schema::BrokenWorld&) {
    const std::lock_guard lock(mutex_);
    for (const auto& [source, count] : refused) standings_[source].refusals_unwritten += count;
    throw;
  }
}

}  // namespace giftsync::daemon
