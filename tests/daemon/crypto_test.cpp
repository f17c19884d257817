#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/crypto/api_key.h"
#include "daemon/crypto/digest.h"
#include "daemon/crypto/link_token.h"
#include "daemon/crypto/random.h"
#include "daemon/crypto/server_secret.h"

namespace giftsync::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST(Digest, AgreesWithPublishedVectors) {
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),  // RFC 4231, case 2
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Digest, HexThereAndBack) {
  EXPECT_EQ(to_hex(std::string("\x00\xff\x10", 3)), "00ff10");
  EXPECT_EQ(from_hex("00FF10"), std::string("\x00\xff\x10", 3));
  for (const char* text : {"0", "0g", "0x", " 0", "0:"}) EXPECT_EQ(from_hex(text), std::nullopt) << text;
}

TEST(Digest, Base64UrlThereAndBack) {
  EXPECT_EQ(to_base64url("f"), "Zg");
  EXPECT_EQ(to_base64url("foob"), "Zm9vYg");
  EXPECT_EQ(to_base64url("\xfb\xff"), "-_8");
  for (const char* bytes : {"", "f", "fo", "foo", "foob", "\xfb\xff\xfe"}) {
    EXPECT_EQ(from_base64url(to_base64url(bytes)), bytes);
  }
}

TEST(Digest, Base64UrlHasOneSpelling) {
  for (const char* text : {"Zg==", "Zg=", "Zh", "+/8", "Z", "Zm9v Yg", " Zm9v", "Zm9v\n", "Zm9vYg\n",
                           "Zm9=", "====", "\xff\xff"}) {
    EXPECT_EQ(from_base64url(text), std::nullopt) << text;
  }
}

TEST(Digest, EqualInConstantTime) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_TRUE(equal_in_constant_time("", {}));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abcd"));
}

TEST(Random, GivesTheLengthAskedForAndNeverTheSame) {
  EXPECT_EQ(random_hex(0), "");
  EXPECT_THAT(random_hex(16), MatchesRegex("[0-9a-f]{32}"));
  EXPECT_NE(random_hex(16), random_hex(16));
}

TEST(ApiKey, HasTheDocumentedForm) {
  const NewKey key = make_api_key();
  EXPECT_THAT(key.text, MatchesRegex("gsk_live_[0-9A-Za-z]{38}"));
  EXPECT_EQ(key.prefix, key.text.substr(0, 16));
  EXPECT_EQ(key.hash, to_hex(sha256(key.text)));
  EXPECT_EQ(key.hash, api_key_hash(key.text));
  EXPECT_TRUE(is_api_key(key.text));
}

TEST(ApiKey, AKnownKeyStaysAKey) {
  EXPECT_TRUE(is_api_key("gsk_live_000000000000000000000000000000003lMRX3"))
      << "keys in customers' hands must stay valid";
}

TEST(ApiKey, EveryChangeOfOneCharacterIsSeen) {
  const std::string text = make_api_key().text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = other[i] == 'a' ? 'b' : 'a';
    EXPECT_FALSE(is_api_key(other)) << other;
  }
  for (const std::string& other :
       {text + "a", text.substr(0, 46), " " + text, std::string(), std::string("gsk_live_"),
        std::string(47, '\0'), text.substr(0, 46) + "\xC3"}) {
    EXPECT_FALSE(is_api_key(other)) << other;
  }
}

TEST(ApiKey, AllDigitsAppearAboutEquallyOften) {
  std::vector<int> seen(128);
  for (int i = 0; i < 2000; ++i) {
    for (const char c : make_api_key().text.substr(9, 32)) ++seen[static_cast<std::size_t>(c)];
  }
  // 64,000 digits, 1,032 of each on average with a deviation of 32: six of those either way.
  for (const char c : std::string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")) {
    EXPECT_NEAR(seen[static_cast<std::size_t>(c)], 1032, 192) << c;
  }
}

TEST(LinkToken, CarriesItsClaimThereAndBack) {
  const LinkSigner signer(std::string(32, 's'));
  for (const LinkKind kind : {LinkKind::redeem, LinkKind::donate, LinkKind::view}) {
    for (const std::int64_t id : {std::int64_t{1}, std::int64_t{123456789}, schema::kMaxId}) {
      for (const std::int64_t generation : {std::int64_t{0}, std::int64_t{7}, std::int64_t{4294967295}}) {
        const std::string token = signer.token(kind, {id}, generation);
        EXPECT_THAT(token, MatchesRegex("[A-Za-z0-9_-]{44}"));
        const std::optional<LinkClaim> claim = signer.verify(token);
        ASSERT_TRUE(claim) << token;
        EXPECT_EQ(claim->kind, kind);
        EXPECT_EQ(claim->transaction.value, id);
        EXPECT_EQ(claim->generation, generation);
      }
    }
  }
}

TEST(LinkToken, IsTheSameForTheSameClaimAndSecret) {
  const LinkSigner signer(std::string(32, 's'));
  EXPECT_EQ(signer.token(LinkKind::redeem, {42}, 1),
            LinkSigner(std::string(32, 's')).token(LinkKind::redeem, {42}, 1));
  EXPECT_EQ(signer.token(LinkKind::redeem, {42}, 1), "9AAAAAAAAACoAAAABNdOa6li82iA0m2tSX-euV9v8j_o")
      << "links in mails must stay valid";
  const std::set<std::string> different{
      signer.token(LinkKind::redeem, {42}, 1), signer.token(LinkKind::donate, {42}, 1),
      signer.token(LinkKind::redeem, {43}, 1), signer.token(LinkKind::redeem, {42}, 2)};
  EXPECT_EQ(different.size(), 4U);
}

TEST(LinkToken, EveryChangedTokenIsRefused) {
  const LinkSigner signer(std::string(32, 's'));
  const std::string token = signer.token(LinkKind::redeem, {42}, 1);
  for (std::size_t i = 0; i < token.size(); ++i) {
    for (const char c : std::string("ABz09-_+/=. \n\xff", 14) + '\0') {
      if (c == token[i]) continue;
      std::string other = token;
      other[i] = c;
      EXPECT_FALSE(signer.verify(other)) << other;
    }
    EXPECT_FALSE(signer.verify(token.substr(0, i))) << i;
  }
  for (const std::string& other :
       {token + "A", token + "=", token + token, " " + token, std::string(1'000'000, 'A')}) {
    EXPECT_FALSE(signer.verify(other));
  }
}

TEST(LinkToken, AnotherSecretsTokenIsRefusedEvenWithTheSameKeyId) {
  const LinkSigner signer(std::string(32, 's'));
  const char key_id = signer.token(LinkKind::view, {1}, 0).front();
  int same_key_id = 0;
  for (int i = 0; i < 1000; ++i) {
    const LinkSigner other(random_bytes(32));
    const std::string token = other.token(LinkKind::redeem, {42}, 1);
    EXPECT_FALSE(signer.verify(token));
    if (token.front() == key_id) ++same_key_id;
  }
  EXPECT_GT(same_key_id, 0) << "the proof is the code, not the key id";
}

TEST(LinkToken, FingerprintTellsSecretsApart) {
  const LinkSigner signer(std::string(32, 's'));
  EXPECT_THAT(signer.fingerprint(), MatchesRegex("[0-9a-f]{32}"));
  EXPECT_EQ(signer.fingerprint(), LinkSigner(std::string(32, 's')).fingerprint());
  EXPECT_NE(signer.fingerprint(), LinkSigner(std::string(32, 't')).fingerprint());
}

TEST(LinkTokenDeathTest, ABugEndsTheProgram) {
  const LinkSigner signer("secret");
  EXPECT_DEATH(LinkSigner(""), "");
  EXPECT_DEATH(signer.token(LinkKind::view, {0}, 0), "");
  EXPECT_DEATH(signer.token(LinkKind::view, {1}, -1), "");
  EXPECT_DEATH(signer.token(LinkKind::view, {1}, std::int64_t{1} << 32), "");
}

class ServerSecret : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "giftsync-secret-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = (folder_ / "giftsync.secret").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::optional<ServerSecretFault> fault_of(std::string (*act)(const std::string&), const std::string& path) {
    try {
      act(path);
    } catch (const ServerSecretFault& fault) {
      return fault;
    }
    return std::nullopt;
  }
  void expect_fault(std::string (*act)(const std::string&), const std::string& path,
                    ServerSecretFault::Kind kind, const std::string& words) {
    const std::optional<ServerSecretFault> fault = fault_of(act, path);
    ASSERT_TRUE(fault) << words;
    EXPECT_EQ(fault->kind(), kind) << fault->what();
    EXPECT_THAT(fault->what(), HasSubstr(path));
    EXPECT_THAT(fault->what(), HasSubstr(words));
  }
  void write(const std::string& text, std::filesystem::perms permissions) {
    std::ofstream(path_, std::ios::binary) << text;
    std::filesystem::permissions(path_, permissions);
  }

  static constexpr std::filesystem::perms kOwnerOnly =
      std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(ServerSecret, IsMadeOnceAndReadBack) {
  const std::string secret = create_server_secret(path_);
  EXPECT_EQ(secret.size(), kServerSecretBytes);
  EXPECT_EQ(read_server_secret(path_), secret);
  struct stat facts {};
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600U);
  struct stat folder_facts {};
  ASSERT_EQ(::stat(folder_.c_str(), &folder_facts), 0);
  EXPECT_EQ(facts.st_uid, folder_facts.st_uid);
  expect_fault(create_server_secret, path_, ServerSecretFault::Kind::already_exists, "keep it");
  EXPECT_EQ(read_server_secret(path_), secret);
  const auto files = std::filesystem::directory_iterator(folder_);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "nothing is left over";
}

TEST_F(ServerSecret, MadeByRootBelongsToTheOwnerOfItsFolder) {
  constexpr uid_t kSomebody = 65534;
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown(folder_.c_str(), kSomebody, kSomebody), 0);
  create_server_secret(path_);
  struct stat facts {};
  ASSERT_EQ(::stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, kSomebody);
}

TEST_F(ServerSecret, WhatIsNoSecretIsRefused) {
  const std::string digits(64, 'a');
  using Kind = ServerSecretFault::Kind;
  expect_fault(read_server_secret, path_, Kind::missing, "restore it from the backup of the store");
  for (const std::string& text :
       {std::string(), std::string("\n"), digits + "a\n", digits + "\n\n", digits.substr(1) + "\n",
        digits.substr(1) + "g", std::string(32, '\0'), std::string(100'000, 'a')}) {
    write(text, kOwnerOnly);
    expect_fault(read_server_secret, path_, Kind::unusable, "64 hex digits");
  }
  write(digits, kOwnerOnly);
  EXPECT_EQ(read_server_secret(path_), std::string(32, '\xaa')) << "the line end may be missing";
  write(digits, kOwnerOnly | std::filesystem::perms::group_read);
  expect_fault(read_server_secret, path_, Kind::unusable, "chmod 600");
  EXPECT_THAT(fault_of(read_server_secret, path_)->what(), Not(HasSubstr("aaaa")));
  expect_fault(read_server_secret, folder_.string(), Kind::unusable, "not a regular file");
}

TEST_F(ServerSecret, AFolderThatIsNotThereIsNamed) {
  expect_fault(create_server_secret, (folder_ / "nowhere" / "s").string(),
               ServerSecretFault::Kind::not_written, "No such file or directory");
}

}  // namespace
}  // namespace giftsync::daemon
