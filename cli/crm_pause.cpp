#include "cli/crm_pause.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "platform/clock.h"
#include "platform/time.h"
#include "schema/store/crm_wake.h"

namespace giftsync::cli {
namespace {

/// Clock and mark are looked at again after it: the clock may be set, and the computer may have slept.
constexpr std::int64_t kLongestSleepMillis = 2 * platform::kSecondMillis;

}  // namespace

std::optional<std::string> wake_mark(schema::store::Store& store) {
  try {
    return store.fact(schema::store::kCrmWakeFact).value_or("");
  } catch (const platform::DependencyError&) {
    return std::nullopt;
  }
}

void wait_for_crm(const Console& console, schema::store::Store& store, std::optional<std::string> seen,
                  const platform::DependencyPause& pause) {
  console.info(
      fmt::format("{}. Waiting; this command goes on at {}, and tries again within seconds after "
                  "\"giftsyncctl crm retry --all\".",
                  pause.what(), platform::to_rfc3339(pause.until())));
  while (true) {
    // By the clock that the CRM's pauses are made with.
    const std::int64_t left = pause.until().value - platform::system_now().value;
    const std::optional<std::string> mark = wake_mark(store);
    if (left <= 0 || (mark && seen && *mark != *seen)) return;
    if (!seen) seen = mark;
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(left, kLongestSleepMillis)));
  }
}

}  // namespace giftsync::cli
