// daemon/crypto: random bytes for secrets, keys and names that nobody may guess. From any thread.
#pragma once

#include <cstddef>
#include <string>

namespace giftsync::daemon {

/// `count` bytes of the system's cryptographic generator. Throws schema::BrokenWorld when it has none to
/// give.
std::string random_bytes(std::size_t count);

/// `bytes` random bytes as twice as many lower-case hex digits.
std::string random_hex(std::size_t bytes);

}  // namespace giftsync::daemon
