#include "daemon/wiring/server_secret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace giftsync::wiring {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ServerSecretTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "giftsync-secret-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = (folder_ / "giftsync.secret").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::optional<ServerSecretError> error_of(std::string (*operation)(const std::string&),
                                            const std::string& path) {
    try {
      operation(path);
    } catch (const ServerSecretError& error) {
      return error;
    }
    return std::nullopt;
  }
  void expect_error(std::string (*operation)(const std::string&), const std::string& path,
                    ServerSecretError::Kind kind, const std::string& message_part) {
    const std::optional<ServerSecretError> error = error_of(operation, path);
    ASSERT_TRUE(error) << message_part;
    EXPECT_EQ(error->kind(), kind) << error->what();
    EXPECT_THAT(error->what(), HasSubstr(path));
    EXPECT_THAT(error->what(), HasSubstr(message_part));
  }
  void write(const std::string& text, std::filesystem::perms permissions) {
    std::ofstream(path_, std::ios::binary) << text;
    std::filesystem::permissions(path_, permissions);
  }

  static constexpr std::filesystem::perms kOwnerOnly =
      std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::path folder_;
  std::string path_;
};

// OPS-5
TEST_F(ServerSecretTest, IsCreatedOnceAndReadBack) {
  const std::string secret = create_server_secret(path_);
  EXPECT_EQ(secret.size(), kServerSecretBytes);
  EXPECT_EQ(read_server_secret(path_), secret);
  struct stat file_stat {};
  ASSERT_EQ(::stat(path_.c_str(), &file_stat), 0);
  EXPECT_EQ(file_stat.st_mode & 07777, 0600U);
  struct stat folder_stat {};
  ASSERT_EQ(::stat(folder_.c_str(), &folder_stat), 0);
  EXPECT_EQ(file_stat.st_uid, folder_stat.st_uid);
  expect_error(create_server_secret, path_, ServerSecretError::Kind::already_exists, "keep it");
  EXPECT_EQ(read_server_secret(path_), secret);
  const auto files = std::filesystem::directory_iterator(folder_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "no temporary file remains";
}

TEST_F(ServerSecretTest, CreatedByRootIsOwnedByTheFolderOwner) {
  constexpr uid_t kOtherUserId = 65534;
  if (::geteuid() != 0) GTEST_SKIP() << "only root can change the owner";
  ASSERT_EQ(::chown(folder_.c_str(), kOtherUserId, kOtherUserId), 0);
  create_server_secret(path_);
  struct stat file_stat {};
  ASSERT_EQ(::stat(path_.c_str(), &file_stat), 0);
  EXPECT_EQ(file_stat.st_uid, kOtherUserId);
}

TEST_F(ServerSecretTest, InvalidFileIsRejected) {
  const std::string digits(64, 'a');
  using Kind = ServerSecretError::Kind;
  expect_error(read_server_secret, path_, Kind::missing, "restore it from the backup of the store");
  for (const std::string& text :
       {std::string(), std::string("\n"), digits + "a\n", digits + "\n\n", digits.substr(1) + "\n",
        digits.substr(1) + "g", std::string(32, '\0'), std::string(100'000, 'a')}) {
    write(text, kOwnerOnly);
    expect_error(read_server_secret, path_, Kind::unusable, "64 hex digits");
  }
  write(digits, kOwnerOnly);
  EXPECT_EQ(read_server_secret(path_), std::string(32, '\xaa')) << "the line end may be missing";
  write(digits, kOwnerOnly | std::filesystem::perms::group_read);
  expect_error(read_server_secret, path_, Kind::unusable, "chmod 600");
  EXPECT_THAT(error_of(read_server_secret, path_)->what(), Not(HasSubstr("aaaa")));
  expect_error(read_server_secret, folder_.string(), Kind::unusable, "not a regular file");
}

TEST_F(ServerSecretTest, MissingFolderIsReported) {
  expect_error(create_server_secret, (folder_ / "nowhere" / "s").string(),
               ServerSecretError::Kind::not_written, "No such file or directory");
}

}  // namespace
}  // namespace giftsync::wiring
