// Calls with an API key whose state changes, with a real store.
#include "daemon/http/authenticator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/access/credential.h"
#include "tests/support/json.h"
#include "tests/support/temporary_store.h"

namespace giftsync::http {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AuthenticatorTest : public ::testing::Test {
 protected:
  AuthenticatorTest() {
    store::Account account;
    account.email = "ana@example.com";
    account.name = "Ana";
    account.plan = Plan::team;
    key_.account = *store_->accounts.create(account);
    key_.scopes = {Scope::send, Scope::read, Scope::approve};
    key_.id = store_->credentials.insert(key_);
  }
  HttpResponse call(Scope needed) {
    HttpRequest request;
    request.headers.emplace("Authorization", key_.text);
    return authenticator_
        .handle_authenticated(request, needed,
                              [](const store::ApiKeyOwner&) { return Reply(HttpResponse{}); })
        .wait();
  }

  tests::TemporaryStore store_;
  UtcMillis now_{1'795'264'267'000};
  sync::NewCredential key_ = sync::make_credential(CredentialKind::api_key);
  Authenticator authenticator_{store_->credentials, [this] { return now_; }, 0};
};

// HTTP-51
TEST_F(AuthenticatorTest, APausedKeySendsNothingWithinASecondAndReadsOn) {
  EXPECT_EQ(call(Scope::send).status, 200);
  ASSERT_TRUE(store_->credentials.pause(key_, "runaway flow", now_));
  now_ = now_ + kSecondMillis;
  const HttpResponse refused = call(Scope::send);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.caller, key_.prefix);
  EXPECT_EQ(tests::parse_json(refused.body).at("code"), "key_paused");
  EXPECT_THAT(refused.body,
              AllOf(HasSubstr("is paused since 2026-11-21 12:31 UTC"), Not(HasSubstr("runaway"))));
  EXPECT_EQ(call(Scope::read).status, 200);
  EXPECT_EQ(call(Scope::approve).status, 200);
  ASSERT_TRUE(store_->credentials.release(key_));
  now_ = now_ + kSecondMillis;
  EXPECT_EQ(call(Scope::send).status, 200);
}

// covers: HTTP-25
TEST_F(AuthenticatorTest, ACredentialOfAnotherKindIsCalledSo) {
  const std::string organization = sync::make_credential(CredentialKind::organization_token).text;
  const std::string message = sync::make_credential(CredentialKind::message_token).text;
  const std::string needs_key = "; this address takes an API key (gsk_live_...) in Authorization. ";
  const std::string needs_token =
      "; this address takes an organization token (got_live_...) in Organization-Token.";
  const std::string wrong_key = "The API key is wrong or not active. ";
  const std::string of_organization = "Found an organization token (got_live_...) in ";
  struct Row {
    std::string authorization;
    std::string token;
    std::string code;
    std::string says;   ///< of an address that takes an API key
    std::string other;  ///< of one that takes an organization's token
  };
  const std::string given_key = "Found an API key (gsk_live_...) in Authorization" + needs_token;
  const std::vector<Row> rows{
      {"Bearer " + organization, "", "refused_api_key", of_organization + "Authorization" + needs_key,
       of_organization + "Authorization" + needs_token},
      {"got_live_cut", "", "refused_api_key", of_organization + "Authorization" + needs_key,
       of_organization + "Authorization" + needs_token},
      {message, "", "refused_api_key", "Found a message token (gmt_live_...) in Authorization" + needs_key,
       "Found a message token (gmt_live_...) in Authorization" + needs_token},
      {"", organization, "missing_api_key", of_organization + "Organization-Token" + needs_key, ""},
      {"", " " + key_.text, "missing_api_key",
       "Found an API key (gsk_live_...) in Organization-Token" + needs_key,
       "Found an API key (gsk_live_...) in Organization-Token" + needs_token},
      {"", "", "missing_api_key", "No API key was found. ", ""},
      {"gsk_live_cut", "", "refused_api_key", wrong_key, given_key},
      {"gsk_test_cut", organization, "refused_api_key", wrong_key, ""},
      {sync::make_credential(CredentialKind::api_key).text, "", "refused_api_key", wrong_key, given_key},
      {"another", "", "refused_api_key", wrong_key, ""}};
  for (const Row& row : rows) {
    HttpRequest request;
    if (!row.authorization.empty()) request.headers.emplace("Authorization", row.authorization);
    if (!row.token.empty()) request.headers.emplace("Organization-Token", row.token);
    const auto refused = tests::parse_json(
        authenticator_
            .handle_authenticated(request, Scope::send,
                                  [](const store::ApiKeyOwner&) { return Reply(HttpResponse{}); })
            .wait()
            .body);
    const std::string where = row.authorization + " " + row.token;
    EXPECT_EQ(refused.at("code"), row.code) << where;
    EXPECT_THAT(refused.at("message"), testing::StartsWith(row.says)) << where;
    EXPECT_EQ(other_credential(request, CredentialKind::organization_token), row.other) << where;
    for (const std::string& secret : {organization.substr(9), message.substr(9), key_.text.substr(9)})
      EXPECT_THAT(refused.dump(), Not(HasSubstr(secret)));
  }
}

}  // namespace
}  // namespace giftsync::http
