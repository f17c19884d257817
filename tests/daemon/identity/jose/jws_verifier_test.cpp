// Signed tokens and key sets: Wycheproof's vectors, the tokens that other libraries accepted by mistake, and
// mutations of a valid token. GIFTSYNC_TOKEN_MUTATIONS=N makes N of them and of key sets, in place of some
// thousands, GIFTSYNC_TOKEN_SEED=N others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "daemon/identity/jose/jws.h"
#include "tests/daemon/identity/test_tokens.h"
#include "tests/support/json.h"

namespace giftsync::jose {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using Reason = JwsRefusal::Reason;
using tests::jwk_of;
using tests::token_of;

const std::vector<std::string> kBoth{"RS256", "ES256"};

JwkSet keys_of(const std::vector<json>& keys) {
  const auto set = parse_jwk_set(json{{"keys", keys}}.dump());
  EXPECT_TRUE(set.has_value()) << set.error();
  return *set;
}

class JwsVerifier : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    rsa_ = tests::make_rsa_key();
    ec_ = tests::make_ec_key();
  }
  static void TearDownTestSuite() {
    rsa_.reset();
    ec_.reset();
  }
  JwkSet keys_ = keys_of({jwk_of(rsa_, "r"), jwk_of(ec_, "e")});
  std::optional<Reason> refusal(const std::string& token) const { return refusal(token, keys_); }
  static std::optional<Reason> refusal(const std::string& token, const JwkSet& keys) {
    const auto verified = verify_jws(token, keys, kBoth);
    return verified ? std::nullopt : std::optional(verified.error().reason);
  }
  inline static tests::TestKey rsa_;
  inline static tests::TestKey ec_;
};

// OIDC-4
TEST_F(JwsVerifier, AcceptsBothAlgorithms) {
  const auto rsa =
      verify_jws(token_of(rsa_, json{{"alg", "RS256"}, {"kid", "r"}, {"typ", "JWT"}}, "p"), keys_, kBoth);
  ASSERT_TRUE(rsa.has_value()) << rsa.error().text;
  EXPECT_EQ(rsa->payload, "\"p\"");
  EXPECT_EQ(rsa->type, "JWT");
  EXPECT_TRUE(verify_jws(token_of(ec_, json{{"alg", "ES256"}, {"kid", "e"}}, "p"), keys_, kBoth));
  EXPECT_TRUE(verify_jws(token_of(ec_, json{{"alg", "ES256"}}, "p"), keys_, kBoth)) << "one key fits";
}

// OIDC-4: the twelve tokens of which a library for C accepted four.
TEST_F(JwsVerifier, RefusesForgedHeaders) {
  const auto with = [&](const std::string& header) { return token_of(rsa_, header, "{}"); };
  const std::string none = to_base64url(R"({"alg":"none"})") + "." + to_base64url("{}") + ".";
  EXPECT_EQ(refusal(none), Reason::algorithm);
  EXPECT_EQ(refusal(with(R"({"alg":"None"})")), Reason::algorithm);
  EXPECT_EQ(refusal(with(R"({"alg":"rs256","kid":"r"})")), Reason::algorithm);
  EXPECT_EQ(refusal(with(R"({"alg":"PS256","kid":"r"})")), Reason::algorithm);
  EXPECT_EQ(refusal(with(R"({"alg":"RS512","kid":"r"})")), Reason::algorithm);
  EXPECT_EQ(refusal(with(R"({"alg":"RS256","kid":"r","crit":["exp"],"exp":1})")), Reason::header);
  EXPECT_EQ(refusal(with(R"({"alg":"RS256","kid":"r","b64":false,"crit":["b64"]})")), Reason::header);
  EXPECT_EQ(refusal(with(R"({"alg":"RS256","kid":"r","b64":false})")), Reason::header);
  EXPECT_EQ(refusal(with(R"({"alg":"RS256","kid":"r","jku":"https://evil.example/keys"})")), Reason::header);
  EXPECT_EQ(refusal(with(R"({"alg":"RS256","kid":"r","x5u":"https://evil.example/cert"})")), Reason::header);
  EXPECT_EQ(refusal(with(R"({"alg":"none","alg":"RS256","kid":"r"})")), Reason::malformed);
  EXPECT_EQ(refusal(with(R"({"kid":"r"})")), Reason::malformed);
  EXPECT_EQ(refusal(with(R"({"alg":["RS256"],"kid":"r"})")), Reason::malformed);
  EXPECT_EQ(refusal(with(R"({"alg":"RS256","kid":7})")), Reason::malformed);
  EXPECT_EQ(refusal(with("[]")), Reason::malformed);
  EXPECT_EQ(refusal(""), Reason::malformed);
  EXPECT_EQ(refusal(std::string(kMaxTokenBytes + 1, 'A')), Reason::malformed);
  const tests::TestKey own = tests::make_rsa_key();
  EXPECT_EQ(refusal(token_of(own, json{{"alg", "RS256"}, {"kid", "r"}, {"jwk", jwk_of(own, "r")}}, "{}")),
            Reason::header);
  EXPECT_EQ(refusal(token_of(own, json{{"alg", "RS256"}, {"kid", "r"}}, "{}")), Reason::signature);
  EXPECT_EQ(refusal(token_of(ec_, json{{"alg", "RS256"}, {"kid", "e"}}, "{}")), Reason::unknown_key)
      << "a key of another type";
}

// OIDC-4: the public key as the secret of HS256.
TEST_F(JwsVerifier, RefusesSymmetricSignatures) {
  for (const std::string& secret :
       {tests::public_pem(rsa_), jwk_of(rsa_, "r").dump(), std::string("hush-hush")}) {
    const std::string text = to_base64url(R"({"alg":"HS256","kid":"r"})") + "." + to_base64url("{}");
    EXPECT_EQ(refusal(text + "." + to_base64url(hmac_sha256(secret, text))), Reason::algorithm);
  }
}

// OIDC-4: a token without kid needs exactly one key that fits; so does a kid that two keys have.
TEST_F(JwsVerifier, ChoosesOneKeyOrNone) {
  const tests::TestKey other = tests::make_rsa_key();
  const std::string without = token_of(rsa_, json{{"alg", "RS256"}}, "{}");
  EXPECT_EQ(refusal(without, keys_of({jwk_of(rsa_, "r")})), std::nullopt);
  EXPECT_EQ(refusal(without, keys_of({jwk_of(rsa_, "r"), jwk_of(ec_, "e")})), std::nullopt);
  EXPECT_EQ(refusal(without, keys_of({jwk_of(rsa_, "r"), jwk_of(other, "o")})), Reason::unknown_key);
  EXPECT_EQ(refusal(without, keys_of({jwk_of(ec_, "e")})), Reason::unknown_key);
  EXPECT_EQ(refusal(without, keys_of({jwk_of(other, "o")})), Reason::unknown_key) << "replaced meanwhile";
  const std::string named = token_of(rsa_, json{{"alg", "RS256"}, {"kid", "r"}}, "{}");
  EXPECT_EQ(refusal(named, keys_of({jwk_of(rsa_, "r"), jwk_of(other, "o")})), std::nullopt);
  EXPECT_EQ(refusal(named, keys_of({jwk_of(rsa_, "r"), jwk_of(other, "r")})), Reason::unknown_key);
  EXPECT_EQ(refusal(named, keys_of({jwk_of(rsa_, "new")})), Reason::unknown_key);
  EXPECT_EQ(refusal(named, keys_of({jwk_of(rsa_, "")})), Reason::unknown_key);
}

TEST_F(JwsVerifier, RefusesAnAlgorithmThatTheConnectionExcludes) {
  const auto outcome =
      verify_jws(token_of(ec_, json{{"alg", "ES256"}}, "{}"), keys_, std::vector<std::string>{"RS256"});
  ASSERT_FALSE(outcome.has_value());
  EXPECT_THAT(outcome.error().text, HasSubstr("is signed with \"ES256\"; allowed: RS256"));
}

// OIDC-1, OIDC-4
TEST(JwkSet, IgnoresUnusableKeysAndKeepsTheOthers) {
  const tests::TestKey rsa = tests::make_rsa_key();
  const json good = jwk_of(rsa, "r");
  std::vector<json> bad(10, good);
  bad[0]["use"] = "enc";
  bad[1]["alg"] = "PS256";
  bad[2]["key_ops"] = {"sign"};
  bad[3]["n"] = "not base64!";
  bad[4].erase("e");
  bad[5]["e"] = "AQ";
  bad[6]["d"] = "AQAB";
  bad[7] = "a text";
  bad[8] = {{"kty", "oct"}, {"k", "c2VjcmV0"}};
  bad[9] = jwk_of(tests::make_rsa_key(1024), "weak");
  std::vector<json> list = bad;
  list.push_back(good);
  const JwkSet set = keys_of(list);
  EXPECT_EQ(set.ignored, bad.size());
  ASSERT_EQ(set.keys.size(), 1u);
  EXPECT_EQ(set.keys[0].key_id, "r");
  json point = jwk_of(tests::make_ec_key(), "e");
  point["y"] = point["x"];
  EXPECT_EQ(keys_of({point}).keys.size(), 0u) << "not on the curve";
  EXPECT_FALSE(parse_jwk_set(R"({"keys":[],"keys":[]})").has_value());
  EXPECT_FALSE(parse_jwk_set("{}").has_value());
  EXPECT_FALSE(parse_jwk_set("[]").has_value());
  EXPECT_FALSE(parse_jwk_set(json{{"keys", std::vector<json>(kMaxKeys + 1, good)}}.dump()).has_value());
}

/// Wycheproof's verdicts: each `invalid` is refused, each `valid` of our algorithms is accepted.
void check_vectors(const std::string& file) {
  const std::string text = tests::sign_in_suite("wycheproof/" + file);
  if (text.empty()) GTEST_SKIP() << "no " << file;
  std::size_t accepted = 0;
  std::size_t refused = 0;
  const json suite = tests::parse_json(text);
  for (const json& group : suite["testGroups"]) {
    const json key = group.value("public", group.value("private", json()));
    const auto set = parse_jwk_set(key.contains("keys") ? key.dump() : json{{"keys", {key}}}.dump());
    for (const json& test : group["tests"]) {
      const json& jws = test["jws"];
      const std::string token = jws.is_string() ? jws.get<std::string>() : jws.dump();
      const bool is_ours = !set->keys.empty();
      const bool holds = set.has_value() && verify_jws(token, *set, kBoth).has_value();
      (holds ? accepted : refused) += 1;
      EXPECT_FALSE(holds && test["result"] == "invalid")
          << file << " " << test["tcId"] << " " << test["comment"];
      EXPECT_FALSE(!holds && is_ours && test["result"] == "valid")
          << file << " " << test["tcId"] << " " << test["comment"]
          << verify_jws(token, *set, kBoth).error().text;
    }
  }
  EXPECT_GT(accepted, 0u);
  EXPECT_GT(refused, accepted);
}

// OIDC-4
TEST(Wycheproof, JsonWebSignature) {
  check_vectors("json_web_signature_test.json");
}
TEST(Wycheproof, JsonWebKey) {
  check_vectors("json_web_key_test.json");
}

// OIDC-4: a mutated token is refused, and no byte sequence does harm (the sanitizers watch).
TEST_F(JwsVerifier, RefusesEveryMutation) {
  const std::string good = token_of(ec_, json{{"alg", "ES256"}, {"kid", "e"}}, json{{"sub", "1"}});
  ASSERT_EQ(refusal(good), std::nullopt);
  std::mt19937_64 random(tests::number_from_environment("GIFTSYNC_TOKEN_SEED", 20'261'125));
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  constexpr std::string_view kBytes =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \n\0\xff";
  const std::uint64_t rounds = tests::number_from_environment("GIFTSYNC_TOKEN_MUTATIONS", 20'000);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::string token = good;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(token.size());
      switch (below(4)) {
        case 0:
          token[at] = kBytes[below(kBytes.size())];
          break;
        case 1:
          token.erase(at, 1 + below(8));
          break;
        case 2:
          token.insert(at, 1, kBytes[below(kBytes.size())]);
          break;
        default:
          token += token.substr(at);
      }
      if (token.empty()) token = ".";
    }
    EXPECT_TRUE(token == good || refusal(token).has_value()) << token;
  }
}

// OIDC-4: the reader of key sets on mutated documents.
TEST(JwkSet, SurvivesMutations) {
  const std::string good =
      json{{"keys", {jwk_of(tests::make_ec_key(), "e"), jwk_of(tests::make_rsa_key(), "r")}}}.dump();
  std::mt19937_64 random(tests::number_from_environment("GIFTSYNC_TOKEN_SEED", 7));
  const std::uint64_t rounds = tests::number_from_environment("GIFTSYNC_TOKEN_MUTATIONS", 5'000);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::string text = good;
    for (int changes = 0; changes < 4; ++changes)
      text[std::uniform_int_distribution<std::size_t>(0, text.size() - 1)(random)] =
          static_cast<char>(std::uniform_int_distribution<int>(0, 255)(random));
    const auto set = parse_jwk_set(text);
    EXPECT_TRUE(!set.has_value() || set->keys.size() <= 2);
  }
}

}  // namespace
}  // namespace giftsync::jose
