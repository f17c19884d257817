// Who must leave when it gets crowded, without threads: the order is certain here, as it is not at a front
// whose threads come to rest when the system lets them.
#include "daemon/http/connection_census.h"

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

namespace giftsync::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// One end of a connected pair, with its place.
class Guest {
 public:
  Guest(ConnectionCensus& census, const char* address, bool exempt = false) {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()), 0);
    census.note_arrival(ends_[0]);
    place_.emplace(census, ends_[0], *parse_ip_address(address), exempt);
    // Places are told apart by microseconds.
    const auto came = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() < came + std::chrono::microseconds(2)) continue;
  }
  ~Guest() {
    place_.reset();
    for (const int end : ends_) ::close(end);
  }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  ConnectionCensus::Place& place() { return *place_; }
  bool was_sent_away() const {
    pollfd other_end{ends_[1], POLLIN, 0};
    return ::poll(&other_end, 1, 0) > 0;
  }

 private:
  std::array<int, 2> ends_{};
  std::optional<ConnectionCensus::Place> place_;
};

class Census : public ::testing::Test {
 protected:
  void come(const char* address, bool exempt = false) { guests_.emplace_back(census_, address, exempt); }
  std::vector<std::size_t> sent_away() const {
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < guests_.size(); ++i) {
      if (guests_[i].was_sent_away()) numbers.push_back(i);
    }
    return numbers;
  }
  ConnectionCensus census_{6, 3};
  std::deque<Guest> guests_;
};

TEST_F(Census, AnAddressBeyondItsCapLosesItsOldest) {
  come("192.0.2.9");
  for (int i = 0; i < 3; ++i) come("192.0.2.1");
  EXPECT_THAT(sent_away(), IsEmpty());
  come("192.0.2.1");
  come("192.0.2.1");
  EXPECT_THAT(sent_away(), ElementsAre(1, 2)) << "and not the other address' older one";
  EXPECT_EQ(census_.open(), 4u);
}

TEST_F(Census, TheOldestOfAllMakesRoomWhereNoAddressHasTooMany) {
  for (const char* address : {"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.1", "192.0.2.2", "192.0.2.3"})
    come(address);
  come("192.0.2.4");
  EXPECT_THAT(sent_away(), ElementsAre(0));
}

TEST_F(Census, WhoRestsSinceAShorterTimeStays) {
  for (int i = 0; i < 3; ++i) come("192.0.2.1");
  EXPECT_TRUE(guests_[0].place().begin_request());
  EXPECT_TRUE(guests_[0].place().rest());
  come("192.0.2.1");
  EXPECT_THAT(sent_away(), ElementsAre(1));
}

TEST_F(Census, ARequestInItsHandlerStaysAndASlowAnswerDoesNot) {
  for (int i = 0; i < 3; ++i) come("192.0.2.1");
  for (Guest& guest : guests_) EXPECT_TRUE(guest.place().begin_request());
  come("192.0.2.1");
  EXPECT_THAT(sent_away(), IsEmpty()) << "the newest is never refused";
  EXPECT_EQ(census_.open(), 4u);
  EXPECT_TRUE(guests_[2].place().begin_slow_answer());
  EXPECT_TRUE(guests_[3].place().begin_request());
  come("192.0.2.1");
  EXPECT_THAT(sent_away(), ElementsAre(2));
  EXPECT_FALSE(guests_[2].place().rest());
  EXPECT_FALSE(guests_[2].place().begin_request()) << "no handler runs for who has left";
}

TEST_F(Census, AProxyThatSpeaksForManyCountsForAllOnly) {
  for (int i = 0; i < 6; ++i) come("192.0.2.1", true);
  EXPECT_THAT(sent_away(), IsEmpty());
  come("192.0.2.1", true);
  EXPECT_THAT(sent_away(), ElementsAre(0));
}

TEST_F(Census, AHostOfIpVersion6IsOneAddress) {
  for (const char* address : {"2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4"}) come(address);
  EXPECT_THAT(sent_away(), ElementsAre(0));
}

}  // namespace
}  // namespace giftsync::daemon
