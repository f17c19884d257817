#include "platform/clock.h"

#include <chrono>
#include <ctime>

namespace giftsync::platform {

UtcMillis system_now() {
  using namespace std::chrono;
  return {duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count()};
}

std::int64_t boottime_millis() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * kSecondMillis + now.tv_nsec / 1'000'000;
}

}  // namespace giftsync::platform
