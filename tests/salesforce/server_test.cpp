// The fake org behind HTTP: answers, scripts, and connections that end without an answer.
#include "tests/salesforce/fake_org/server.h"

#include <Poco/Exception.h>
#include <Poco/InflatingStream.h>
#include <Poco/Net/HTTPClientSession.h>
#include <Poco/Net/HTTPRequest.h>
#include <Poco/Net/HTTPResponse.h>
#include <Poco/StreamCopier.h>
#include <gtest/gtest.h>

#include "tests/salesforce/fake_org_fixture.h"
#include "tests/support/json.h"

namespace giftsync::tests::fake_org {
namespace {

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server.with_org([&](Org& org) {
      const std::string user = org.add_user("integration@example.com", "giftsync_Integration");
      org.database().run("INSERT INTO org_session (token, user_id, ends_at) VALUES ('token', ?, ?)",
                         {user, static_cast<double>(org.now().value + kDayMillis)});
    });
  }

  struct Received {
    int status = 0;
    std::string body;
    std::string limit_info;
  };
  Received send(const std::string& method, const std::string& path, const Json& body = nullptr) const {
    Poco::Net::HTTPClientSession session("127.0.0.1", server.port());
    Poco::Net::HTTPRequest request(method, path, Poco::Net::HTTPMessage::HTTP_1_1);
    request.set("Authorization", "Bearer token");
    const std::string text = body.is_null() ? "" : body.dump();
    request.setContentLength(static_cast<std::streamsize>(text.size()));
    session.sendRequest(request) << text;
    Poco::Net::HTTPResponse response;
    Received received;
    std::istream& stream = session.receiveResponse(response);
    Poco::StreamCopier::copyToString(stream, received.body);
    received.status = response.getStatus();
    received.limit_info = response.get("Sforce-Limit-Info", "");
    return received;
  }
  std::size_t contacts() const {
    return parse_ordered_json(
        send("GET", "/services/data/v62.0/query?q=SELECT+COUNT()+FROM+Contact").body)["totalSize"];
  }

  Server server{0, ":memory:", salesforce_project()};
  const Json contact{{"LastName", "Lima"}};
  const std::string contacts_path = "/services/data/v62.0/sobjects/Contact";
};

TEST_F(ServerTest, AnswersWithTheUsageOfTheQuota) {
  const Received received = send("POST", contacts_path, contact);
  EXPECT_EQ(received.status, 201);
  EXPECT_EQ(parse_ordered_json(received.body)["success"], true);
  EXPECT_EQ(received.limit_info, "api-usage=1/15000");
}

TEST_F(ServerTest, CutsTheConnectionBeforeOrAfterTheCommit) {
  const auto cut = [&](const char* when) {
    send("POST", "/__org/faults", {{"kind", "cut"}, {"when", when}, {"path", "/sobjects/Contact"}});
    EXPECT_THROW(send("POST", contacts_path, contact), Poco::Exception);
  };
  cut("before_commit");
  EXPECT_EQ(contacts(), 0U);
  cut("after_commit");
  EXPECT_EQ(contacts(), 1U);
}

TEST_F(ServerTest, AnswersByScript) {
  send("POST", "/__org/faults",
       {{"kind", "answer"}, {"status", 503}, {"body", "<html>maintenance</html>"}, {"path", "/sobjects"}});
  const Received received = send("GET", contacts_path);
  EXPECT_EQ(received.status, 503);
  EXPECT_EQ(received.body, "<html>maintenance</html>");
  EXPECT_EQ(send("GET", contacts_path).status, 200);
}

TEST_F(ServerTest, CompressesForClientsThatTakeIt) {
  Poco::Net::HTTPClientSession session("127.0.0.1", server.port());
  Poco::Net::HTTPRequest request("GET", contacts_path, Poco::Net::HTTPMessage::HTTP_1_1);
  request.set("Authorization", "Bearer token");
  request.set("Accept-Encoding", "gzip, deflate");
  session.sendRequest(request);
  Poco::Net::HTTPResponse response;
  std::istream& stream = session.receiveResponse(response);
  EXPECT_EQ(response.get("Content-Encoding", ""), "gzip");
  Poco::InflatingInputStream inflated(stream, Poco::InflatingStreamBuf::STREAM_GZIP);
  std::string body;
  Poco::StreamCopier::copyToString(inflated, body);
  EXPECT_EQ(parse_ordered_json(body)["objectDescribe"]["name"], "Contact");
}

TEST_F(ServerTest, LetsATestEditRecordsWithPlainSql) {
  send("POST", "/__org/sql", {{"sql", "INSERT INTO crm_contact (lastname) VALUES ('Lima')"}});
  EXPECT_EQ(contacts(), 1U);
  EXPECT_EQ(parse_ordered_json(send("GET", "/__org/counters").body)["calls"], 1);
}

}  // namespace
}  // namespace giftsync::tests::fake_org
