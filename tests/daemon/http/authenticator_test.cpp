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

}  // namespace
}  // namespace giftsync::http
