#include "daemon/gift_log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "platform/logging.h"

namespace giftsync::daemon {
namespace {

using sync::GiftEvent;
using sync::GiftEventKind;

struct Logged {
  LogEvent event;
  std::string_view message;
};

Logged line_of(GiftEventKind kind) {
  switch (kind) {
    case GiftEventKind::mailed:
      return {LogEvent::mail_accepted, "mail handed to the relay"};
    case GiftEventKind::reminded:
      return {LogEvent::reminder_accepted, "reminder handed to the relay"};
    case GiftEventKind::matched_contact:
      return {LogEvent::gift_matched, "matched to a contact"};
    case GiftEventKind::matched_lead:
      return {LogEvent::gift_matched, "matched to a lead"};
    case GiftEventKind::unmatched:
      return {LogEvent::gift_unmatched, "no contact or lead matches"};
    case GiftEventKind::record_created:
      return {LogEvent::gift_record_created, "gift record created in the CRM"};
    case GiftEventKind::record_updated:
      return {LogEvent::gift_record_updated, "gift record updated in the CRM"};
  }
  std::abort();  // a value outside the enumeration: a bug
}

constexpr std::array kStageNames{"requested", "mailed", "matched", "written to the CRM"};

bool is_matched_alike(const GiftEvent& a, const GiftEvent& b) {
  return a.matched_id == b.matched_id;
}

/// The events at the beginning that share a line. Of a few matches each names its contact or lead; those of a
/// campaign share lines without.
std::size_t run_length(std::span<const GiftEvent> events) {
  const GiftEvent& first = events.front();
  const auto length_while = [&](const auto& shares) {
    const auto end = std::find_if_not(events.begin(), events.end(), shares);
    return static_cast<std::size_t>(end - events.begin());
  };
  const std::size_t together = length_while(
      [&](const GiftEvent& event) { return event.kind == first.kind && event.request == first.request; });
  if (together > GiftLog::kMaxNamedMatches) return std::min(together, GiftLog::kMaxGiftsPerLine);
  return std::min(together, length_while([&](const GiftEvent& gift_event) {
                    return is_matched_alike(gift_event, first);
                  }));
}

/// Empty when the gifts of the run are matched to several.
std::string_view matched_id_of(std::span<const GiftEvent> run) {
  const bool is_one = std::all_of(
      run.begin(), run.end(), [&](const GiftEvent& event) { return is_matched_alike(event, run.front()); });
  return is_one ? run.front().matched_id : std::string_view();
}

std::int64_t count_of(const std::vector<std::int64_t>& gifts) {
  return static_cast<std::int64_t>(gifts.size());
}

}  // namespace

GiftLog::Stage GiftLog::stage_of(GiftEventKind kind) {
  switch (kind) {
    case GiftEventKind::mailed:
    case GiftEventKind::reminded:
      return mailed;
    case GiftEventKind::matched_contact:
    case GiftEventKind::matched_lead:
    case GiftEventKind::unmatched:
      return matched;
    case GiftEventKind::record_created:
    case GiftEventKind::record_updated:
      break;
  }
  return written;
}

/// A clock that is set back adds nothing until it has passed the former time.
bool GiftLog::admit(Stage stage, std::size_t gifts, UtcMillis now) {
  const std::lock_guard lock(mutex_);
  Budget& budget = budgets_.at(stage);
  const std::int64_t elapsed_millis =
      std::clamp<std::int64_t>(now.value - budget.since.value, 0, kHourMillis);
  budget.since = now;
  budget.thousandths =
      std::min(budget.thousandths + elapsed_millis * kLinesPerSecond, std::int64_t{kMaxBurst * 1000});
  if (budget.thousandths < 1000) {
    budget.dropped_gifts += gifts;
    return false;
  }
  budget.thousandths -= 1000;
  return true;
}

void GiftLog::log_request(const NewRequest& request, UtcMillis now) {
  if (!spdlog::should_log(spdlog::level::info)) return;
  for (auto rest = request.gifts; !rest.empty();) {
    const auto part = rest.first(std::min(rest.size(), kMaxGiftsPerLine));
    rest = rest.subspan(part.size());
    if (!admit(requested, part.size(), now)) continue;
    std::vector<std::int64_t> gifts;
    for (const store::RecipientTransaction& gift : part) gifts.push_back(gift.id.value);
    const LogField fields[] = {{"gift", gifts},
                               {"gifts", count_of(gifts)},
                               {"request", request.request.value},
                               {"request_record", request.request_record},
                               {"request_id", request.http_request_id},
                               {"key", request.credential_prefix}};
    log_event(LogEvent::gift_request_made, "gift request made", fields);
  }
}

void GiftLog::log_events(std::span<const GiftEvent> events, UtcMillis now) {
  if (!spdlog::should_log(spdlog::level::info)) return;
  while (!events.empty()) {
    const auto run = events.first(run_length(events));
    events = events.subspan(run.size());
    const GiftEvent& first = run.front();
    if (!admit(stage_of(first.kind), run.size(), now)) continue;
    std::vector<std::int64_t> gifts;
    for (const GiftEvent& event : run) gifts.push_back(event.gift.value);
    const LogField fields[] = {
        {"gift", gifts},
        {"gifts", count_of(gifts)},
        {"request", first.request.value},
        {first.kind == GiftEventKind::matched_lead ? "lead" : "contact", matched_id_of(run)},
        {"source", first.gift_source},
        {"request_id", first.http_request_id}};
    const Logged line = line_of(first.kind);
    log_event(line.event, line.message, fields);
  }
}

void GiftLog::log_dropped() {
  for (std::size_t stage = 0; stage < kStages; ++stage) {
    std::size_t gifts = 0;
    {
      const std::lock_guard lock(mutex_);
      std::swap(gifts, budgets_.at(stage).dropped_gifts);
    }
    if (gifts == 0) continue;
    log_event(LogEvent::gifts_not_named,
              fmt::format("{} more {} {}, not named: more than {} lines a second", gifts,
                          gifts == 1 ? "gift" : "gifts", kStageNames.at(stage), kLinesPerSecond),
              {{"gifts", static_cast<std::int64_t>(gifts)}});
  }
}

}  // namespace giftsync::daemon
