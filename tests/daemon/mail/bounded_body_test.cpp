#include <gtest/gtest.h>

#include <array>
#include <string>

#include "daemon/mail/smtp_transport.h"

namespace giftsync::mail {
namespace {

TEST(BoundedBody, ReadsAllBytesAndThenTheEnd) {
  BoundedBody body("hello", 100, [] { return 0; });
  std::array<char, 3> buffer{};
  EXPECT_EQ(body.read(buffer.data(), buffer.size()), 3u);
  EXPECT_EQ(std::string(buffer.data(), 3), "hel");
  EXPECT_EQ(body.read(buffer.data(), buffer.size()), 2u);
  EXPECT_EQ(std::string(buffer.data(), 2), "lo");
  EXPECT_EQ(body.read(buffer.data(), buffer.size()), 0u);
  EXPECT_FALSE(body.lease_over());
}

TEST(BoundedBody, AbortsOnceTheLeaseIsOver) {
  std::int64_t now = 99;
  BoundedBody body("hello", 100, [&now] { return now; });
  std::array<char, 8> buffer{};
  EXPECT_EQ(body.read(buffer.data(), buffer.size()), 5u);
  now = 100;
  EXPECT_EQ(body.read(buffer.data(), buffer.size()), std::nullopt);
  now = 0;
  EXPECT_EQ(body.read(buffer.data(), buffer.size()), std::nullopt) << "after the deadline every read fails";
  EXPECT_TRUE(body.lease_over());
}

}  // namespace
}  // namespace giftsync::mail
