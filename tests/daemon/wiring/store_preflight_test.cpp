#include "daemon/wiring/store_preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "tests/support/other_user.h"

namespace giftsync::wiring {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::StartsWith;

config::Settings with_store(const std::string& path) {
  config::Settings settings;
  settings.file = "/etc/giftsync/giftsyncd.yaml";
  settings.store.backend = config::StoreBackend::sqlite;
  settings.store.connection = path;
  settings.provenance["store.connection"] = {2, ""};
  return settings;
}

// OPS-6
TEST(StorePreflight, AMissingDirectoryIsReportedWithItsLine) {
  const auto fault =
      AllOf(StartsWith("/etc/giftsync/giftsyncd.yaml:2: store.connection: /nowhere/giftsync.db"),
            HasSubstr("the folder of the store, /nowhere, does not exist"));
  EXPECT_THAT(missing_directory_fault(with_store("/nowhere/giftsync.db")), Optional(fault));
  EXPECT_THAT(store_directory_fault(with_store("/nowhere/giftsync.db")), Optional(fault));
}

// OPS-6
TEST(StorePreflight, AFullDiskIsNamed) {
  EXPECT_EQ(full_disk_clause("/var/lib/giftsync", 12'345),
            "the disk of /var/lib/giftsync is full: 12 KB are free");
  EXPECT_EQ(full_disk_clause("/var/lib/giftsync", 16 << 20), std::nullopt);
  EXPECT_EQ(full_disk_clause(with_store("/nowhere/giftsync.db")), std::nullopt) << "nothing is known of it";
}

TEST(StorePreflight, TheStateDirectoryMayBeMissingDuringACheck) {
  EXPECT_EQ(missing_directory_fault(with_store("/var/lib/giftsync/giftsync.db")), std::nullopt);
  EXPECT_TRUE(missing_directory_fault(with_store("/var/lib/giftsync/deeper/nowhere/giftsync.db")));
}

TEST(StorePreflight, ADirectoryInPlaceOfTheFileFailsTheStart) {
  const std::string folder = std::filesystem::temp_directory_path().string();
  EXPECT_EQ(missing_directory_fault(with_store(folder + "/new.db")), std::nullopt);
  EXPECT_EQ(store_directory_fault(with_store(folder + "/new.db")), std::nullopt)
      << "the store file is created at the start";
  EXPECT_THAT(store_directory_fault(with_store("/usr/lib")),
              Optional(HasSubstr("/usr/lib is a folder; name a file, or correct store.connection")));
}

// OPS-6
TEST(StorePreflight, AFolderThatThisUserMayNotWriteToIsReportedWithLineAndUser) {
  const tests::OpenFolder folder;
  folder.allow("", 0555);
  const tests::OtherUser other;
  EXPECT_THAT(store_directory_fault(with_store(folder.path("giftsync.db"))),
              Optional(AllOf(
                  StartsWith("/etc/giftsync/giftsyncd.yaml:2: store.connection: the user " +
                             sql::user_name(::geteuid()) + " may not write to the folder " + folder.path()),
                  EndsWith(", or correct store.connection"))));
  EXPECT_EQ(not_read_only(FileRefusal{EROFS, "", ""}), std::nullopt) << "the next start may find it writable";
}

TEST(StorePreflight, AnExternalSqliteCrmNeedsItsDirectory) {
  config::Settings settings = with_store(std::filesystem::temp_directory_path().string() + "/new.db");
  settings.crm.backend = config::StoreBackend::sqlite;
  settings.crm.connection = "/nowhere/crm.db";
  EXPECT_THAT(missing_directory_fault(settings), Optional(HasSubstr("correct crm.connection")));
  settings.store.backend = config::StoreBackend::postgresql;
  settings.crm.connection.clear();
  EXPECT_EQ(missing_directory_fault(settings), std::nullopt);
}

// OPS-1
TEST(StorePreflight, ACheckSaysThatItDoesNotCallAnOrg) {
  config::Settings settings =
      with_store(std::filesystem::temp_directory_path().string() + "/giftsync_no_such_store.db");
  settings.crm.type = config::CrmType::salesforce;
  ASSERT_EQ(settings.crm.kind(), config::CrmKind::salesforce);
  EXPECT_THAT(check_databases(settings).unchecked, ::testing::Contains(HasSubstr("giftsyncctl crm check")));
  settings.crm.type = config::CrmType::sql;
  EXPECT_THAT(check_databases(settings).unchecked,
              ::testing::Not(::testing::Contains(HasSubstr("giftsyncctl crm check"))));
}

}  // namespace
}  // namespace giftsync::wiring
