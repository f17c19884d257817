// Whether a credential is usable, as a table.
#include <gtest/gtest.h>

#include "sync/access/credential.h"

namespace giftsync::sync {
namespace {

constexpr UtcMillis kNow{1'795'264'267'000};
constexpr UtcMillis kLater{1'795'264'267'001};

store::ApiKeyOwner usable_key() {
  store::ApiKeyOwner caller;
  caller.key.scopes = {Scope::send};
  caller.account.plan = Plan::team;
  return caller;
}

// MSG-2
TEST(CredentialState, DependsOnRevocationAndExpiry) {
  store::Credential token;
  EXPECT_EQ(state_of(token, kNow), CredentialState::active);
  token.expires_at = kLater;
  EXPECT_EQ(state_of(token, kNow), CredentialState::expiring);
  EXPECT_TRUE(is_usable(state_of(token, kNow)));
  token.expires_at = kNow;
  EXPECT_EQ(state_of(token, kNow), CredentialState::expired);
  EXPECT_FALSE(is_usable(state_of(token, kNow)));
  token.revoked_at = kNow;
  EXPECT_EQ(to_word(state_of(token, kNow)), "revoked");
}

// HTTP-51
TEST(CredentialState, APausedOneIsUsableUntilItExpires) {
  store::Credential key;
  key.paused_at = kNow;
  EXPECT_EQ(to_word(state_of(key, kNow)), "paused");
  EXPECT_TRUE(is_usable(state_of(key, kNow)));
  key.expires_at = kLater;
  EXPECT_EQ(state_of(key, kNow), CredentialState::paused);
  EXPECT_EQ(state_of(key, kLater), CredentialState::expired);
  key.revoked_at = kNow;
  EXPECT_EQ(state_of(key, kNow), CredentialState::revoked);
}

// HTTP-25, HTTP-26, HTTP-28
TEST(ApiKeyAccess, FirstUnmetConditionDecides) {
  store::ApiKeyOwner caller = usable_key();
  EXPECT_EQ(access_of(caller, Scope::send, kNow), ApiKeyAccess::allowed);
  EXPECT_EQ(access_of(caller, Scope::approve, kNow), ApiKeyAccess::missing_scope);
  EXPECT_EQ(access_of(caller, std::nullopt, kNow), ApiKeyAccess::allowed);
  caller.account.plan = Plan::individual;
  EXPECT_EQ(access_of(caller, Scope::approve, kNow), ApiKeyAccess::plan_without_api_access);
  caller.account.active = false;
  EXPECT_EQ(access_of(caller, Scope::send, kNow), ApiKeyAccess::refused);
  caller = usable_key();
  caller.key.expires_at = kNow;
  EXPECT_EQ(access_of(caller, Scope::send, kNow), ApiKeyAccess::refused);
}

}  // namespace
}  // namespace giftsync::sync
