// Each cause for which SQLite's file cannot be used is named with the file, the user and the next step, also
// by the fault of a store that cannot be opened.
#include "schema/sql/database_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "platform/dependency_error.h"
#include "schema/sql/database.h"
#include "tests/support/other_user.h"

namespace giftsync::sql {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using tests::OpenFolder;
using tests::OtherUser;

void read_from(const std::string& path) {
  Database({Dialect::sqlite, path}).read([](soci::session& session) {
    int count = 0;
    session << "SELECT count(*) FROM sqlite_master", soci::into(count);
  });
}

void make_file(const std::string& path, mode_t mode) {
  std::ofstream(path).close();
  ASSERT_EQ(::chmod(path.c_str(), mode), 0);
}

/// What writing to it says.
std::string fault_of(const std::string& path) {
  try {
    Database({Dialect::sqlite, path}).write([](soci::session& session) {
      session << "CREATE TABLE t (x INT)";
    });
  } catch (const DependencyError& fault) {
    return fault.what();
  }
  return "";
}

struct RefusedFile {
  std::string name;
  std::function<void(const OpenFolder&)> spoil;
  std::string path;       ///< below the folder
  std::string found;      ///< @: the folder; USER: the process' user
  std::string next_step;  ///< the same
};

std::string filled(std::string text, const OpenFolder& folder) {
  for (const auto& [name, value] :
       {std::pair(std::string("@"), folder.path()), std::pair(std::string("USER"), user_name(::geteuid()))})
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
      text.replace(at, name.size(), value);
  return text;
}

// OPS-6
TEST(RefusedDatabaseFiles, AreNamedWithUserCauseAndNextStep) {
  const std::vector<RefusedFile> cases{
      {"no folder", [](const OpenFolder&) {}, "none/store.db", "there is no folder @/none",
       "create it for the user USER"},
      {"a file where the folder should be",
       [](const OpenFolder& folder) { make_file(folder.path("a"), 0644); }, "a/store.db", "@/a is no folder",
       "name a file in a folder"},
      {"a folder where the file should be",
       [](const OpenFolder& folder) { std::filesystem::create_directory(folder.path("store.db")); },
       "store.db", "@/store.db is a folder", "name a file"},
      {"a folder that is closed for writing", [](const OpenFolder& folder) { folder.allow("", 0555); },
       "store.db", "the user USER may not write to the folder @ (owner ", "chown USER @"},
      {"a file of another", [](const OpenFolder& folder) { folder.allow("store.db", 0); }, "store.db",
       "the user USER may not write to the file @/store.db (owner ", "chown USER @/store.db"},
      {"a file for reading alone", [](const OpenFolder& folder) { folder.allow("store.db", 0444); },
       "store.db", "mode 0444)", "chown USER @/store.db"},
      {"a log of another", [](const OpenFolder& folder) { make_file(folder.path("store.db-wal"), 0); },
       "store.db", "the user USER may not write to the file @/store.db-wal (owner ",
       "chown USER @/store.db-wal"},
      {"a folder above that is closed",
       [](const OpenFolder& folder) {
         std::filesystem::create_directory(folder.path("above"));
         make_file(folder.path("above/store.db"), 0666);
         folder.allow("above", 0);
       },
       "above/store.db", "the user USER may not enter the folder @/above (owner ", "chown USER @/above"},
  };
  for (const RefusedFile& one : cases) {
    SCOPED_TRACE(one.name);
    const OpenFolder folder;
    {
      const OtherUser other;
      if (one.path == "store.db" && one.found.find("is a folder") == std::string::npos)
        read_from(folder.path("store.db"));  // it exists
    }
    one.spoil(folder);
    const OtherUser other;
    const auto refusal = refused_database_file(folder.path(one.path));
    ASSERT_TRUE(refusal);
    EXPECT_THAT(refusal->found, HasSubstr(filled(one.found, folder)));
    EXPECT_THAT(refusal->next_step, HasSubstr(filled(one.next_step, folder)));
    EXPECT_THAT(
        fault_of(folder.path(one.path)),
        AllOf(testing::AnyOf(HasSubstr("unable to open database file"), HasSubstr("readonly database")),
              HasSubstr(describe(*refusal))));
  }
}

// OPS-6
TEST(RefusedDatabaseFiles, AreThoseOfADatabaseAloneWhereNoCauseIsVisible) {
  const OpenFolder folder;
  const OtherUser other;
  EXPECT_FALSE(refused_database_file(folder.path("new.db"))) << "it may be made";
  read_from(folder.path("new.db"));
  EXPECT_FALSE(refused_database_file(folder.path("new.db")));
  std::ofstream(folder.path("text.db")) << std::string(4096, 'x');
  EXPECT_FALSE(refused_database_file(folder.path("text.db"))) << "SQLite alone may look into it";
  EXPECT_THAT(
      fault_of(folder.path("text.db")),
      HasSubstr("file is not a database; " + folder.path("text.db") + " is no database of SQLite's; "));
}

// OPS-6
TEST(RefusedDatabaseFiles, AreNotAskedForInAPlaceThatIsGoneAndReplaceNoOtherFault) {
  const std::filesystem::path before = std::filesystem::current_path();
  {
    const OpenFolder folder;
    std::filesystem::create_directory(folder.path("gone"));
    std::filesystem::current_path(folder.path("gone"));
    std::filesystem::remove(folder.path("gone"));
    EXPECT_NO_THROW(EXPECT_FALSE(refused_database_file("store.db")));
    std::filesystem::current_path(before);
  }
}

}  // namespace
}  // namespace giftsync::sql
