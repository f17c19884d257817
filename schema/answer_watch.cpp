#include "schema/answer_watch.h"

#include <algorithm>
#include <chrono>

#include "schema/sql/owed_answer.h"

namespace giftsync::schema {

AnswerWatch::AnswerWatch(Limits limits) : limits_(limits), thread_([this] { run(); }) {}

AnswerWatch::~AnswerWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void AnswerWatch::run() {
  constexpr std::int64_t kLooksALimit = 10;
  const std::chrono::milliseconds pace(
      std::max<std::int64_t>(std::min(limits_.store_millis, limits_.foreign_millis) / kLooksALimit, 1));
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, pace, [this] { return ends_; })) sql::cut_overdue(limits_);
}

std::int64_t oldest_transaction_millis() {
  return sql::oldest_owed_millis();
}

}  // namespace giftsync::schema
