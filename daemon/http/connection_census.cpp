#include "daemon/http/connection_census.h"

#include <sys/socket.h>

#include <algorithm>

namespace giftsync::daemon {

ConnectionCensus::ConnectionCensus(std::size_t most, std::size_t most_per_address)
    : most_(most), most_per_address_(most_per_address) {}

std::size_t ConnectionCensus::open() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(places_.begin(), places_.end(), [](const Place* place) {
    return place->phase() != Place::Phase::shut_down;
  }));
}

bool ConnectionCensus::enter(Place& place) {
  const std::lock_guard lock(mutex_);
  if (closing()) return false;
  place.state_.store(Place::resting_since(arrival_of(place.descriptor_)));
  places_.push_back(&place);
  make_room(place);
  return true;
}

void ConnectionCensus::note_arrival(int descriptor) {
  const std::lock_guard lock(mutex_);
  arrivals_[descriptor] = Clock::now();
}

ConnectionCensus::Clock::time_point ConnectionCensus::arrival_of(int descriptor) {
  const auto noted = arrivals_.extract(descriptor);
  return noted.empty() ? Clock::now() : noted.mapped();
}

void ConnectionCensus::leave(Place& place) {
  const std::lock_guard lock(mutex_);
  std::erase(places_, &place);
  if (places_.empty()) emptied_.notify_all();
}

// A scan of all places costs microseconds at a thousand connections and is paid once a connection; a request
// pays nothing but two atomic moves of its own place.
void ConnectionCensus::make_room(const Place& newcomer) {
  std::size_t all = 0;
  std::size_t same_address = 0;
  for (const Place* place : places_) {
    if (place->phase() == Place::Phase::shut_down) continue;
    ++all;
    if (!newcomer.exempt_ && place->subscriber_ == newcomer.subscriber_) ++same_address;
  }
  while (same_address > most_per_address_ && shut_down_oldest(newcomer, true)) {
    --same_address;
    --all;
  }
  while (all > most_ && shut_down_oldest(newcomer, false)) --all;
}

bool ConnectionCensus::shut_down_oldest(const Place& newcomer, bool same_address_only) {
  for (;;) {
    Place* oldest = nullptr;
    std::uint64_t oldest_state = 0;
    for (Place* place : places_) {
      const std::uint64_t state = place->state_.load();
      const Place::Phase phase = Place::phase_of(state);
      if (place == &newcomer || phase == Place::Phase::handling || phase == Place::Phase::shut_down) continue;
      if (same_address_only && place->subscriber_ != newcomer.subscriber_) continue;
      if (oldest == nullptr || state < oldest_state) {
        oldest = place;
        oldest_state = state;
      }
    }
    if (oldest == nullptr) return false;
    if (oldest->shut_down_if(oldest_state)) return true;  // else it began a request just now: look again
  }
}

void ConnectionCensus::close_resting() {
  const std::lock_guard lock(mutex_);
  closing_.store(true);
  for (Place* place : places_) {
    const std::uint64_t state = place->state_.load();
    // One that begins a request between the two lines goes on, sees closing() after its answer and leaves.
    if (Place::phase_of(state) == Place::Phase::resting) place->shut_down_if(state);
  }
}

void ConnectionCensus::close_all() {
  const std::lock_guard lock(mutex_);
  for (Place* place : places_) place->shut_down();
}

bool ConnectionCensus::wait_until_empty(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return emptied_.wait_until(lock, deadline, [this] { return places_.empty(); });
}

ConnectionCensus::Place::Place(ConnectionCensus& census, int descriptor, const IpAddress& peer, bool exempt)
    : census_(census),
      descriptor_(descriptor),
      subscriber_(peer.subscriber()),
      exempt_(exempt),
      admitted_(census_.enter(*this)) {}

ConnectionCensus::Place::~Place() {
  if (admitted_) census_.leave(*this);
}

std::uint64_t ConnectionCensus::Place::packed(Phase phase) {
  // Nobody asks how long a handler runs: no clock for it.
  if (phase == Phase::handling || phase == Phase::shut_down) return static_cast<std::uint64_t>(phase);
  return resting_since(Clock::now()) | static_cast<std::uint64_t>(phase);
}

std::uint64_t ConnectionCensus::Place::resting_since(Clock::time_point time) {
  static_assert(static_cast<std::uint64_t>(Phase::resting) == 0);
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch());
  return static_cast<std::uint64_t>(since.count()) << 2;
}

bool ConnectionCensus::Place::move_to(Phase next) {
  const std::uint64_t state = packed(next);
  std::uint64_t current = state_.load();
  while (phase_of(current) != Phase::shut_down) {
    if (state_.compare_exchange_weak(current, state)) return true;
  }
  return false;
}

bool ConnectionCensus::Place::shut_down_if(std::uint64_t expected) {
  if (!state_.compare_exchange_strong(expected, packed(Phase::shut_down))) return false;
  ::shutdown(descriptor_, SHUT_RDWR);
  return true;
}

void ConnectionCensus::Place::shut_down() {
  state_.store(packed(Phase::shut_down));
  ::shutdown(descriptor_, SHUT_RDWR);
}

}  // namespace giftsync::daemon
