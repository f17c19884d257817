// cli: what the commands for API keys and organization tokens share: finding one by its first characters, and
// replacing one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "cli/commands.h"
#include "schema/store/account/accounts.h"

namespace giftsync::cli {

/// True if `prefix`, the first characters that listings show, starts with `word`, with or without `kind`
/// ("gsk_live_"). False for an empty word.
bool has_prefix(std::string_view prefix, std::string_view kind, std::string_view word);

/// The key whose name or full text is `word`, or else that starts with `word`, with or without gsk_live_.
/// Prefers usable keys over others, and of those with the name the one that was not replaced. Otherwise the
/// error: no such key, or the keys that match. Pure.
tl::expected<store::ApiKeyOwner, std::string> find_api_key(const std::vector<store::ApiKeyOwner>& keys,
                                                           const std::string& word, UtcMillis now);

/// `--key` of listings of gifts, and the stored first characters of the key or organization token that it
/// names. Else the error.
void add_key_filter(Command& verb, std::string& word);
tl::expected<std::string, std::string> credential_prefix_of(CliContext& ctx, const std::string& word,
                                                            UtcMillis now);

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

/// Ends a replaced key or token after the grace period and prints when. One that was rotated before keeps its
/// earlier end. `store_end` stores the time; without a time the key or token is revoked.
void end_replaced(const Console& console, const std::string& prefix, std::optional<UtcMillis> expires_at,
                  const RotateOptions& options,
                  const std::function<void(std::optional<UtcMillis>)>& store_end);

}  // namespace giftsync::cli
