#include "schema/sql/owed_answer.h"

#include <sys/socket.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace giftsync::schema::sql {
namespace {

/// All of this program, in no order.
struct Owed {
  std::mutex mutex;
  std::vector<OwedAnswer*> all;  // guarded by mutex
};
Owed& owed() {
  static Owed one;
  return one;
}

std::int64_t millis_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - then)
      .count();
}

}  // namespace

OwedAnswer::OwedAnswer(int socket, bool foreign) : socket_(socket), foreign_(foreign) {
  if (socket_ < 0) return;
  const std::lock_guard lock(owed().mutex);
  owed().all.push_back(this);
}

OwedAnswer::~OwedAnswer() {
  if (socket_ < 0) return;
  const std::lock_guard lock(owed().mutex);
  std::erase(owed().all, this);
}

bool OwedAnswer::was_cut() const {
  const std::lock_guard lock(owed().mutex);
  return was_cut_;
}

/// Under the mutex, so that the socket is still its connection's.
void cut_overdue(const AnswerWatch::Limits& limits) {
  const std::lock_guard lock(owed().mutex);
  for (OwedAnswer* const one : owed().all) {
    const std::int64_t limit = one->foreign_ ? limits.foreign_millis : limits.store_millis;
    if (one->was_cut_ || millis_since(one->since_) < limit) continue;
    ::shutdown(one->socket_, SHUT_RDWR);
    one->was_cut_ = true;
  }
}

std::int64_t oldest_owed_millis() {
  const std::lock_guard lock(owed().mutex);
  std::int64_t oldest = 0;
  for (const OwedAnswer* const one : owed().all) {
    if (!one->foreign_) oldest = std::max(oldest, millis_since(one->since_));
  }
  return oldest;
}

}  // namespace giftsync::schema::sql
