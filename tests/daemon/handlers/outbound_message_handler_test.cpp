// Outbound messages over the handler with a real store: who may send them, what is stored, what is refused.
#include "daemon/handlers/outbound_message_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crm/salesforce/records/outbound_message.h"
#include "daemon/http/problem.h"
#include "daemon/http/routes.h"
#include "platform/xml.h"
#include "sync/access/credential.h"
#include "tests/support/captured_log.h"
#include "tests/support/outbound_messages.h"
#include "tests/support/temporary_store.h"

namespace giftsync::handlers {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using tests::outbound_message;

constexpr UtcMillis kNow{1'795'264'267'000};
constexpr char kFirst[] = "a0B5g00000AbCdEEAV";
constexpr char kSecond[] = "a0B5g00000AbCdFEAV";

class OutboundMessageHandlerTest : public ::testing::Test {
 protected:
  OutboundMessageHandlerTest() { make_handler(0); }

  void make_handler(std::int64_t requests_per_minute) {
    handler_ = std::make_unique<OutboundMessageHandler>(
        *store_, OutboundMessageOptions{[this] { return now_; }, requests_per_minute, [this] { ++wakes_; }});
  }
  /// As giftsync keeps them after its first sign-in.
  void connect() {
    store_->set_metadata(salesforce::kOrganizationFact, tests::kMessageOrganization);
    store_->set_metadata(salesforce::kRequestObjectFact, "a0B Request_Record__c");
  }
  void create_token() {
    connect();
    const sync::NewCredential token = sync::make_credential(CredentialKind::message_token, kNow);
    ASSERT_TRUE(store_->credentials.create_message_token(token));
    token_ = token.text;
  }
  http::HttpResponse send(const std::string& body, const std::string& token,
                          const std::string& type = "text/xml") {
    http::HttpRequest request;
    request.method = "POST";
    request.path = "/api/v1/crm/salesforce/messages/" + token;
    request.body = body;
    request.headers.emplace("Content-Type", type);
    return handler_->handle(request, token).wait();
  }
  http::HttpResponse send(const std::string& body) { return send(body, token_); }
  std::vector<std::string> stored() {
    std::vector<std::string> records;
    for (const auto& event : store_->crm_change_events.list(1000)) records.push_back(event.record_id);
    return records;
  }
  /// Of a SOAP fault; empty for anything else.
  static std::string fault_of(const http::HttpResponse& response) {
    const auto root = read_xml(response.body);
    if (!root || root->children.empty() || root->children[0].children.empty()) return {};
    const XmlElement& fault = root->children[0].children[0];
    return fault.name == "Fault" ? fault.children.at(0).text + " " + fault.children.at(1).text
                                 : std::string();
  }
  static std::string header(const http::HttpResponse& response, const std::string& name) {
    for (const auto& [one, value] : response.headers) {
      if (one == name) return value;
    }
    return {};
  }

  UtcMillis now_ = kNow;
  tests::TemporaryStore store_;
  std::unique_ptr<OutboundMessageHandler> handler_;
  std::string token_;
  int wakes_ = 0;
};

// MSG-7, MSG-8
TEST_F(OutboundMessageHandlerTest, AMessageIsAcknowledgedOnceItsRecordsAreStored) {
  create_token();
  const http::HttpResponse response = send(outbound_message({kSecond, kFirst, kFirst}));
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(header(response, "Content-Type"), "text/xml; charset=utf-8");
  EXPECT_EQ(response.body, salesforce::acknowledgement());
  EXPECT_EQ(response.caller, token_.substr(0, 16));
  EXPECT_THAT(stored(), ElementsAre(kFirst, kSecond));
  EXPECT_EQ(wakes_, 1);
  EXPECT_EQ(store_->credentials.list(CredentialKind::message_token)[0].last_used_at, kNow);
}

// MSG-7
TEST_F(OutboundMessageHandlerTest, RepeatedMessagesAreAcknowledgedAndCollapsed) {
  create_token();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(send(outbound_message({kFirst})).status, 200);
  EXPECT_THAT(stored(), ElementsAre(kFirst));
}

// MSG-2, MSG-3
TEST_F(OutboundMessageHandlerTest, WithoutAValidTokenThereIsNothingAtThePath) {
  const std::string body = outbound_message({kFirst});
  const http::HttpResponse nothing = http::unknown_path();
  const std::string other = sync::make_credential(CredentialKind::message_token).text;
  EXPECT_EQ(send(body, other).body, nothing.body) << "off until a token is created";
  create_token();
  now_ = now_ + 2 * kSecondMillis;  // a new token works within a second
  for (const std::string& token :
       {other, std::string(), std::string("x"), token_.substr(0, 64), token_ + "x", std::string("' OR 1=1"),
        sync::make_credential(CredentialKind::organization_token).text,
        store_->credentials.list(CredentialKind::message_token)[0].hash}) {
    const http::HttpResponse response = send(body, token);
    EXPECT_EQ(response.status, 404) << token;
    EXPECT_EQ(response.body, nothing.body) << token;
  }
  EXPECT_THAT(stored(), IsEmpty());
  EXPECT_EQ(send(body).status, 200);
}

// MSG-2
TEST_F(OutboundMessageHandlerTest, TwoTokensWorkDuringARotationAndADeletedOneEndsWithinASecond) {
  create_token();
  const std::string body = outbound_message({kFirst});
  const std::string former = token_;
  EXPECT_EQ(send(body).status, 200);
  const sync::NewCredential next = sync::make_credential(CredentialKind::message_token, kNow);
  ASSERT_TRUE(store_->credentials.rotate_message_token(next, kNow + 60'000));
  now_ = kNow + 1000;
  EXPECT_EQ(send(body, former).status, 200);
  EXPECT_EQ(send(body, next.text).status, 200);
  now_ = kNow + 60'000;
  EXPECT_EQ(send(body, former).status, 404);
  EXPECT_EQ(send(body, next.text).status, 200);
  for (const auto& token : store_->credentials.list(CredentialKind::message_token))
    store_->credentials.remove_message_token(token.id);
  now_ = now_ + 1000;
  EXPECT_EQ(send(body, next.text).status, 404);
}

// MSG-6
TEST_F(OutboundMessageHandlerTest, NothingIsAcceptedUntilTheOrgIsKnown) {
  create_token();
  store_->set_metadata(salesforce::kRequestObjectFact, "");
  http::HttpResponse response = send(outbound_message({kFirst}));
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(header(response, "Retry-After"), "60");
  EXPECT_THAT(fault_of(response), HasSubstr("soapenv:Server giftsync has not read yet"));
  connect();
  now_ = kNow + 1000;
  EXPECT_EQ(send(outbound_message({kFirst})).status, 200);
}

// MSG-5, MSG-6, MSG-8
TEST_F(OutboundMessageHandlerTest, ForgedAndBrokenMessagesAreRefusedAsAWholeInSoap) {
  create_token();
  const std::string good = outbound_message({kFirst});
  const std::string bomb =
      "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">]>" +
      good.substr(good.find("<soap"));
  struct Case {
    std::string body;
    int status;
    std::string code;
  };
  for (const Case& one : std::vector<Case>{
           {"", 400, "malformed_message"},
           {"{\"a\": 1}", 400, "malformed_message"},
           {bomb, 400, "malformed_message"},
           {"<!DOCTYPE x SYSTEM \"file:///etc/passwd\">" + good.substr(good.find("<soap")), 400,
            "malformed_message"},
           {"<?xml-stylesheet href=\"x\"?>" + good.substr(good.find("<soap")), 400, "malformed_message"},
           {good.substr(0, good.size() - 20), 400, "malformed_message"},
           {good + std::string("\xC3\x28"), 400, "malformed_message"},
           {outbound_message({kFirst, "a0B5g00000AbCdEEAW"}), 400, "malformed_message"},
           {outbound_message({kFirst}, {.organization = "00D5g000001AbCdEAK"}), 403, "other_organization"},
           {outbound_message({kFirst}, {.object = "Contact"}), 400, "other_object"},
           {outbound_message({kFirst, "0035g00000AbCdEAAV"}), 400, "other_object"},
           {outbound_message(std::vector<std::string>(101, kFirst)), 413, "too_many_notifications"}}) {
    const http::HttpResponse response = send(one.body);
    EXPECT_EQ(response.status, one.status) << one.body.substr(0, 100);
    EXPECT_EQ(response.code, one.code) << one.body.substr(0, 100);
    EXPECT_THAT(fault_of(response), HasSubstr("soapenv:Client ")) << response.body;
    EXPECT_THAT(response.reason, AllOf(Not(IsEmpty()), Not(HasSubstr("00D")), Not(HasSubstr("a0B"))));
    EXPECT_THAT(response.body, Not(HasSubstr(token_)));
  }
  EXPECT_THAT(stored(), IsEmpty());
  EXPECT_EQ(wakes_, 0);
}

// MSG-5
TEST_F(OutboundMessageHandlerTest, TypeEncodingAndSizeAreCheckedFirst) {
  create_token();
  const std::string good = outbound_message({kFirst});
  for (const std::string type :
       {"text/xml; charset=utf-8", "application/xml", "TEXT/XML;charset=\"UTF-8\"", ""})
    EXPECT_EQ(send(good, token_, type).status, 200) << type;
  for (const std::string type : {"application/json", "text/xml; charset=iso-8859-1", "multipart/related"}) {
    const http::HttpResponse response = send(good, token_, type);
    EXPECT_EQ(response.status, 415) << type;
    EXPECT_THAT(fault_of(response), HasSubstr("soapenv:Client"));
  }
  http::HttpRequest request;
  request.headers.emplace("Content-Encoding", "gzip");
  EXPECT_EQ(handler_->handle(request, token_).wait().status, 415);
  request.headers.clear();
  request.body_too_large = true;
  const http::HttpResponse large = handler_->handle(request, token_).wait();
  EXPECT_EQ(large.status, 413);
  EXPECT_TRUE(large.close);
  EXPECT_EQ(salesforce::kMaxOutboundMessageBytes, http::kMaxMessageBodyBytes);
}

// MSG-9
TEST_F(OutboundMessageHandlerTest, AFloodIsRefusedPerTokenAndWhenTooManyWait) {
  create_token();
  make_handler(3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(send(outbound_message({kFirst})).status, 200);
  EXPECT_EQ(send(outbound_message({kFirst})).status, 429);
  now_ = kNow + 60'000;
  EXPECT_EQ(send(outbound_message({kFirst})).status, 200);
  make_handler(0);
  std::vector<std::string> many;
  for (std::size_t i = 0; i < store::kMaxCrmChangeEvents; ++i) {
    std::string number = std::to_string(i);
    many.push_back("r" + std::string(6 - number.size(), '0') + number);
  }
  many.pop_back();
  ASSERT_TRUE(store_->crm_change_events.add(many, 1, now_));
  const http::HttpResponse full = send(outbound_message({kSecond}));
  EXPECT_EQ(full.status, 503);
  EXPECT_EQ(header(full, "Retry-After"), "300");
  EXPECT_THAT(fault_of(full), HasSubstr("soapenv:Server Too many"));
  EXPECT_EQ(send(outbound_message({kFirst})).status, 200) << "its event is stored already";
}

}  // namespace
}  // namespace giftsync::handlers
