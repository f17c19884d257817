// cli: what the commands for API keys, organization tokens and message tokens share: finding one, revoking
// one and replacing one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "cli/commands.h"
#include "schema/store/account/accounts.h"
#include "schema/store/account/credentials.h"

namespace giftsync::cli {

/// Issues a first key to a new account, as `key create` without options, and prints it.
void issue_first_key(const Console& console, CliContext& ctx, const store::Account& account);

/// `--key` of listings of gifts, and the stored first characters of the key or organization token that it
/// names. Else the error.
Option* add_key_filter(Command& verb, std::string& word);
/// The key or token itself.
tl::expected<store::Credential, std::string> find_credential(CliContext& ctx, const std::string& word,
                                                             UtcMillis now);
tl::expected<std::string, std::string> credential_prefix_of(CliContext& ctx, const std::string& word,
                                                            UtcMillis now);

/// The key whose name or full text is `word`, or else that starts with `word`, with or without gsk_live_. A
/// name stands for all its usable keys: one that was replaced may still be in its grace period. Never empty;
/// else the error.
tl::expected<std::vector<store::Credential>, std::string> find_api_keys(store::Store& store,
                                                                        const std::string& word,
                                                                        UtcMillis now);
/// The unrevoked organization token that starts with `word`, with or without got_live_, or else the only
/// revoked one. Else the error.
tl::expected<store::Credential, std::string> find_token(store::Store& store, const std::string& word);

/// The options of both `revoke` verbs.
struct RevokeOptions {
  std::string of;  ///< the first characters of the key or token, or the key's name
  bool yes = false;
};

/// The options of both `rotate` verbs.
struct RotateOptions {
  std::string of;  ///< the old key's first characters or name, or the organization's name
  std::string grace = "24h";
  bool json = false;

  std::int64_t grace_millis() const;
};
void add_grace_option(Command& verb, RotateOptions& options, const std::string& about);

/// Ends a key or token that `successor` replaces after the grace period, or revokes it without one, and
/// prints when, and which approval rules do not know the successor. One that was rotated before keeps its
/// earlier end.
void end_replaced(const Console& console, CliContext& ctx, const store::Credential& replaced,
                  const std::string& successor, const RotateOptions& options);

/// The exit code of a `revoke` verb that has nothing to revoke, or no confirmation. `noun`: "key", "token".
std::optional<int> refuse_revocation(const Console& console, const store::Credential& credential,
                                     std::string_view noun, bool yes);
/// Revokes a key or token and prints so.
void revoke(const Console& console, store::Store& store, const store::Credential& credential);

}  // namespace giftsync::cli
