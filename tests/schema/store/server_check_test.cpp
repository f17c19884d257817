// The check of each connection to the store's server (ARCH-42), on PostgreSQL.
#include "schema/store/server_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class ServerCheckTest : public tests::StoreFixture {};
INSTANTIATE_TEST_SUITE_P(BackEnds, ServerCheckTest, testing::Values(sql::Dialect::postgresql),
                         tests::name_of_dialect);

// ARCH-42
TEST_P(ServerCheckTest, AFileThatCannotBeWrittenIsReportedOnce) {
  store_->set_metadata(kInstallationIdFact, "abc");
  std::vector<std::string> faults;
  const ServerCheck check(address(),
                          {.path = "/missing/giftsync.server",
                           .on_write_fault = [&](const std::string& one) { faults.push_back(one); }});
  for (int connection = 0; connection < 3; ++connection) {
    EXPECT_EQ(tests::scalar(*tests::open_database(address()), "SELECT 'x'"), "x") << "the store is used";
  }
  EXPECT_THAT(faults, ElementsAre(AllOf(HasSubstr("/missing/giftsync.server: No such file or directory"),
                                        HasSubstr("let giftsyncd's user write"))));
}

}  // namespace
}  // namespace giftsync::store
