// The mail providers' webhooks, with the payloads of their documentation, in which only ids and signatures
// are ours.
#include "daemon/sources/mail_presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <nlohmann/json.hpp>

#include "daemon/crypto/digest.h"
#include "daemon/mail/gift_mail.h"
#include "daemon/sources/amazon_fetch.h"
#include "daemon/sources/report_judgement.h"
#include "daemon/sources/sns.h"

namespace giftsync::daemon {
namespace {

using schema::Status;
using schema::UtcMillis;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};
constexpr const char* kOurs = "gift-41.0.8f3a@example.com";
constexpr const char* kTopic = "arn:aws:sns:us-west-2:123456789012:MyTopic";

SourcePlan plan_of(SourcePreset preset, const std::string& secret) {
  SourceSettings settings;
  settings.name = "mails";
  settings.preset = preset;
  if (!secret.empty()) settings.secrets = {Secret(secret)};
  settings.topic = kTopic;
  return make_source_plan(settings, "8f3a");
}

std::optional<std::string> no_fetch(const std::string&) {
  return std::nullopt;
}

/// The statuses that a message sets on transaction 41; "ignored" for what it does not.
std::vector<std::string> outcomes(const WebhookMessage& message, const SourcePlan& plan,
                                  UtcMillis now = kNow) {
  std::vector<std::string> words;
  if (const auto* refusal = std::get_if<WebhookRefusal>(&message)) return {"refused " + refusal->why};
  if (const auto* later = std::get_if<WebhookNotNow>(&message)) return {"not now: " + later->why};
  if (const auto* garbage = std::get_if<WebhookGarbage>(&message)) return {"garbage " + garbage->why};
  for (const RawReport& report : std::get<WebhookReports>(message).reports) {
    const Judgement judged = judge(report, plan, now, [](schema::GiftId) { return std::nullopt; });
    if (judged.ignored) {
      words.push_back("ignored");
    } else if (judged.item.kept_aside) {
      words.push_back("aside: " + judged.item.aside.detail);
    } else {
      EXPECT_EQ(judged.item.change->transaction.value, 41);
      words.push_back(std::string(to_word(judged.item.change->status)) + " " +
                      schema::to_rfc3339(judged.item.change->occurred_at));
    }
  }
  return words;
}

TEST(MailPresets, FindTheTransactionInOurMessageIdsOnly) {
  EXPECT_EQ(own_mail_of("<gift-41.0.8f3a@example.com>", "8f3a"), (OwnMail{"41", 0}));
  EXPECT_EQ(own_mail_of("gift-41.12.8f3a", "8f3a"), (OwnMail{"41", 12}));
  EXPECT_EQ(own_mail_of("gift-41.1.2.8f3a@example.com", "8f3a"), (OwnMail{"41", 1})) << "its second mail";
  for (const char* other : {"", "<x@y>", "gift-41.0.other@example.com", "gift-.0.8f3a@x", "gift-4x.0.8f3a@x",
                            "gift-41@x", "agift-41.0.8f3a@x", "reminder-41.0.2.8f3a@x"})
    EXPECT_EQ(own_mail_of(other, "8f3a"), std::nullopt) << other;
}

TEST(MailPresets, MailsCarryTheirIdToProvidersThatChangeIt) {
  std::vector<SourceSettings> sources(3);
  sources[0].preset = SourcePreset::postmark;
  sources[1].preset = SourcePreset::sendgrid;
  EXPECT_THAT(mail_arguments(sources, kOurs),
              ElementsAre(std::pair<std::string, std::string>("X-PM-Metadata-giftsync", kOurs),
                          std::pair<std::string, std::string>(
                              "X-SMTPAPI", R"({"unique_args":{"giftsync":"gift-41.0.8f3a@example.com"}})")));
}

// ---- Postmark
// ----------------------------------------------------------------------------------------------------

HttpRequest postmark(const std::string& body) {
  HttpRequest request;
  request.body = body;
  request.headers.emplace("Authorization", "Basic " + to_base64_text("postmark:hush"));
  return request;
}

TEST(Postmark, ReadsItsDocumentedPayloads) {
  const SourcePlan plan = plan_of(SourcePreset::postmark, "postmark:hush");
  const auto read = [&](const std::string& body) {
    return outcomes(read_preset_message(plan, postmark(body), kNow, no_fetch), plan);
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
  std::string soft = bounce;
  soft.replace(soft.find("HardBounce"), 10, "SoftBounce");
  EXPECT_THAT(read(soft), ElementsAre("ignored"));
  EXPECT_THAT(read(R"({"RecordType":"Open","FirstOpen":true,"Platform":"WebMail","UserAgent":"Mozilla/5.0",
    "MessageID":"883953f4-6105-42a2-a16a-77a8eac79483","MessageStream":"outbound","Recipient":"john@example.com",
    "Metadata":{"giftsync":"gift-41.0.8f3a@example.com"},"ReceivedAt":"2026-11-05T16:33:54.9070259Z"})"),
              ElementsAre("opened 2026-11-05T16:33:54.907Z"));
  EXPECT_THAT(read(R"({"RecordType":"Delivery","DeliveredAt":"2026-11-05T16:33:54Z","Metadata":{}})"),
              ElementsAre("ignored"));
  EXPECT_THAT(read(R"({"RecordType":"Click","Metadata":{"giftsync":"gift-41.0.8f3a@x"}})"),
              ElementsAre("ignored"));
  EXPECT_THAT(read("{}"), ElementsAre("garbage there is no RecordType"));
  HttpRequest wrong = postmark("{}");
  wrong.headers.clear();
  EXPECT_THAT(outcomes(read_preset_message(plan, wrong, kNow, no_fetch), plan),
              ElementsAre("refused without a user name and password"));
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

TEST(Mailgun, ReadsItsDocumentedPayloads) {
  const SourcePlan plan = plan_of(SourcePreset::mailgun, "key-hush");
  const auto read = [&](const std::string& body) {
    HttpRequest request;
    request.body = body;
    return outcomes(read_preset_message(plan, request, kNow, no_fetch), plan);
  };
  EXPECT_THAT(read(mailgun("delivered")), ElementsAre("delivered 2027-01-15T07:59:59.908Z"));
  EXPECT_THAT(read(mailgun("opened")), ElementsAre("opened 2027-01-15T07:59:59.908Z"));
  EXPECT_THAT(read(mailgun("failed", R"(,"severity":"permanent","reason":"suppress-bounce")")),
              ElementsAre("undelivered 2027-01-15T07:59:59.908Z"));
  EXPECT_THAT(read(mailgun("failed", R"(,"severity":"temporary")")), ElementsAre("ignored"));
  EXPECT_THAT(read(mailgun("unsubscribed")), ElementsAre("ignored"));
  EXPECT_THAT(read(mailgun("delivered", "", 0, "other")), ElementsAre("refused with a wrong signature"));
  EXPECT_THAT(read(mailgun("delivered", "", 10 * 3600)),
              ElementsAre("refused signed too long ago, or in the future"));
  EXPECT_THAT(read(mailgun("delivered", "", -3600)),
              ElementsAre("refused signed too long ago, or in the future"));
  EXPECT_THAT(read("[]"), ElementsAre("refused without timestamp, token and signature"));
  EXPECT_THAT(read("nonsense"), ElementsAre("refused without a signature"));
}

TEST(Mailgun, WhereTheTimestampEndsAndTheTokenBeginsIsCertain) {
  const SourcePlan plan = plan_of(SourcePreset::mailgun, "key-hush");
  const std::string good = mailgun("delivered");
  const std::string digits = std::to_string(kNow.value / 1000);
  const auto moved = [&](const std::string& timestamp, const std::string& token) {
    HttpRequest request;
    request.body = good;
    request.body.replace(request.body.find(digits), digits.size(), timestamp);
    const std::string old = "e0b5477167110d68991efc6b9f89f0a11066af27834600e123";
    request.body.replace(request.body.find(old), old.size(), token);
    return outcomes(read_preset_message(plan, request, kNow, no_fetch), plan).front();
  };
  const std::string token = "e0b5477167110d68991efc6b9f89f0a11066af27834600e123";
  EXPECT_EQ(moved(digits, token).substr(0, 9), "delivered");
  EXPECT_EQ(moved(digits.substr(0, 9), digits.substr(9) + token),
            "refused without timestamp, token and signature");
  EXPECT_EQ(moved(digits + "e", token.substr(1)), "refused without timestamp, token and signature");
  EXPECT_EQ(moved(digits + ".0", token), "refused without timestamp, token and signature");
  EXPECT_EQ(moved(digits, ""), "refused without timestamp, token and signature");
}

TEST(Mailgun, ATokenIsTheMessagesIdSinceItsSignatureCoversNoEvent) {
  const SourcePlan plan = plan_of(SourcePreset::mailgun, "key-hush");
  HttpRequest request;
  request.body = mailgun("delivered");
  const auto message = read_preset_message(plan, request, kNow, no_fetch);
  EXPECT_EQ(std::get<WebhookReports>(message).message_id,
            "e0b5477167110d68991efc6b9f89f0a11066af27834600e123");
}

// ---- SendGrid
// ----------------------------------------------------------------------------------------------------

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

std::string sign(EVP_PKEY* key, const std::string& text, const EVP_MD* hash) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestSignInit(context.get(), nullptr, hash, nullptr, key);
  std::size_t length = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  EVP_DigestSign(context.get(), nullptr, &length, bytes, text.size());
  std::string signature(length, '\0');
  EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &length, bytes,
                 text.size());
  signature.resize(length);
  return to_base64_text(signature);
}

std::string public_key_text(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int length = i2d_PUBKEY(key, &der);
  std::string text = to_base64_text({reinterpret_cast<char*>(der), static_cast<std::size_t>(length)});
  OPENSSL_free(der);
  return text;
}

TEST(SendGrid, ReadsItsDocumentedPayloads) {
  const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const SourcePlan plan = plan_of(SourcePreset::sendgrid, public_key_text(key.get()));
  const std::string body = R"([
    {"email":"example@test.com","timestamp":1799999999,"smtp-id":"<gift-41.0.8f3a@example.com>","event":"processed",
     "category":["cat facts"],"sg_event_id":"a","sg_message_id":"14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0"},
    {"email":"example@test.com","timestamp":1799999999,"smtp-id":"<gift-41.0.8f3a@example.com>","event":"deferred",
     "response":"400 try again later","attempt":"5","sg_event_id":"b"},
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
     "event":"delivered","sg_event_id":"h"}
  ])";
  HttpRequest request;
  request.body = body;
  request.headers.emplace("X-Twilio-Email-Event-Webhook-Timestamp", "1800000000");
  request.headers.emplace("X-Twilio-Email-Event-Webhook-Signature",
                          sign(key.get(), "1800000000" + body, EVP_sha256()));
  const auto read = [&] { return outcomes(read_preset_message(plan, request, kNow, no_fetch), plan); };
  const std::string at = " 2027-01-15T07:59:59.000Z";
  EXPECT_THAT(read(), ElementsAre("ignored", "ignored", "delivered" + at, "opened" + at, "undelivered" + at,
                                  "ignored", "undelivered" + at, "ignored"));
  request.body += " ";
  EXPECT_THAT(read(), ElementsAre("refused with a wrong signature"));
  request.headers.clear();
  EXPECT_THAT(read(), ElementsAre("refused without timestamp and signature"));
}

TEST(SendGrid, CountsItsEventsBeforeItReadsThem) {
  const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const SourcePlan plan = plan_of(SourcePreset::sendgrid, public_key_text(key.get()));
  HttpRequest request;
  request.body = "[0";
  for (std::size_t i = 0; i < kMaxReports; ++i) request.body += ",0";
  request.body += "]";
  request.headers.emplace("X-Twilio-Email-Event-Webhook-Timestamp", "1800000000");
  request.headers.emplace("X-Twilio-Email-Event-Webhook-Signature",
                          sign(key.get(), "1800000000" + request.body, EVP_sha256()));
  const WebhookMessage message = read_preset_message(plan, request, kNow, no_fetch);
  const auto* many = std::get_if<TooManyReports>(&message);
  ASSERT_NE(many, nullptr);
  EXPECT_EQ(many->found, kMaxReports + 1);
}

// ---- SES through SNS
// ---------------------------------------------------------------------------------------------

class Sns : public ::testing::Test {
 protected:
  Sns() : key_(EVP_RSA_gen(2048), EVP_PKEY_free) {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
    X509_set_pubkey(certificate.get(), key_.get());
    X509_sign(certificate.get(), key_.get(), EVP_sha256());
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
    PEM_write_bio_X509(bio.get(), certificate.get());
    char* text = nullptr;
    const long length = BIO_get_mem_data(bio.get(), &text);
    pem_.assign(text, static_cast<std::size_t>(length));
  }

  /// As in "Verifying the signatures of Amazon SNS messages".
  nlohmann::ordered_json notification(const std::string& message) {
    return {{"Type", "Notification"},
            {"MessageId", "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324"},
            {"TopicArn", kTopic},
            {"Subject", "My First Message"},
            {"Message", message},
            {"Timestamp", "2027-01-15T07:58:00.123Z"},
            {"SignatureVersion", "2"},
            {"SigningCertURL",
             "https://sns.us-west-2.amazonaws.com/"
             "SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem"},
            {"UnsubscribeURL", "https://sns.us-west-2.amazonaws.com/?Action=Unsubscribe"}};
  }
  HttpRequest signed_request(nlohmann::ordered_json message, bool with_subject = true) {
    std::string text = "Message\n" + message["Message"].get<std::string>() + "\nMessageId\n" +
                       message["MessageId"].get<std::string>() + "\n";
    if (message.contains("SubscribeURL"))
      text += "SubscribeURL\n" + message["SubscribeURL"].get<std::string>() + "\n";
    if (with_subject && message.contains("Subject"))
      text += "Subject\n" + message["Subject"].get<std::string>() + "\n";
    text += "Timestamp\n" + message["Timestamp"].get<std::string>() + "\n";
    if (message.contains("Token")) text += "Token\n" + message["Token"].get<std::string>() + "\n";
    text += "TopicArn\n" + message["TopicArn"].get<std::string>() + "\nType\n" +
            message["Type"].get<std::string>() + "\n";
    message["Signature"] =
        sign(key_.get(), text, message["SignatureVersion"] == "1" ? EVP_sha1() : EVP_sha256());
    HttpRequest request;
    request.headers.emplace("Content-Type", "text/plain; charset=UTF-8");
    request.body = message.dump();
    return request;
  }
  std::vector<std::string> read(const HttpRequest& request) {
    const FetchText fetch = [this](const std::string& url) -> std::optional<std::string> {
      fetched_.push_back(url);
      return url.ends_with(".pem") ? pem_ : "<ConfirmSubscriptionResponse/>";
    };
    return outcomes(read_preset_message(plan_, request, kNow, fetch), plan_);
  }
  static std::string event(const std::string& type, const std::string& part,
                           const std::string& key = "eventType") {
    return R"({")" + key + R"(":")" + type + R"(",)" + part +
           R"("mail":{"timestamp":"2027-01-15T07:57:00.000Z","messageId":"EXAMPLE7c191be45","source":"gifts@example.com",
           "headersTruncated":false,"headers":[{"name":"From","value":"x"},
           {"name":"Message-ID","value":"<gift-41.0.8f3a@example.com>"}],"commonHeaders":{"messageId":"EXAMPLE7c191be45"}}})";
  }

  const Key key_;
  std::string pem_;
  SourcePlan plan_ = plan_of(SourcePreset::ses, "");
  std::vector<std::string> fetched_;
};

TEST_F(Sns, ReadsTheDocumentedEventsOfBothKinds) {
  const std::string at = " 2027-01-15T07:57:59.000Z";
  const std::string time = R"("timestamp":"2027-01-15T07:57:59.000Z")";
  EXPECT_THAT(read(signed_request(notification(event(
                  "Delivery",
                  R"("delivery":{)" + time + R"(,"processingTimeMillis":11893,"recipients":["a@b.c"]},)")))),
              ElementsAre("delivered" + at));
  EXPECT_THAT(read(signed_request(notification(event("Open", R"("open":{"ipAddress":"192.0.2.1",)" + time +
                                                                 R"(,"userAgent":"Mozilla/5.0"},)")))),
              ElementsAre("opened" + at));
  const std::string bounce =
      R"("bounce":{"bounceType":"Permanent","bounceSubType":"General",)" + time +
      R"(,"bouncedRecipients":[{"emailAddress":"jane@example.com","status":"5.1.1"}]},)";
  EXPECT_THAT(read(signed_request(notification(event("Bounce", bounce, "notificationType")))),
              ElementsAre("undelivered" + at));
  std::string soft = bounce;
  soft.replace(soft.find("Permanent"), 9, "Transient");
  EXPECT_THAT(read(signed_request(notification(event("Bounce", soft)))), ElementsAre("ignored"));
  EXPECT_THAT(read(signed_request(notification(event("Send", R"("send":{},)")))), ElementsAre("ignored"));
  EXPECT_THAT(read(signed_request(notification(R"("Successfully validated SNS topic")"))),
              ElementsAre("garbage the notification is no SES event"));
}

TEST_F(Sns, ChecksSignatureTopicTimeAndWhereTheCertificateIsFrom) {
  const std::string message = event("Delivery", R"("delivery":{"timestamp":"2027-01-15T07:57:59.000Z"},)");
  auto old_style = notification(message);
  old_style["SignatureVersion"] = "1";
  EXPECT_THAT(read(signed_request(old_style)), SizeIs(1));
  EXPECT_EQ(read(signed_request(old_style)).front().substr(0, 9), "delivered");
  const auto spoilt = [&](const char* name, const char* value) {
    auto one = notification(message);
    one[name] = value;
    return read(signed_request(one)).front();
  };
  EXPECT_EQ(spoilt("TopicArn", "arn:aws:sns:us-west-2:999999999999:Theirs"), "refused of another SNS topic");
  EXPECT_EQ(spoilt("Timestamp", "2026-11-15T07:58:00Z"), "refused sent too long ago, or in the future");
  EXPECT_EQ(spoilt("SigningCertURL", "https://sns.us-west-2.amazonaws.com.evil.example/a.pem"),
            "refused with a certificate that is not Amazon's");
  // An API call that somebody signed beforehand answers with his certificate: it is not even made.
  fetched_.clear();
  EXPECT_EQ(spoilt("SigningCertURL",
                   "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3.pem"
                   "?Action=GetEndpointAttributes&X-Amz-Signature=5&zz=.pem"),
            "refused with a certificate that is not Amazon's");
  EXPECT_THAT(fetched_, SizeIs(0));
  HttpRequest changed = signed_request(notification(message));
  changed.body.replace(changed.body.find("My First"), 8, "My Third");
  EXPECT_EQ(read(changed).front(), "refused with a wrong signature");
  pem_ = "no certificate";
  EXPECT_EQ(read(signed_request(notification(message))).front(),
            "not now: Amazon's certificate cannot be fetched or read");
}

TEST_F(Sns, ConfirmsASubscriptionAtAmazonOnly) {
  auto confirmation = notification("You have chosen to subscribe to the topic");
  confirmation["Type"] = "SubscriptionConfirmation";
  confirmation.erase("Subject");
  confirmation["Token"] = "2336412f37";
  confirmation["SubscribeURL"] =
      "https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f37";
  EXPECT_THAT(read(signed_request(confirmation)), SizeIs(0));
  EXPECT_EQ(fetched_.back(),
            "https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f37");
  confirmation["SubscribeURL"] = "https://sns.evil.example/";
  const std::size_t before = fetched_.size();
  EXPECT_EQ(read(signed_request(confirmation)).front().substr(0, 7), "garbage");
  EXPECT_EQ(fetched_.size(), before + 1) << "the certificate alone";
}

TEST_F(Sns, WhatCannotBeFetchedNowIsNotRefused) {
  auto confirmation = notification("You have chosen to subscribe to the topic");
  confirmation["Type"] = "SubscriptionConfirmation";
  confirmation.erase("Subject");
  confirmation["Token"] = "2336412f37";
  confirmation["SubscribeURL"] = "https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription";
  const HttpRequest request = signed_request(confirmation);
  const FetchText certificate_only = [this](const std::string& url) {
    return url.ends_with(".pem") ? std::optional(pem_) : std::nullopt;
  };
  EXPECT_EQ(outcomes(read_preset_message(plan_, request, kNow, no_fetch), plan_).front(),
            "not now: Amazon's certificate cannot be fetched or read");
  EXPECT_EQ(outcomes(read_preset_message(plan_, request, kNow, certificate_only), plan_).front(),
            "not now: the subscription's confirmation cannot be fetched");
}

TEST_F(Sns, ACertificateIsUsedBeyondItsDayWhileItCannotBeFetchedAgain) {
  const std::string url = "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3.pem";
  UtcMillis now = kNow;
  int status = 200;
  int calls = 0;
  std::string body = "nonsense of a proxy";
  AmazonFetch amazon(
      [&](const WebRequest&, const auto&) {
        ++calls;
        WebAnswer answer;
        answer.status = status;
        answer.body = body;
        return answer;
      },
      [&] { return now; });
  EXPECT_EQ(amazon(url), std::nullopt) << "no certificate is remembered that is none";
  body = pem_;
  EXPECT_EQ(amazon(url), pem_);
  EXPECT_EQ(amazon(url), pem_);
  EXPECT_EQ(calls, 2);
  now = {kNow.value + 2 * schema::kDayMillis};
  status = 503;
  EXPECT_EQ(amazon(url), pem_);
  EXPECT_EQ(calls, 3) << "it was asked for again";
  status = 200;
  body = "nonsense of a proxy";
  EXPECT_EQ(amazon(url), pem_);
}

TEST(SnsUrl, ACertificatesIsExact) {
  const std::string host = "https://sns.us-west-2.amazonaws.com";
  EXPECT_TRUE(
      is_sns_certificate_url(host + "/SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem"));
  EXPECT_TRUE(
      is_sns_certificate_url("https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-0a.pem"));
  for (const char* path :
       {"", "/", "/a.pem", "/SimpleNotificationService-.pem", "/SimpleNotificationService-.pe",
        "/SimpleNotificationService-g0.pem", "/SimpleNotificationService-0a.pem?x=.pem",
        "/SimpleNotificationService-0a.pem#.pem", "/SimpleNotificationService-0a%2e.pem",
        "/SimpleNotificationService-0a@.pem", "//SimpleNotificationService-0a.pem",
        "/x/SimpleNotificationService-0a.pem", "/SimpleNotificationService-0a/../b.pem",
        "?/SimpleNotificationService-0a.pem", "#/SimpleNotificationService-0a.pem",
        "/?Action=GetTopicAttributes&zz=.pem", "/SimpleNotificationService-0a.pem\n"})
    EXPECT_FALSE(is_sns_certificate_url(host + path)) << path;
  EXPECT_FALSE(is_sns_certificate_url("https://evil.example/SimpleNotificationService-0a.pem"));
  EXPECT_FALSE(is_sns_certificate_url("http://sns.us-west-2.amazonaws.com/SimpleNotificationService-0a.pem"));
}

TEST(SnsUrl, IsAmazons) {
  for (const char* good :
       {"https://sns.us-west-2.amazonaws.com/a.pem", "https://sns.cn-north-1.amazonaws.com.cn/a.pem"})
    EXPECT_TRUE(is_sns_url(good)) << good;
  for (const char* bad :
       {"http://sns.us-west-2.amazonaws.com/a.pem", "https://sns.us-west-2.amazonaws.com@evil.example/a.pem",
        "https://evil.example/sns.us-west-2.amazonaws.com", "https://sns.amazonaws.com.evil.example/",
        "https://sns.us-west-2.amazonaws.com:8443/a.pem", "https://s3.amazonaws.com/sns.pem",
        "https://sns.a.b.amazonaws.com/a.pem", "https://snsx.us-west-2.amazonaws.com/",
        "https://sns..amazonaws.com/", "https://sns.us-west-2.amazonaws.com\\@evil.example/a.pem"})
    EXPECT_FALSE(is_sns_url(bad)) << bad;
}

}  // namespace
}  // namespace giftsync::daemon
