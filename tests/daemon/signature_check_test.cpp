// Who a message is from: the vendors' own examples, and what must not pass.
#include "daemon/sources/signature_check.h"

#include <gtest/gtest.h>

#include "daemon/crypto/digest.h"
#include "daemon/crypto/public_key.h"

namespace giftsync::daemon {
namespace {

using schema::UtcMillis;

// The example of the Standard Webhooks libraries.
constexpr const char* kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr UtcMillis kSignedAt{1'614'265'330'000};

HttpRequest standard_message() {
  HttpRequest request;
  request.method = "POST";
  request.body = R"({"test": 2432232314})";
  request.headers = {{"webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"},
                     {"Webhook-Timestamp", "1614265330"},
                     {"webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}};
  return request;
}

void set(HttpRequest& request, const std::string& name, const std::string& value) {
  request.headers.erase(name);
  request.headers.emplace(name, value);
}

TEST(StandardWebhook, TakesThePublishedExample) {
  const auto outcome = check_standard_webhook(standard_message(), {Secret(kSecret)}, kSignedAt);
  EXPECT_TRUE(outcome.good) << outcome.why;
  EXPECT_EQ(outcome.message_id, "msg_p5jXN8AQM9LWM0D4loKWxJek");
}

TEST(StandardWebhook, AnySecretMayHaveMadeAnySignature) {
  HttpRequest request = standard_message();
  set(request, "webhook-signature",
      "v1,AAAA v1a,whatever v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= "
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  EXPECT_TRUE(
      check_standard_webhook(request, {Secret("whsec_c2VjcmV0c2VjcmV0c2VjcmV0"), Secret(kSecret)}, kSignedAt)
          .good);
}

TEST(StandardWebhook, HoldsItsTimeToFiveMinutes) {
  for (const auto& [off, good] : std::initializer_list<std::pair<std::int64_t, bool>>{
           {300'000, true}, {-300'000, true}, {300'001, false}, {-300'001, false}}) {
    EXPECT_EQ(check_standard_webhook(standard_message(), {Secret(kSecret)}, kSignedAt + off).good, good)
        << off;
  }
}

TEST(StandardWebhook, EveryPartCounts) {
  const auto refused = [](const std::function<void(HttpRequest&)>& spoil) {
    HttpRequest request = standard_message();
    spoil(request);
    return !check_standard_webhook(request, {Secret(kSecret)}, kSignedAt).good;
  };
  EXPECT_TRUE(refused([](HttpRequest& r) { r.body += " "; }));
  EXPECT_TRUE(refused([](HttpRequest& r) { set(r, "webhook-id", "msg_other"); }));
  EXPECT_TRUE(refused([](HttpRequest& r) { set(r, "webhook-timestamp", "1614265331"); }));
  EXPECT_TRUE(refused([](HttpRequest& r) { set(r, "webhook-timestamp", "soon"); }));
  EXPECT_TRUE(refused([](HttpRequest& r) { set(r, "webhook-signature", ""); }));
  EXPECT_TRUE(refused([](HttpRequest& r) {
    set(r, "webhook-signature", "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  }));
  EXPECT_TRUE(refused([](HttpRequest& r) { r.headers.erase("webhook-id"); }));
  EXPECT_TRUE(refused([](HttpRequest& r) { r.headers.emplace("webhook-id", "twice"); }));
  EXPECT_FALSE(check_standard_webhook(standard_message(), {}, kSignedAt).good);
}

TEST(BodyHmac, TakesHexAndBase64WithAndWithoutPrefix) {
  const std::string body = "{\"a\":1}";
  const std::string code = hmac_sha256("shared", body);
  std::string upper = to_hex(code);
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  for (const std::string& value : {to_hex(code), upper, "sha256=" + to_hex(code), to_base64_text(code),
                                   "SHA256=" + to_base64_text(code)}) {
    HttpRequest request;
    request.body = body;
    request.headers.emplace("X-Signature", value);
    EXPECT_TRUE(check_body_hmac(request, "x-signature", {Secret("old"), Secret("shared")}).good) << value;
    EXPECT_FALSE(check_body_hmac(request, "x-signature", {Secret("old")}).good);
    request.body += "\n";
    EXPECT_FALSE(check_body_hmac(request, "x-signature", {Secret("shared")}).good);
  }
  EXPECT_FALSE(check_body_hmac(HttpRequest{}, "x-signature", {Secret("shared")}).good);
}

TEST(BasicLogin, ComparesUserAndPassword) {
  const auto with = [](const std::string& value) {
    HttpRequest request;
    request.headers.emplace("Authorization", value);
    return check_basic(request, {Secret("vendor:pass:word")}).good;
  };
  EXPECT_TRUE(with("Basic " + to_base64_text("vendor:pass:word")));
  EXPECT_TRUE(with("basic " + to_base64_text("vendor:pass:word")));
  EXPECT_FALSE(with("Basic " + to_base64_text("vendor:pass")));
  EXPECT_FALSE(with("Bearer " + to_base64_text("vendor:pass:word")));
  EXPECT_FALSE(with("Basic"));
  EXPECT_FALSE(check_basic(HttpRequest{}, {Secret("vendor:pass:word")}).good);
}

TEST(PublicKey, ChecksTheExampleOfSendGridsLibrary) {
  const auto key = PublicKey::from_base64(
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDr2LjtURuePQzplybdC+"
      "u4CwrqDqBaWjcMMsTbhdbcwHBcepxo7yAQGhHPTnlvFYPAZ"
      "FceEu/1FwCM/QmGUhA==");
  ASSERT_TRUE(key);
  const auto signature = from_base64_text(
      "MEUCIQCtIHJeH93Y+qpYeWrySphQgpNGNr/U+UyUlBkU6n7RAwIgJTz2C+8a8xonZGi6BpSzoQsbVRamr2nlxFDWYNH2j/0=");
  ASSERT_TRUE(signature);
  const std::string text =
      R"(1588788367{"category":"example_payload","event":"test_event","message_id":"message_id"})";
  EXPECT_TRUE(key->verifies(text, *signature, SignatureHash::sha256));
  EXPECT_FALSE(key->verifies(text + " ", *signature, SignatureHash::sha256));
  EXPECT_FALSE(key->verifies(text, "not a signature", SignatureHash::sha256));
  EXPECT_FALSE(PublicKey::from_base64("c2VjcmV0"));
}

}  // namespace
}  // namespace giftsync::daemon
