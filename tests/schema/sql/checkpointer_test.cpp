// SQLite's write-ahead log is copied beside the writes, and stays bounded.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "schema/sql/database.h"
#include "schema/sql/session.h"
#include "schema/sql/sqlite_file.h"
#include "tests/support/temporary_database.h"

namespace giftsync::sql {
namespace {

constexpr int kPages = Checkpointer::kPages;

/// Waits until the thread has copied the log.
bool finishes(Checkpointer& checkpointer, int pages) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < deadline) {
    if (checkpointer.should_finish(pages)) return true;
    std::this_thread::yield();
  }
  return false;
}

// ARCH-45
TEST(Checkpointer, CopiesOnceForEachLog) {
  std::atomic<int> copies = 0;
  Checkpointer checkpointer([&] { ++copies; });
  EXPECT_FALSE(checkpointer.should_finish(kPages - 1));
  EXPECT_EQ(copies, 0);
  EXPECT_TRUE(finishes(checkpointer, kPages)) << "the writer copies the rest";
  EXPECT_EQ(copies, 1);
  EXPECT_FALSE(checkpointer.should_finish(kPages + 1)) << "a reader keeps the log: not at each commit";
  EXPECT_FALSE(checkpointer.should_finish(3)) << "the log has begun again";
  EXPECT_TRUE(finishes(checkpointer, kPages));
  EXPECT_EQ(copies, 2);
}

std::uintmax_t log_bytes(const tests::TemporaryDatabase& file) {
  return std::filesystem::file_size(file.address().connection + "-wal");
}

void write_until(Database& database, const std::atomic<bool>& is_over) {
  while (!is_over) {
    database.write([](soci::session& session) { session << "INSERT INTO t VALUES (randomblob(100000))"; });
  }
}

// ARCH-45
TEST(Checkpointer, TheLogStaysBoundedWhileWritesNeverStop) {
  tests::TemporaryDatabase file(Dialect::sqlite);
  Database database(file.address());
  database.write([](soci::session& session) { session << "CREATE TABLE t (b BLOB)"; });
  std::atomic<bool> is_over = false;
  std::thread other([&] { write_until(database, is_over); });
  // Eight logs' worth of pages by this thread alone: more than the log may ever hold.
  for (int written = 0; written < 8 * kPages; written += 25)
    database.write([](soci::session& session) { session << "INSERT INTO t VALUES (randomblob(100000))"; });
  is_over = true;
  other.join();
  EXPECT_LT(log_bytes(file), 6u * kPages * 4096);
}

// ARCH-45
TEST(Database, AllWritesToASqliteFileUseOneConnection) {
  tests::TemporaryDatabase file(Dialect::sqlite);
  Database database(file.address());
  std::set<sqlite_api::sqlite3*> writers;
  const auto write = [&] {
    database.write([&](soci::session& session) {
      writers.insert(static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_);
    });
  };
  write();
  database.read([&](soci::session&) { write(); });
  write();
  EXPECT_EQ(writers.size(), 1u);
}

/// What the connection's page cache takes once the session has read all that it can hold.
int cache_bytes(soci::session& session) {
  int sum = 0;
  session << "SELECT sum(length(b)) FROM t", soci::into(sum);
  int bytes = 0;
  int most = 0;
  sqlite_api::sqlite3_db_status(static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_,
                                SQLITE_DBSTATUS_CACHE_USED, &bytes, &most, 0);
  return bytes;
}

// ARCH-45
TEST(Database, ConnectionsThatReadHaveASmallPageCache) {
  constexpr int kMebibyte = 1 << 20;
  tests::TemporaryDatabase file(Dialect::sqlite);
  Database database(file.address());
  database.write([](soci::session& session) {
    session << "CREATE TABLE t (b BLOB)";
    for (int row = 0; row < 4000; ++row) session << "INSERT INTO t VALUES (randomblob(4000))";
  });
  const int reader = database.read(cache_bytes);
  EXPECT_GT(reader, 3 * kMebibyte);
  EXPECT_LT(reader, 5 * kMebibyte);
  EXPECT_GT(database.write(cache_bytes), 15 * kMebibyte);
}

}  // namespace
}  // namespace giftsync::sql
