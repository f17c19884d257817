// The order in which a call with a JSON body is checked: the first of several errors is reported.
#include "daemon/http/json_request.h"

#include <gtest/gtest.h>

#include "tests/support/json.h"

namespace giftsync::http {
namespace {

using ParseResult = tl::expected<std::string, BodyError>;

struct Defects {
  bool is_too_large = false;
  bool is_compressed = false;
  bool is_of_wrong_type = false;
  bool has_bad_key = false;
  ParseResult parse_result = std::string("good");
};

/// The code of the refusal, or the parsed body and its Idempotency-Key.
std::string outcome(const Defects& defects, CallKind kind) {
  HttpRequest request;
  request.body_too_large = defects.is_too_large;
  if (defects.is_compressed) request.headers.emplace("Content-Encoding", "gzip");
  request.headers.emplace("Content-Type", defects.is_of_wrong_type ? "text/html" : "application/json");
  request.headers.emplace("Idempotency-Key", defects.has_bad_key ? "" : "k1");
  auto parsed = parse_json_request(request, 100, kind, [&] { return defects.parse_result; });
  if (!parsed) {
    return std::to_string(parsed.error().status) + " " +
           tests::parse_json(parsed.error().body).value("code", "");
  }
  return parsed->body + " " + parsed->idempotency_key.value_or("without a key");
}

// HTTP-14
TEST(JsonRequest, ReportsTheFirstErrorInTheOrderOfChecks) {
  const tl::unexpected<BodyError> no_json(JsonError{"syntax", "The text is not valid JSON."});
  const tl::unexpected<BodyError> no_gift(FieldIssues{{"gift_id", "missing", "gift_id is missing."}});
  EXPECT_EQ(outcome({true, true, true, true, no_json}, CallKind::creates), "413 body_too_large");
  EXPECT_EQ(outcome({false, true, true, true, no_json}, CallKind::creates),
            "415 unsupported_content_encoding");
  EXPECT_EQ(outcome({false, false, true, true, no_json}, CallKind::creates), "415 unsupported_media_type");
  EXPECT_EQ(outcome({false, false, false, true, no_json}, CallKind::creates), "400 invalid_idempotency_key");
  EXPECT_EQ(outcome({false, false, false, false, no_json}, CallKind::creates), "400 malformed_json");
  EXPECT_EQ(outcome({false, false, false, false, no_gift}, CallKind::creates), "400 invalid");
  EXPECT_EQ(outcome({}, CallKind::creates), "good k1");
}

TEST(JsonRequest, IgnoresTheIdempotencyKeyOfCallsThatChange) {
  EXPECT_EQ(outcome({true, true, false, true, {}}, CallKind::changes), "413 body_too_large");
  EXPECT_EQ(outcome({false, false, true, true, {}}, CallKind::changes), "415 unsupported_media_type");
  EXPECT_EQ(outcome({false, false, false, true, std::string("good")}, CallKind::changes),
            "good without a key");
}

}  // namespace
}  // namespace giftsync::http
