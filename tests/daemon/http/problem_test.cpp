#include "daemon/http/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "daemon/handlers/gift_request_json.h"
#include "daemon/http/authenticator.h"
#include "daemon/http/json_request.h"
#include "tests/support/json.h"

namespace giftsync::http {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string header_of(const HttpResponse& response, std::string_view name) {
  std::string found;
  for (const auto& [key, value] : response.headers) {
    if (key != name) continue;
    EXPECT_TRUE(found.empty()) << name << " twice";
    found = value;
  }
  return found;
}

HttpRequest with_header(const std::string& name, const std::string& value) {
  HttpRequest request;
  request.headers.emplace(name, value);
  return request;
}

// HTTP-36
TEST(Problem, EveryResponseHasTheMembersOfRfc9457) {
  const std::vector<std::pair<std::string, HttpResponse>> responses{
      {"malformed_json", malformed_json({"syntax", "The text is not valid JSON at column 3."}, "Send JSON.")},
      {"invalid", invalid_request({{"gift_id", "missing", "gift_id is required."}}, CallKind::creates)},
      {"invalid", unknown_gift({7})},
      {"invalid_idempotency_key", invalid_idempotency_key("The Idempotency-Key header is empty.")},
      {"missing_api_key", missing_api_key()},
      {"refused_api_key", refused_api_key()},
      {"plan_without_api_access", plan_without_api_access(giftsync::Plan::individual)},
      {"missing_scope", missing_scope(Scope::read)},
      {"sending_refused",
       sending_refused({{"recipients[0].email", "do_not_send", "The address is listed."}})},
      {"held_request_rejected", held_request_ended(HeldState::rejected, "It was rejected.")},
      {"held_request_expired", held_request_ended(HeldState::expired, "It expired.")},
      {"key_paused", key_paused(CredentialKind::api_key, {1'795'264'267'000})},
      {"tests_disabled", tests_disabled()},
      {"live_only", live_only("A test key approves nothing.")},
      {"test_only", test_only()},
      {"refused_organization_token",
       refused_crm_sender({{sync::Precondition::organization_token, "Enter a token."}})},
      {"sender_may_not_send", refused_crm_sender({{sync::Precondition::account, "Make an account."},
                                                  {sync::Precondition::permission_set, "Assign one."}})},
      {"not_found", unknown_path()},
      {"not_found", unknown_gift_request()},
      {"method_not_allowed", method_not_allowed({"POST"})},
      {"idempotency_key_in_use", idempotency_key_in_use()},
      {"idempotency_mismatch", idempotency_mismatch()},
      {"body_too_large", body_too_large(1 << 20, CallKind::creates)},
      {"unsupported_media_type", unsupported_media_type("The body's type is \"text/plain\".")},
      {"unsupported_content_encoding", unsupported_content_encoding("The body's encoding is \"gzip\".")},
      {"rate_limited", rate_limited({60, 0, 12})},
      {"internal_error", internal_error("abc123")},
      {"unavailable", unavailable(5)}};
  const std::map<std::string, int> statuses{{"malformed_json", 400},
                                            {"invalid", 400},
                                            {"invalid_idempotency_key", 400},
                                            {"missing_api_key", 401},
                                            {"refused_api_key", 401},
                                            {"plan_without_api_access", 403},
                                            {"missing_scope", 403},
                                            {"sending_refused", 403},
                                            {"held_request_rejected", 403},
                                            {"held_request_expired", 403},
                                            {"key_paused", 403},
                                            {"tests_disabled", 403},
                                            {"live_only", 403},
                                            {"test_only", 400},
                                            {"not_found", 404},
                                            {"method_not_allowed", 405},
                                            {"idempotency_key_in_use", 409},
                                            {"idempotency_mismatch", 422},
                                            {"body_too_large", 413},
                                            {"unsupported_media_type", 415},
                                            {"rate_limited", 429},
                                            {"internal_error", 500},
                                            {"unavailable", 503},
                                            {"sender_may_not_send", 403},
                                            {"refused_organization_token", 401},
                                            {"unsupported_content_encoding", 415}};
  for (const auto& [code, response] : responses) {
    SCOPED_TRACE(code);
    const json body = tests::parse_json(response.body);
    EXPECT_EQ(response.status, statuses.at(code));
    EXPECT_EQ(body.at("status"), response.status);
    EXPECT_EQ(body.at("code"), code);
    EXPECT_EQ(body.at("type"), "/problems/" + code);
    EXPECT_FALSE(body.at("title").get<std::string>().empty());
    EXPECT_EQ(body.at("detail"), body.at("message"));
    EXPECT_EQ(body.at("message").get<std::string>().back(), '.');
    EXPECT_EQ(header_of(response, "Content-Type"), "application/problem+json");
    EXPECT_EQ(response.close, code == "body_too_large");
  }
}

TEST(Problem, ValidationListsEveryError) {
  const HttpResponse response =
      invalid_request({{"recipients[3].email", "invalid_email", "email \"x\" has no @."},
                       {"gift_id", "missing", "gift_id is required."},
                       {"", "wrong_type", "Something else."}},
                      CallKind::creates);
  const json body = tests::parse_json(response.body);
  ASSERT_EQ(body.at("errors").size(), 3u);
  EXPECT_EQ(body["errors"][0], (json{{"field", "recipients[3].email"},
                                     {"code", "invalid_email"},
                                     {"message", "email \"x\" has no @."}}));
  const std::string message = body.at("message");
  EXPECT_THAT(message, HasSubstr("recipients[3].email: email \"x\" has no @."));
  EXPECT_THAT(message, HasSubstr("2 more errors"));
  EXPECT_THAT(message, HasSubstr("Nothing was created"));
}

// HTTP-36
TEST(Problem, ARefusalSaysWhatWasNotDone) {
  const FieldIssues issues{{"until", "missing", "until is required."}};
  const BodyError no_json = JsonError{"syntax", "The text is not valid JSON."};
  for (const auto& [kind, text] :
       {std::pair(CallKind::creates, "Nothing was created"),
        std::pair(CallKind::changes, "Nothing was changed"), std::pair(CallKind::any, "Nothing was done")}) {
    EXPECT_THAT(invalid_request(issues, kind).body, HasSubstr(text));
    EXPECT_THAT(refused_body(no_json, kind).body, HasSubstr(text));
    EXPECT_THAT(refused_body(issues, kind).body, HasSubstr(text));
    EXPECT_THAT(body_too_large(100, kind).body, HasSubstr(text));
  }
  EXPECT_THAT(body_too_large(100, CallKind::creates).body, HasSubstr("divide the recipients"));
  EXPECT_THAT(body_too_large(100, CallKind::changes).body, Not(HasSubstr("recipients")));
  for (const HttpResponse& response :
       {rate_limited({60, 0, 12}), key_paused(CredentialKind::api_key, {1'795'264'267'000}), test_only(),
        tests_disabled()})
    EXPECT_THAT(response.body, Not(HasSubstr("created"))) << "of every kind of call";
}

TEST(Problem, ResponsesWithoutFieldIssuesHaveNoErrorsMember) {
  EXPECT_FALSE(tests::parse_json(missing_api_key().body).contains("errors"));
  EXPECT_EQ(tests::parse_json(
                malformed_json({"duplicate_key", "Twice."}, "Send it once.").body)["errors"][0]["code"],
            "duplicate_key");
}

// HTTP-37
TEST(Problem, HasTheHeadersOfItsStatus) {
  EXPECT_THAT(header_of(missing_api_key(), "WWW-Authenticate"), HasSubstr("Bearer realm="));
  EXPECT_THAT(header_of(refused_api_key(), "WWW-Authenticate"), HasSubstr("error=\"invalid_token\""));
  EXPECT_EQ(header_of(method_not_allowed({"GET", "HEAD"}), "Allow"), "GET, HEAD");
  EXPECT_EQ(header_of(idempotency_key_in_use(), "Retry-After"), "1");
  EXPECT_EQ(header_of(unavailable(7), "Retry-After"), "7");
  EXPECT_EQ(header_of(unavailable(0), "Retry-After"), "1") << "0 would cause a retry storm";
  EXPECT_EQ(header_of(unsupported_content_encoding("No."), "Accept-Encoding"), "identity");
  const HttpResponse limited = rate_limited({60, -1, 12});
  EXPECT_EQ(header_of(limited, "Retry-After"), "12");
  EXPECT_EQ(header_of(limited, "RateLimit-Limit"), "60");
  EXPECT_EQ(header_of(limited, "RateLimit-Remaining"), "0");
  EXPECT_EQ(header_of(limited, "RateLimit-Reset"), "12");
}

TEST(Problem, InvalidUtf8DoesNotBreakTheResponse) {
  EXPECT_NO_THROW(tests::parse_json(malformed_json({"invalid_utf8", "Found \xFF here."}, "").body));
}

// HTTP-25
TEST(Authorization, AcceptsTheBareKeyAndBearer) {
  const std::vector<std::string> values{"gsk_live_abc",        "Bearer gsk_live_abc",
                                        "bearer gsk_live_abc", "BEARER   gsk_live_abc",
                                        "  gsk_live_abc\t",    "Bearer\tgsk_live_abc "};
  for (const std::string& value : values) {
    EXPECT_EQ(api_key_from_header(with_header("authorization", value)), "gsk_live_abc") << value;
  }
  EXPECT_EQ(api_key_from_header(with_header("Authorization", "bearergsk")), "bearergsk")
      << "a bare key may begin with any letters";
}

TEST(Authorization, RejectsEverythingElse) {
  for (const std::string value : {"", "  ", "Bearer", "Bearer ", "Basic dXNlcjpwYXNz", "Token token=abc",
                                  "Bearer a b", "a,b c", "caf\xC3\xA9", "a\x01"}) {
    EXPECT_EQ(api_key_from_header(with_header("Authorization", value)), std::nullopt) << value;
  }
  EXPECT_EQ(api_key_from_header(with_header("Authorization", std::string(1000, 'x'))), std::nullopt);
  EXPECT_EQ(api_key_from_header(HttpRequest{}), std::nullopt);
  HttpRequest twice = with_header("Authorization", "gsk_live_abc");
  twice.headers.emplace("authorization", "gsk_live_abc");
  EXPECT_EQ(api_key_from_header(twice), std::nullopt);
}

std::optional<std::string> idempotency_key(const std::string& value) {
  const auto read = parse_idempotency_key(with_header("idempotency-key", value));
  return read ? *read : "error: " + read.error();
}

// HTTP-32
TEST(IdempotencyKey, QuotedAndBareAreEqual) {
  EXPECT_EQ(idempotency_key("order-17"), "order-17");
  EXPECT_EQ(idempotency_key("\"order-17\""), "order-17");
  EXPECT_EQ(idempotency_key("  \"order 17\" "), "order 17");
  EXPECT_EQ(idempotency_key(R"("a\"b\\c")"), R"(a"b\c)");
  EXPECT_EQ(idempotency_key(std::string(255, 'k')), std::string(255, 'k'));
  EXPECT_EQ(idempotency_key("\"" + std::string(255, 'k') + "\""), std::string(255, 'k'));
  const auto none = parse_idempotency_key(HttpRequest{});
  EXPECT_EQ(none.value(), std::nullopt);
}

TEST(IdempotencyKey, RejectsInvalidKeys) {
  for (const std::string value : {"", " ", "\"\"", "\"", "\"a", "\"a\"b\"", "\"a\\\"", "\"a\\x\"",
                                  "\"a\"; p=1", "caf\xC3\xA9", "a\tb", "a\x7F"}) {
    EXPECT_THAT(idempotency_key(value).value_or("none"), testing::StartsWith("error: ")) << value;
  }
  EXPECT_THAT(*idempotency_key(std::string(256, 'k')), HasSubstr("256 characters; at most 255"));
  HttpRequest twice = with_header("Idempotency-Key", "a");
  twice.headers.emplace("Idempotency-Key", "a");
  EXPECT_FALSE(parse_idempotency_key(twice).has_value());
}

// HTTP-19
TEST(ContentType, AcceptsJsonOrNoType) {
  for (const std::string value : {"application/json", "Application/JSON", " application/json ; charset=UTF-8",
                                  "application/json;charset=\"utf-8\"", "",
                                  "application/json; charset=utf8; profile=\"a;charset=latin1\"",
                                  "application/json;", "application/json;;odd"}) {
    EXPECT_EQ(json_content_type_error(with_header("content-type", value)), std::nullopt) << value;
  }
  EXPECT_EQ(json_content_type_error(HttpRequest{}), std::nullopt);
  for (const std::string value :
       {"text/plain", "application/x-www-form-urlencoded", "application/ld+json", "text/json",
        "application/jsonp", "json", "application/json; charset=iso-8859-1",
        "application/json;a=\"\\\";\"; charset=\"utf-16\"", "application/json, text/plain", ";",
        "multipart/form-data; boundary=\"application/json\""}) {
    EXPECT_NE(json_content_type_error(with_header("Content-Type", value)), std::nullopt) << value;
  }
  EXPECT_THAT(*json_content_type_error(with_header("Content-Type", "a\xFF\n" + std::string(9999, 'x'))),
              HasSubstr("a??xxx"));
  HttpRequest twice = with_header("Content-Type", "application/json");
  twice.headers.emplace("Content-Type", "application/json");
  EXPECT_NE(json_content_type_error(twice), std::nullopt);
}

// READ-5
TEST(ContentType, OfASourceIsAnyNameOfJson) {
  for (const std::string value :
       {"application/json", "", "application/vnd.api+json", "Application/Ld+JSON; profile=\"x\"", "text/json",
        "text/x-json; charset=utf-8", "application/x-json", "application/json; charset=US-ASCII",
        "application/cloudevents+json;charset=\"utf-8\"; version=1"}) {
    EXPECT_EQ(source_json_content_type_error(with_header("Content-Type", value)), std::nullopt) << value;
  }
  for (const std::string value :
       {"application/+json", "text/vnd.api+json", "application/vnd.api+xml", "application/javascript",
        "text/plain", "application/vnd.api+json; charset=iso-8859-1", "text/json; charset=utf-16",
        "application/json-seq", "+json"}) {
    EXPECT_NE(source_json_content_type_error(with_header("Content-Type", value)), std::nullopt) << value;
  }
  EXPECT_NE(json_content_type_error(with_header("Content-Type", "application/json; charset=us-ascii")),
            std::nullopt)
      << "callers of the API";
}

TEST(ContentEncoding, AcceptsIdentityOrNoEncoding) {
  for (const std::string value : {"identity", " Identity ", "", "UTF-8"})
    EXPECT_EQ(content_encoding_error(with_header("content-encoding", value)), std::nullopt) << value;
  EXPECT_EQ(content_encoding_error(HttpRequest{}), std::nullopt);
  EXPECT_EQ(content_encoding_error(with_header("Content-Encoding", "gzip")),
            "The body's encoding is \"gzip\"; only identity is accepted.");
  EXPECT_NE(content_encoding_error(with_header("Content-Encoding", "identity, br")), std::nullopt);
  HttpRequest twice = with_header("Content-Encoding", "identity");
  twice.headers.emplace("Content-Encoding", "deflate");
  EXPECT_NE(content_encoding_error(twice), std::nullopt);
}

const std::vector<handlers::RecipientResponse> kTwoRecipients{
    {{11}, "rose@edge.example", "https://g.example/r/a", "https://g.example/d/a"},
    {{12}, "\"quoted\"@b.example", "https://g.example/r/b", "https://g.example/d/b"}};

// HTTP-1
TEST(GiftRequestResponses, EndpointAHasNoUrls) {
  const json body =
      tests::parse_json(handlers::created_gift_request_json(SendMode::email, {5}, kTwoRecipients, "[]"));
  EXPECT_EQ(body,
            tests::parse_json(R"({"message":"GiftRequest created successfully.","data":{"id":5,"recipients":[
      {"recipient_transaction_id":11,"email":"rose@edge.example","phone_number":""},
      {"recipient_transaction_id":12,"email":"\"quoted\"@b.example","phone_number":""}]},"warnings":[]})"));
}

// HTTP-2
TEST(GiftRequestResponses, EndpointBHasBothUrls) {
  const std::string warnings =
      handlers::warnings_json({{"recipients[0].x", "unknown_member", "\"x\" was ignored."}});
  const json body = tests::parse_json(
      handlers::created_gift_request_json(SendMode::urls, {9007199254740992}, kTwoRecipients, warnings));
  EXPECT_EQ(body.at("message"), "GiftRequest created successfully.");
  EXPECT_EQ(body.at("data").at("id"), 9007199254740992);
  EXPECT_EQ(
      body["data"]["recipients"][1],
      tests::parse_json(R"({"recipient_transaction_id":12,"email":"\"quoted\"@b.example","phone_number":"",
                "gift_redemption_url":"https://g.example/r/b","gift_donation_url":"https://g.example/d/b"})"));
  EXPECT_EQ(body.at("warnings"), tests::parse_json(warnings));
  EXPECT_EQ(body["warnings"][0].size(), 3u);
}

TEST(GiftRequestResponses, StateHasEveryTimeOrNull) {
  store::GiftRequest request;
  request.id = {5};
  request.gift = {7};
  request.created_at = {1'700'000'000'123};
  request.mode = SendMode::urls;
  store::RecipientTransaction recipient;
  recipient.id = {11};
  recipient.email = "rose@edge.example";
  recipient.status = Status::opened;
  recipient.times[Status::opened] = UtcMillis{1'700'000'060'000};
  EXPECT_EQ(tests::parse_json(handlers::gift_request_state_json(request, {recipient})),
            tests::parse_json(
                R"({"data":{"id":5,"gift_id":7,"created_at":"2023-11-14T22:13:20.123Z","utm_campaign_id":null,
      "reference":null,"delivery":"urls","state":"sent","recipients":[{"recipient_transaction_id":11,"email":"rose@edge.example","phone_number":"",
      "status":"opened","sent_at":null,"delivered_at":null,"undelivered_at":null,"opened_at":"2023-11-14T22:14:20.000Z",
      "redeemed_at":null,"donated_at":null,"expired_at":null,"refunded_at":null,"reference":null,"extended_until":null}]}})"));
  request.utm_campaign_id = "spring";
  const json body = tests::parse_json(handlers::gift_request_state_json(request, {}));
  EXPECT_EQ(body["data"]["utm_campaign_id"], "spring");
  EXPECT_TRUE(body["data"]["recipients"].is_array());
}

}  // namespace
}  // namespace giftsync::http
