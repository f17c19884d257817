// Callers of a SQLite file cannot keep the workers from writing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "schema/sql/database.h"
#include "schema/sql/sqlite_file.h"
#include "tests/support/temporary_database.h"

namespace giftsync::sql {
namespace {

using std::chrono::milliseconds;

/// The index of the waiter that writes next, of those that have waited so long, in the order of arrival.
std::size_t next_of(const std::vector<std::pair<bool, milliseconds>>& urgent_and_waited) {
  const WriterLock::Time now{std::chrono::hours(1)};
  std::vector<std::unique_ptr<WriterLock::Waiter>> waiters;
  std::list<WriterLock::Waiter*> waiting;
  for (const auto& [urgent, waited] : urgent_and_waited) {
    waiters.push_back(std::make_unique<WriterLock::Waiter>());
    waiters.back()->urgent = urgent;
    waiters.back()->since = now - waited;
    waiting.push_back(waiters.back().get());
  }
  return static_cast<std::size_t>(
      std::distance(std::as_const(waiting).begin(), WriterLock::next_of(waiting, now)));
}

// ARCH-39
TEST(WriterLock, CallersGoFirstUntilAWorkerHasWaitedLongEnough) {
  constexpr milliseconds kShort{99};
  constexpr milliseconds kLong{100};
  EXPECT_EQ(next_of({{false, kShort}}), 0u);
  EXPECT_EQ(next_of({{false, kShort}, {false, kShort}}), 0u) << "in the order of arrival";
  EXPECT_EQ(next_of({{false, kShort}, {true, kShort}, {true, kShort}}), 1u);
  EXPECT_EQ(next_of({{false, kLong}, {true, kShort}}), 0u);
  EXPECT_EQ(next_of({{true, kLong}, {false, kLong}}), 0u) << "no worker overtakes a caller";
}

// ARCH-39
TEST(WriterLock, AWorkerWritesAlthoughCallersNeverStop) {
  tests::TemporaryDatabase file(Dialect::sqlite);
  Database database(file.address());
  database.write([](soci::session& session) { session << "CREATE TABLE t (n INTEGER)"; });
  std::atomic<bool> is_over = false;
  std::atomic<int> started = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      for (bool first = true; !is_over; first = false) {
        database.write_urgent([&](soci::session& session) {
          session << "INSERT INTO t VALUES (1)";
          return 0;
        });
        if (first) ++started;
      }
    });
  }
  while (started < 8) std::this_thread::yield();
  // Without its turn this returns only when the callers stop, which is when it has returned.
  database.write([](soci::session& session) { session << "INSERT INTO t VALUES (2)"; });
  is_over = true;
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace giftsync::sql
