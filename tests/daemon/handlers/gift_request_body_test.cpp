#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "daemon/handlers/gift_request_json.h"
#include "daemon/http/json_request.h"
#include "tests/support/json.h"

namespace giftsync::handlers {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using namespace std::string_literals;

json recipient_for_mail(const std::string& email = "rose@edge.example",
                        const std::string& message = "Thank you!") {
  return {{"email", email}, {"message", message}, {"gift_redeem_type", "email"}};
}

json body_for_mail() {
  return {{"gift_id", 7}, {"recipients", {recipient_for_mail()}}};
}

json body_for_urls() {
  return {{"gift_id", 7}, {"recipients", {{{"email", "rose@edge.example"}, {"message", "Thank you!"}}}}};
}

GiftRequestBody accepted(const std::string& body, SendMode mode = SendMode::email,
                         GiftRequestLimits limits = {}) {
  auto result = parse_gift_request_body(body, mode, limits);
  if (result) return *std::move(result);
  if (const auto* errors = std::get_if<http::FieldIssues>(&result.error())) {
    for (const http::FieldIssue& error : *errors)
      ADD_FAILURE() << error.field << ": " << error.code << ": " << error.message;
  } else {
    ADD_FAILURE() << std::get<JsonError>(result.error()).message;
  }
  return {};
}
GiftRequestBody accepted(const json& body, SendMode mode = SendMode::email, GiftRequestLimits limits = {}) {
  return accepted(body.dump(), mode, limits);
}

/// "field code" of each error, in order.
std::vector<std::string> codes_of(const http::FieldIssues& issues) {
  std::vector<std::string> codes;
  for (const http::FieldIssue& issue : issues) codes.push_back(issue.field + " " + issue.code);
  return codes;
}

http::FieldIssues refused(const std::string& body, SendMode mode = SendMode::email,
                          GiftRequestLimits limits = {}) {
  auto result = parse_gift_request_body(body, mode, limits);
  if (auto* errors = result ? nullptr : std::get_if<http::FieldIssues>(&result.error())) {
    EXPECT_FALSE(errors->empty());
    for (const http::FieldIssue& error : *errors) EXPECT_FALSE(error.message.empty()) << error.field;
    return std::move(*errors);
  }
  ADD_FAILURE() << "not refused by its content: " << body;
  return {};
}
http::FieldIssues refused(const json& body, SendMode mode = SendMode::email, GiftRequestLimits limits = {}) {
  return refused(body.dump(), mode, limits);
}

// HTTP-3, HTTP-23
TEST(GiftRequestBody, ReadsEndpointA) {
  json body = body_for_mail();
  body["recipients"].push_back({{"email", "  Ren\u00e9.Smith@Example.COM "},
                                {"first_name", " Ren\u00e9 "},
                                {"last_name", "Smith"},
                                {"message", " Dear Ren\u00e9,\r\nthank you.\nYours\r"},
                                {"gift_redeem_type", "email"}});
  body["recipients"][1]["email"] = "  Rene.Smith@Example.COM ";
  const GiftRequestBody read = accepted(body);
  EXPECT_EQ(read.gift, GiftId{7});
  EXPECT_EQ(read.utm_campaign_id, std::nullopt);
  ASSERT_EQ(read.recipients.size(), 2u);
  EXPECT_EQ(read.recipients[0].email, "rose@edge.example");
  EXPECT_EQ(read.recipients[0].first_name, "");
  EXPECT_EQ(read.recipients[1].email, "Rene.Smith@Example.COM");
  EXPECT_EQ(read.recipients[1].first_name, "Ren\u00e9");
  EXPECT_EQ(read.recipients[1].last_name, "Smith");
  EXPECT_EQ(read.recipients[1].message, " Dear Ren\u00e9,\r\nthank you.\nYours\r") << "exactly as sent";
  EXPECT_THAT(read.warnings.list(), IsEmpty());
}

// HTTP-3
TEST(GiftRequestBody, ReadsEndpointB) {
  json body = body_for_urls();
  body["utm_campaign_id"] = " spring-2026 ";
  const GiftRequestBody read = accepted(body, SendMode::urls);
  EXPECT_EQ(read.utm_campaign_id, "spring-2026");
  EXPECT_EQ(read.recipients.size(), 1u);
  EXPECT_THAT(read.warnings.list(), IsEmpty());
  body["utm_campaign_id"] = "";
  EXPECT_EQ(accepted(body, SendMode::urls).utm_campaign_id, std::nullopt);
  body["utm_campaign_id"] = 17;
  EXPECT_THAT(codes_of(refused(body, SendMode::urls)), ElementsAre("utm_campaign_id wrong_type"));
}

// HTTP-4, ARCH-9
TEST(GiftRequestBody, AcceptsIntegersAndDigitStringsAsGiftId) {
  const auto with_id = [](const std::string& id) {
    return R"({"gift_id":)" + id +
           R"(,"recipients":[{"email":"a@b.example","message":"m","gift_redeem_type":"email"}]})";
  };
  EXPECT_EQ(accepted(with_id("1")).gift.value, 1);
  EXPECT_EQ(accepted(with_id("\"7\"")).gift.value, 7);
  EXPECT_EQ(accepted(with_id("9007199254740992")).gift.value, kMaxId);
  EXPECT_EQ(accepted(with_id("\"9007199254740992\"")).gift.value, kMaxId);
  for (const std::string id : {"0",
                               "-1",
                               "-0",
                               "7.0",
                               "7e0",
                               "9007199254740993",
                               "9223372036854775808",
                               "18446744073709551615",
                               "\"\"",
                               "\" 7\"",
                               "\"7.0\"",
                               "\"-7\"",
                               "\"+7\"",
                               "\"0\"",
                               "\"7x\"",
                               "\"0x7\"",
                               "\"9007199254740993\"",
                               "\"99999999999999999999999\"",
                               "\"\xD9\xA7\"",
                               "true",
                               "[7]",
                               "{}"}) {
    EXPECT_THAT(codes_of(refused(with_id(id))), ElementsAre("gift_id invalid_gift_id")) << id;
  }
  EXPECT_THAT(codes_of(refused(with_id("null"))), ElementsAre("gift_id missing"));
  const std::string out_of_range = with_id("1e999");
  EXPECT_TRUE(
      std::holds_alternative<JsonError>(parse_gift_request_body(out_of_range, SendMode::email, {}).error()));
}

// HTTP-23
TEST(GiftRequestBody, ListsEveryErrorAtOnce) {
  const json body = {{"gift_id", "seven"},
                     {"recipients",
                      {{{"email", "no-at-sign"}, {"message", " \r\n\t"}, {"gift_redeem_type", "sms"}},
                       recipient_for_mail(),
                       {{"first_name", 5}, {"last_name", {"a"}}},
                       "rose@edge.example",
                       {{"email", nullptr}, {"message", false}, {"gift_redeem_type", 1}}}}};
  EXPECT_THAT(codes_of(refused(body)),
              ElementsAre("gift_id invalid_gift_id", "recipients[0].email invalid_email",
                          "recipients[0].message empty", "recipients[0].gift_redeem_type unsupported_value",
                          "recipients[2].email missing", "recipients[2].first_name wrong_type",
                          "recipients[2].last_name wrong_type", "recipients[2].message missing",
                          "recipients[2].gift_redeem_type missing", "recipients[3] wrong_type",
                          "recipients[4].email missing", "recipients[4].message wrong_type",
                          "recipients[4].gift_redeem_type unsupported_value"));
}

TEST(GiftRequestBody, RejectsBodiesOfAnotherShape) {
  for (const std::string body : {"[]", "null", "7", "\"text\"", "true"}) {
    EXPECT_THAT(codes_of(refused(body)), ElementsAre(" wrong_type")) << body;
  }
  EXPECT_THAT(codes_of(refused("{}"s)), ElementsAre("gift_id missing", "recipients missing"));
  for (const auto& recipients : {json::object(), json("rose@edge.example"), json(1)}) {
    EXPECT_THAT(codes_of(refused({{"gift_id", 1}, {"recipients", recipients}})),
                ElementsAre("recipients wrong_type"));
  }
  EXPECT_THAT(codes_of(refused({{"gift_id", 1}, {"recipients", json::array()}})),
              ElementsAre("recipients empty"));
  EXPECT_THAT(codes_of(refused({{"gift_id", 1}, {"recipients", nullptr}})),
              ElementsAre("recipients missing"));
}

TEST(GiftRequestBody, DistinguishesJsonErrors) {
  const auto result = parse_gift_request_body(R"({"gift_id":7,"gift_id":8})", SendMode::email, {});
  ASSERT_FALSE(result.has_value());
  ASSERT_TRUE(std::holds_alternative<JsonError>(result.error()));
  EXPECT_EQ(std::get<JsonError>(result.error()).code, "duplicate_key");
}

TEST(GiftRequestBody, SuggestsTheSimilarMember) {
  const json body = {{"giftId", 7}, {"Recipients", json::array()}};
  const http::FieldIssues errors = refused(body);
  EXPECT_THAT(codes_of(errors), ElementsAre("gift_id missing", "recipients missing"));
  EXPECT_THAT(errors[0].message, HasSubstr("Found \"giftId\": write it \"gift_id\"."));
  EXPECT_THAT(errors[1].message, HasSubstr("\"Recipients\""));
}

// HTTP-4
TEST(GiftRequestBody, NullCountsAsAbsent) {
  json body = body_for_urls();
  body["utm_campaign_id"] = nullptr;
  body["recipients"][0]["first_name"] = nullptr;
  body["recipients"][0]["last_name"] = nullptr;
  EXPECT_EQ(accepted(body, SendMode::urls).canonical, accepted(body_for_urls(), SendMode::urls).canonical);
}

// ARCH-10, HTTP-21
TEST(GiftRequestBody, LimitsCountCodePoints) {
  GiftRequestLimits limits;
  limits.max_message_code_points = 4;
  limits.max_name_code_points = 3;
  limits.max_recipients = 2;
  const auto with = [](const std::string& message, const std::string& name) {
    json body = body_for_mail();
    body["recipients"][0]["message"] = message;
    body["recipients"][0]["first_name"] = name;
    return body;
  };
  EXPECT_EQ(accepted(with("\U0001F600\U0001F600\u00e9x", "\u00e9\u00e9\u00e9"), SendMode::email, limits)
                .recipients.size(),
            1u);
  const http::FieldIssues errors = refused(with("12345", "abcd"), SendMode::email, limits);
  EXPECT_THAT(codes_of(errors),
              ElementsAre("recipients[0].first_name too_long", "recipients[0].message too_long"));
  EXPECT_THAT(errors[1].message, HasSubstr("5 characters; at most 4"));

  json body = with("m", "n");
  for (int i = 0; i < 2; ++i)
    body["recipients"].push_back(recipient_for_mail("p" + std::to_string(i) + "@b.example", "m"));
  EXPECT_THAT(codes_of(refused(body, SendMode::email, limits)), ElementsAre("recipients too_many"));
  for (std::size_t i = 0; i < 3; ++i) body["recipients"][i]["message"] = "12345";
  EXPECT_THAT(
      codes_of(refused(body, SendMode::email, limits)),
      ElementsAre("recipients too_many", "recipients[0].message too_long", "recipients[1].message too_long"))
      << "and no more than a list of allowed length could have";

  const GiftRequestLimits usual;
  json long_body = body_for_mail();
  for (std::size_t i = 0; i < usual.max_recipients; ++i) long_body["recipients"].push_back(json::object());
  const http::FieldIssues of_the_first = refused(long_body, SendMode::email, usual);
  EXPECT_THAT(of_the_first.back().field, StartsWith("recipients[99]."));
  EXPECT_THAT(of_the_first, SizeIs(1 + 3 * 99)) << "the response stays readable";
}

// SEC-2
TEST(GiftRequestBody, NamesMustBeOneLine) {
  json body = body_for_mail();
  for (const char* name : {"A\u202egpj.exe", "a\u009b31m", "a\u2028b"}) {
    body["recipients"][0]["first_name"] = name;
    EXPECT_THAT(codes_of(refused(body)), ElementsAre("recipients[0].first_name control_character"));
  }
  body["recipients"][0]["first_name"] = "Rose\r\nBcc: everyone@example.com";
  body["recipients"][0]["last_name"] = "\tGonzalez\n";
  EXPECT_THAT(codes_of(refused(body)), ElementsAre("recipients[0].first_name control_character"));
  body["recipients"][0].erase("first_name");
  EXPECT_EQ(accepted(body).recipients[0].last_name, "Gonzalez");
}

// HTTP-3, HTTP-24
TEST(GiftRequestBody, WarnsAboutUnknownMembers) {
  json body = body_for_mail();
  body["utm_campaign"] = "spring";
  body["recipients"][0]["nick.name"] = 1;
  const GiftRequestBody read = accepted(body);
  EXPECT_THAT(codes_of(read.warnings.list()),
              ElementsAre("recipients[0].nick.name unknown_member", "utm_campaign unknown_member"));
  EXPECT_EQ(read.utm_campaign_id, std::nullopt);
  json for_urls = body_for_urls();
  for_urls["recipients"][0]["gift_redeem_type"] = "sms";
  EXPECT_THAT(codes_of(accepted(for_urls, SendMode::urls).warnings.list()),
              ElementsAre("recipients[0].gift_redeem_type unknown_member"));
}

TEST(GiftRequestBody, LimitsTheNumberOfWarnings) {
  json body = body_for_mail();
  for (int i = 0; i < 500; ++i) body["extra" + std::to_string(i)] = i;
  const http::FieldIssues warnings = accepted(body).warnings.list();
  ASSERT_EQ(warnings.size(), http::kMaxWarnings);
  EXPECT_EQ(warnings.back().code, "more_warnings");
  EXPECT_THAT(warnings.back().message, HasSubstr("401 "));
}

// HTTP-6
TEST(GiftRequestBody, WarnsAboutDuplicateAddressesAndKeepsBoth) {
  json body = body_for_mail();
  body["recipients"].push_back(recipient_for_mail("pat@pyramid.example"));
  body["recipients"].push_back(recipient_for_mail(" ROSE@Edge.example"));
  const GiftRequestBody read = accepted(body);
  EXPECT_EQ(read.recipients.size(), 3u);
  EXPECT_THAT(codes_of(read.warnings.list()), ElementsAre("recipients[2].email duplicate_email"));
  EXPECT_THAT(read.warnings.list()[0].message, HasSubstr("recipients[0].email"));
}

json body_with_placeholders() {
  json body = body_for_mail();
  body["recipients"].push_back(recipient_for_mail("kim@edge.example"));
  body["recipients"][0]["message"] = "Dear {{first_name}}, thank you";
  body["recipients"][0]["first_name"] = "<FIRST_NAME>";
  body["recipients"][1]["last_name"] = "[Last Name]";
  return body;
}

const std::vector<std::string> kPlaceholdersOfThatBody{"recipients[0].first_name placeholder",
                                                       "recipients[0].message placeholder",
                                                       "recipients[1].last_name placeholder"};

// HTTP-24
TEST(GiftRequestBody, UnfilledPlaceholdersAreRefusedUnlessTheSettingsSayOtherwise) {
  const json body = body_with_placeholders();
  const http::FieldIssues errors = refused(body);
  EXPECT_EQ(codes_of(errors), kPlaceholdersOfThatBody);
  EXPECT_THAT(errors[1].message, AllOf(HasSubstr("\"{{first_name}}\""), HasSubstr("Fill it in"),
                                       HasSubstr("limits.placeholders: warn")));
}

// HTTP-24
TEST(GiftRequestBody, UnfilledPlaceholdersWarnIfTheSettingsSaySo) {
  GiftRequestLimits limits;
  limits.refuse_placeholders = false;
  const GiftRequestBody read = accepted(body_with_placeholders(), SendMode::email, limits);
  const http::FieldIssues warnings = read.warnings.list();
  EXPECT_EQ(codes_of(warnings), kPlaceholdersOfThatBody);
  EXPECT_THAT(warnings[1].message, AllOf(HasSubstr("\"{{first_name}}\""), HasSubstr("sent unchanged")));
  EXPECT_EQ(read.recipients[0].message, "Dear {{first_name}}, thank you");
}

// HTTP-33
TEST(GiftRequestBody, CanonicalTextIsEqualForEqualRequests) {
  const std::string one =
      R"({"gift_id":7,"recipients":[{"email":"rose@edge.example","message":"caf\u00e9","gift_redeem_type":"email"}]})";
  const std::string other =
      R"( {"recipients" : [ {"gift_redeem_type":"email","message":"café","first_name":null,
      "last_name":"","email":" rose@edge.example ","comment":1} ], "gift_id" : "7", "trace":{}} )";
  EXPECT_EQ(accepted(one).canonical, accepted(other).canonical);
}

// HTTP-58
TEST(GiftRequestBody, ReferencesAreReadOfTheRequestAndOfEachRecipient) {
  for (const SendMode mode : {SendMode::email, SendMode::urls}) {
    json body = mode == SendMode::email ? body_for_mail() : body_for_urls();
    body["reference"] = " order 17 ";
    body["utm_campaign_id"] = "autumn";
    body["recipients"][0]["reference"] = std::string(255, 'x');
    const GiftRequestBody read = accepted(body, mode);
    EXPECT_EQ(read.reference, "order 17");
    EXPECT_EQ(read.utm_campaign_id, "autumn");
    EXPECT_EQ(read.recipients[0].reference, std::string(255, 'x'));
    EXPECT_THAT(read.warnings.list(), IsEmpty());
    body["recipients"][0]["reference"] = std::string(256, 'x');
    body["reference"] = "a\nb";
    EXPECT_THAT(codes_of(refused(body, mode)),
                ElementsAre("recipients[0].reference too_long", "reference control_character"));
  }
}

// HTTP-33, HTTP-58
TEST(GiftRequestBody, CanonicalTextStaysWithoutNewMembersAndSaysWhatFormerVersionsRecognised) {
  const GiftRequestBody plain = accepted(body_for_mail());
  EXPECT_EQ(plain.canonical, "gift request 1;7;1;0:,17:rose@edge.example,0:,0:,10:Thank you!,");
  EXPECT_EQ(plain.former_canonical, "");
  const std::vector<std::function<void(json&)>> changes{
      [](json& body) { body["reference"] = "17"; }, [](json& body) { body["utm_campaign_id"] = "autumn"; },
      [](json& body) { body["recipients"][0]["reference"] = "17"; }};
  std::vector<std::string> texts{plain.canonical};
  for (const auto& change : changes) {
    json body = body_for_mail();
    change(body);
    const GiftRequestBody read = accepted(body);
    EXPECT_EQ(read.former_canonical, plain.canonical) << body;
    texts.push_back(read.canonical);
  }
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(std::adjacent_find(texts.begin(), texts.end()), texts.end());
  json for_urls = body_for_urls();
  for_urls["utm_campaign_id"] = "autumn";
  const std::string former = accepted(for_urls, SendMode::urls).canonical;
  EXPECT_EQ(accepted(for_urls, SendMode::urls).former_canonical, "") << "endpoint B took it before";
  for_urls["reference"] = "17";
  EXPECT_EQ(accepted(for_urls, SendMode::urls).former_canonical, former);
}

// HTTP-8, HTTP-33
TEST(GiftRequestBody, TheCrmsSendingInterfaceTakesACampaignAndRecognisesWhatItAskedForBefore) {
  const auto read = [](const json& body) {
    auto parsed = parse_crm_gift_request_body(body.dump(), {});
    EXPECT_TRUE(parsed.has_value());
    return std::move(parsed->gift);
  };
  json body = body_for_mail();
  body["sender"] = {{"user_id", "005A"}};
  const GiftRequestBody plain = read(body);
  EXPECT_EQ(plain.canonical, "gift request 1;7;1;0:,4:005A,0:,17:rose@edge.example,0:,0:,10:Thank you!,");
  EXPECT_EQ(plain.former_canonical, "");
  body["utm_campaign_id"] = " autumn ";
  const GiftRequestBody with_campaign = read(body);
  EXPECT_EQ(with_campaign.utm_campaign_id, "autumn");
  EXPECT_THAT(with_campaign.warnings.list(), IsEmpty());
  EXPECT_NE(with_campaign.canonical, plain.canonical);
  EXPECT_EQ(with_campaign.former_canonical, plain.canonical);
  body["utm_campaign_id"] = std::string(256, 'x');
  EXPECT_FALSE(parse_crm_gift_request_body(body.dump(), {}).has_value());
}

// HTTP-33
TEST(GiftRequestBody, CanonicalTextDiffersForDifferentRequests) {
  std::vector<std::string> texts{accepted(body_for_urls(), SendMode::urls).canonical};
  const auto add = [&texts](const std::function<void(json&)>& change) {
    json body = body_for_urls();
    change(body);
    texts.push_back(accepted(body, SendMode::urls).canonical);
  };
  add([](json& body) { body["gift_id"] = 8; });
  add([](json& body) { body["utm_campaign_id"] = "x"; });
  add([](json& body) { body["recipients"][0]["email"] = "Rose@edge.example"; });
  add([](json& body) { body["recipients"][0]["message"] = "Thank you! "; });
  add([](json& body) { body["recipients"][0]["first_name"] = "ab"; });
  add([](json& body) { body["recipients"][0]["last_name"] = "ab"; });
  add([](json& body) { body["recipients"][0].update({{"first_name", "a"}, {"last_name", "b"}}); });
  add([](json& body) { body["recipients"][0]["first_name"] = "ab,0:"; });
  add([](json& body) { body["recipients"].push_back(body["recipients"][0]); });
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(std::adjacent_find(texts.begin(), texts.end()), texts.end());
}

}  // namespace
}  // namespace giftsync::handlers
