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

struct Special {
  const char* address;
  const char* range;  ///< empty: public
};

// HOOK-11
TEST(IpAddress, SpecialRangesAreThoseThatTheInternetDoesNotReach) {
  constexpr Special kTable[] = {
      {"0.0.0.0", "unspecified"},
      {"0.255.255.255", "unspecified"},
      {"1.0.0.0", ""},
      {"9.255.255.255", ""},
      {"10.0.0.0", "private"},
      {"10.255.255.255", "private"},
      {"11.0.0.0", ""},
      {"100.63.255.255", ""},
      {"100.64.0.0", "shared"},
      {"100.127.255.255", "shared"},
      {"100.128.0.0", ""},
      {"127.0.0.1", "loopback"},
      {"127.255.255.255", "loopback"},
      {"128.0.0.0", ""},
      {"169.253.255.255", ""},
      {"169.254.169.254", "link-local"},
      {"169.255.0.0", ""},
      {"172.15.255.255", ""},
      {"172.16.0.0", "private"},
      {"172.31.255.255", "private"},
      {"172.32.0.0", ""},
      {"192.0.0.1", "reserved"},
      {"192.0.1.0", ""},
      {"192.0.2.1", "reserved"},
      {"192.88.99.1", "reserved"},
      {"192.167.255.255", ""},
      {"192.168.0.1", "private"},
      {"192.169.0.0", ""},
      {"198.17.255.255", ""},
      {"198.18.0.0", "reserved"},
      {"198.19.255.255", "reserved"},
      {"198.20.0.0", ""},
      {"198.51.100.7", "reserved"},
      {"203.0.113.7", "reserved"},
      {"223.255.255.255", ""},
      {"224.0.0.1", "multicast"},
      {"239.255.255.255", "multicast"},
      {"240.0.0.0", "reserved"},
      {"255.255.255.255", "reserved"},
      {"8.8.8.8", ""},
      {"::", "unspecified"},
      {"::1", "loopback"},
      {"::2", "reserved"},
      {"::ffff:127.0.0.1", "loopback"},
      {"::ffff:8.8.8.8", ""},
      {"::127.0.0.1", "reserved"},  // IPv4-compatible, no longer in use
      {"64:ff9b::7f00:1", "loopback"},
      {"64:ff9b::a00:1", "private"},
      {"64:ff9b::808:808", ""},
      {"64:ff9b:1::808:808", "reserved"},  // NAT64 of the local network
      {"100::1", "reserved"},
      {"2001::80ff:fffe", "loopback"},  // Teredo: the client's address is inverted
      {"2001::f7f7:f7f7", ""},
      {"2001:1::1", "reserved"},
      {"2001:20::1", "reserved"},
      {"2001:200::1", ""},
      {"2001:4860:4860::8888", ""},
      {"2001:db8::1", "reserved"},
      {"2002:7f00:1::", "loopback"},
      {"2002:c0a8:101::1", "private"},
      {"2002:808:808::1", ""},
      {"2606:4700::1111", ""},
      {"3fff::1", "reserved"},
      {"3fff:1000::1", ""},
      {"4000::1", "reserved"},
      {"fc00::1", "private"},
      {"fdff::1", "private"},
      {"fe80::1", "link-local"},
      {"febf::1", "link-local"},
      {"fec0::1", "private"},
      {"ff02::1", "multicast"},
  };
  for (const auto& [text, range] : kTable)
    EXPECT_EQ(special_range_of(parse_ip_address(text).value()).value_or(""), range) << text;
}

TEST(IpAddress, NetworksContainTheirAddressesAlone) {
  const auto holds = [](const char* network, const char* address) {
    return parse_ip_network(network).value().contains(parse_ip_address(address).value());
  };
  EXPECT_TRUE(holds("10.0.0.0/9", "10.127.255.255"));
  EXPECT_FALSE(holds("10.0.0.0/9", "10.128.0.0"));
  EXPECT_TRUE(holds("127.0.0.1", "127.0.0.1"));
  EXPECT_FALSE(holds("127.0.0.1", "127.0.0.2"));
  EXPECT_TRUE(holds("fd00::/8", "fdff::1"));
  EXPECT_FALSE(holds("fd00::/8", "fc00::1"));
  EXPECT_TRUE(holds("0.0.0.0/0", "8.8.8.8"));
  EXPECT_FALSE(holds("0.0.0.0/0", "2001:db8::1"));
  for (const char* bad : {"", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "fd00::/129", "example.com"})
    EXPECT_FALSE(parse_ip_network(bad).has_value()) << bad;
}

// HOOK-11: the resolver reads spellings that parse_ip_address() refuses.
TEST(IpAddress, OddSpellingsOfAnAddressAreResolvedToIt) {
  for (const char* text : {"127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "::1"}) {
    const auto found = resolve_host(text);
    ASSERT_FALSE(found.empty()) << text;
    EXPECT_EQ(special_range_of(found.front()), "loopback") << text;
  }
  EXPECT_TRUE(resolve_host("").empty());
}

}  // namespace
}  // namespace giftsync
