// Which connection is evicted at a limit, without threads: the order is deterministic here, unlike on a
// server whose threads become idle at any time.
#include "daemon/http/connection_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <deque>
#include <optional>
#include <vector>

namespace giftsync::http {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// One end of a connected pair, with its slot.
class TestConnection {
 public:
  TestConnection(ConnectionRegistry& registry, const char* address, bool exempt = false) {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0);
    slot_.emplace(registry, ends_[0], *parse_ip_address(address), exempt);
    // Slots are distinguished by microseconds.
    const auto accepted_at = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() < accepted_at + std::chrono::microseconds(2)) continue;
  }
  ~TestConnection() {
    slot_.reset();
    for (const int end : ends_) ::close(end);
  }
  TestConnection(const TestConnection&) = delete;
  TestConnection& operator=(const TestConnection&) = delete;

  ConnectionRegistry::Slot& slot() { return *slot_; }
  bool was_shut_down() const {
    pollfd other_end{ends_[1], POLLIN, 0};
    return ::poll(&other_end, 1, 0) > 0;
  }

 private:
  std::array<int, 2> ends_{};
  std::optional<ConnectionRegistry::Slot> slot_;
};

class ConnectionRegistryTest : public ::testing::Test {
 protected:
  void accept(const char* address, bool exempt = false) {
    connections_.emplace_back(registry_, address, exempt);
  }
  std::vector<std::size_t> shut_down_indexes() const {
    std::vector<std::size_t> indexes;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      if (connections_[i].was_shut_down()) indexes.push_back(i);
    }
    return indexes;
  }
  ConnectionRegistry registry_{6, 3};
  std::deque<TestConnection> connections_;
};

// HTTP-17
TEST_F(ConnectionRegistryTest, EvictsTheOldestOfAnAddressOverItsLimit) {
  accept("192.0.2.9");
  for (int i = 0; i < 3; ++i) accept("192.0.2.1");
  EXPECT_THAT(shut_down_indexes(), IsEmpty());
  accept("192.0.2.1");
  accept("192.0.2.1");
  EXPECT_THAT(shut_down_indexes(), ElementsAre(1, 2)) << "the other address' older connection stays";
  EXPECT_EQ(registry_.open_count(), 4u);
}

TEST_F(ConnectionRegistryTest, EvictsTheOldestOfAllWhenNoAddressIsOverItsLimit) {
  for (const char* address : {"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.1", "192.0.2.2", "192.0.2.3"})
    accept(address);
  accept("192.0.2.4");
  EXPECT_THAT(shut_down_indexes(), ElementsAre(0));
}

TEST_F(ConnectionRegistryTest, KeepsTheConnectionIdleForAShorterTime) {
  for (int i = 0; i < 3; ++i) accept("192.0.2.1");
  EXPECT_TRUE(connections_[0].slot().begin_request());
  EXPECT_TRUE(connections_[0].slot().become_idle());
  accept("192.0.2.1");
  EXPECT_THAT(shut_down_indexes(), ElementsAre(1));
}

TEST_F(ConnectionRegistryTest, KeepsARequestBeingHandledAndEvictsASlowResponse) {
  for (int i = 0; i < 3; ++i) accept("192.0.2.1");
  for (TestConnection& connection : connections_) EXPECT_TRUE(connection.slot().begin_request());
  accept("192.0.2.1");
  EXPECT_THAT(shut_down_indexes(), IsEmpty()) << "the newest is never refused";
  EXPECT_EQ(registry_.open_count(), 4u);
  EXPECT_TRUE(connections_[2].slot().begin_slow_write());
  EXPECT_TRUE(connections_[3].slot().begin_request());
  accept("192.0.2.1");
  EXPECT_THAT(shut_down_indexes(), ElementsAre(2));
  EXPECT_FALSE(connections_[2].slot().become_idle());
  EXPECT_FALSE(connections_[2].slot().begin_request()) << "no handler runs for an evicted connection";
}

TEST_F(ConnectionRegistryTest, ATrustedProxyIsExemptFromTheAddressLimit) {
  for (int i = 0; i < 6; ++i) accept("192.0.2.1", true);
  EXPECT_THAT(shut_down_indexes(), IsEmpty());
  accept("192.0.2.1", true);
  EXPECT_THAT(shut_down_indexes(), ElementsAre(0));
}

TEST_F(ConnectionRegistryTest, AnIpv6PrefixCountsAsOneAddress) {
  for (const char* address : {"2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4"}) accept(address);
  EXPECT_THAT(shut_down_indexes(), ElementsAre(0));
}

}  // namespace
}  // namespace giftsync::http
