// daemon: a value that one thread waits for and another one brings, once.
#pragma once

#include <semaphore.h>

#include <optional>
#include <utility>

namespace giftsync::daemon {

/// Uses the C library's semaphore, because the C++ one spins with sched_yield before it sleeps: that took a
/// sixth of the CPU with 64 callers waiting for a disk.
template <class Value>
class AwaitedValue {
 public:
  AwaitedValue() { ::sem_init(&semaphore_, 0, 0); }
  ~AwaitedValue() { ::sem_destroy(&semaphore_); }
  AwaitedValue(const AwaitedValue&) = delete;
  AwaitedValue& operator=(const AwaitedValue&) = delete;

  /// This may be destroyed from here on.
  void set(Value value) {
    value_ = std::move(value);
    ::sem_post(&semaphore_);
  }
  Value wait() {
    while (::sem_wait(&semaphore_) != 0) {
    }
    return std::move(*value_);
  }

 private:
  ::sem_t semaphore_;
  std::optional<Value> value_;
};

}  // namespace giftsync::daemon
