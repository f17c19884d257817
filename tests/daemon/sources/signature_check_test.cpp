// Signatures of messages: the vendors' own examples, and what must be refused.
#include <gtest/gtest.h>

#include "daemon/sources/webhook_message.h"
#include "platform/digest.h"
#include "platform/keys.h"

namespace giftsync::sources {
namespace {

// The example of the Standard Webhooks libraries.
constexpr const char* kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr UtcMillis kSignedAt{1'614'265'330'000};

http::HttpRequest standard_message() {
  http::HttpRequest request;
  request.method = "POST";
  request.body = R"({"test": 2432232314})";
  request.headers = {{"webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"},
                     {"Webhook-Timestamp", "1614265330"},
                     {"webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}};
  return request;
}

void set(http::HttpRequest& request, const std::string& name, const std::string& value) {
  request.headers.erase(name);
  request.headers.emplace(name, value);
}

TEST(StandardWebhook, AcceptsThePublishedExample) {
  const auto outcome = check_standard_webhook(standard_message(), {config::Secret(kSecret)}, kSignedAt);
  EXPECT_TRUE(outcome.is_valid) << outcome.why;
  EXPECT_EQ(outcome.message_id, "msg_p5jXN8AQM9LWM0D4loKWxJek");
}

TEST(StandardWebhook, AnySecretMayHaveMadeAnySignature) {
  http::HttpRequest request = standard_message();
  set(request, "webhook-signature",
      "v1,AAAA v1a,whatever v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE= "
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  EXPECT_TRUE(
      check_standard_webhook(
          request, {config::Secret("whsec_c2VjcmV0c2VjcmV0c2VjcmV0"), config::Secret(kSecret)}, kSignedAt)
          .is_valid);
}

// SRC-24
TEST(StandardWebhook, AllowsFiveMinutesOfClockSkew) {
  for (const auto& [off, good] : std::initializer_list<std::pair<std::int64_t, bool>>{
           {300'000, true}, {-300'000, true}, {300'001, false}, {-300'001, false}}) {
    EXPECT_EQ(check_standard_webhook(standard_message(), {config::Secret(kSecret)}, kSignedAt + off).is_valid,
              good)
        << off;
  }
}

TEST(StandardWebhook, EveryPartIsSigned) {
  const auto is_refused = [](const std::function<void(http::HttpRequest&)>& tamper) {
    http::HttpRequest request = standard_message();
    tamper(request);
    return !check_standard_webhook(request, {config::Secret(kSecret)}, kSignedAt).is_valid;
  };
  EXPECT_TRUE(is_refused([](http::HttpRequest& r) { r.body += " "; }));
  EXPECT_TRUE(is_refused([](http::HttpRequest& r) { set(r, "webhook-id", "msg_other"); }));
  EXPECT_TRUE(is_refused([](http::HttpRequest& r) { set(r, "webhook-timestamp", "1614265331"); }));
  EXPECT_TRUE(is_refused([](http::HttpRequest& r) { set(r, "webhook-timestamp", "soon"); }));
  EXPECT_TRUE(is_refused([](http::HttpRequest& r) { set(r, "webhook-signature", ""); }));
  EXPECT_TRUE(is_refused([](http::HttpRequest& r) {
    set(r, "webhook-signature", "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  }));
  EXPECT_TRUE(is_refused([](http::HttpRequest& r) { r.headers.erase("webhook-id"); }));
  EXPECT_TRUE(is_refused([](http::HttpRequest& r) { r.headers.emplace("webhook-id", "twice"); }));
  EXPECT_FALSE(check_standard_webhook(standard_message(), {}, kSignedAt).is_valid);
}

TEST(BodyHmac, AcceptsHexAndBase64WithAndWithoutPrefix) {
  const std::string body = "{\"a\":1}";
  const std::string code = hmac_sha256("shared", body);
  std::string upper = to_hex(code);
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  for (const std::string& value : {to_hex(code), upper, "sha256=" + to_hex(code), to_base64_text(code),
                                   "SHA256=" + to_base64_text(code)}) {
    http::HttpRequest request;
    request.body = body;
    request.headers.emplace("X-Signature", value);
    EXPECT_TRUE(
        check_body_hmac(request, "x-signature", {config::Secret("old"), config::Secret("shared")}).is_valid)
        << value;
    EXPECT_FALSE(check_body_hmac(request, "x-signature", {config::Secret("old")}).is_valid);
    request.body += "\n";
    EXPECT_FALSE(check_body_hmac(request, "x-signature", {config::Secret("shared")}).is_valid);
  }
  EXPECT_FALSE(check_body_hmac(http::HttpRequest{}, "x-signature", {config::Secret("shared")}).is_valid);
}

// SRC-24
TEST(StandardWebhook, TakesTheOtherNamesOfItsHeadersAsASet) {
  http::HttpRequest request = standard_message();
  const auto rename = [&](const std::string& part) {
    set(request, "svix-" + part, *request.header("webhook-" + part));
    request.headers.erase("webhook-" + part);
  };
  const auto check = [&] { return check_standard_webhook(request, {config::Secret(kSecret)}, kSignedAt); };
  for (const char* part : {"timestamp", "signature"}) {
    rename(part);
    EXPECT_FALSE(check().is_valid) << part;
  }
  rename("id");
  EXPECT_TRUE(check().is_valid) << check().why;
  EXPECT_EQ(check().message_id, "msg_p5jXN8AQM9LWM0D4loKWxJek");
  request.headers.emplace("svix-id", "twice");
  EXPECT_FALSE(check().is_valid);
}

// SRC-24
TEST(BodyHmac, OneRightSignatureOfSeveralSuffices) {
  http::HttpRequest request;
  request.body = "{}";
  const std::string code = hmac_sha256("shared", request.body);
  const std::string right = to_hex(code);
  const std::string zeros(64, '0');
  const auto is_accepted = [&](const std::string& value) {
    set(request, "X-Signature", value);
    return check_body_hmac(request, "X-Signature", {config::Secret("shared")}).is_valid;
  };
  const std::string base64 = to_base64_text(code);
  for (const std::string& value :
       {"sha256=" + zeros + ",sha256=" + right, "sha256=" + right + ", sha256=" + zeros, zeros + " " + right,
        "t=1614265330,v1=" + zeros + ",v1=" + right, "v0=" + zeros + "\tv1=" + base64,
        "sha1=" + std::string(40, '0') + ",hmac-sha256=" + base64, zeros + "," + base64,
        ",, " + right + " ,"})
    EXPECT_TRUE(is_accepted(value)) << value;
  std::string many;
  for (int i = 0; i < 20; ++i) many += zeros + ",";
  for (const std::string& value :
       {"sha256=" + zeros + ",sha256=" + zeros, right.substr(0, 32) + "," + right.substr(32),
        "sha256=," + zeros, std::string(), std::string(","), "sha256=sha256=" + right,
        "a-scheme-that-is-too-long=" + right, many + right})
    EXPECT_FALSE(is_accepted(value)) << value;
}

TEST(BasicAuth, ComparesUserAndPassword) {
  const auto with = [](const std::string& value) {
    http::HttpRequest request;
    request.headers.emplace("Authorization", value);
    return check_basic(request, {config::Secret("vendor:pass:word")}).is_valid;
  };
  EXPECT_TRUE(with("Basic " + to_base64_text("vendor:pass:word")));
  EXPECT_TRUE(with("basic " + to_base64_text("vendor:pass:word")));
  EXPECT_FALSE(with("Basic " + to_base64_text("vendor:pass")));
  EXPECT_FALSE(with("Bearer " + to_base64_text("vendor:pass:word")));
  EXPECT_FALSE(with("Basic"));
  EXPECT_FALSE(check_basic(http::HttpRequest{}, {config::Secret("vendor:pass:word")}).is_valid);
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
}  // namespace giftsync::sources
