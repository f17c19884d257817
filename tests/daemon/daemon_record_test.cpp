#include <gmock/gmock.h>

#include "daemon/config/effective_settings.h"
#include "daemon/daemon.h"
#include "schema/store/store.h"
#include "tests/support/temporary_store.h"

namespace giftsync::daemon {
namespace {

class DaemonRecordTest : public testing::Test {
 protected:
  config::Settings settings() const {
    config::Settings settings;
    settings.file = "/etc/giftsync/giftsyncd.yaml";
    settings.store.connection = store_.address().connection;
    return settings;
  }
  std::vector<store::SeenDaemonInstance> rows() const {
    return store::DaemonInstances(store_.address()).list();
  }
  store::DaemonInstance row() const {
    const auto all = rows();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? store::DaemonInstance{} : all.front().instance;
  }

  const tests::TemporaryStore store_;
  std::int64_t millis_ = 0;
  DaemonRecord record_{[this] { return millis_; }};
};

// OPS-25
TEST_F(DaemonRecordTest, TellsHowTheLastReloadEnded) {
  config::Settings settings = this->settings();
  record_.begin(settings, "127.0.0.1:8480");
  EXPECT_EQ(row().id, record_.id());
  EXPECT_EQ(row().version, GIFTSYNC_VERSION);
  EXPECT_EQ(row().last_reload_at, std::nullopt);
  record_.reload_refused({"limits: wrong", "crm: wrong"});
  EXPECT_EQ(row().reload_faults, "limits: wrong\ncrm: wrong");
  EXPECT_TRUE(row().last_reload_at);
  EXPECT_EQ(row().loaded_at, row().started_at) << "the former settings stay in force";
  settings.limits.max_recipients = 7;
  record_.reloaded(settings, "127.0.0.1:8481");
  EXPECT_EQ(row().reload_faults, "");
  EXPECT_EQ(row().loaded_at, row().last_reload_at);
  EXPECT_EQ(row().listen, "127.0.0.1:8481");
  EXPECT_EQ(row().settings, config::to_text(config::effective_settings(settings)));
  record_.end();
  EXPECT_TRUE(rows().empty());
  millis_ += 60'000;
  record_.keep();
  EXPECT_TRUE(rows().empty()) << "it has ended";
}

// OPS-25
TEST_F(DaemonRecordTest, AHeartbeatIsWrittenEveryTenSeconds) {
  record_.begin(settings(), "127.0.0.1:8480");
  store::DaemonInstances(store_.address()).remove(record_.id());  // as in a store that was restored
  millis_ = 9'999;
  record_.keep();
  EXPECT_TRUE(rows().empty());
  millis_ = 10'000;
  record_.keep();
  EXPECT_EQ(row().id, record_.id());
}

}  // namespace
}  // namespace giftsync::daemon
