// Composite calls: caps, part headers, references, errors in parts, and what a call costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/salesforce/fake_org_fixture.h"

namespace giftsync::tests::fake_org {
namespace {

class CompositeTest : public FakeOrgTest {
 protected:
  static Json part(const std::string& name, const std::string& method, const std::string& address,
                   const Json& body = nullptr) {
    Json made{{"method", method}, {"referenceId", name}, {"url", "/services/data/v62.0" + address}};
    if (!body.is_null()) made["body"] = body;
    return made;
  }
  static Json parts(std::size_t count, const std::string& address) {
    Json made = Json::array();
    for (std::size_t at = 0; at < count; ++at) made.push_back(part("p" + std::to_string(at), "GET", address));
    return made;
  }
  ApiAnswer composite(const Json& list, bool all_or_none = false) {
    return call("POST", "/composite", {{"allOrNone", all_or_none}, {"compositeRequest", list}});
  }
};

TEST_F(CompositeTest, TakesTwentyFivePartsOfWhichFiveAreQueriesOrCollections) {
  EXPECT_EQ(composite(parts(25, "/sobjects/Contact")).status, 200);
  EXPECT_EQ(composite(parts(26, "/sobjects/Contact")).status, 400);
  EXPECT_EQ(composite(parts(5, "/query?q=SELECT+Id+FROM+Contact")).status, 200);
  EXPECT_EQ(composite(parts(6, "/query?q=SELECT+Id+FROM+Contact")).status, 400);
}

TEST_F(CompositeTest, CostsOneCall) {
  const int before = org.calls();
  const ApiAnswer answer = composite(parts(5, "/query?q=SELECT+Id+FROM+Contact"));
  EXPECT_EQ(org.calls(), before + 1);
  EXPECT_EQ(answer.headers.at("Sforce-Limit-Info"), "api-usage=" + std::to_string(before + 1) + "/15000");
}

TEST_F(CompositeTest, HasErrorsInItsParts) {
  Json list = parts(1, "/sobjects/Foo");
  list.push_back(part("q", "GET", "/query?q=SELECT+Foo+FROM+Contact"));
  list.push_back(part("ok", "GET", "/query?q=SELECT+Id+FROM+Contact"));
  const ApiAnswer answer = composite(list);
  EXPECT_EQ(answer.status, 200);
  const Json& answers = answer.body["compositeResponse"];
  EXPECT_EQ(answers[0]["httpStatusCode"], 404);
  EXPECT_EQ(answers[0]["body"][0]["errorCode"], "NOT_FOUND");
  EXPECT_EQ(answers[1]["httpStatusCode"], 400);
  EXPECT_EQ(answers[1]["body"][0]["errorCode"], "INVALID_FIELD");
  EXPECT_EQ(answers[2]["httpStatusCode"], 200);
}

TEST_F(CompositeTest, GivesPartsTheirHeaders) {
  Json list = parts(1, "/sobjects/Contact/describe");
  list[0]["httpHeaders"] = {{"If-Modified-Since", http_date(org.now().value)}};
  const Json answer = composite(list).body["compositeResponse"][0];
  EXPECT_EQ(answer["httpStatusCode"], 304);
  EXPECT_TRUE(answer["body"].is_null());
  EXPECT_TRUE(answer["httpHeaders"].contains("Last-Modified"));
}

TEST_F(CompositeTest, HonoursIfUnmodifiedSince) {
  const std::string id = id_of_new("Contact", {{"LastName", "Lima"}});
  Json list{part("p", "PATCH", "/sobjects/Contact/" + id, {{"Title", "CEO"}})};
  list[0]["httpHeaders"] = {{"If-Unmodified-Since", http_date(org.now().value - 10'000)}};
  EXPECT_EQ(composite(list).body["compositeResponse"][0]["httpStatusCode"], 412);
  list[0]["httpHeaders"] = {{"If-Unmodified-Since", http_date(org.now().value)}};
  EXPECT_EQ(composite(list).body["compositeResponse"][0]["httpStatusCode"], 204);
}

TEST_F(CompositeTest, RefersToAnswersBefore) {
  const Json gift{{"records", typed("Gift_Record__c", {{{"RecipientTransactionId__c", 7}}})}};
  const Json task{{"records", typed("Task", {{{"Subject", "Gift"}, {"WhatId", "@{gift[0].id}"}}})}};
  const Json answers = composite(Json::array({part("gift", "POST", "/composite/sobjects", gift),
                                              part("task", "POST", "/composite/sobjects", task)}))
                           .body["compositeResponse"];
  EXPECT_EQ(outcome(answers[1]["body"][0]), "ok");
  EXPECT_EQ(names("SELECT WhatId FROM Task").at(0), answers[0]["body"][0]["id"]);
}

TEST_F(CompositeTest, DoesNotRunAPartThatRefersToARefusedRow) {
  const std::vector<Json> gifts{Json{{"RecipientTransactionId__c", 7}}, Json{{"Foo", 1}}};
  const std::vector<Json> tasks{Json{{"Subject", "A"}, {"WhatId", "@{gift[0].id}"}},
                                Json{{"Subject", "B"}, {"WhatId", "@{gift[1].id}"}}};
  const Json list =
      Json::array({part("gift", "POST", "/composite/sobjects", {{"records", typed("Gift_Record__c", gifts)}}),
                   part("task", "POST", "/composite/sobjects", {{"records", typed("Task", tasks)}})});
  const Json halted = composite(list).body["compositeResponse"][1];
  EXPECT_EQ(halted["httpStatusCode"], 400);
  EXPECT_EQ(halted["body"][0]["errorCode"], "PROCESSING_HALTED");
  EXPECT_EQ(halted["body"][0]["message"],
            "Invalid reference specified. No value for gift[1].id found in gift");
  EXPECT_EQ(query("SELECT COUNT() FROM Task")["totalSize"], 0);
  org.set("empty_references", "true");
  composite(list);
  EXPECT_EQ(query("SELECT COUNT() FROM Task WHERE WhatId = null")["totalSize"], 2)
      << "the gift is there already, and the other one is refused";
}

TEST_F(CompositeTest, MayTakeNoReferences) {
  org.set("refuses_references", "true");
  const Json list = Json::array({part("a", "POST", "/sobjects/Account", {{"Name", "Acme"}}),
                                 part("b", "GET", "/sobjects/Account/@{a.id}")});
  EXPECT_EQ(composite(list).body["compositeResponse"][1]["httpStatusCode"], 400);
  org.set("refuses_references", "");
  EXPECT_EQ(composite(list).body["compositeResponse"][1]["httpStatusCode"], 200);
}

TEST_F(CompositeTest, ReadsAReferenceInEachText) {
  const Json body{{"LastName", "Hello @{name}"}};
  const Json answers =
      composite(
          Json::array({part("a", "POST", "/sobjects/Contact", body),
                       part("b", "GET", "/query?q=SELECT+Id+FROM+Contact+WHERE+Name='%40%7Bx%7D'"),
                       part("c", "GET", "/query?q=SELECT+Id+FROM+Contact+WHERE+Name='%40%5Cu007Bx%7D'")}))
          .body["compositeResponse"];
  EXPECT_EQ(answers[0]["body"][0]["errorCode"], "PROCESSING_HALTED");
  EXPECT_EQ(answers[1]["body"][0]["errorCode"], "PROCESSING_HALTED");
  EXPECT_EQ(answers[2]["httpStatusCode"], 200);
  EXPECT_EQ(call("POST", "/sobjects/Contact", body).status, 201) << "a call by itself has no references";
}

TEST_F(CompositeTest, UndoesAllPartsWithAllOrNone) {
  const Json list = Json::array({part("a", "POST", "/sobjects/Contact", {{"LastName", "Lima"}}),
                                 part("b", "POST", "/sobjects/Contact", {{"Title", "x"}})});
  const Json answers = composite(list, true).body["compositeResponse"];
  EXPECT_EQ(answers[0]["body"][0]["errorCode"], "PROCESSING_HALTED");
  EXPECT_EQ(answers[1]["body"][0]["errorCode"], "REQUIRED_FIELD_MISSING");
  EXPECT_EQ(query("SELECT COUNT() FROM Contact")["totalSize"], 0);
}

/// Another writer between two parts.
TEST_F(CompositeTest, RunsAnotherWritersCallBetweenParts) {
  org.faults().add({{"kind", "interleave"},
                    {"part", 1},
                    {"method", "POST"},
                    {"url", "/services/data/v62.0/sobjects/Contact"},
                    {"body", {{"LastName", "Other"}}}});
  const Json answers = composite(parts(2, "/query?q=SELECT+LastName+FROM+Contact")).body["compositeResponse"];
  EXPECT_EQ(answers[0]["body"]["totalSize"], 0);
  EXPECT_EQ(answers[1]["body"]["totalSize"], 1);
}

TEST_F(CompositeTest, EndsWithTheQuota) {
  org.set("api_limit", std::to_string(org.calls() + 1));
  EXPECT_EQ(composite(parts(1, "/sobjects/Contact")).status, 200);
  const ApiAnswer answer = composite(parts(1, "/sobjects/Contact"));
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.body[0]["errorCode"], "REQUEST_LIMIT_EXCEEDED");
  EXPECT_EQ(answer.body[0]["message"], "TotalRequests Limit exceeded.");
}

}  // namespace
}  // namespace giftsync::tests::fake_org
