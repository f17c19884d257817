#include "platform/random.h"

#include <openssl/rand.h>

#include "platform/dependency_error.h"
#include "platform/digest.h"

namespace giftsync::platform {

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (RAND_priv_bytes_ex(nullptr, reinterpret_cast<unsigned char*>(bytes.data()), count, 0) != 1) {
    throw DependencyError(true, "the system returned no random bytes; check that /dev/urandom exists");
  }
  return bytes;
}

std::string random_hex(std::size_t bytes) {
  return to_hex(random_bytes(bytes));
}

}  // namespace giftsync::platform
