#include "daemon/http/connection_registry.h"

#include <sys/socket.h>

#include <algorithm>

namespace giftsync::http {

ConnectionRegistry::ConnectionRegistry(std::size_t max_connections, std::size_t max_per_address)
    : max_connections_(max_connections), max_per_address_(max_per_address) {}

void ConnectionRegistry::set_limits(std::size_t max_connections, std::size_t max_per_address) {
  const std::lock_guard lock(mutex_);
  max_connections_ = max_connections;
  max_per_address_ = max_per_address;
}

std::size_t ConnectionRegistry::open_count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(slots_.begin(), slots_.end(), [](const Slot* slot) {
    return slot->phase() != Slot::Phase::shut_down;
  }));
}

bool ConnectionRegistry::add(Slot& slot) {
  const std::lock_guard lock(mutex_);
  if (is_closing()) return false;
  slot.state_.store(Slot::idle_since(Clock::now()));
  slots_.push_back(&slot);
  evict_over_limit(slot);
  return true;
}

void ConnectionRegistry::remove(Slot& slot) {
  const std::lock_guard lock(mutex_);
  std::erase(slots_, &slot);
  if (slots_.empty()) all_removed_.notify_all();
}

// A scan of all slots costs microseconds at a thousand connections and runs once per connection. A request
// costs only two atomic transitions of its own slot.
void ConnectionRegistry::evict_over_limit(const Slot& new_slot) {
  std::size_t all = 0;
  std::size_t same_address = 0;
  for (const Slot* slot : slots_) {
    if (slot->phase() == Slot::Phase::shut_down) continue;
    ++all;
    if (!new_slot.exempt_ && slot->rate_limit_prefix_ == new_slot.rate_limit_prefix_) ++same_address;
  }
  while (same_address > max_per_address_ && evict_oldest_idle(new_slot, true)) {
    --same_address;
    --all;
  }
  while (all > max_connections_ && evict_oldest_idle(new_slot, false)) --all;
}

bool ConnectionRegistry::evict_oldest_idle(const Slot& new_slot, bool same_address_only) {
  for (;;) {
    Slot* oldest = nullptr;
    std::uint64_t oldest_state = 0;
    for (Slot* slot : slots_) {
      const std::uint64_t state = slot->state_.load();
      const Slot::Phase phase = Slot::phase_of(state);
      if (slot == &new_slot || phase == Slot::Phase::handling || phase == Slot::Phase::shut_down) continue;
      if (same_address_only && slot->rate_limit_prefix_ != new_slot.rate_limit_prefix_) continue;
      if (oldest == nullptr || state < oldest_state) {
        oldest = slot;
        oldest_state = state;
      }
    }
    if (oldest == nullptr) return false;
    if (oldest->shut_down_if_state(oldest_state))
      return true;  // else it has just begun a request: search again
  }
}

void ConnectionRegistry::close_idle() {
  begin_close();
  const std::lock_guard lock(mutex_);
  for (Slot* slot : slots_) {
    const std::uint64_t state = slot->state_.load();
    // A connection that begins a request between these two lines continues, sees is_closing() after its
    // response and closes.
    if (Slot::phase_of(state) == Slot::Phase::idle) slot->shut_down_if_state(state);
  }
}

void ConnectionRegistry::close_all() {
  const std::lock_guard lock(mutex_);
  for (Slot* slot : slots_) slot->shut_down();
}

bool ConnectionRegistry::wait_until_empty(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return all_removed_.wait_until(lock, deadline, [this] { return slots_.empty(); });
}

void ConnectionRegistry::wait_until_empty() {
  std::unique_lock lock(mutex_);
  all_removed_.wait(lock, [this] { return slots_.empty(); });
}

ConnectionRegistry::Slot::Slot(ConnectionRegistry& registry, int descriptor, const IpAddress& peer,
                               bool exempt, bool ends_itself)
    : registry_(registry),
      descriptor_(descriptor),
      rate_limit_prefix_(peer.rate_limit_prefix()),
      exempt_(exempt),
      ends_itself_(ends_itself),
      is_admitted_(registry_.add(*this)) {}

ConnectionRegistry::Slot::~Slot() {
  if (is_admitted_) registry_.remove(*this);
}

std::uint64_t ConnectionRegistry::Slot::pack_state(Phase phase) {
  // The duration of a handler is not needed, so the clock is not read.
  if (phase == Phase::handling || phase == Phase::shut_down) return static_cast<std::uint64_t>(phase);
  return idle_since(Clock::now()) | static_cast<std::uint64_t>(phase);
}

std::uint64_t ConnectionRegistry::Slot::idle_since(Clock::time_point time) {
  static_assert(static_cast<std::uint64_t>(Phase::idle) == 0);
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch());
  return static_cast<std::uint64_t>(since.count()) << 2;
}

bool ConnectionRegistry::Slot::transition_to(Phase next) {
  const std::uint64_t state = pack_state(next);
  std::uint64_t current = state_.load();
  while (phase_of(current) != Phase::shut_down) {
    if (state_.compare_exchange_weak(current, state)) return true;
  }
  return false;
}

bool ConnectionRegistry::Slot::shut_down_if_state(std::uint64_t expected) {
  const bool is_idle = phase_of(expected) == Phase::idle;
  if (!state_.compare_exchange_strong(expected, pack_state(Phase::shut_down))) return false;
  ::shutdown(descriptor_, ends_itself_ && is_idle ? SHUT_RD : SHUT_RDWR);
  return true;
}

void ConnectionRegistry::Slot::shut_down() {
  state_.store(pack_state(Phase::shut_down));
  ::shutdown(descriptor_, SHUT_RDWR);
}

}  // namespace giftsync::http
