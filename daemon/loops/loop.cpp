#include "daemon/loops/loop.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "schema/broken_world.h"

namespace giftsync::daemon {
namespace {

constexpr std::int64_t kLongestBackOffMillis = 5000;
/// A loop that gives way rests this many times as long as it worked, so its backlog still shrinks.
constexpr std::int64_t kRestsForWork = 19;
constexpr std::int64_t kLongestRestMillis = 1000;

std::int64_t steady_millis() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Loop::Loop(Work work)
    : work_(std::move(work)), last_alive_millis_(steady_millis()), thread_([this] { run(); }) {}

Loop::~Loop() {
  request_stop();
  thread_.join();
}

void Loop::request_stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
}

void Loop::wake() {
  {
    const std::lock_guard lock(mutex_);
    if (woken_) return;  // thousands of requests a second wake a loop that rests
    woken_ = true;
  }
  changed_.notify_one();
}

bool Loop::alive_and_wanted() {
  last_alive_millis_ = steady_millis();
  const std::lock_guard lock(mutex_);
  return !stopping_;
}

std::int64_t Loop::silent_millis() const {
  return steady_millis() - last_alive_millis_;
}

void Loop::note_fault(const std::string& what) {
  if (faults_in_a_row_++ == 0) spdlog::error("{}: {}; trying again until it works", work_.name, what);
}

void Loop::note_recovery() {
  if (faults_in_a_row_ > 0)
    spdlog::info("{}: works again after {} failed tries", work_.name, faults_in_a_row_);
  faults_in_a_row_ = 0;
}

bool Loop::run_step() {
  try {
    if (faults_in_a_row_ > 0) work_.after_fault();
    const bool more = work_.step(*this);
    note_recovery();
    return more;
  } catch (const schema::BrokenWorld& fault) {
    note_fault(fault.what());
    return false;
  }
}

/// Not ended by a wake-up.
void Loop::rest(std::int64_t millis) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(millis), [this] { return stopping_; });
}

void Loop::run() {
  while (alive_and_wanted()) {
    const std::int64_t began = steady_millis();
    const bool more = run_step();
    if (work_.give_way()) rest(std::min(kRestsForWork * (steady_millis() - began) + 1, kLongestRestMillis));
    if (more) continue;
    const std::int64_t back_off =
        std::min(work_.pace_millis << std::min<std::int64_t>(faults_in_a_row_, 8), kLongestBackOffMillis);
    const std::int64_t wait = faults_in_a_row_ > 0 ? back_off : work_.pace_millis;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(wait),
                      [this] { return stopping_ || (woken_ && faults_in_a_row_ == 0); });
    woken_ = false;
  }
}

}  // namespace giftsync::daemon
