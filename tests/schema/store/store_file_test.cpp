// A SQLite store whose file is deleted, moved or replaced while it is in use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "platform/dependency_error.h"
#include "schema/store/store.h"
#include "tests/support/temporary_store.h"

namespace giftsync::store {
namespace {

using ::testing::HasSubstr;

class StoreFile : public ::testing::Test {
 protected:
  std::string failure() {
    try {
      store_->check_writable();
      return {};
    } catch (const DependencyError& fault) {
      EXPECT_TRUE(fault.transient());
      return fault.what();
    }
  }
  std::string read_failure() {
    try {
      store_->metadata("version");
      return {};
    } catch (const DependencyError& fault) {
      return fault.what();
    }
  }

  tests::TemporaryStore store_;
  const std::filesystem::path path_{store_.address().connection};
};

// ARCH-38
TEST_F(StoreFile, AMovedFileIsRefusedUntilItIsBack) {
  EXPECT_EQ(failure(), "");
  const std::filesystem::path elsewhere = path_.string() + ".moved";
  std::filesystem::rename(path_, elsewhere);
  EXPECT_THAT(failure(), HasSubstr("was deleted, moved or replaced"));
  EXPECT_THAT(read_failure(), HasSubstr(path_.string()));
  EXPECT_FALSE(std::filesystem::exists(path_)) << "no new file is made in its place";
  std::ofstream(path_) << "another file";
  EXPECT_THAT(failure(), HasSubstr("was deleted, moved or replaced"));
  std::filesystem::rename(elsewhere, path_);
  EXPECT_EQ(failure(), "");
}

// ARCH-38
TEST_F(StoreFile, ARefusedStoreIsNotUsedAgain) {
  store_->refuse_use("another installation's");
  EXPECT_EQ(failure(), "another installation's");
  EXPECT_EQ(read_failure(), "another installation's");
}

}  // namespace
}  // namespace giftsync::store
