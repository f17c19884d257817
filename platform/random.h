// platform: random bytes for secrets, keys and names that must not be guessable. Any thread.
#pragma once

#include <cstddef>
#include <string>

namespace giftsync::platform {

/// `count` bytes of the system's cryptographic generator. Throws platform::DependencyError when the generator
/// fails.
std::string random_bytes(std::size_t count);

/// `bytes` random bytes as lower-case hex, two digits per byte.
std::string random_hex(std::size_t bytes);

}  // namespace giftsync::platform
