#include "daemon/crypto/random.h"

#include <openssl/rand.h>

#include "daemon/crypto/digest.h"
#include "schema/broken_world.h"

namespace giftsync::daemon {

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (RAND_priv_bytes_ex(nullptr, reinterpret_cast<unsigned char*>(bytes.data()), count, 0) != 1) {
    throw schema::BrokenWorld(true, "the system gives no random bytes; check that /dev/urandom is there");
  }
  return bytes;
}

std::string random_hex(std::size_t bytes) {
  return to_hex(random_bytes(bytes));
}

}  // namespace giftsync::daemon
