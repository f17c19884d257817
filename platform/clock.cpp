#include "platform/clock.h"

#include <chrono>

namespace giftsync::platform {

UtcMillis system_now() {
  using namespace std::chrono;
  return {duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count()};
}

}  // namespace giftsync::platform
