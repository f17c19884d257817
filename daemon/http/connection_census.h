// daemon/http: who is connected, and who must leave when it gets crowded. The newest connection is never
// refused: it pushes out the one that has been idle longest, first of its own address, then of all
// (design 3.4).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "daemon/http/connection_address.h"

namespace giftsync::daemon {

/// Used by every connection's thread and by the one that stops the front. A connection is shut down only
/// while its place is taken, under the census' lock; since a place is left before the descriptor is closed, a
/// descriptor that the system gave to somebody else is never touched.
class ConnectionCensus {
 public:
  using Clock = std::chrono::steady_clock;

  ConnectionCensus(std::size_t most, std::size_t most_per_address);
  ConnectionCensus(const ConnectionCensus&) = delete;
  ConnectionCensus& operator=(const ConnectionCensus&) = delete;

  class Place;

  /// Notes that `descriptor` was accepted just now. In a rush threads take their places in any order; who
  /// came last must not look like the oldest for it.
  void note_arrival(int descriptor);

  /// Connections that were not told to leave.
  std::size_t open() const;

  /// Lets nobody in any more and shuts down all that are resting. Those in a request go on.
  void close_resting();
  /// Shuts down every connection, in a request or not.
  void close_all();
  /// True once close_resting() was called.
  bool closing() const { return closing_.load(); }
  /// Waits until the last place is left; false when `deadline` came first. Only after close_resting().
  bool wait_until_empty(Clock::time_point deadline);

 private:
  bool enter(Place& place);
  Clock::time_point arrival_of(int descriptor);
  void leave(Place& place);
  void make_room(const Place& newcomer);
  bool shut_down_oldest(const Place& newcomer, bool same_address_only);

  const std::size_t most_;
  const std::size_t most_per_address_;
  std::atomic<bool> closing_{false};

  mutable std::mutex mutex_;
  std::condition_variable emptied_;
  std::vector<Place*> places_;  ///< guarded by mutex_
  /// Guarded by mutex_. One that never took a place is overwritten when its descriptor is used again.
  std::unordered_map<int, Clock::time_point> arrivals_;
};

/// One connection's place, held by its thread from before the first read until before the descriptor is
/// closed.
class ConnectionCensus::Place {
 public:
  /// `exempt`: not counted against its address (a trusted proxy speaks for many clients).
  Place(ConnectionCensus& census, int descriptor, const IpAddress& peer, bool exempt);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  /// False when the front was closing: serve nothing.
  bool admitted() const { return admitted_; }

  /// From here on a handler runs and the connection stays. False when it was shut down before: run no
  /// handler.
  bool begin_request() { return move_to(Phase::handling); }
  /// The handler is done, but the client is slow to take the answer: may be pushed out again, though not by a
  /// stop.
  bool begin_slow_answer() { return move_to(Phase::answering); }
  /// Between requests: may be pushed out. False when it was.
  bool rest() { return move_to(Phase::resting); }

 private:
  friend class ConnectionCensus;
  enum class Phase : std::uint64_t { resting, handling, answering, shut_down };

  static std::uint64_t packed(Phase phase);
  static std::uint64_t resting_since(Clock::time_point time);
  static Phase phase_of(std::uint64_t state) { return static_cast<Phase>(state & 3); }
  Phase phase() const { return phase_of(state_.load()); }
  bool move_to(Phase next);
  bool shut_down_if(std::uint64_t expected);
  void shut_down();

  ConnectionCensus& census_;
  const int descriptor_;
  const IpAddress subscriber_;
  const bool exempt_;
  std::atomic<std::uint64_t> state_{0};  ///< microseconds of the clock << 2 | phase: since when it is so
  const bool admitted_;                  ///< the last member: others may look at this place from here on
};

}  // namespace giftsync::daemon
