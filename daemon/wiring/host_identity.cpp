#include "daemon/wiring/host_identity.h"

#include <systemd/sd-id128.h>
#include <unistd.h>

#include <array>

namespace giftsync::wiring {

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string host_identity() {
  constexpr sd_id128_t kGiftsync =
      SD_ID128_MAKE(5b, 1e, 0f, 6a, 92, 7c, 4d, 38, a4, 11, c3, 70, 2e, 95, 88, d6);
  sd_id128_t machine{};
  char id[SD_ID128_STRING_MAX] = "";
  if (sd_id128_get_machine_app_specific(kGiftsync, &machine) == 0) sd_id128_to_string(machine, id);
  return host_name() + " " + id;
}

}  // namespace giftsync::wiring
