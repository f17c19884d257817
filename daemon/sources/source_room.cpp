#include "daemon/sources/source_room.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <random>
#include <set>

#include "daemon/counted.h"
#include "daemon/sources/poll_step.h"
#include "daemon/sources/poll_wait.h"
#include "schema/broken_world.h"

namespace giftsync::daemon {
namespace {

constexpr std::int64_t kPollPaceMillis = 500;
/// Longer than any sender repeats a message under the same id.
constexpr std::int64_t kMessageLifeMillis = 30 * schema::kDayMillis;

/// A change may come before the report that tells of its gift, without that being a reason to doubt.
constexpr std::int64_t kEarlyMillis = schema::kMinuteMillis;

/// What may be wrong, and where to look.
std::string why_only_held(const SourcePlan& plan) {
  const std::string& name = plan.settings.name;
  if (!plan.origin.empty())
    return "no report told of a recipient and of the time of sending, so no gift was made; see \"giftsyncctl "
           "source aside " +
           name +
           " --held\", correct fields.recipient_email, fields.recipient_phone or fields.sent_at, and reload";
  return "there are no such gifts here, see \"giftsyncctl change held --source " + name + "\"" +
         (plan.settings.preset == SourcePreset::none
              ? "; if its gifts are sent elsewhere, set transactions: external and reload"
              : "");
}

std::vector<SourcePlan> plans_of(const std::vector<SourceSettings>& sources,
                                 const std::string& installation) {
  std::vector<SourcePlan> plans;
  for (const SourceSettings& source : sources) plans.push_back(make_source_plan(source, installation));
  return plans;
}

double from_0_to_1() {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

}  // namespace

SourceRoom::SourceRoom(const std::vector<SourceSettings>& sources, const std::string& installation,
                       schema::Store& store, std::function<void()> on_changes, std::size_t max_body_bytes)
    : store_(store),
      plans_(plans_of(sources, installation)),
      watch_(store),
      intake_(store, watch_, std::move(on_changes)),
      amazon_(fetch_web, system_now),
      door_(plans_, intake_, watch_, system_now, std::ref(amazon_), max_body_bytes) {
  for (const SourcePlan& plan : plans_) {
    // First: with its new origin what is held may find a gift.
    store_.sources.begin_judging(plan.settings.name, plan.reading);
    watch_.open(plan.settings.name, plan.origin, system_now());
  }
}

void SourceRoom::tell_of_removed() {
  for (const schema::SourceStanding& row : store_.sources.standings()) {
    const bool is_here = std::any_of(plans_.begin(), plans_.end(),
                                     [&](const SourcePlan& plan) { return plan.settings.name == row.name; });
    if (is_here) continue;
    store_.sources.begin_judging(row.name, "");  // nobody is there to judge: what was read stands
    if (row.gifts > 0)
      spdlog::warn(
          "source {} is not in the settings any more: its {} gifts are not followed; if it was renamed, give "
          "it its old name back, for they go by that",
          row.name, row.gifts);
    else if (row.held + row.kept_aside > 0)
      spdlog::warn(
          "source {} is not in the settings any more: {} of its changes are held and {} of its reports kept "
          "aside; giftsyncctl source discard {} held|aside throws them away",
          row.name, row.held, row.kept_aside, row.name);
  }
}

void SourceRoom::start_polls(const std::string& owner) {
  tell_of_removed();
  store_.sources.break_leases(owner);
  store_.sources.cut_leases(kPollLeaseMillis);
  forget_outdated_waits(plans_, store_, owner, system_now());
  for (const SourcePlan& plan : plans_) {
    if (plan.settings.kind != SourceKind::poll) continue;
    PollTools tools{store_, intake_, watch_, fetch_web, system_now, from_0_to_1, owner};
    polls_.push_back(std::make_unique<Loop>(Loop::Work{
        "source " + plan.settings.name, kPollPaceMillis,
        [&plan, tools](Loop& loop) {
          const PollReport report = poll_step(plan, tools, [&loop] { return loop.alive_and_wanted(); });
          if (report.pages > 0) {
            spdlog::debug("source {}: {} pages: {} accepted, {} repeated, {} held, {} kept aside",
                          plan.settings.name, report.pages, report.accepted, report.repeated, report.held,
                          report.kept_aside);
          }
          return report.more;
        },
        [this, &plan, owner] { store_.sources.break_lease(plan.settings.name, owner); }}));
  }
}

void SourceRoom::request_stop() {
  for (const auto& poll : polls_) poll->request_stop();
}

void SourceRoom::stop() {
  polls_.clear();
  try {
    watch_.close(system_now());
  } catch (const schema::BrokenWorld& fault) {
    spdlog::warn("how the sources stood last was not written down: {}", fault.what());
  }
}

bool SourceRoom::alive(std::int64_t longest_silence_millis) const {
  for (const auto& poll : polls_) {
    if (poll->silent_millis() > longest_silence_millis) return false;
  }
  return true;
}

std::vector<std::string> SourceRoom::end_false_waits(schema::UtcMillis now) {
  return end_false_poll_waits(plans_, store_, now);
}

void SourceRoom::keep_house(schema::UtcMillis now, const std::function<bool()>& keep_going) {
  watch_.catch_up(now);
  if (plans_.empty()) return;
  const std::set<std::string> unjudged = store_.sources.unjudged();
  for (const SourcePlan& plan : plans_) {
    const bool is_unjudged = unjudged.contains(plan.settings.name);
    // Also when another daemon began to judge it and did not come to the end.
    if (is_unjudged) store_.sources.begin_judging(plan.settings.name, plan.reading);
    if (is_unjudged || !reviewed_) review(plan, now, keep_going);
  }
  reviewed_ = true;
  tell_what_is_only_held(now);
  store_.sources.prune_messages(now - kMessageLifeMillis);
}

void SourceRoom::review(const SourcePlan& plan, schema::UtcMillis now,
                        const std::function<bool()>& keep_going) {
  const std::string& name = plan.settings.name;
  const std::size_t applied = intake_.review_aside(plan, now, keep_going);
  if (applied > 0) spdlog::info("source {}: {} reports that were kept aside make sense now", name, applied);
  const std::size_t gifts = intake_.review_held(plan, now, keep_going);
  if (gifts > 0)
    spdlog::info("source {}: {} {} made from reports that were held", name, counted(gifts, "gift"),
                 verb_for(gifts, "was", "were"));
  if (applied + gifts > 0) watch_.note_room(name, now);
}

void SourceRoom::tell_what_is_only_held(schema::UtcMillis now) {
  if (!is_over(only_held_asked_at_, schema::kMinuteMillis, now)) return;
  only_held_asked_at_ = now;
  const std::set<std::string> only_held = store_.sources.only_held(now - kEarlyMillis);
  for (const SourcePlan& plan : plans_) {
    const std::string& name = plan.settings.name;
    watch_.note_only_held(name, only_held.contains(name) ? why_only_held(plan) : "", now);
  }
}

}  // namespace giftsync::daemon
