// ARCH-13: what an upgrade leaves for later is done in parts by any process, and goes on after a kill, which
// leaves what is in the store and nothing else.
#include "schema/store/background_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "schema/sql/queries.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kFirst =
    "CREATE TABLE store_metadata (name TEXT PRIMARY KEY, value TEXT NOT NULL);;\n"
    "CREATE TABLE sample (id @key@, name TEXT NOT NULL);;\n";
constexpr std::string_view kSecond =
    "ALTER TABLE sample ADD COLUMN length BIGINT NOT NULL DEFAULT 0;;\n"
    "--@background\n"
    "UPDATE sample SET length = length(name) WHERE id > :after AND id <= :until;;\n"
    "CREATE UNIQUE INDEX sample_name ON sample (name);;\n"
    "--@end\n"
    "--@background sqlite\n"
    "CREATE INDEX sample_of_sqlite ON sample (length);;\n"
    "--@end\n"
    "--@background postgresql\n"
    "CREATE INDEX sample_of_postgresql ON sample (length);;\n"
    "--@end\n"
    "CREATE TABLE later (id @key@);;\n";
constexpr std::string_view kSecondEdited =
    "ALTER TABLE sample ADD COLUMN length BIGINT NOT NULL DEFAULT 0;;\n"
    "--@background\n"
    "UPDATE sample SET length = 1 WHERE id > :after AND id <= :until;;\n"
    "--@end\n"
    "CREATE TABLE later (id @key@);;\n";
constexpr std::string_view kThird = "CREATE TABLE third (id @key@);;\n";
constexpr std::string_view kThirdAfterBackground =
    "--@after_background\n"
    "CREATE TABLE third (id @key@);;\n";

using Scripts = std::vector<std::string_view>;

class BackgroundWorkTest : public tests::DatabaseFixture<> {
 protected:
  static bool is_sqlite() { return dialect() == sql::Dialect::sqlite; }
  static bool always() { return true; }

  /// 12,000 rows; ids have a gap as large as first_transaction_id can make it.
  void upgrade_with_rows() {
    run_migration(address(), Scripts{kFirst});
    const std::string series = is_sqlite()
                                   ? "(WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                                     "FROM numbers WHERE i < 12000) SELECT i FROM numbers) AS rows_of"
                                   : "generate_series(cast(1 AS BIGINT), 12000) AS rows_of (i)";
    sql("INSERT INTO sample (id, name) SELECT CASE WHEN i > 6000 THEN 1000000000000 + i ELSE i END, 'name ' "
        "|| i FROM " +
        series);
    run_migration(address(), kScripts);
  }
  BackgroundWork work(const Scripts& scripts = kScripts) { return background_work(address(), scripts); }
  BackgroundStep step(const std::function<bool()>& should_run = always, const Scripts& scripts = kScripts) {
    return do_background_step(address(), should_run, scripts);
  }
  void finish() {
    int steps = 0;
    while (step() != BackgroundStep::none) ASSERT_LT(++steps, 20);
  }
  void fill() {
    while (!work().is_index) ASSERT_EQ(step(), BackgroundStep::more);
  }
  std::string unfilled() { return scalar("SELECT count(*) || '' FROM sample WHERE length = 0"); }
  /// "1" for an index that is complete, "0" for one that is not, "null" for none.
  std::string state_of_index(const std::string& name) {
    return scalar(is_sqlite()
                      ? "SELECT '1' FROM sqlite_master WHERE type = 'index' AND name = '" + name + "'"
                      : "SELECT cast(cast(indisvalid AS int) AS text) FROM pg_index WHERE indexrelid = "
                        "to_regclass('" +
                            name + "')");
  }

  static inline const Scripts kScripts{kFirst, kSecond};
};
INSTANTIATE_TEST_SUITE_P(BackEnds, BackgroundWorkTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(BackgroundWorkTest, ANewStoreHasAllAtOnce) {
  run_migration(address(), kScripts);
  EXPECT_EQ(work().remaining, 0U);
  EXPECT_EQ(step(), BackgroundStep::none);
  EXPECT_EQ(state_of_index("sample_name"), "1");
  EXPECT_EQ(state_of_index("sample_of_sqlite"), is_sqlite() ? "1" : "null");
  EXPECT_EQ(state_of_index("sample_of_postgresql"), is_sqlite() ? "null" : "1");
}

TEST_P(BackgroundWorkTest, AnUpgradeLeavesItAndEachPartGoesOnWhereTheLastOneEnded) {
  upgrade_with_rows();
  EXPECT_EQ(read_store_version(address(), kScripts), 2) << "the start does not wait for it";
  EXPECT_EQ(unfilled(), "12000");
  EXPECT_EQ(state_of_index("sample_name"), "null");
  EXPECT_EQ(work().remaining, 3U);
  EXPECT_EQ(work().present, "UPDATE sample SET length = length");

  std::vector<std::string> left;
  std::vector<std::int64_t> filled;
  while (!work().is_index) {
    ASSERT_EQ(step(), BackgroundStep::more);
    left.push_back(unfilled());
    filled.push_back(work().filled);
  }
  EXPECT_THAT(left, ElementsAre("7000", "2000", "0", "0"));
  EXPECT_THAT(filled, ElementsAre(5'000, 1'000'000'010'000, 1'000'000'012'000, 0));
  EXPECT_EQ(work().remaining, 2U);
  EXPECT_EQ(work().present, "CREATE UNIQUE INDEX sample_name ON sample");
  EXPECT_EQ(step(), BackgroundStep::more);
  EXPECT_EQ(state_of_index("sample_name"), "1");
  EXPECT_EQ(work().remaining, 1U);
  finish();
  EXPECT_EQ(state_of_index(is_sqlite() ? "sample_of_sqlite" : "sample_of_postgresql"), "1");
  EXPECT_EQ(work().remaining, 0U);
  EXPECT_EQ(work().present, "");
}

TEST_P(BackgroundWorkTest, AnIndexThatWasMadeAndNotNotedIsKept) {
  upgrade_with_rows();
  fill();
  sql("CREATE UNIQUE INDEX sample_name ON sample (name)");
  EXPECT_EQ(step(), BackgroundStep::more);
  EXPECT_EQ(work().remaining, 1U);
}

TEST_P(BackgroundWorkTest, AStoppedIndexIsMadeByTheNextStep) {
  upgrade_with_rows();
  fill();
  const auto stop = [this] {
    EXPECT_EQ(step([] { return false; }), BackgroundStep::stopped);
    EXPECT_EQ(work().remaining, 2U);
  };
  if (is_sqlite()) {
    stop();
    EXPECT_EQ(state_of_index("sample_name"), "null");
  } else {
    // The index waits for this transaction until it is stopped; what it leaves is not valid.
    plain_sql_->write([&](soci::session& session) {
      session << "UPDATE sample SET length = 1 WHERE id = 1";
      stop();
    });
    EXPECT_EQ(state_of_index("sample_name"), "0");
  }
  EXPECT_EQ(step(), BackgroundStep::more);
  EXPECT_EQ(state_of_index("sample_name"), "1");
  EXPECT_EQ(work().remaining, 1U);
}

TEST_P(BackgroundWorkTest, AFaultIsShownUntilAStepSucceeds) {
  upgrade_with_rows();
  fill();
  sql("UPDATE sample SET name = 'name 1' WHERE id = 2");
  for (int attempt = 0; attempt < 2; ++attempt) EXPECT_THROW(step(), DependencyError) << attempt;
  EXPECT_EQ(work().remaining, 2U);
  EXPECT_EQ(work().fault, "");
  note_background_fault(address(), "could not create unique index");
  EXPECT_EQ(work().fault, "could not create unique index");
  sql("UPDATE sample SET name = 'name 2' WHERE id = 2");
  EXPECT_EQ(step(), BackgroundStep::more);
  EXPECT_EQ(work().fault, "");
  EXPECT_EQ(state_of_index("sample_name"), "1");
}

TEST_P(BackgroundWorkTest, OneProcessWorksAtATime) {
  if (is_sqlite()) GTEST_SKIP() << "writers of SQLite follow one another";
  upgrade_with_rows();
  const auto expect_busy = [this] {
    plain_sql_->write([&](soci::session& session) {
      sql::select_value<std::int64_t>(
          session, "SELECT count(*) FROM (SELECT pg_advisory_xact_lock(7208292)) AS locked");
      EXPECT_EQ(step(), BackgroundStep::busy);
    });
  };
  expect_busy();
  EXPECT_EQ(unfilled(), "12000");
  fill();
  expect_busy();
  EXPECT_EQ(state_of_index("sample_name"), "null");
  finish();
  EXPECT_EQ(
      scalar(
          "SELECT cast(count(*) AS text) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7208292 AND "
          "database = (SELECT oid FROM pg_database WHERE datname = current_database())"),
      "0");
}

TEST_P(BackgroundWorkTest, AnOlderProgramUndoesNothing) {
  upgrade_with_rows();
  EXPECT_EQ(step(always, {kFirst}), BackgroundStep::none);
  finish();
  EXPECT_EQ(step(always, {kFirst}), BackgroundStep::none);
  EXPECT_EQ(work().remaining, 0U);
}

TEST_P(BackgroundWorkTest, ADowngradeIsRefusedWithTheWayBackMeanwhile) {
  upgrade_with_rows();
  try {
    run_migration(address(), Scripts{kFirst});
    ADD_FAILURE() << "the store was accepted";
  } catch (const IncompatibleStoreError& fault) {
    EXPECT_THAT(fault.what(),
                AllOf(HasSubstr("the store has version 2"), HasSubstr("install the newer giftsync"),
                      HasSubstr("\"Go back\" in backup-and-upgrade.md")));
  }
  EXPECT_EQ(work().remaining, 3U);
}

TEST_P(BackgroundWorkTest, AVersionThatNeedsItDoesItFirstAndSaysSo) {
  upgrade_with_rows();
  EXPECT_EQ(step(), BackgroundStep::more);
  std::vector<std::string> said;
  const auto say = [&](const std::string& line) { said.push_back(line); };
  run_migration(address(), Scripts{kFirst, kSecond, kThirdAfterBackground}, say);
  EXPECT_EQ(read_store_version(address(), Scripts{kFirst, kSecond, kThirdAfterBackground}), 3);
  EXPECT_EQ(scalar("SELECT cast(count(*) AS text) FROM third"), "0") << "the script itself ran";
  EXPECT_EQ(unfilled(), "0");
  EXPECT_EQ(work({kFirst, kSecond, kThirdAfterBackground}).remaining, 0U);
  EXPECT_THAT(said, ElementsAre(AllOf(HasSubstr("needs what is left of a former upgrade"),
                                      HasSubstr("3 statements from UPDATE sample"))));
}

TEST_P(BackgroundWorkTest, AVersionThatDoesNotNeedItLeavesIt) {
  upgrade_with_rows();
  run_migration(address(), Scripts{kFirst, kSecond, kThird});
  EXPECT_EQ(work({kFirst, kSecond, kThird}).remaining, 3U);
}

TEST_P(BackgroundWorkTest, AnEditedStatementIsAnotherScript) {
  upgrade_with_rows();
  EXPECT_THROW(read_store_version(address(), Scripts{kFirst, kSecondEdited}), IncompatibleStoreError);
}

}  // namespace
}  // namespace giftsync::store
