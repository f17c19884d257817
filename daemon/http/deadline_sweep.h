// daemon/http: the open connections, kept alive here, and their deadlines with one timer. Most deadlines are
// moved before they pass, so moving one costs no timer. I/O thread only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <vector>

namespace giftsync::http {

class HttpConnection;

class DeadlineSweep {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();
  /// How late handle_deadline() may be called.
  static constexpr std::chrono::milliseconds kGranularity{10};

  explicit DeadlineSweep(boost::asio::io_context& io) : timer_(io) {}
  ~DeadlineSweep();
  DeadlineSweep(const DeadlineSweep&) = delete;
  DeadlineSweep& operator=(const DeadlineSweep&) = delete;

  void add(std::shared_ptr<HttpConnection> connection);
  void remove(const HttpConnection& connection);
  /// The connection's deadline is now `deadline`, perhaps earlier than before.
  void moved_to(Clock::time_point deadline);
  /// Ends the timer.
  void stop();

 private:
  void sweep();

  boost::asio::steady_timer timer_;
  Clock::time_point armed_for_ = kNever;
  bool is_sweeping_ = false;
  std::vector<std::shared_ptr<HttpConnection>> connections_;
};

}  // namespace giftsync::http
