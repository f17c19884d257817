// How a database is reached: names, paths and passwords with anything in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <map>
#include <memory>

#include "schema/sql/postgresql_connection.h"
#include "tests/schema/breakable_wire.h"
#include "tests/schema/temporary_database.h"

namespace giftsync::schema {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

/// What libpq makes of a connection string.
std::map<std::string, std::string> all_read_by_libpq(const std::string& connection) {
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options(
      PQconninfoParse(connection.c_str(), nullptr), PQconninfoFree);
  std::map<std::string, std::string> read;
  for (const PQconninfoOption* option = options.get(); option && option->keyword; ++option) {
    if (option->val) read[option->keyword] = option->val;
  }
  return read;
}

/// Without what bounds its waits.
std::map<std::string, std::string> read_by_libpq(const std::string& connection) {
  std::map<std::string, std::string> read = all_read_by_libpq(connection);
  for (const char* bound :
       {"connect_timeout", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"})
    EXPECT_EQ(read.erase(bound), 1u) << bound;
  return read;
}

TEST(PostgresqlConnection, WaitsForANetworkAsLongAsItIsToldOrAMinute) {
  const auto told = all_read_by_libpq(
      sql::postgresql_connection({Dialect::postgresql, "host=db connect_timeout=3 tcp_user_timeout=0"}));
  EXPECT_EQ(told.at("connect_timeout"), "3");
  EXPECT_EQ(told.at("tcp_user_timeout"), "0");
  const auto silent = all_read_by_libpq(sql::postgresql_connection({Dialect::postgresql, "host=db"}));
  EXPECT_EQ(silent.at("connect_timeout"), "10");
  EXPECT_EQ(silent.at("tcp_user_timeout"), "60000");
  EXPECT_EQ(silent.at("keepalives_idle"), "30");
}

TEST(PostgresqlConnection, SaysTheSameWithoutWhiteSpace) {
  for (const std::string password : {"a  b", " it's ", "\\'", "tab\tand\nline", "100%", "a=b&c?d/e@f:g#h",
                                     "\xc3\xa9 \"q\"", "singlerows=true"}) {
    const std::string uri = sql::postgresql_connection(
        {Dialect::postgresql, "host=db.example.com  user='o\\'brien'  options='-c  a=b'", password});
    EXPECT_EQ(uri.find_first_of(" \t\r\n"), std::string::npos) << uri;
    EXPECT_THAT(read_by_libpq(uri), ElementsAre(Pair("host", "db.example.com"), Pair("options", "-c  a=b"),
                                                Pair("password", password), Pair("user", "o'brien")));
  }
}

TEST(PostgresqlConnection, AUriIsTakenToo) {
  const std::string uri = sql::postgresql_connection(
      {Dialect::postgresql, "postgresql://ana:s%20cret@db:5433/crm?sslmode=require"});
  EXPECT_THAT(read_by_libpq(uri),
              ElementsAre(Pair("dbname", "crm"), Pair("host", "db"), Pair("password", "s cret"),
                          Pair("port", "5433"), Pair("sslmode", "require"), Pair("user", "ana")));
}

TEST(PostgresqlConnection, OneThatCannotBeReadIsNoPassingFault) {
  sql::Database database({Dialect::postgresql, "host=db nonsense"});
  try {
    scalar(database, "SELECT 'x'");
    FAIL() << "nonsense was connected to";
  } catch (const BrokenWorld& fault) {
    EXPECT_FALSE(fault.transient());
    EXPECT_THAT(fault.what(), HasSubstr("nonsense"));
  }
}

TEST(PostgresqlConnection, WhiteSpaceInAValueArrives) {
  if (!TemporaryDatabase::available(Dialect::postgresql)) GTEST_SKIP() << "no PostgreSQL to test on";
  sql::Database database({Dialect::postgresql, std::string(std::getenv("GIFTSYNC_TEST_PG")) +
                                                   " application_name='two  blanks and it\\'s'"});
  EXPECT_EQ(scalar(database, "SELECT current_setting('application_name')"), "two  blanks and it's");
}

TEST(PostgresqlConnection, IsLostBySociAtMostOnceInAnOutage) {
  if (!TemporaryDatabase::available(Dialect::postgresql)) GTEST_SKIP() << "no PostgreSQL to test on";
  const TemporaryDatabase ground(Dialect::postgresql);
  sql::Database direct(ground.address());
  BreakableWire wire(std::stoi(scalar(direct, "SELECT inet_server_port()")));
  DatabaseAddress address = ground.address();
  address.connection += " host=127.0.0.1 port=" + std::to_string(wire.port());
  sql::Database database(address);
  wire.break_at_commands();
  for (int attempt = 0; attempt < 4; ++attempt)
    EXPECT_THROW(scalar(database, "SELECT 'x'"), BrokenWorld) << attempt;
  EXPECT_THAT(wire.unanswered(),
              ElementsAre(StartsWith("SET extra_float_digits"), "SELECT 1", "SELECT 1", "SELECT 1"));
  wire.break_at_commands(false);
  EXPECT_EQ(scalar(database, "SELECT 'x'"), "x");
}

TEST(SqliteConnection, APathMayHaveBlanksAndQuotes) {
  const TemporaryDatabase ground(Dialect::sqlite);
  const auto folder = std::filesystem::path(ground.address().connection).parent_path();
  for (const std::string name : {"a b", "two  blanks ", "it's=a;'path' timeout=1", "\xc3\xa9"}) {
    const auto path = folder / name / "store of it.db";
    std::filesystem::create_directories(path.parent_path());
    sql::Database database({Dialect::sqlite, path.string()});
    run_sql(database, "CREATE TABLE a (b TEXT)");
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
  }
}

TEST(SqliteConnection, SomebodyElsesFileKeepsItsJournalMode) {
  const TemporaryDatabase ground(Dialect::sqlite);
  DatabaseAddress address = ground.address();
  address.foreign = true;
  sql::Database theirs(address);
  run_sql(theirs, "CREATE TABLE a (b TEXT)");
  EXPECT_EQ(scalar(theirs, "PRAGMA journal_mode"), "delete");
  sql::Database ours(ground.address());
  EXPECT_EQ(scalar(ours, "PRAGMA journal_mode"), "wal");
}

TEST(ForeignDatabase, SaysInItsFaultsWhoseItIs) {
  DatabaseAddress address{Dialect::sqlite, "/nowhere/crm.db"};
  address.foreign = true;
  sql::Database theirs(address);
  try {
    scalar(theirs, "SELECT 'x'");
    FAIL() << "a database was found";
  } catch (const BrokenWorld& fault) {
    EXPECT_TRUE(fault.of_foreign_crm());
    EXPECT_THAT(fault.what(), HasSubstr("the CRM's database"));
  }
}

}  // namespace
}  // namespace giftsync::schema
