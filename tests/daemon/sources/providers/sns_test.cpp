// SES events through SNS: the documented events, signatures, and which URLs are Amazon's.
#include "daemon/sources/sns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "daemon/group_commit_writer.h"
#include "daemon/handlers/status_webhook_handler.h"
#include "tests/daemon/sources/providers/provider_fixture.h"
#include "tests/support/json.h"
#include "tests/support/temporary_store.h"

namespace giftsync::sources {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kSns = "198.51.100.7";

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
            {"TopicArn", kTopicArn},
            {"Subject", "My First Message"},
            {"Message", message},
            {"Timestamp", "2027-01-15T07:58:00.123Z"},
            {"SignatureVersion", "2"},
            {"SigningCertURL",
             "https://sns.us-west-2.amazonaws.com/"
             "SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem"},
            {"UnsubscribeURL", "https://sns.us-west-2.amazonaws.com/?Action=Unsubscribe"}};
  }
  http::HttpRequest signed_request(nlohmann::ordered_json message, bool with_subject = true) {
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
    http::HttpRequest request;
    request.headers.emplace("Content-Type", "text/plain; charset=UTF-8");
    request.body = message.dump();
    return request;
  }
  std::vector<std::string> read(const http::HttpRequest& request) {
    const FetchUrl fetch = [this](const std::string& url) -> std::optional<std::string> {
      fetched_.push_back(url);
      return url.ends_with(".pem") ? pem_ : "<ConfirmSubscriptionResponse/>";
    };
    return describe_outcomes(parse_provider_message(source_, request, kNow, fetch), source_);
  }
  static std::string event(const std::string& type, const std::string& part,
                           const std::string& key = "eventType") {
    return R"({")" + key + R"(":")" + type + R"(",)" + part +
           R"("mail":{"timestamp":"2027-01-15T07:57:00.000Z","messageId":"EXAMPLE7c191be45","source":"gifts@example.com",
           "headersTruncated":false,"headers":[{"name":"From","value":"x"},
           {"name":"Message-ID","value":"<gift-41.0.8f3a@example.com>"}],"commonHeaders":{"messageId":"EXAMPLE7c191be45"}}})";
  }

  const SigningKey key_;
  std::string pem_;
  CompiledSource source_ = compiled_source_for(config::SourcePreset::ses, "");
  std::vector<std::string> fetched_;
};

// READ-2, READ-3, READ-4, SRC-10
TEST_F(Sns, ReadsAnEventLeniently) {
  const auto delivery = [](const std::string& members) {
    return "\xEF\xBB\xBF" +
           event("Delivery", R"("delivery":{)" + members + R"(},"note":"\ud83d","twice":1,"twice":2,)");
  };
  http::HttpRequest request =
      signed_request(notification(delivery(R"("timestamp":"2027-01-15T07:57:59+0000")")));
  request.body.insert(0, "\xEF\xBB\xBF");
  EXPECT_THAT(read(request), ElementsAre("delivered 2027-01-15T07:57:59.000Z"));
  EXPECT_THAT(read(signed_request(notification(delivery(R"("timestamp":1,"timestamp":2)")))),
              ElementsAre(HasSubstr("quarantined: no field was read: The name \"timestamp\" appears twice at "
                                    "\"/delivery\"")));
}

TEST_F(Sns, ParsesTheDocumentedEventsOfBothKinds) {
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
  const auto complaint = [&](const std::string& feedback) {
    return read(signed_request(notification(
        event("Complaint", R"("complaint":{"complaintFeedbackType":")" + feedback + "\"," + time + "},"))));
  };
  EXPECT_THAT(complaint("abuse"), ElementsAre("complaint"));
  EXPECT_THAT(complaint("not-spam"), ElementsAre("ignored"))
      << "the recipient took the mail out of the junk folder";
  for (const char* other : {"Send", "Click", "DeliveryDelay", "Subscription"})
    EXPECT_THAT(read(signed_request(notification(event(other, "")))), ElementsAre("ignored")) << other;
  EXPECT_THAT(read(signed_request(notification(R"("Successfully validated SNS topic")"))),
              ElementsAre("invalid the notification is not an SES event"));
}

// covers: GUARD-22
TEST_F(Sns, ListsAddressesThatTheStatusOfTheBounceCallsBad) {
  std::string outcome;
  const auto read = [&](const std::string& type, const std::string& subtype, const std::string& status) {
    const std::string bounce =
        R"("bounce":{"bounceType":")" + type + R"(","bounceSubType":")" + subtype +
        R"(","timestamp":"2027-01-15T07:57:59.000Z","bouncedRecipients":[{"emailAddress":
                               "jane@example.com","status":")" +
        status + R"("}]},)";
    const FetchUrl fetch = [this](const std::string&) -> std::optional<std::string> { return pem_; };
    const auto message =
        parse_provider_message(source_, signed_request(notification(event("Bounce", bounce))), kNow, fetch);
    outcome = describe_outcomes(message, source_).front();
    return bad_addresses(message).front();
  };
  EXPECT_EQ(read("Permanent", "General", "5.1.1"), "jane@example.com");
  EXPECT_EQ(read("Permanent", "Suppressed", "5.1.1"), "jane@example.com");
  EXPECT_EQ(read("Permanent", "General", "5.7.1"), "");
  EXPECT_EQ(read("Permanent", "OnAccountSuppressionList", "5.1.1"), "");
  EXPECT_EQ(read("Transient", "MailboxFull", "5.2.2"), "");
  EXPECT_EQ(read("Transient", "General", "5.1.1"), "");
  read("Permanent", "\\uFFFD", "5.1.\\uFFFD");
  EXPECT_EQ(outcome, "undelivered 2027-01-15T07:57:59.000Z") << "the codes are no part of the bounce";
}

TEST_F(Sns, MailsThatSesRejectsAreUndelivered) {
  const std::string published_at = " 2027-01-15T07:58:00.123Z";
  EXPECT_THAT(read(signed_request(notification(event("Reject", R"("reject":{"reason":"Bad content"},)")))),
              ElementsAre("undelivered" + published_at));
  EXPECT_THAT(read(signed_request(notification(event(
                  "Rendering Failure",
                  R"("failure":{"errorMessage":"Attribute 'x' is not present","templateName":"T"},)")))),
              ElementsAre("undelivered" + published_at));
}

TEST_F(Sns, TheValidationMessageHasNoEvents) {
  const http::HttpRequest request =
      signed_request(notification("Successfully validated SNS topic for Amazon SES event publishing."));
  EXPECT_THAT(read(request), SizeIs(0));
  const http::HttpRequest other = signed_request(notification("Something else"));
  EXPECT_EQ(read(other).front().substr(0, 7), "invalid");
}

TEST_F(Sns, EventsWithoutHeadersSetAWarning) {
  tests::TemporaryStore store;
  SourceHealthMonitor monitor(*store);
  EventIngestor ingestor(*store, monitor, [] {});
  monitor.register_source("mails", "", kNow);
  UtcMillis now = kNow;
  daemon::GroupCommitWriter writer(store->urgent_writes);
  handlers::StatusWebhookHandler handler(
      {source_}, ingestor, writer, monitor,
      {[&] { return now; }, [this](const auto&, const auto&) { return pem_; }, 100'000});
  const auto state_after = [&](const std::string& message, const std::string& id) {
    auto one = notification(message);
    one["MessageId"] = id;
    http::HttpRequest request = signed_request(one);
    request.method = "POST";
    EXPECT_EQ(handler.handle(request, "mails").wait().status, 200);
    now = now + kMinuteMillis;
    monitor.flush(now);
    return store->sources.list().front();
  };
  // As in the documentation's notification without original headers.
  const std::string bare =
      R"({"notificationType":"Delivery","mail":{"timestamp":"2027-01-15T07:57:00.000Z",
      "messageId":"0000014644fe5ef6-9a483358-9170-4cb4-a269-f5dcdf415321-000000","source":"john@example.com",
      "sourceIp":"127.0.3.0","sendingAccountId":"123456789012","destination":["jane@example.com"]},
      "delivery":{"timestamp":"2027-01-15T07:57:59.000Z","recipients":["jane@example.com"],
      "smtpResponse":"250 ok:  Message 64111812 accepted"}})";
  const store::SourceSummary source_row = state_after(bare, "m-1");
  EXPECT_EQ(source_row.state, "ok");
  EXPECT_EQ(source_row.ignored, 1);
  EXPECT_THAT(source_row.reason, HasSubstr("include the original headers"));
  const std::string soft =
      R"({"notificationType":"Bounce","mail":{"messageId":"a"},"bounce":{"bounceType":"Transient"}})";
  EXPECT_EQ(state_after(soft, "m-1b").reason, source_row.reason) << "it says nothing about headers";
  std::string foreign_event = event("Delivery", R"("delivery":{"timestamp":"2027-01-15T07:57:59.000Z"},)");
  foreign_event.replace(foreign_event.find("gift-41"), 7, "else-41");
  const store::SourceSummary good = state_after(foreign_event, "m-2");
  EXPECT_EQ(good.ignored, 3);
  EXPECT_EQ(good.reason, "") << "a foreign mail with its headers needs no warning";
  const std::string subscribed =
      R"({"notificationType":"AmazonSnsSubscriptionSucceeded","message":"You have successfully subscribed"})";
  EXPECT_EQ(state_after(subscribed, "m-3").reason, "") << "it is not about a mail";
}

TEST_F(Sns, AGiftMessageIdInTheCommonHeadersIsEnough) {
  EXPECT_THAT(read(signed_request(notification(
                  R"({"notificationType":"Delivery","mail":{"messageId":"0000014644fe5ef6","commonHeaders":{
                  "messageId":"<gift-41.0.8f3a@example.com>"}},
                  "delivery":{"timestamp":"2027-01-15T07:57:59.000Z"}})"))),
              ElementsAre("delivered 2027-01-15T07:57:59.000Z"));
}

// SRC-33
TEST_F(Sns, ChecksSignatureTopicTimeAndCertificateUrl) {
  const std::string message = event("Delivery", R"("delivery":{"timestamp":"2027-01-15T07:57:59.000Z"},)");
  auto old_style = notification(message);
  old_style["SignatureVersion"] = "1";
  EXPECT_THAT(read(signed_request(old_style)), SizeIs(1));
  EXPECT_EQ(read(signed_request(old_style)).front().substr(0, 9), "delivered");
  const auto tampered = [&](const char* name, const char* value) {
    auto one = notification(message);
    one[name] = value;
    return read(signed_request(one)).front();
  };
  EXPECT_EQ(tampered("TopicArn", "arn:aws:sns:us-west-2:999999999999:Theirs"),
            "refused of another SNS topic");
  EXPECT_EQ(tampered("Timestamp", "2026-11-15T07:58:00Z"), "refused sent too long ago, or in the future");
  EXPECT_EQ(tampered("SigningCertURL", "https://sns.us-west-2.amazonaws.com.evil.example/a.pem"),
            "refused with a certificate that is not Amazon's");
  EXPECT_EQ(tampered("SigningCertURL", "https://sns.s3.amazonaws.com/SimpleNotificationService-f3.pem"),
            "refused with a certificate that is not Amazon's")
      << "a bucket that is anyone's";
  // An API call that an attacker signed beforehand returns the attacker's certificate; it must not even be
  // made.
  fetched_.clear();
  EXPECT_EQ(tampered("SigningCertURL",
                     "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3.pem"
                     "?Action=GetEndpointAttributes&X-Amz-Signature=5&zz=.pem"),
            "refused with a certificate that is not Amazon's");
  EXPECT_THAT(fetched_, SizeIs(0));
  http::HttpRequest changed = signed_request(notification(message));
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
  EXPECT_EQ(read(signed_request(confirmation)).front().substr(0, 7), "invalid");
  EXPECT_EQ(fetched_.size(), before + 1) << "only the certificate was fetched";
}

TEST_F(Sns, AFailedFetchIsATemporaryFailure) {
  auto confirmation = notification("You have chosen to subscribe to the topic");
  confirmation["Type"] = "SubscriptionConfirmation";
  confirmation.erase("Subject");
  confirmation["Token"] = "2336412f37";
  confirmation["SubscribeURL"] = "https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription";
  const http::HttpRequest request = signed_request(confirmation);
  const FetchUrl certificate_only = [this](const std::string& url) {
    return url.ends_with(".pem") ? std::optional(pem_) : std::nullopt;
  };
  EXPECT_EQ(describe_outcomes(parse_provider_message(source_, request, kNow, no_fetch), source_).front(),
            "not now: Amazon's certificate cannot be fetched or read");
  EXPECT_EQ(
      describe_outcomes(parse_provider_message(source_, request, kNow, certificate_only), source_).front(),
      "not now: the subscription's confirmation cannot be fetched");
}

TEST_F(Sns, AStaleCertificateIsUsedWhileItCannotBeFetched) {
  const std::string url = "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3.pem";
  UtcMillis now = kNow;
  int status = 200;
  int calls = 0;
  std::string body = "nonsense of a proxy";
  SnsCertificateCache amazon(
      [&](const HttpGetRequest&, const auto&) {
        ++calls;
        HttpGetResponse response;
        response.status = status;
        response.body = body;
        return response;
      },
      [&] { return now; });
  EXPECT_EQ(amazon(url, kSns), std::nullopt) << "a text that is not a certificate is not cached";
  body = pem_;
  EXPECT_EQ(amazon(url, kSns), pem_);
  EXPECT_EQ(amazon(url, kSns), pem_);
  EXPECT_EQ(calls, 2);
  now = {kNow.value + 2 * kDayMillis};
  status = 503;
  EXPECT_EQ(amazon(url, kSns), pem_);
  EXPECT_EQ(calls, 3) << "it was requested again";
  status = 200;
  body = "nonsense of a proxy";
  EXPECT_EQ(amazon(url, kSns), pem_);
}

// SEC-3
TEST_F(Sns, ForgedMessagesSpendNoFetchOfAnotherClient) {
  const std::string host = "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-";
  int calls = 0;
  SnsCertificateCache amazon(
      [&](const HttpGetRequest& request, const auto&) {
        ++calls;
        HttpGetResponse response;
        response.status = request.url.ends_with("-f3.pem") ? 200 : 404;
        response.body = pem_;
        return response;
      },
      [] { return kNow; });
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(amazon(host + std::to_string(i) + ".pem", "2001:db8::" + std::to_string(i)), std::nullopt);
  EXPECT_EQ(calls, 10) << "addresses of one /64 are one client";
  EXPECT_EQ(amazon(host + "f3.pem", kSns), pem_);
}

TEST(SnsUrl, AcceptsExactCertificateUrlsOnly) {
  const std::string name = "sns.us-west-2.amazonaws.com";
  const std::string host = "https://" + name;
  EXPECT_TRUE(
      is_sns_certificate_url(host + "/SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem", name));
  for (const char* path :
       {"", "/", "/a.pem", "/SimpleNotificationService-.pem", "/SimpleNotificationService-.pe",
        "/SimpleNotificationService-g0.pem", "/SimpleNotificationService-0a.pem?x=.pem",
        "/SimpleNotificationService-0a.pem#.pem", "/SimpleNotificationService-0a%2e.pem",
        "/SimpleNotificationService-0a@.pem", "//SimpleNotificationService-0a.pem",
        "/x/SimpleNotificationService-0a.pem", "/SimpleNotificationService-0a/../b.pem",
        "?/SimpleNotificationService-0a.pem", "#/SimpleNotificationService-0a.pem",
        "/?Action=GetTopicAttributes&zz=.pem", "/SimpleNotificationService-0a.pem\n"})
    EXPECT_FALSE(is_sns_certificate_url(host + path, name)) << path;
  for (const char* other : {"https://evil.example", "http://sns.us-west-2.amazonaws.com",
                            "https://sns.eu-west-1.amazonaws.com", "https://sns.s3.amazonaws.com"})
    EXPECT_FALSE(is_sns_certificate_url(std::string(other) + "/SimpleNotificationService-0a.pem", name))
        << other;
}

TEST(SnsUrl, TheHostIsThatOfTheTopicsRegion) {
  EXPECT_EQ(sns_host_of("arn:aws:sns:eu-west-1:123456789012:T"), "sns.eu-west-1.amazonaws.com");
  EXPECT_EQ(sns_host_of("arn:aws-us-gov:sns:us-gov-west-1:123456789012:T"),
            "sns.us-gov-west-1.amazonaws.com");
  EXPECT_EQ(sns_host_of("arn:aws-cn:sns:cn-north-1:123456789012:T"), "sns.cn-north-1.amazonaws.com.cn");
}

TEST(SnsUrl, AcceptsThatHostOnly) {
  const std::string host = "sns.us-west-2.amazonaws.com";
  for (const char* good :
       {"https://sns.us-west-2.amazonaws.com/a.pem", "https://sns.us-west-2.amazonaws.com?a"})
    EXPECT_TRUE(is_sns_url(good, host)) << good;
  for (const char* bad :
       {"http://sns.us-west-2.amazonaws.com/a.pem", "https://sns.us-west-2.amazonaws.com@evil.example/a.pem",
        "https://evil.example/sns.us-west-2.amazonaws.com", "https://sns.amazonaws.com.evil.example/",
        "https://sns.us-west-2.amazonaws.com:8443/a.pem", "https://s3.amazonaws.com/sns.pem",
        "https://sns.a.b.amazonaws.com/a.pem", "https://snsx.us-west-2.amazonaws.com/",
        "https://sns.s3.amazonaws.com/a.pem", "https://sns.s3-us-west-2.amazonaws.com/a.pem",
        "https://sns.us-west-2.amazonaws.com.cn/a.pem", "https://sns..amazonaws.com/",
        "https://sns.us-west-2.amazonaws.com\\@evil.example/a.pem"})
    EXPECT_FALSE(is_sns_url(bad, host)) << bad;
}

}  // namespace
}  // namespace giftsync::sources
