#include "daemon/http/deadline_sweep.h"

#include <algorithm>
#include <utility>

#include "daemon/http/http_connection.h"

namespace giftsync::http {

DeadlineSweep::~DeadlineSweep() = default;

void DeadlineSweep::add(std::shared_ptr<HttpConnection> connection) {
  connections_.push_back(std::move(connection));
}

void DeadlineSweep::remove(const HttpConnection& connection) {
  const auto found = std::find_if(connections_.begin(), connections_.end(),
                                  [&](const auto& one) { return one.get() == &connection; });
  if (found == connections_.end()) return;
  std::swap(*found, connections_.back());
  connections_.pop_back();
}

void DeadlineSweep::moved_to(Clock::time_point deadline) {
  if (is_sweeping_ || deadline >= armed_for_) return;
  armed_for_ = deadline;
  timer_.expires_at(deadline);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) sweep();
  });
}

void DeadlineSweep::sweep() {
  armed_for_ = kNever;
  is_sweeping_ = true;
  const Clock::time_point now = Clock::now();
  std::vector<std::shared_ptr<HttpConnection>> due;  // they may remove themselves
  for (const auto& connection : connections_) {
    if (connection->deadline() <= now) due.push_back(connection);
  }
  for (const auto& connection : due) connection->handle_deadline();
  Clock::time_point next = kNever;
  for (const auto& connection : connections_) next = std::min(next, connection->deadline());
  is_sweeping_ = false;
  if (next != kNever) moved_to(std::max(next, now + kGranularity));
}

void DeadlineSweep::stop() {
  armed_for_ = Clock::time_point::min();
  timer_.cancel();
}

}  // namespace giftsync::http
