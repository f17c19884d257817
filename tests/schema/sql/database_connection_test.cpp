// How a database is reached: names, paths and passwords with anything in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <chrono>
#include <future>
#include <map>
#include <memory>

#include "schema/sql/dsn.h"
#include "schema/sql/queries.h"
#include "tests/support/faulty_proxy.h"
#include "tests/support/temporary_database.h"

namespace giftsync::sql {
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

TEST(PostgresqlDsn, SetsDefaultTimeoutsUnlessGiven) {
  const auto options = all_read_by_libpq(
      postgresql_uri({Dialect::postgresql, "host=db connect_timeout=3 tcp_user_timeout=0"}));
  EXPECT_EQ(options.at("connect_timeout"), "3");
  EXPECT_EQ(options.at("tcp_user_timeout"), "0");
  const auto silent = all_read_by_libpq(postgresql_uri({Dialect::postgresql, "host=db"}));
  EXPECT_EQ(silent.at("connect_timeout"), "10");
  EXPECT_EQ(silent.at("tcp_user_timeout"), "60000");
  EXPECT_EQ(silent.at("keepalives_idle"), "30");
}

TEST(PostgresqlDsn, ConvertsToAUriWithoutWhiteSpace) {
  for (const std::string password : {"a  b", " it's ", "\\'", "tab\tand\nline", "100%", "a=b&c?d/e@f:g#h",
                                     "\xc3\xa9 \"q\"", "singlerows=true"}) {
    const std::string uri = postgresql_uri(
        {Dialect::postgresql, "host=db.example.com  user='o\\'brien'  options='-c  a=b'", password});
    EXPECT_EQ(uri.find_first_of(" \t\r\n"), std::string::npos) << uri;
    EXPECT_THAT(read_by_libpq(uri), ElementsAre(Pair("host", "db.example.com"), Pair("options", "-c  a=b"),
                                                Pair("password", password), Pair("user", "o'brien")));
  }
}

TEST(PostgresqlDsn, AcceptsAUri) {
  const std::string uri =
      postgresql_uri({Dialect::postgresql, "postgresql://ana:s%20cret@db:5433/crm?sslmode=require"});
  EXPECT_THAT(read_by_libpq(uri),
              ElementsAre(Pair("dbname", "crm"), Pair("host", "db"), Pair("password", "s cret"),
                          Pair("port", "5433"), Pair("sslmode", "require"), Pair("user", "ana")));
}

// SEC-4: a word of it may be a password.
TEST(PostgresqlDsn, AnInvalidDsnIsAPermanentErrorThatDoesNotShowIt) {
  Database database({Dialect::postgresql, "host=db nonsense"});
  try {
    tests::scalar(database, "SELECT 'x'");
    FAIL() << "nonsense was connected to";
  } catch (const DependencyError& fault) {
    EXPECT_FALSE(fault.transient());
    EXPECT_THAT(fault.what(), HasSubstr("connection string cannot be read"));
    EXPECT_THAT(fault.what(), testing::Not(HasSubstr("nonsense")));
  }
}

// ARCH-43
TEST(PostgresqlDsn, SeveralHostsHaveToLeadToThePrimary) {
  for (const char* good :
       {"host=db", "host=a port=5432", "dbname=x", "nonsense", "host=a,b target_session_attrs=read-write",
        "host=a,b port=5432 target_session_attrs=primary",
        "postgresql://a:5432,b:5433/x?target_session_attrs=read-write"})
    EXPECT_EQ(several_hosts_fault(good), std::nullopt) << good;
  for (const char* bad : {"host=a,b", "host=a,b target_session_attrs=any", "postgresql://a,b/x",
                          "hostaddr=10.0.0.1,10.0.0.2 target_session_attrs=standby"})
    EXPECT_THAT(several_hosts_fault(bad), testing::Optional(HasSubstr("add it"))) << bad;
  EXPECT_THAT(several_hosts_fault("host=a,b port=1,2,3 target_session_attrs=read-write"),
              testing::Optional(HasSubstr("2 hosts and 3 ports")));
}

// ARCH-21
TEST(PostgresqlDsn, PreservesWhiteSpaceInValues) {
  if (!tests::TemporaryDatabase::available(Dialect::postgresql)) GTEST_SKIP() << "no PostgreSQL to test on";
  Database database({Dialect::postgresql, std::string(std::getenv("GIFTSYNC_TEST_PG")) +
                                              " application_name='two  blanks and it\\'s'"});
  EXPECT_EQ(tests::scalar(database, "SELECT current_setting('application_name')"), "two  blanks and it's");
}

TEST(PostgresqlDsn, SociLeaksAtMostOneConnectionPerOutage) {
  if (!tests::TemporaryDatabase::available(Dialect::postgresql)) GTEST_SKIP() << "no PostgreSQL to test on";
  const tests::TemporaryDatabase temporary(Dialect::postgresql);
  Database direct(temporary.address());
  tests::FaultyProxy proxy(std::stoi(tests::scalar(direct, "SELECT inet_server_port()")));
  Dsn address = temporary.address();
  address.connection += " host=127.0.0.1 port=" + std::to_string(proxy.port());
  Database database(address);
  proxy.break_on_commands();
  for (int attempt = 0; attempt < 4; ++attempt)
    EXPECT_THROW(tests::scalar(database, "SELECT 'x'"), DependencyError) << attempt;
  EXPECT_THAT(proxy.unanswered(),
              ElementsAre(StartsWith("SET extra_float_digits"), "SELECT 1", "SELECT 1", "SELECT 1"));
  proxy.break_on_commands(false);
  EXPECT_EQ(tests::scalar(database, "SELECT 'x'"), "x");
}

// ARCH-18
TEST(PostgresqlDatabase, EndsWaitsForLocksAndIdleTransactions) {
  if (!tests::TemporaryDatabase::available(Dialect::postgresql)) GTEST_SKIP() << "no PostgreSQL to test on";
  const tests::TemporaryDatabase temporary(Dialect::postgresql);
  Database database(temporary.address());
  EXPECT_EQ(tests::scalar(database, "SELECT current_setting('lock_timeout')"), "15s");
  EXPECT_EQ(tests::scalar(database, "SELECT current_setting('jit')"), "off");
  EXPECT_EQ(tests::scalar(database, "SELECT current_setting('idle_in_transaction_session_timeout')"), "10s");
}

// covers: GUARD-19
TEST(PostgresqlDatabase, WritesSeeWhatWasCommittedWhateverTheDefaultIsolationIs) {
  if (!tests::TemporaryDatabase::available(Dialect::postgresql)) GTEST_SKIP() << "no PostgreSQL to test on";
  const tests::TemporaryDatabase temporary(Dialect::postgresql);
  Dsn address = temporary.address();
  const std::size_t end = address.connection.rfind('\'');
  ASSERT_NE(end, std::string::npos);
  address.connection.insert(end, " -c default_transaction_isolation=serializable");
  Database database(address);
  const auto isolation = [](soci::session& session) {
    return select_value<std::string>(session, "SELECT current_setting('transaction_isolation')");
  };
  EXPECT_EQ(database.read(isolation), "serializable") << "the default";
  EXPECT_EQ(database.write(isolation), "read committed");
  EXPECT_EQ(database.write_urgent(isolation), "read committed");
}

// ARCH-18
TEST(SqliteDatabase, WaitsForTheWriteLockOfAnotherProcess) {
  const tests::TemporaryDatabase temporary(Dialect::sqlite);
  Database database(temporary.address());
  tests::run_sql(database, "CREATE TABLE a (b TEXT)");
  soci::session other(soci::sqlite3, temporary.address().connection);
  other << "BEGIN IMMEDIATE";
  auto waiting =
      std::async(std::launch::async, [&] { tests::run_sql(database, "INSERT INTO a VALUES ('x')"); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  other << "COMMIT";
  EXPECT_EQ(waiting.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_NO_THROW(waiting.get());
}

// ARCH-18
TEST(SqliteDatabase, WaitsForAnotherProcessThatCreatesTheFile) {
  const tests::TemporaryDatabase temporary(Dialect::sqlite);
  soci::session other(soci::sqlite3, temporary.address().connection);
  other << "BEGIN IMMEDIATE";
  other << "CREATE TABLE theirs (b TEXT)";
  Database database(temporary.address());
  auto waiting = std::async(std::launch::async, [&] { tests::run_sql(database, "CREATE TABLE a (b TEXT)"); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  other << "COMMIT";
  EXPECT_EQ(waiting.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_NO_THROW(waiting.get());
}

// ARCH-20
TEST(Database, IsSharedByAllUsersOfOneAddress) {
  const tests::TemporaryDatabase temporary(Dialect::sqlite);
  const auto store = Database::shared(temporary.address());
  EXPECT_EQ(Database::shared(temporary.address()), store);
  Dsn external = temporary.address();
  external.is_external_crm = true;
  EXPECT_NE(Database::shared(external), store);
}

TEST(SqliteDatabase, AcceptsBlanksAndQuotesInThePath) {
  const tests::TemporaryDatabase temporary(Dialect::sqlite);
  const auto folder = std::filesystem::path(temporary.address().connection).parent_path();
  for (const std::string name : {"a b", "two  blanks ", "it's=a;'path' timeout=1", "\xc3\xa9"}) {
    const auto path = folder / name / "store of it.db";
    std::filesystem::create_directories(path.parent_path());
    Database database({Dialect::sqlite, path.string()});
    tests::run_sql(database, "CREATE TABLE a (b TEXT)");
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
  }
}

TEST(SqliteDatabase, KeepsTheJournalModeOfAnExternalFile) {
  const tests::TemporaryDatabase temporary(Dialect::sqlite);
  Dsn address = temporary.address();
  address.is_external_crm = true;
  Database theirs(address);
  tests::run_sql(theirs, "CREATE TABLE a (b TEXT)");
  EXPECT_EQ(tests::scalar(theirs, "PRAGMA journal_mode"), "delete");
  Database ours(temporary.address());
  EXPECT_EQ(tests::scalar(ours, "PRAGMA journal_mode"), "wal");
}

// SEC-9
TEST(SqliteDatabase, DoesNotTrustTheSchemaOfAFile) {
  const tests::TemporaryDatabase temporary(Dialect::sqlite);
  Dsn theirs = temporary.address();
  theirs.is_external_crm = true;
  for (const Dsn& address : {temporary.address(), theirs}) {
    Database database(address);
    EXPECT_EQ(tests::scalar(database, "PRAGMA trusted_schema"), "0");
    tests::run_sql(database, "CREATE TABLE IF NOT EXISTS a (b TEXT)");
    database.write([](soci::session& session) {
      session << "PRAGMA writable_schema = ON";
      EXPECT_THROW(session << "UPDATE sqlite_master SET sql = 'CREATE TABLE a (c TEXT)'", soci::soci_error)
          << "defensive";
    });
  }
}

TEST(ExternalDatabase, ErrorsNameTheCrmDatabase) {
  Dsn address{Dialect::sqlite, "/missing/crm.db"};
  address.is_external_crm = true;
  Database theirs(address);
  try {
    tests::scalar(theirs, "SELECT 'x'");
    FAIL() << "a database was found";
  } catch (const DependencyError& fault) {
    EXPECT_TRUE(fault.of_external_crm());
    EXPECT_THAT(fault.what(), HasSubstr("the CRM's database"));
  }
}

// ARCH-46
TEST(PostgresqlSession, WhatIsCommittedIsWritten) {
  if (!tests::TemporaryDatabase::available(Dialect::postgresql)) GTEST_SKIP() << "GIFTSYNC_TEST_PG";
  for (const auto& [given, used] : std::map<std::string, std::string>{
           {"off", "on"}, {"local", "on"}, {"on", "on"}, {"remote_apply", "remote_apply"}}) {
    Database database({Dialect::postgresql,
                       std::getenv("GIFTSYNC_TEST_PG") + (" options='-c synchronous_commit=" + given + "'")});
    const auto value = [](soci::session& session) {
      std::string found;
      session << "SHOW synchronous_commit", soci::into(found);
      return found;
    };
    EXPECT_EQ(database.read(value), used) << given;
    EXPECT_EQ(database.write(value), used) << given;
  }
}

TEST(Session, HasTheDialectOfItsDatabase) {
  for (const Dialect dialect : {Dialect::sqlite, Dialect::postgresql}) {
    if (!tests::TemporaryDatabase::available(dialect)) continue;
    const tests::TemporaryDatabase temporary(dialect);
    Database database(temporary.address());
    EXPECT_EQ(database.read([](soci::session& session) { return Dialect(session); }), dialect);
    EXPECT_EQ(database.write([](soci::session& session) { return Dialect(session); }), dialect);
  }
}

}  // namespace
}  // namespace giftsync::sql
