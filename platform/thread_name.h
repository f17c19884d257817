// platform: what the system calls a thread, for `top -H` and benchmarks (ARCH-25).
#pragma once

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace giftsync::platform {

/// Of the calling thread. The system keeps 15 bytes.
inline void name_thread(std::string name) {
  constexpr std::size_t kMaxBytes = 15;
  name.resize(std::min(name.size(), kMaxBytes));
  pthread_setname_np(pthread_self(), name.c_str());
}

}  // namespace giftsync::platform
