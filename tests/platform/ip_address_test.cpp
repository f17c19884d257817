#include "platform/ip_address.h"

#include <gtest/gtest.h>

namespace giftsync {
namespace {

TEST(IpAddress, RateLimitPrefixOfIpv6IsItsNetwork) {
  const auto prefix = [](const char* text) { return parse_ip_address(text).value().rate_limit_prefix(); };
  EXPECT_EQ(prefix("2001:db8::1"), prefix("2001:db8::ffff:1"));
  EXPECT_NE(prefix("2001:db8::1"), prefix("2001:db8:0:1::1"));
  EXPECT_NE(prefix("192.0.2.1"), prefix("192.0.2.2"));
}

TEST(IpAddress, TextThatIsNoAddressStandsForItself) {
  EXPECT_EQ(rate_limit_prefix("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(rate_limit_prefix("2001:db8::7"), rate_limit_prefix("2001:db8::8"));
  EXPECT_EQ(rate_limit_prefix("unix"), "unix");
  EXPECT_EQ(parse_ip_address(std::string("192.0.2.1\0", 10)), std::nullopt);
}

}  // namespace
}  // namespace giftsync
