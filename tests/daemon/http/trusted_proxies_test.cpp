#include "daemon/http/trusted_proxies.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace giftsync::http {
namespace {

std::string client(const TrustedProxies& proxies, const std::string& peer,
                   std::vector<std::string_view> lines) {
  return proxies.client_behind(parse_ip_address(peer).value(), lines).text();
}

TEST(TrustedProxies, DistinguishesValidEntriesFromInvalid) {
  for (const std::string good : {"10.0.0.7", "10.0.0.0/8", "10.1.2.3/8", "0.0.0.0/0", "2001:db8::7",
                                 "fd00::/8", "::/0", "10.0.0.7/32", "2001:db8::7/128"}) {
    EXPECT_EQ(TrustedProxies::entry_error(good), std::nullopt) << good;
  }
  for (const std::string bad :
       {"", "10.1", "10.0.0.256", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "10.0.0.0/8 ", "10.0.0.0/8/8",
        "fd00::/129", "[fd00::1]", "fe80::1%eth0", "proxy.example", "10.0.0.0:80"}) {
    const auto error = TrustedProxies::entry_error(bad);
    ASSERT_TRUE(error) << bad;
    EXPECT_NE(error->find("\"" + bad + "\""), std::string::npos);
  }
  EXPECT_THROW(TrustedProxies({"10.0.0.0/8", "x"}), std::invalid_argument);
}

TEST(TrustedProxies, MatchesAddressesAndBlocksOfBothFamilies) {
  const TrustedProxies proxies({"10.0.0.0/9", "192.0.2.1", "fd00::/9", "2001:db8::1"});
  for (const std::string in :
       {"10.0.0.1", "10.127.255.255", "::ffff:10.0.0.1", "192.0.2.1", "fd7f::1", "2001:db8::1"}) {
    EXPECT_TRUE(proxies.trusts(parse_ip_address(in).value())) << in;
  }
  for (const std::string out : {"10.128.0.0", "11.0.0.1", "192.0.2.2", "fd80::1", "2001:db8::2", "::1"}) {
    EXPECT_FALSE(proxies.trusts(parse_ip_address(out).value())) << out;
  }
  EXPECT_FALSE(TrustedProxies().trusts(parse_ip_address("127.0.0.1").value()));
}

// HTTP-18, OPS-7
TEST(TrustedProxies, ClientIsTheRightmostUntrustedHop) {
  const TrustedProxies proxies({"10.0.0.0/8", "fd00::/8"});
  EXPECT_EQ(client(proxies, "192.0.2.1", {"198.51.100.1"}), "192.0.2.1");
  EXPECT_EQ(client(proxies, "10.0.0.1", {}), "10.0.0.1");
  EXPECT_EQ(client(proxies, "10.0.0.1", {"198.51.100.1"}), "198.51.100.1");
  EXPECT_EQ(client(proxies, "10.0.0.1", {"203.0.113.66, 198.51.100.1"}), "198.51.100.1");
  EXPECT_EQ(client(proxies, "10.0.0.1", {"203.0.113.66, 198.51.100.1 , 10.2.2.2"}), "198.51.100.1");
  EXPECT_EQ(client(proxies, "10.0.0.1", {"203.0.113.66", "198.51.100.1", "fd00::2,10.2.2.2"}),
            "198.51.100.1");
  EXPECT_EQ(client(proxies, "10.0.0.1", {"10.3.3.3, 10.2.2.2"}), "10.3.3.3");
}

TEST(TrustedProxies, MalformedHopEndsTheSearchAtTheLastValidOne) {
  const TrustedProxies proxies({"10.0.0.0/8"});
  EXPECT_EQ(client(proxies, "10.0.0.1", {"198.51.100.1, unknown, 10.2.2.2"}), "10.2.2.2");
  EXPECT_EQ(client(proxies, "10.0.0.1", {"unknown"}), "10.0.0.1");
  EXPECT_EQ(client(proxies, "10.0.0.1", {""}), "10.0.0.1");
  EXPECT_EQ(client(proxies, "10.0.0.1", {","}), "10.0.0.1");
}

TEST(TrustedProxies, PortsOfHopsAreIgnored) {
  const TrustedProxies proxies({"10.0.0.0/8"});
  EXPECT_EQ(client(proxies, "10.0.0.1", {"198.51.100.1:4711"}), "198.51.100.1");
  EXPECT_EQ(client(proxies, "10.0.0.1", {"[2001:db8::1]:4711"}), "2001:db8::1");
  EXPECT_EQ(client(proxies, "10.0.0.1", {"2001:db8::1"}), "2001:db8::1");
}

}  // namespace
}  // namespace giftsync::http
