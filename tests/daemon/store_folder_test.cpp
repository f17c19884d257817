#include "daemon/store_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace giftsync::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::StartsWith;

Settings with_store(const std::string& path) {
  Settings settings;
  settings.file = "/etc/giftsync/giftsyncd.yaml";
  settings.store.backend = StoreBackend::sqlite;
  settings.store.connection = path;
  settings.origins["store.connection"] = {2, ""};
  return settings;
}

TEST(StoreFolder, AMissingFolderIsNamedWithTheLineToCorrect) {
  const auto fault =
      AllOf(StartsWith("/etc/giftsync/giftsyncd.yaml:2: store.connection: /nowhere/giftsync.db"),
            HasSubstr("there is no folder /nowhere"));
  EXPECT_THAT(missing_folder_fault(with_store("/nowhere/giftsync.db")), Optional(fault));
  EXPECT_THAT(store_folder_fault(with_store("/nowhere/giftsync.db")), Optional(fault));
}

TEST(StoreFolder, TheServicesOwnFolderIsToComeWhenSettingsAreChecked) {
  EXPECT_EQ(missing_folder_fault(with_store("/var/lib/giftsync/giftsync.db")), std::nullopt);
  EXPECT_TRUE(missing_folder_fault(with_store("/var/lib/giftsync/deeper/nowhere/giftsync.db")));
}

TEST(StoreFolder, AFolderInThePlaceOfTheFileIsAFaultOfTheStart) {
  const std::string folder = std::filesystem::temp_directory_path().string();
  EXPECT_EQ(missing_folder_fault(with_store(folder + "/new.db")), std::nullopt);
  EXPECT_EQ(store_folder_fault(with_store(folder + "/new.db")), std::nullopt) << "it is made at the start";
  EXPECT_THAT(store_folder_fault(with_store("/usr/lib")), Optional(HasSubstr("/usr/lib: Is a directory")));
}

TEST(StoreFolder, ACrmOfSomeoneElseInAFileNeedsItsFolder) {
  Settings settings = with_store(std::filesystem::temp_directory_path().string() + "/new.db");
  settings.crm.backend = StoreBackend::sqlite;
  settings.crm.connection = "/nowhere/crm.db";
  EXPECT_THAT(missing_folder_fault(settings), Optional(HasSubstr("correct crm.connection")));
  settings.store.backend = StoreBackend::postgresql;
  settings.crm.connection.clear();
  EXPECT_EQ(missing_folder_fault(settings), std::nullopt);
}

}  // namespace
}  // namespace giftsync::daemon
