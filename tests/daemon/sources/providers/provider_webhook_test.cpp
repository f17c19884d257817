// The mail providers' webhooks, with the payloads of their documentation; only ids and signatures differ. SES
// has its own file, sns_test.cpp.
#include "daemon/sources/provider_webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/x509.h>

#include "daemon/mail/gift_mail.h"
#include "tests/daemon/sources/providers/provider_fixture.h"

namespace giftsync::sources {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr const char* kMessageId = "gift-41.0.8f3a@example.com";

// covers: TEST-2
TEST(ProviderWebhook, ParsesGiftMessageIdsOnly) {
  EXPECT_EQ(parse_gift_message_id("<gift-41.0.8f3a@example.com>", "8f3a"), (GiftMessageId{"41", 0}));
  EXPECT_EQ(parse_gift_message_id("gift-41.12.8f3a", "8f3a"), (GiftMessageId{"41", 12}));
  EXPECT_EQ(parse_gift_message_id("gift-41.1.2.8f3a@example.com", "8f3a"), (GiftMessageId{"41", 1}))
      << "its second mail";
  for (const char* other : {"", "<x@y>", "gift-41.0.other@example.com", "gift-.0.8f3a@x", "gift-4x.0.8f3a@x",
                            "gift-41@x", "agift-41.0.8f3a@x", "reminder-41.0.2.8f3a@x", "test-41.0.8f3a@x"})
    EXPECT_EQ(parse_gift_message_id(other, "8f3a"), std::nullopt) << other;
}

// SRC-32
TEST(ProviderWebhook, AddsMessageIdHeadersForProvidersThatReplaceIt) {
  std::vector<config::SourceSettings> sources(3);
  sources[0].preset = config::SourcePreset::postmark;
  sources[1].preset = config::SourcePreset::sendgrid;
  EXPECT_THAT(provider_mail_headers(sources, kMessageId),
              ElementsAre(std::pair<std::string, std::string>("X-PM-Metadata-giftsync", kMessageId),
                          std::pair<std::string, std::string>(
                              "X-SMTPAPI", R"({"unique_args":{"giftsync":"gift-41.0.8f3a@example.com"}})")));
}

// ---- Postmark
// ----------------------------------------------------------------------------------------------------

http::HttpRequest postmark(const std::string& body) {
  http::HttpRequest request;
  request.body = body;
  request.headers.emplace("Authorization", "Basic " + to_base64_text("postmark:hush"));
  return request;
}

// SRC-30
TEST(Postmark, ParsesItsDocumentedPayloads) {
  const CompiledSource source = compiled_source_for(config::SourcePreset::postmark, "postmark:hush");
  const auto read = [&](const std::string& body) {
    return describe_outcomes(parse_provider_message(source, postmark(body), kNow, no_fetch), source);
  };
  EXPECT_THAT(read(R"({"RecordType":"Delivery","ServerID":23,"MessageStream":"outbound",
    "MessageID":"00000000-0000-0000-0000-000000000000","Recipient":"john@example.com","Tag":"welcome-email",
    "DeliveredAt":"2026-11-05T16:33:54.9070259Z","Details":"Test delivery webhook details",
    "Metadata":{"giftsync":"gift-41.0.8f3a@example.com"}})"),
              ElementsAre("delivered 2026-11-05T16:33:54.907Z"));
  const std::string bounce = R"({"RecordType":"Bounce","MessageStream":"outbound","ID":42,"Type":"HardBounce",
    "TypeCode":1,"Name":"Hard bounce","Tag":"Test","MessageID":"883953f4-6105-42a2-a16a-77a8eac79483",
    "Metadata":{"giftsync":"gift-41.0.8f3a@example.com"},"ServerID":23,"Description":"The server was unable to deliver",
    "Details":"Test bounce details","Email":"john@example.com","From":"sender@example.com",
    "BouncedAt":"2026-11-05T16:33:54.9070259Z","DumpAvailable":true,"Inactive":true,"CanActivate":true})";
  EXPECT_THAT(read(bounce), ElementsAre("undelivered 2026-11-05T16:33:54.907Z"));
  const auto read_bounce = [&](const std::string& type) {
    std::string one = bounce;
    one.replace(one.find("HardBounce"), 10, type);
    return read(one).front();
  };
  for (const char* type : {"BadEmailAddress", "ManuallyDeactivated", "Blocked", "SpamNotification",
                           "DMARCPolicy", "SMTPApiError", "TemplateRenderingFailed"})
    EXPECT_EQ(read_bounce(type), "undelivered 2026-11-05T16:33:54.907Z") << type;
  for (const char* type : {"Transient", "SoftBounce", "DnsError", "AutoResponder", "AddressChange",
                           "ChallengeVerification", "Unknown"})
    EXPECT_EQ(read_bounce(type), "ignored") << type;
  EXPECT_EQ(read_bounce("SpamComplaint"), "complaint");
  std::string complaint = bounce;
  complaint.replace(complaint.find("\"Bounce\""), 8, "\"SpamComplaint\"");
  EXPECT_THAT(read(complaint), ElementsAre("complaint"));
  EXPECT_THAT(read(R"({"RecordType":"Open","FirstOpen":true,"Platform":"WebMail","UserAgent":"Mozilla/5.0",
    "MessageID":"883953f4-6105-42a2-a16a-77a8eac79483","MessageStream":"outbound","Recipient":"john@example.com",
    "Metadata":{"giftsync":"gift-41.0.8f3a@example.com"},"ReceivedAt":"2026-11-05T16:33:54.9070259Z"})"),
              ElementsAre("opened 2026-11-05T16:33:54.907Z"));
  EXPECT_THAT(read(R"({"RecordType":"Delivery","DeliveredAt":"2026-11-05T16:33:54Z","Metadata":{}})"),
              ElementsAre("ignored"));
  EXPECT_THAT(read(R"({"RecordType":"Click","Metadata":{"giftsync":"gift-41.0.8f3a@x"}})"),
              ElementsAre("ignored"));
  EXPECT_THAT(read("{}"), ElementsAre("invalid there is no RecordType"));
  http::HttpRequest wrong = postmark("{}");
  wrong.headers.clear();
  EXPECT_THAT(describe_outcomes(parse_provider_message(source, wrong, kNow, no_fetch), source),
              ElementsAre("refused without a user name and password"));
}

// covers: GUARD-22
TEST(Postmark, ListsAddressesThatItCallsBadAndNoOthers) {
  const CompiledSource source = compiled_source_for(config::SourcePreset::postmark, "postmark:hush");
  const auto read = [&](const std::string& type, const std::string& mail = "gift-41.0.8f3a@example.com") {
    const std::string body = R"({"RecordType":"Bounce","ID":42,"Type":")" + type +
                             R"(","Email":"john@example.com",
      "Metadata":{"giftsync":")" +
                             mail + R"("},"BouncedAt":"2026-11-05T16:33:54Z"})";
    return bad_addresses(parse_provider_message(source, postmark(body), kNow, no_fetch)).front();
  };
  EXPECT_EQ(read("HardBounce"), "john@example.com");
  EXPECT_EQ(read("BadEmailAddress"), "john@example.com");
  for (const char* type :
       {"ManuallyDeactivated", "Blocked", "SpamNotification", "DMARCPolicy", "SMTPApiError",
        "TemplateRenderingFailed", "SoftBounce", "Transient", "SpamComplaint"})
    EXPECT_EQ(read(type), "") << type;
  EXPECT_EQ(read("HardBounce", "reminder-41.0.2.8f3a@example.com"), "john@example.com");
  EXPECT_EQ(read("HardBounce", "gift-41.0.other@example.com"), "") << "a mail of another installation";
}

// covers: GUARD-22
TEST(Postmark, ABounceCountsWhateverTheAddressLooksLike) {
  const CompiledSource source = compiled_source_for(config::SourcePreset::postmark, "postmark:hush");
  const auto message = parse_provider_message(source, postmark(R"({"RecordType":"Bounce","ID":42,
      "Type":"HardBounce","Email":"j\uFFFDhn@example.com","Email":"john@example.com",
      "Metadata":{"giftsync":"gift-41.0.8f3a@example.com"},"BouncedAt":"2026-11-05T16:33:54Z"})"),
                                              kNow, no_fetch);
  EXPECT_THAT(describe_outcomes(message, source), ElementsAre("undelivered 2026-11-05T16:33:54.000Z"));
  EXPECT_THAT(bad_addresses(message), ElementsAre("")) << "there are two";
}

// ---- Mailgun
// -----------------------------------------------------------------------------------------------------

std::string mailgun(const std::string& event, const std::string& more = "", std::int64_t age_seconds = 0,
                    const std::string& key = "key-hush") {
  const std::string timestamp = std::to_string(kNow.value / 1000 - age_seconds);
  const std::string token = "e0b5477167110d68991efc6b9f89f0a11066af27834600e123";
  return R"({"signature":{"token":")" + token + R"(","timestamp":")" + timestamp + R"(","signature":")" +
         to_hex(hmac_sha256(key, timestamp + token)) +
         R"("},"event-data":{"id":"CPgfbmQMTCKtHW6uIWtuVe","timestamp":1799999999.908181,"log-level":"info","event":")" +
         event + R"(","delivery-status":{"tls":true,"code":250,"attempt-no":1},"flags":{"is-routed":false},
         "envelope":{"transport":"smtp","sender":"bob@sandbox"},"message":{"headers":{"to":"Alice <alice@example.com>",
         "message-id":"gift-41.0.8f3a@example.com","from":"Bob","subject":"Test"},"attachments":[],"size":111},
         "recipient":"alice@example.com","user-variables":{"my_var_1":"Mailgun Variable #1"})" +
         more + "}}";
}

TEST(Mailgun, ParsesItsDocumentedPayloads) {
  const CompiledSource source = compiled_source_for(config::SourcePreset::mailgun, "key-hush");
  const auto read = [&](const std::string& body) {
    http::HttpRequest request;
    request.body = body;
    return describe_outcomes(parse_provider_message(source, request, kNow, no_fetch), source);
  };
  EXPECT_THAT(read(mailgun("delivered")), ElementsAre("delivered 2027-01-15T07:59:59.908Z"));
  EXPECT_THAT(read(mailgun("opened")), ElementsAre("opened 2027-01-15T07:59:59.908Z"));
  const auto opened_by = [&](const std::string& bot) {
    return read(mailgun("opened", R"(,"client-info":{"client-name":"unknown","client-type":"unknown",
      "user-agent":"Mozilla/5.0","device-type":"unknown","client-os":"unknown","bot":")" +
                                      bot + "\"}"));
  };
  EXPECT_THAT(opened_by(""), ElementsAre("opened 2027-01-15T07:59:59.908Z"));
  for (const char* bot : {"apple", "gmail", "generic"}) EXPECT_THAT(opened_by(bot), ElementsAre("ignored"));
  EXPECT_THAT(read(mailgun("failed", R"(,"severity":"permanent","reason":"suppress-bounce")")),
              ElementsAre("undelivered 2027-01-15T07:59:59.908Z"));
  EXPECT_THAT(read(mailgun("failed", R"(,"severity":"temporary")")), ElementsAre("ignored"));
  EXPECT_THAT(
      read(mailgun("rejected", R"(,"reject":{"reason":"Sandbox subdomains are for test purposes only.",
      "description":""})")),
      ElementsAre("undelivered 2027-01-15T07:59:59.908Z"));
  for (const char* event : {"accepted", "clicked", "unsubscribed"})
    EXPECT_THAT(read(mailgun(event)), ElementsAre("ignored")) << event;
  EXPECT_THAT(read(mailgun("complained")), ElementsAre("complaint"));
  EXPECT_THAT(read(mailgun("delivered", "", 0, "other")), ElementsAre("refused with a wrong signature"));
  EXPECT_THAT(read(mailgun("delivered", "", 10 * 3600)),
              ElementsAre("refused signed too long ago, or in the future"));
  EXPECT_THAT(read(mailgun("delivered", "", -3600)),
              ElementsAre("refused signed too long ago, or in the future"));
  EXPECT_THAT(read("[]"), ElementsAre("refused without timestamp, token and signature"));
  EXPECT_THAT(read("nonsense"), ElementsAre("refused without a signature"));
}

// covers: GUARD-22
TEST(Mailgun, ListsAddressesThatItsEnhancedCodeCallsBad) {
  const CompiledSource source = compiled_source_for(config::SourcePreset::mailgun, "key-hush");
  const auto read = [&](const std::string& event, const std::string& status) {
    http::HttpRequest request;
    request.body = mailgun(event, R"(,"severity":"permanent")");
    const std::string whole = R"({"tls":true,"code":250,"attempt-no":1})";
    request.body.replace(request.body.find(whole), whole.size(), status);
    return bad_addresses(parse_provider_message(source, request, kNow, no_fetch)).front();
  };
  EXPECT_EQ(read("failed", R"({"code":550,"enhanced-code":"5.1.1","message":"no such user"})"),
            "alice@example.com");
  EXPECT_EQ(read("failed", R"({"code":550,"message":"5.1.1 The email account does not exist"})"),
            "alice@example.com");
  EXPECT_EQ(read("failed", R"({"code":552,"enhanced-code":"5.2.2","message":"mailbox full"})"), "");
  EXPECT_EQ(read("failed", R"({"code":605,"message":"Not delivering to previously bounced address"})"), "");
  EXPECT_EQ(read("failed", R"({"code":550,"message":"5.7.1 policy"})"), "");
  EXPECT_EQ(read("delivered", R"({"code":250,"message":"5.1.1"})"), "");
}

// covers: GUARD-22
TEST(Mailgun, ABounceCountsWhateverTheMailServerSaid) {
  const CompiledSource source = compiled_source_for(config::SourcePreset::mailgun, "key-hush");
  for (const std::string status :
       {R"({"code":550,"message":"550 Empf\uFFFDnger unbekannt"})", "{\"message\":\"550 Empf\xE4nger\"}",
        R"({"message":"5.1.1 no","message":"5.7.1 no"})", R"({"message":"5.1.1 \u0000"})"}) {
    http::HttpRequest request;
    request.body = mailgun("failed", R"(,"severity":"permanent")");
    const std::string whole = R"({"tls":true,"code":250,"attempt-no":1})";
    request.body.replace(request.body.find(whole), whole.size(), status);
    EXPECT_THAT(describe_outcomes(parse_provider_message(source, request, kNow, no_fetch), source),
                ElementsAre("undelivered 2027-01-15T07:59:59.908Z"))
        << status;
  }
}

TEST(Mailgun, TheBoundaryOfTimestampAndTokenIsFixed) {
  const CompiledSource source = compiled_source_for(config::SourcePreset::mailgun, "key-hush");
  const std::string good = mailgun("delivered");
  const std::string digits = std::to_string(kNow.value / 1000);
  const auto with_boundary = [&](const std::string& timestamp, const std::string& token) {
    http::HttpRequest request;
    request.body = good;
    request.body.replace(request.body.find(digits), digits.size(), timestamp);
    const std::string old = "e0b5477167110d68991efc6b9f89f0a11066af27834600e123";
    request.body.replace(request.body.find(old), old.size(), token);
    return describe_outcomes(parse_provider_message(source, request, kNow, no_fetch), source).front();
  };
  const std::string token = "e0b5477167110d68991efc6b9f89f0a11066af27834600e123";
  EXPECT_EQ(with_boundary(digits, token).substr(0, 9), "delivered");
  EXPECT_EQ(with_boundary(digits.substr(0, 9), digits.substr(9) + token),
            "refused without timestamp, token and signature");
  EXPECT_EQ(with_boundary(digits + "e", token.substr(1)), "refused without timestamp, token and signature");
  EXPECT_EQ(with_boundary(digits + ".0", token), "refused without timestamp, token and signature");
  EXPECT_EQ(with_boundary(digits, ""), "refused without timestamp, token and signature");
}

// SRC-34
TEST(Mailgun, TheTokenIsTheMessageId) {
  const CompiledSource source = compiled_source_for(config::SourcePreset::mailgun, "key-hush");
  http::HttpRequest request;
  request.body = mailgun("delivered");
  const auto message = parse_provider_message(source, request, kNow, no_fetch);
  EXPECT_EQ(std::get<WebhookEvents>(message).message_id,
            "e0b5477167110d68991efc6b9f89f0a11066af27834600e123");
}

// ---- SendGrid
// ----------------------------------------------------------------------------------------------------

std::string public_key_text(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int length = i2d_PUBKEY(key, &der);
  std::string text = to_base64_text({reinterpret_cast<char*>(der), static_cast<std::size_t>(length)});
  OPENSSL_free(der);
  return text;
}

// SRC-31
TEST(SendGrid, ParsesItsDocumentedPayloads) {
  const SigningKey key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const CompiledSource source =
      compiled_source_for(config::SourcePreset::sendgrid, public_key_text(key.get()));
  const std::string body = R"([
    {"email":"example@test.com","timestamp":1799999999,"smtp-id":"<gift-41.0.8f3a@example.com>","event":"processed",
     "category":["cat facts"],"sg_event_id":"a","sg_message_id":"14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0"},
    {"email":"example@test.com","timestamp":1799999999,"smtp-id":"<gift-41.0.8f3a@example.com>","event":"deferred",
     "response":"400 try again temporary_failure","attempt":"5","sg_event_id":"b"},
    {"email":"example@test.com","timestamp":1799999999,"smtp-id":"<gift-41.0.8f3a@example.com>","event":"delivered",
     "response":"250 OK","sg_event_id":"c"},
    {"email":"example@test.com","timestamp":1799999999,"event":"open","giftsync":"gift-41.0.8f3a@example.com",
     "useragent":"Mozilla/4.0","ip":"255.255.255.255","sg_event_id":"d"},
    {"email":"example@test.com","timestamp":1799999999,"smtp-id":"<gift-41.0.8f3a@example.com>","event":"bounce",
     "reason":"500 unknown recipient","status":"5.0.0","type":"bounce","sg_event_id":"e"},
    {"email":"example@test.com","timestamp":1799999999,"smtp-id":"<gift-41.0.8f3a@example.com>","event":"bounce",
     "type":"blocked","sg_event_id":"f"},
    {"email":"example@test.com","timestamp":1799999999,"smtp-id":"<gift-41.0.8f3a@example.com>","event":"dropped",
     "reason":"Bounced Address","status":"5.0.0","sg_event_id":"g"},
    {"email":"example@test.com","timestamp":1799999999,"smtp-id":"<14c5d75ce93.dfd.64b469@ismtpd-555>",
     "event":"delivered","sg_event_id":"h"},
    {"email":"example@test.com","timestamp":1799999999,"event":"open","giftsync":"gift-41.0.8f3a@example.com",
     "sg_machine_open":true,"useragent":"Mozilla/5.0","ip":"255.255.255.255","sg_event_id":"i"},
    {"email":"example@test.com","timestamp":1799999999,"event":"open","giftsync":"gift-41.0.8f3a@example.com",
     "sg_machine_open":false,"useragent":"Mozilla/4.0","ip":"255.255.255.255","sg_event_id":"j"},
    {"email":"example@test.com","timestamp":1799999999,"event":"click","giftsync":"gift-41.0.8f3a@example.com",
     "url":"http://www.sendgrid.com/","useragent":"Mozilla/4.0","sg_event_id":"k"},
    {"email":"example@test.com","timestamp":1799999999,"smtp-id":"<gift-41.0.8f3a@example.com>","event":"spamreport",
     "sg_event_id":"l"}
  ])";
  http::HttpRequest request;
  request.body = body;
  request.headers.emplace("X-Twilio-Email-Event-Webhook-Timestamp", "1800000000");
  request.headers.emplace("X-Twilio-Email-Event-Webhook-Signature",
                          sign(key.get(), "1800000000" + body, EVP_sha256()));
  const auto read = [&] {
    return describe_outcomes(parse_provider_message(source, request, kNow, no_fetch), source);
  };
  const std::string at = " 2027-01-15T07:59:59.000Z";
  EXPECT_THAT(read(), ElementsAre("ignored", "ignored", "delivered" + at, "opened" + at, "undelivered" + at,
                                  "ignored", "undelivered" + at, "ignored", "ignored", "opened" + at,
                                  "ignored", "complaint"));
  request.body += " ";
  EXPECT_THAT(read(), ElementsAre("refused with a wrong signature"));
  request.headers.clear();
  EXPECT_THAT(read(), ElementsAre("refused without timestamp and signature"));
}

// covers: GUARD-22
TEST(SendGrid, ListsAddressesThatItCallsInvalid) {
  const SigningKey key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const CompiledSource source =
      compiled_source_for(config::SourcePreset::sendgrid, public_key_text(key.get()));
  std::string outcome;
  const auto read = [&](const std::string& members) {
    http::HttpRequest request;
    request.body = R"([{"email":"eve@example.com","timestamp":1799999999,"sg_event_id":"e",
      "giftsync":"gift-41.0.8f3a@example.com",)" +
                   members + "}]";
    request.headers.emplace("X-Twilio-Email-Event-Webhook-Timestamp", "1800000000");
    request.headers.emplace("X-Twilio-Email-Event-Webhook-Signature",
                            sign(key.get(), "1800000000" + request.body, EVP_sha256()));
    const auto message = parse_provider_message(source, request, kNow, no_fetch);
    outcome = describe_outcomes(message, source).front();
    return bad_addresses(message).front();
  };
  EXPECT_EQ(read(R"("event":"bounce","type":"bounce","status":"5.1.1")"), "eve@example.com");
  EXPECT_EQ(read(R"("event":"bounce","type":"bounce","status":"5.0.0",
                    "bounce_classification":"Invalid Address")"),
            "eve@example.com");
  EXPECT_EQ(read(R"("event":"bounce","type":"bounce","status":"5.7.1","bounce_classification":"Reputation")"),
            "");
  EXPECT_EQ(read(R"("event":"bounce","type":"blocked","status":"5.1.1")"), "");
  EXPECT_EQ(read(R"("event":"dropped","reason":"Bounced Address","status":"5.1.1")"), "");
  EXPECT_EQ(read(R"("event":"spamreport","status":"5.1.1")"), "");
  read(R"("event":"bounce","type":"bounce","status":"5.0.0","bounce_classification":"\uFFFD")");
  EXPECT_EQ(outcome, "undelivered 2027-01-15T07:59:59.000Z") << "the classification is no part of the bounce";
}

TEST(SendGrid, CountsItsEventsBeforeParsingThem) {
  const SigningKey key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const CompiledSource source =
      compiled_source_for(config::SourcePreset::sendgrid, public_key_text(key.get()));
  http::HttpRequest request;
  request.body = "[0";
  for (std::size_t i = 0; i < kMaxEvents; ++i) request.body += ",0";
  request.body += "]";
  request.headers.emplace("X-Twilio-Email-Event-Webhook-Timestamp", "1800000000");
  request.headers.emplace("X-Twilio-Email-Event-Webhook-Signature",
                          sign(key.get(), "1800000000" + request.body, EVP_sha256()));
  const WebhookMessage message = parse_provider_message(source, request, kNow, no_fetch);
  const auto* many = std::get_if<TooManyEvents>(&message);
  ASSERT_NE(many, nullptr);
  EXPECT_EQ(many->found, kMaxEvents + 1);
}

}  // namespace
}  // namespace giftsync::sources
