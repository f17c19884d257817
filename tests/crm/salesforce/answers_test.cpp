// Bodies of answers as values.
#include "crm/salesforce/calls/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/crm/salesforce/recorded_answers.h"

namespace giftsync::salesforce {
namespace {

using ::testing::HasSubstr;

TEST(Answers, OtherBodiesAreToldByStatusAndBeginning) {
  const struct {
    std::string body;
    BodyFormat format;
    std::string words;
  } kCases[] = {
      {"", BodyFormat::empty, "HTTP 503, without a body"},
      {" \r\n", BodyFormat::empty, "without a body"},
      {"\n<!DOCTYPE html><title>Maintenance</title>", BodyFormat::html, "an HTML page: \"<!DOCTYPE html>"},
      {"<HTML><body>down", BodyFormat::html, "an HTML page"},
      {"<?xml version=\"1.0\"?><OAuth><error>x</error></OAuth>", BodyFormat::xml, "XML: \"<?xml"},
      {"upstream connect error\x1b[0m", BodyFormat::other, "text: \"upstream connect error\\x1b"},
      {"[{\"message\":", BodyFormat::json, "cannot be read"},
  };
  for (const auto& one : kCases) {
    const AnswerBody body = read_body(503, one.body);
    EXPECT_EQ(body.format, one.format) << one.body;
    EXPECT_FALSE(body.json());
    EXPECT_THAT(describe(body), HasSubstr(one.words));
  }
  EXPECT_EQ(read_body(500, std::string(5000, 'x')).beginning, std::string(200, 'x'));
}

TEST(Answers, ReadsAllErrorsOfARequest) {
  const AnswerBody body = read_body(
      400, R"([{"message":"one","errorCode":"A","fields":["X","Y"]},{"message":"two","errorCode":"B"}])");
  const std::vector<ApiError> errors = request_errors(*body.json());
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].code, "A");
  EXPECT_EQ(errors[0].fields, (std::vector<std::string>{"X", "Y"}));
  EXPECT_EQ(errors[1].message, "two");
  EXPECT_TRUE(request_errors(*read_body(200, R"(["/services/a"])").json()).empty());
}

TEST(Answers, AQueryThatIsNotCompleteNamesTheNextPage) {
  const AnswerBody body = read_body(200,
                                    R"({"totalSize":3,"done":false,"nextRecordsUrl":"/services/x-2000",
          "records":[{"Id":"a"},{"Id":"b"}]})");
  const auto page = query_page(*body.json());
  ASSERT_TRUE(page) << page.error();
  EXPECT_FALSE(page->is_last);
  EXPECT_EQ(page->next_url, "/services/x-2000");
  EXPECT_EQ(page->total_size, 3);
  ASSERT_EQ(page->records.size(), 2U);
  EXPECT_EQ(text_at(page->records[1], "Id"), "b");
  for (const char* broken : {R"({"done":false,"records":[]})", R"({"records":[]})", R"({"done":true})", "[]"})
    EXPECT_FALSE(query_page(*read_body(200, broken).json())) << broken;
}

TEST(Answers, RowsOfACollectionsCallMustBeAsManyAsSent) {
  const AnswerBody body = read_body(200, R"([{"id":"a0G","success":true,"errors":[],"created":true},
      {"success":false,"errors":[{"statusCode":"STRING_TOO_LONG","message":"L","fields":["Name"]}]}])");
  const auto rows = written_rows(*body.json(), 2);
  ASSERT_TRUE(rows) << rows.error();
  EXPECT_TRUE((*rows)[0].is_success);
  EXPECT_EQ((*rows)[0].id, "a0G");
  EXPECT_EQ((*rows)[0].is_created, true);
  EXPECT_FALSE((*rows)[1].is_success);
  EXPECT_EQ((*rows)[1].is_created, std::nullopt);
  EXPECT_EQ((*rows)[1].errors.at(0).code, "STRING_TOO_LONG");
  EXPECT_FALSE(written_rows(*body.json(), 3));
}

TEST(Answers, PartsKeepTheirStatusAndBody) {
  const AnswerBody body = read_body(200, R"({"compositeResponse":[
      {"body":null,"httpHeaders":{"ETag":"x"},"httpStatusCode":304,"referenceId":"d"},
      {"body":[{"errorCode":"NOT_FOUND","message":"m"}],"httpHeaders":{},"httpStatusCode":404,
          "referenceId":"e"}]})");
  const auto parts = composite_parts(*body.json());
  ASSERT_TRUE(parts) << parts.error();
  EXPECT_TRUE((*parts)[0].body->is_null());
  EXPECT_EQ((*parts)[1].status, 404);
  EXPECT_EQ(request_errors(*(*parts)[1].body).at(0).code, "NOT_FOUND");
  EXPECT_FALSE(composite_parts(*read_body(200, R"({"compositeResponse":[{"body":{}}]})").json()));
}

TEST(Answers, ReadsErrorsOfASignIn) {
  const AnswerBody body =
      read_body(400, R"({"error":"invalid_grant","error_description":"user hasn't approved"})");
  const auto error = oauth_error(*body.json());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, "invalid_grant");
  EXPECT_EQ(error->description, "user hasn't approved");
  EXPECT_FALSE(oauth_error(*read_body(400, "[]").json()));
}

TEST(Answers, ReadsRecordedErrors) {
  SKIP_WITHOUT_RECORDED();
  const std::pair<std::string, std::string> kCases[] = {
      {"restforce/expired_session_response.json", "INVALID_SESSION_ID"},
      {"restforce/query_error_response.json", "INVALID_FIELD"},
      {"restforce/search_error_response.json", "MALFORMED_SEARCH"},
      {"restforce/write_error_response.json", "INVALID_FIELD"},
      {"amp-labs/unknown-object.json", "INVALID_TYPE"},
      {"amp-labs/invalid-field-upsert.json", "INVALID_FIELD_FOR_INSERT_UPDATE"},
      {"amp-labs/batch_create_contacts_err-bad-request.json", "REQUIRED_FIELD_MISSING"},
  };
  for (const auto& [file, code] : kCases) {
    const AnswerBody body = read_body(400, recorded(file));
    ASSERT_TRUE(body.json()) << file << ": " << describe(body);
    EXPECT_EQ(request_errors(*body.json()).at(0).code, code) << file;
  }
  EXPECT_EQ(oauth_error(*read_body(400, recorded("restforce/refresh_error_response.json")).json())->code,
            "invalid_grant");
}

TEST(Answers, ReadsRecordedPagesAndRows) {
  SKIP_WITHOUT_RECORDED();
  const AnswerBody first = read_body(200, recorded("restforce/query_paginated_first_page_response.json"));
  EXPECT_EQ(query_page(*first.json())->next_url, "/services/data/v26.0/query/01gD");
  const AnswerBody last = read_body(200, recorded("restforce/query_paginated_last_page_response.json"));
  EXPECT_TRUE(query_page(*last.json())->is_last);
  const AnswerBody rows =
      read_body(200, recorded("amp-labs/batch_create_contacts_partial-but-allOrNone.json"));
  const auto written = written_rows(*rows.json(), 2);
  ASSERT_TRUE(written);
  EXPECT_EQ((*written)[0].errors.at(0).fields, std::vector<std::string>{"LastName"});
  EXPECT_EQ((*written)[1].errors.at(0).code, "ALL_OR_NONE_OPERATION_ROLLED_BACK");
}

TEST(Answers, ReadsRecordedCompositeCalls) {
  SKIP_WITHOUT_RECORDED();
  const std::string folder = "cumulusci/";
  const std::vector<std::string> bodies =
      recorded_bodies(folder + "TestCompositeParallelSalesforce.test_reference_ids.yaml");
  ASSERT_FALSE(bodies.empty());
  const AnswerBody queries = read_body(200, bodies[0]);
  const auto parts = composite_parts(*queries.json());
  ASSERT_TRUE(parts) << parts.error();
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ((*parts)[1].reference, "two");
  EXPECT_TRUE(query_page(*(*parts)[1].body));

  const AnswerBody errors =
      read_body(200, recorded_bodies(folder + "TestCompositeParallelSalesforce.test_errors.yaml").at(0));
  const auto failed = composite_parts(*errors.json());
  EXPECT_EQ(failed->at(0).status, 404);
  EXPECT_EQ(request_errors(*failed->at(0).body).at(0).code, "NOT_FOUND");

  const AnswerBody unchanged = read_body(
      200,
      recorded_bodies(folder + "ManualEditTestCompositeParallelSalesforce.test_http_headers.yaml").at(0));
  const auto described = composite_parts(*unchanged.json());
  EXPECT_EQ(described->at(2).status, 304);
}

}  // namespace
}  // namespace giftsync::salesforce
