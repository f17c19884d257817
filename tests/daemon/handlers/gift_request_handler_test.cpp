// Endpoints A and B with a real store.
#include "daemon/handlers/gift_request_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "daemon/group_commit_writer.h"
#include "tests/support/api_key.h"
#include "tests/support/json.h"
#include "tests/support/temporary_database.h"
#include "tests/support/temporary_store.h"

namespace giftsync::handlers {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GiftRequestHandlerTest : public ::testing::Test {
 protected:
  GiftRequestHandlerTest() : ana_(new_key("ana@example.com")) {
    std::array<store::GiftItem, 2> items;
    items[0].id = {7};
    items[0].name = "Coffee";
    items[1].id = {8};
    items[1].name = "Mug";
    store_->catalogue.import(items);
  }

  std::string new_key(const std::string& address) {
    return tests::make_api_key(*store_, tests::make_account(*store_, address), {Scope::send});
  }

  static json recipient(const std::string& email = "rose@example.com", const std::string& message = "Hi") {
    return {{"email", email}, {"message", message}, {"gift_redeem_type", "email"}};
  }

  http::HttpResponse call(SendMode mode, std::vector<json> recipients,
                          const std::string& idempotency_key = {}) {
    if (mode == SendMode::urls)
      for (json& one : recipients) one.erase("gift_redeem_type");
    http::HttpRequest request;
    request.method = "POST";
    request.body = json{{"gift_id", gift_}, {"recipients", std::move(recipients)}}.dump();
    request.headers.emplace("Authorization", key_);
    if (!idempotency_key.empty()) request.headers.emplace("Idempotency-Key", idempotency_key);
    return (mode == SendMode::email ? handler_.send_by_email(request, {}) : handler_.create_urls(request, {}))
        .wait();
  }
  json created(SendMode mode, std::vector<json> recipients, const std::string& idempotency_key = {}) {
    const http::HttpResponse response = call(mode, std::move(recipients), idempotency_key);
    EXPECT_EQ(response.status, mode == SendMode::email ? 201 : 200) << response.body;
    return tests::parse_json(response.body);
  }
  /// "field code" of each.
  static std::vector<std::string> codes_of(const json& issues) {
    std::vector<std::string> codes;
    for (const json& issue : issues)
      codes.push_back(issue["field"].get<std::string>() + " " + issue["code"].get<std::string>());
    return codes;
  }

  tests::TemporaryStore store_;
  UtcMillis now_{1'795'264'267'000};
  const Clock clock_ = [this] { return now_; };
  const sync::LinkSigner signer_{std::string(32, 's')};
  sync::GiftLinks links_{"http://127.0.0.1", signer_};
  daemon::GroupCommitWriter writer_{store_->urgent_writes};
  http::Authenticator authenticator_{store_->credentials, clock_, 0};
  sync::SendingPolicy policy_{store_->do_not_send, {}, clock_};
  int created_ = 0;
  GiftRequestHandler handler_{*store_,
                              writer_,
                              authenticator_,
                              links_,
                              policy_,
                              {{}, 1 << 20, clock_},
                              [this](const auto&, const auto&) { ++created_; }};
  std::string ana_;
  std::string key_ = ana_;
  int gift_ = 7;
};

// HTTP-33, HTTP-58
TEST_F(GiftRequestHandlerTest, ARepeatOfWhatAFormerVersionCreatedGetsItsFirstAnswer) {
  json with = recipient();
  with["reference"] = "order 17";
  for (const SendMode mode : {SendMode::email, SendMode::urls}) {
    const http::HttpResponse first = call(mode, {recipient()}, "k");
    ASSERT_LT(first.status, 300) << first.body;
    EXPECT_EQ(call(mode, {with}, "k").status, 422) << "this version knows references";
    tests::run_sql(store_.address(), "UPDATE gift_request_idempotency SET is_former = 1");
    EXPECT_EQ(call(mode, {with}, "k").body, first.body);
    EXPECT_EQ(call(mode, {recipient()}, "k").body, first.body);
    EXPECT_EQ(call(mode, {recipient("kim@example.com")}, "k").status, 422);
  }
  EXPECT_EQ(created_, 2);
}

// HTTP-24
TEST_F(GiftRequestHandlerTest, PlaceholdersAreRefusedByDefaultAndAllListed) {
  json first = recipient("rose@example.com", "Dear {{first_name}}");
  first["first_name"] = "[First Name]";
  json second = recipient("kim@example.com");
  second["last_name"] = "*|LNAME|*";
  for (const SendMode mode : {SendMode::email, SendMode::urls}) {
    const http::HttpResponse response = call(mode, {first, second});
    EXPECT_EQ(response.status, 400) << response.body;
    EXPECT_THAT(codes_of(tests::parse_json(response.body)["errors"]),
                ElementsAre("recipients[0].first_name placeholder", "recipients[0].message placeholder",
                            "recipients[1].last_name placeholder"));
  }
  EXPECT_EQ(created_, 0);
}

// HTTP-52
TEST_F(GiftRequestHandlerTest, ASecondRequestForTheSameGiftWarns) {
  for (const SendMode mode : {SendMode::email, SendMode::urls}) {
    const std::string message(to_word(mode));
    const json first = created(mode, {recipient("rose@example.com", message)});
    EXPECT_THAT(first["warnings"], IsEmpty());
    now_ = now_ + 12'000;
    const json second =
        created(mode, {recipient("kim@example.com", message), recipient("Rose@example.com", message)});
    ASSERT_THAT(codes_of(second["warnings"]), ElementsAre("recipients[1].email possible_duplicate"));
    EXPECT_THAT(second["warnings"][0]["message"].get<std::string>(),
                AllOf(HasSubstr("Gift request " + first["data"]["id"].dump() + " "), HasSubstr("12 s ago"),
                      HasSubstr("Idempotency-Key")));
    now_ = now_ + 61'000;
    EXPECT_THAT(created(mode, {recipient("rose@example.com", message)})["warnings"], IsEmpty());
  }
}

// covers: OPS-38
TEST_F(GiftRequestHandlerTest, NoUrlsAreMadeOfAnEndedSecret) {
  links_.end_links(now_ + 1);
  created(SendMode::urls, {recipient()});
  now_ = now_ + 1;
  EXPECT_EQ(call(SendMode::urls, {recipient("kim@example.com")}).status, 503);
  EXPECT_EQ(created_, 1);
  created(SendMode::email, {recipient("kim@example.com")});
}

// HTTP-52
TEST_F(GiftRequestHandlerTest, AnotherGiftDoesNotWarn) {
  created(SendMode::email, {recipient()});
  EXPECT_THAT(created(SendMode::email, {recipient("kim@example.com")})["warnings"], IsEmpty());
  EXPECT_THAT(created(SendMode::email, {recipient("rose@example.com", "Hello")})["warnings"], IsEmpty());
  gift_ = 8;
  EXPECT_THAT(created(SendMode::email, {recipient()})["warnings"], IsEmpty());
  gift_ = 7;
  key_ = new_key("bob@example.com");
  EXPECT_THAT(created(SendMode::email, {recipient()})["warnings"], IsEmpty());
}

// HTTP-52
TEST_F(GiftRequestHandlerTest, ARequestWithAKeyNeitherWarnsNorIsRemembered) {
  created(SendMode::email, {recipient()}, "k1");
  EXPECT_THAT(created(SendMode::email, {recipient()})["warnings"], IsEmpty())
      << "the first was not remembered";
  EXPECT_THAT(created(SendMode::email, {recipient()}, "k2")["warnings"], IsEmpty());
  EXPECT_THAT(codes_of(created(SendMode::email, {recipient()})["warnings"]),
              ElementsAre("recipients[0].email possible_duplicate"));
}

// HTTP-52
TEST_F(GiftRequestHandlerTest, ARefusedRequestIsNotRemembered) {
  EXPECT_EQ(call(SendMode::email, {recipient(), recipient("no-at-sign")}).status, 400);
  EXPECT_THAT(created(SendMode::email, {recipient()})["warnings"], IsEmpty());
}

// HTTP-52, HTTP-6
TEST_F(GiftRequestHandlerTest, WarningsOfDuplicatesFollowThoseOfTheBodyAndCountWithThem) {
  std::vector<json> recipients;
  for (int i = 0; i < 150; ++i) recipients.push_back(recipient("p" + std::to_string(i) + "@example.com"));
  recipients[1] = recipient("p0@example.com");
  EXPECT_THAT(codes_of(created(SendMode::email, recipients)["warnings"]),
              ElementsAre("recipients[1].email duplicate_email"));
  const json warnings = created(SendMode::email, recipients)["warnings"];
  ASSERT_EQ(warnings.size(), http::kMaxWarnings);
  EXPECT_EQ(warnings[0]["code"], "duplicate_email");
  EXPECT_EQ(warnings[1]["code"], "possible_duplicate");
  // 1 and 149 of them, of which 99 are listed.
  EXPECT_EQ(warnings.back()["message"], "51 more warnings are not listed.");
}

// covers: GUARD-19
TEST_F(GiftRequestHandlerTest, ARecipientWhoGotManyGiftsLatelyIsRefusedWithASentenceThatSaysWhen) {
  store_->gifts.set_frequency_rule({.gifts = 1, .days = 30});
  created(SendMode::email, {recipient("kim@example.com")});
  for (const SendMode mode : {SendMode::email, SendMode::urls}) {
    const http::HttpResponse response = call(mode, {recipient(), recipient("kim@example.com")}, "key");
    EXPECT_EQ(response.status, 403) << response.body;
    const json problem = tests::parse_json(response.body);
    EXPECT_EQ(problem["code"], "sending_refused");
    EXPECT_THAT(codes_of(problem["errors"]), ElementsAre("recipients[1].email recent_gift"));
    EXPECT_EQ(problem["errors"][0]["message"],
              "kim@example.com got 1 gift in the last 30 days (the newest on 2026-11-21); the limit is 1.");
    EXPECT_EQ(problem["available_at"], to_rfc3339(now_ + 30 * kDayMillis));
  }
  EXPECT_EQ(created_, 1);
}

// covers: GUARD-19
TEST_F(GiftRequestHandlerTest, WithOnExcessWarnTheGiftIsMadeAndARepeatHasTheSameWarning) {
  store_->gifts.set_frequency_rule({.gifts = 1, .days = 30, .refuses = false});
  created(SendMode::email, {recipient("kim@example.com")});
  EXPECT_THAT(codes_of(created(SendMode::email, {recipient("kim@example.com")})["warnings"]),
              ElementsAre("recipients[0].email recent_gift", "recipients[0].email possible_duplicate"));
  const std::vector<json> twice{recipient(), recipient("kim@example.com")};
  const json first = created(SendMode::email, twice, "key");
  EXPECT_THAT(codes_of(first["warnings"]), ElementsAre("recipients[1].email recent_gift"));
  EXPECT_EQ(created(SendMode::email, twice, "key"), first);
}

}  // namespace
}  // namespace giftsync::handlers
