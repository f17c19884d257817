#include "daemon/sources/poll_contract.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/plural.h"
#include "sync/event_classification.h"
#include "sync/status_rules.h"

namespace giftsync::daemon::sources {
namespace {

/// More than chance: of events in no order a few are later, and as few earlier, than all before them.
bool predominates(std::int64_t count, std::int64_t opposite) {
  constexpr std::int64_t kMinEvents = 3;
  return count >= 2 * opposite + kMinEvents;
}

void add_time(FeedOrder& order, platform::UtcMillis time) {
  if (order.latest && time > *order.latest) ++order.later;
  if (order.earliest && time < *order.earliest) ++order.earlier;
  order.latest = std::max(order.latest.value_or(time), time);
  order.earliest = std::min(order.earliest.value_or(time), time);
}

}  // namespace

bool is_ascending(const FeedOrder& order) {
  return predominates(order.later, order.earlier);
}

bool is_descending(const FeedOrder& order) {
  return predominates(order.earlier, order.later);
}

bool grows_at_end(const FeedOrder& order, bool is_last_page_empty) {
  return is_ascending(order) && (is_last_page_empty || order.pages > kFewPages);
}

TimePage time_page_of(std::span<const sync::InboundEvent> events, platform::UtcMillis now, FeedOrder& order) {
  TimePage page;
  if (!events.empty()) ++order.pages;
  page.items = static_cast<std::int64_t>(events.size());
  std::optional<platform::UtcMillis> previous;
  for (const sync::InboundEvent& event : events) {
    const auto time = sync::parse_event_time(event[sync::EventField::occurred_at]);
    if (!time) continue;
    const bool is_ahead = *time > now;
    if (!is_ahead && !sync::time_error(*time, now).empty()) continue;
    if (is_ahead) ++page.items_ahead;
    if (!is_ahead) page.newest = std::max(page.newest, time);  // absent is earliest
    if (!is_ahead) add_time(order, *time);
    page.last = std::max(page.last, time);
    if (previous && *time < *previous) page.is_ascending = false;
    previous = time;
  }
  return page;
}

TimePageDecision decide_time_page(const TimeRequest& request, const TimePage& page, std::int64_t page_size) {
  if (page.items > page_size) return {ContractFault::more_than_page_size, {}};
  if (page.items < page_size) {
    // The event of the known time is on the feed, so a page that ends before it was cut.
    const bool ends_early = page.last && page.last < request.known;
    return {ends_early ? ContractFault::ends_early : ContractFault::none, {}};
  }
  if (!page.is_ascending) return {ContractFault::not_ascending, {}};
  // Absent is earliest: a full page without a time makes no progress either.
  if (page.newest <= request.from) return {ContractFault::no_progress, {}};
  return {ContractFault::none, page.newest};
}

std::string describe_fault(ContractFault fault, const TimePage& page, std::int64_t page_size) {
  switch (fault) {
    case ContractFault::none:
      break;
    case ContractFault::more_than_page_size:
      return fmt::format(
          "its page holds {} items, more than page_size ({}); set page_size to the number of items in a full "
          "page, and reload",
          page.items, page_size);
    case ContractFault::not_ascending:
      return "a full page is not ascending by fields.occurred_at; request that order in its url, or set next "
             "or cursor, and reload";
    case ContractFault::no_progress:
      return fmt::format(
          "a full page has nothing later than the time that it was requested from, so what follows cannot be "
          "requested; request larger pages in its url and set page_size to their length, or set next or "
          "cursor, and reload{}",
          page.items_ahead == 0
              ? ""
              : fmt::format("; {} on it {} dated ahead of this machine's clock: compare the two clocks",
                            platform::pluralize(page.items_ahead, "item"),
                            platform::plural_verb(page.items_ahead, "is", "are")));
    case ContractFault::ends_early:
      return fmt::format(
          "a page of {} ends before the newest event known, so it was cut before page_size ({}); set "
          "page_size "
          "to the number of items in a full page, and reload; if the feed has deleted events, giftsyncctl "
          "source reset-cursor reads it from the beginning",
          platform::pluralize(page.items, "item"), page_size);
  }
  return {};
}

}  // namespace giftsync::daemon::sources
