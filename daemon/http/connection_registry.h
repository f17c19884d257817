// daemon/http: the open connections, and which one is closed at a limit. The newest connection is never
// refused: it evicts the connection that has been idle longest, first of its own address, then of all
// (HTTP-17).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "platform/ip_address.h"

namespace giftsync::http {

/// Used by the I/O thread and by the one that stops the server. A connection is shut down only
/// while it has a slot and under the registry's lock. A slot is released before its descriptor is closed, so
/// a reused descriptor is never shut down.
class ConnectionRegistry {
 public:
  using Clock = std::chrono::steady_clock;

  ConnectionRegistry(std::size_t max_connections, std::size_t max_per_address);
  ConnectionRegistry(const ConnectionRegistry&) = delete;
  ConnectionRegistry& operator=(const ConnectionRegistry&) = delete;

  class Slot;

  /// Open connections beyond lower limits are closed when the next one is accepted.
  void set_limits(std::size_t max_connections, std::size_t max_per_address);

  /// Connections that were not shut down.
  std::size_t open_count() const;
  /// From now on each connection ends with its next response. Others are still admitted.
  void begin_last_responses() { last_responses_.store(true); }
  /// From now on no connection is admitted and is_closing() is true.
  void begin_close() { closing_.store(true); }

  /// Admits no further connection and shuts down all idle ones. Those in a request continue.
  void close_idle();
  /// Shuts down every connection, also those in a request.
  void close_all();
  /// True once begin_close() or close_idle() was called.
  bool is_closing() const { return closing_.load(); }
  /// Whether a response that begins now says that its connection closes.
  bool ends_with_response() const { return last_responses_.load() || closing_.load(); }
  /// Waits until the last slot is released; false when `deadline` passed first. Others may
  /// come before close_idle().
  bool wait_until_empty(Clock::time_point deadline);
  void wait_until_empty();

 private:
  bool add(Slot& slot);
  void remove(Slot& slot);
  void evict_over_limit(const Slot& new_slot);
  bool evict_oldest_idle(const Slot& new_slot, bool same_address_only);

  std::atomic<bool> closing_{false};
  std::atomic<bool> last_responses_{false};

  mutable std::mutex mutex_;
  std::size_t max_connections_;  ///< guarded by mutex_
  std::size_t max_per_address_;  ///< guarded by mutex_
  std::condition_variable all_removed_;
  std::vector<Slot*> slots_;  ///< guarded by mutex_
};

/// One connection's slot, from before the first read until before the descriptor is closed.
class ConnectionRegistry::Slot {
 public:
  /// `exempt`: not counted against its address (a trusted proxy speaks for many clients).
  /// `ends_itself`: of an idle connection only the reading side is shut down; its owner then ends it.
  Slot(ConnectionRegistry& registry, int descriptor, const IpAddress& peer, bool exempt,
       bool ends_itself = false);
  ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  /// False when the server was closing: serve nothing.
  bool is_admitted() const { return is_admitted_; }

  /// Begins handling: the connection is no longer evicted. False when it was shut down before: run no
  /// handler.
  bool begin_request() { return transition_to(Phase::handling); }
  /// The handler is done, but the client reads the response slowly: may be evicted again, but not by
  /// close_idle().
  bool begin_slow_write() { return transition_to(Phase::writing_slowly); }
  /// Between requests: may be evicted. False when it was.
  bool become_idle() { return transition_to(Phase::idle); }
  /// Any thread.
  bool is_shut_down() const { return phase() == Phase::shut_down; }

 private:
  friend class ConnectionRegistry;
  enum class Phase : std::uint64_t { idle, handling, writing_slowly, shut_down };

  static std::uint64_t pack_state(Phase phase);
  static std::uint64_t idle_since(Clock::time_point time);
  static Phase phase_of(std::uint64_t state) { return static_cast<Phase>(state & 3); }
  Phase phase() const { return phase_of(state_.load()); }
  bool transition_to(Phase next);
  bool shut_down_if_state(std::uint64_t expected);
  void shut_down();

  ConnectionRegistry& registry_;
  const int descriptor_;
  const IpAddress rate_limit_prefix_;
  const bool exempt_;
  const bool ends_itself_;
  std::atomic<std::uint64_t> state_{0};  ///< microseconds of the clock << 2 | phase: when the phase began
  const bool is_admitted_;               ///< last member: other threads may use this slot from here on
};

// The memory that the bodies of requests may take together, those of one client, and those of
// requests that need no credential, which have a part of their own: anyone may announce them (HTTP-50). Any
// thread.

class BodyBudget {
 public:
  static constexpr std::size_t kDefaultBytes = 32 * 1024 * 1024;
  /// Bodies up to this size do not count: a crowd of large bodies holds up no ordinary request.
  static constexpr std::size_t kFreeBytes = 16 * 1024;
  /// Beyond it the memory is given back to the system once all bodies have been handled.
  static constexpr std::size_t kCrowdBytes = 4 * 1024 * 1024;
  /// A client may take this part of the whole: a credential's form shows no valid one, and bodies may be
  /// announced and never sent.
  static constexpr std::size_t kClientsAtLeast = 4;
  /// Requests without a credential have this part beside the whole, and take nothing of it.
  static constexpr std::size_t kOpenPart = 8;
  /// Its rate_limit_prefix(); nullopt: many clients, without a limit of their own.
  using Client = std::optional<IpAddress>;

  /// What a body is taken from, and given back to.
  struct Account {
    Client client;
    bool has_credential = true;  ///< its request has one of the right form
  };

  explicit BodyBudget(std::size_t max_bytes = kDefaultBytes)
      : parts_{Part{max_bytes / kOpenPart}, Part{max_bytes}} {}

  /// False: others, or the client's other bodies, use too much of it. Anything may be taken while nothing is
  /// used.
  [[nodiscard]] bool try_take(const Account& account, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    Part& part = parts_[account.has_credential];
    if (!fits(part.used, bytes, part.max_bytes)) return false;
    if (account.client) {
      const auto used = part.used_by.find(account.client->octets);
      if (used != part.used_by.end() && !fits(used->second, bytes, part.max_bytes / kClientsAtLeast))
        return false;
      part.used_by[account.client->octets] += bytes;
    }
    part.used += bytes;
    if (used() > kCrowdBytes) crowded_ = true;
    return true;
  }
  /// True: a crowd is over.
  [[nodiscard]] bool give_back(const Account& account, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    Part& part = parts_[account.has_credential];
    if (account.client) {
      const auto used = part.used_by.find(account.client->octets);
      if ((used->second -= bytes) == 0) part.used_by.erase(used);
    }
    part.used -= bytes;
    return used() == 0 && std::exchange(crowded_, false);
  }

 private:
  struct Part {
    std::size_t max_bytes;
    std::size_t used = 0;
    std::map<std::array<std::uint8_t, 16>, std::size_t> used_by = {};
  };
  static bool fits(std::size_t used, std::size_t bytes, std::size_t max_bytes) {
    return used == 0 || (used < max_bytes && bytes <= max_bytes - used);
  }
  std::size_t used() const { return parts_[false].used + parts_[true].used; }

  std::mutex mutex_;
  std::array<Part, 2> parts_;  // guarded by mutex_, like all that follow; by has_credential
  bool crowded_ = false;
};

}  // namespace giftsync::http
