// tests/support: an API key in the store, for calls of handlers.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "schema/store/store.h"
#include "sync/access/credential.h"

namespace giftsync::tests {

/// The text of a new key of that account.
inline std::string make_api_key(store::Store& store, AccountId account, std::set<Scope> scopes,
                                bool is_test = false) {
  sync::NewCredential key = sync::make_credential(CredentialKind::api_key, {}, is_test);
  key.account = account;
  key.scopes = std::move(scopes);
  store.credentials.insert(key);
  return key.text;
}

/// The account with that address; a new one if there is none.
inline AccountId make_account(store::Store& store, const std::string& email,
                              std::optional<OrganizationId> organization = {}) {
  if (const auto known = store.accounts.find_by_email(email)) return known->id;
  store::Account account;
  account.email = email;
  account.name = email;
  account.organization = organization;
  return *store.accounts.create(account);
}

}  // namespace giftsync::tests
