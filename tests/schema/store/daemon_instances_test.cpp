// The rows of running daemons, over every back end.
#include "schema/store/daemon_instances.h"

#include <gmock/gmock.h>

#include "schema/sql/database.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

class DaemonInstancesTest : public tests::StoreFixture {
 protected:
  static DaemonInstance daemon(const std::string& id, const std::string& host, const std::string& listen) {
    DaemonInstance one;
    one.id = id;
    one.host = host;
    one.pid = 17;
    one.version = "0.9";
    one.listen = listen;
    one.settings_file = "/etc/giftsync/giftsyncd.yaml";
    one.settings = "[]";
    one.started_at = kSentAt;
    one.loaded_at = {kSentAt.value + 5};
    return one;
  }
  static std::vector<std::string> ids(DaemonInstances& instances) {
    std::vector<std::string> ids;
    for (const SeenDaemonInstance& row : instances.list()) ids.push_back(row.instance.id);
    return ids;
  }
};

// OPS-25
TEST_P(DaemonInstancesTest, KeepsWhatADaemonSaysOfItself) {
  DaemonInstances instances(address());
  DaemonInstance one = daemon("a", "h", "127.0.0.1:1");
  instances.save(one);
  one.last_reload_at = UtcMillis{kSentAt.value + 9};
  one.reload_faults = "limits: wrong\ncrm: wrong";
  instances.save(one);
  const auto rows = instances.list();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].instance.pid, 17);
  EXPECT_EQ(rows[0].instance.settings_file, one.settings_file);
  EXPECT_EQ(rows[0].instance.loaded_at, one.loaded_at);
  EXPECT_EQ(rows[0].instance.last_reload_at, one.last_reload_at);
  EXPECT_EQ(rows[0].instance.reload_faults, one.reload_faults);
  EXPECT_GE(rows[0].unseen_millis, 0);
  EXPECT_LT(rows[0].unseen_millis, kHourMillis);
}

// OPS-25
TEST_P(DaemonInstancesTest, ANewDaemonReplacesTheEndedOneAtItsAddressOnly) {
  DaemonInstances instances(address());
  instances.save(daemon("killed", "h", "127.0.0.1:1"));
  instances.save(daemon("other port", "h", "127.0.0.1:2"));
  instances.save(daemon("other host", "i", "127.0.0.1:1"));
  instances.save(daemon("new", "h", "127.0.0.1:1"));
  EXPECT_THAT(ids(instances), testing::ElementsAre("new", "other host", "other port"));
  instances.remove("new");
  EXPECT_THAT(ids(instances), testing::ElementsAre("other host", "other port"));
}

// OPS-25
TEST_P(DaemonInstancesTest, AHeartbeatRemovesWhatWasNotSeenForADay) {
  DaemonInstances instances(address());
  for (const char* id : {"beats", "hours", "days"}) instances.save(daemon(id, "h", id));
  const std::string now(sql::database_now(dialect()));
  sql("UPDATE daemon_instance SET last_seen_at = " + now + " - 23 * 3600000 WHERE id <> 'days'");
  sql("UPDATE daemon_instance SET last_seen_at = " + now + " - 25 * 3600000 WHERE id = 'days'");
  EXPECT_TRUE(instances.touch("beats"));
  EXPECT_THAT(ids(instances), testing::ElementsAre("beats", "hours"));
  EXPECT_LT(instances.list()[0].unseen_millis, kHourMillis);
  EXPECT_GT(instances.list()[1].unseen_millis, kHourMillis);
  EXPECT_FALSE(instances.touch("days"));
}

INSTANTIATE_TEST_SUITE_P(BackEnds, DaemonInstancesTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

}  // namespace
}  // namespace giftsync::store
