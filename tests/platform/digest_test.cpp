#include "platform/digest.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace giftsync {
namespace {

TEST(Digest, AgreesWithPublishedVectors) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),  // RFC 4231, case 2
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Digest, HexRoundTrips) {
  EXPECT_EQ(to_hex(std::string("\x00\xff\x10", 3)), "00ff10");
  EXPECT_EQ(from_hex("00FF10"), std::string("\x00\xff\x10", 3));
  for (const char* text : {"0", "0g", "0x", " 0", "0:"}) EXPECT_EQ(from_hex(text), std::nullopt) << text;
}

TEST(Digest, Base64UrlRoundTrips) {
  EXPECT_EQ(to_base64url("f"), "Zg");
  EXPECT_EQ(to_base64url("foob"), "Zm9vYg");
  EXPECT_EQ(to_base64url("\xfb\xff"), "-_8");
  for (const char* bytes : {"", "f", "fo", "foo", "foob", "\xfb\xff\xfe"}) {
    EXPECT_EQ(from_base64url(to_base64url(bytes)), bytes);
  }
}

TEST(Digest, Base64UrlDecodingIsCanonical) {
  for (const char* text : {"Zg==", "Zg=", "Zh", "+/8", "Z", "Zm9v Yg", " Zm9v", "Zm9v\n", "Zm9vYg\n",
                           "Zm9=", "====", "\xff\xff"}) {
    EXPECT_EQ(from_base64url(text), std::nullopt) << text;
  }
}

TEST(Digest, ComparesInConstantTime) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_TRUE(equal_in_constant_time("", {}));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abcd"));
}

}  // namespace
}  // namespace giftsync
