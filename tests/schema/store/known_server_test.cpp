#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "schema/store/server_check.h"

namespace giftsync::store {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

KnownServer known(const char* system, std::int64_t timeline, std::int64_t accepted_at = 0) {
  return {{system, timeline}, accepted_at};
}

// ARCH-42
TEST(KnownServer, TheSameOrAPromotedServerIsUsed) {
  EXPECT_THAT(server_refusal(std::nullopt, std::nullopt, {"71", 1}), IsEmpty());
  EXPECT_THAT(server_refusal(known("71", 1), known("71", 1), {"71", 1}), IsEmpty());
  EXPECT_THAT(server_refusal(known("71", 1), known("71", 1), {"71", 2}), IsEmpty());
}

// ARCH-42
TEST(KnownServer, AnotherClusterIsRefused) {
  for (const auto& [stored, remembered] :
       {std::pair(std::optional(known("71", 1)), std::optional<KnownServer>()),
        std::pair(std::optional<KnownServer>(), std::optional(known("71", 1)))})
    EXPECT_THAT(server_refusal(stored, remembered, {"72", 5}),
                testing::AllOf(HasSubstr("another cluster (system identifier 72, it was 71)"),
                               HasSubstr("giftsyncctl db accept-server")));
}

// ARCH-42: the store on an old primary remembers the old timeline only.
TEST(KnownServer, AnOldPrimaryIsRefusedByWhatTheMachineRemembers) {
  EXPECT_THAT(server_refusal(known("71", 1), known("71", 2), {"71", 1}),
              HasSubstr("timeline 1, and timeline 2 was in use"));
  EXPECT_THAT(server_refusal(known("71", 2), std::nullopt, {"71", 1}), HasSubstr("timeline 2 was in use"));
}

// ARCH-42
TEST(KnownServer, AnAcceptanceOverrulesWhatTheMachineRemembers) {
  EXPECT_THAT(server_refusal(known("71", 1, 900), known("71", 2, 0), {"71", 1}), IsEmpty());
  EXPECT_THAT(server_refusal(known("71", 1, 900), known("71", 2, 900), {"71", 1}),
              HasSubstr("timeline 2 was in use"))
      << "accepted before the failover, not after it";
  EXPECT_THAT(server_refusal(known("72", 1, 900), known("71", 2, 0), {"73", 1}), HasSubstr("it was 72"))
      << "what was accepted is another server";
}

// ARCH-42
TEST(KnownServer, IsRememberedInAFileOrTheFaultIsNamed) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("giftsync_server_" + std::to_string(::getpid()));
  const std::string path = (folder / "giftsync.server").string();
  const KnownServer one = known("71", 3, 900);
  EXPECT_EQ(write_known_server(path, "abc", one), "No such file or directory");
  std::filesystem::create_directories(folder);
  EXPECT_EQ(write_known_server(path, "abc", one), "");
  EXPECT_EQ(read_known_server(path, "abc"), one);
  EXPECT_EQ(read_known_server(path, "other"), std::nullopt);
  std::filesystem::remove(path);
  std::filesystem::create_directories(path + "/in_the_way");
  EXPECT_NE(write_known_server(path, "abc", one), "");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "no temporary file stays";
  std::filesystem::remove_all(folder);
}

TEST(KnownServer, IsWrittenAsText) {
  const KnownServer one = known("7711733011392458767", 3, 1'795'000'000'000);
  EXPECT_EQ(to_text(one), "7711733011392458767 3 1795000000000");
  EXPECT_EQ(known_server_from(to_text(one)), one);
  for (const char* text : {"", "7711733011392458767", "x y z", "1 2"})
    EXPECT_EQ(known_server_from(text), std::nullopt) << text;
}

}  // namespace
}  // namespace giftsync::store
