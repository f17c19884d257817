#include "cli/api_key_lookup.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/quoted_text.h"
#include "sync/api_key.h"
#include "sync/credential_state.h"

namespace giftsync::cli {
namespace {

constexpr std::string_view kKeyPrefix = "gsk_live_";

bool matches_prefix(const schema::store::ApiKey& key, const std::string& word) {
  if (sync::is_api_key(word)) return key.hash == sync::api_key_hash(word);
  const std::string_view prefix = key.prefix;
  return prefix.starts_with(word) ||
         (prefix.starts_with(kKeyPrefix) && prefix.substr(kKeyPrefix.size()).starts_with(word));
}

std::string ambiguous(const std::vector<schema::store::ApiKeyOwner>& found, const std::string& word) {
  std::string prefixes;
  for (const schema::store::ApiKeyOwner& holder : found)
    prefixes.append(prefixes.empty() ? "" : ", ").append(holder.key.prefix);
  return fmt::format("{} matches {} keys: {}; give more characters", platform::in_quotes(word), found.size(),
                     prefixes);
}

}  // namespace

std::variant<schema::store::ApiKeyOwner, std::string> find_api_key(
    const std::vector<schema::store::ApiKeyOwner>& keys, const std::string& word, platform::UtcMillis now) {
  const auto is_usable = [now](const schema::store::ApiKeyOwner& holder) {
    return sync::is_usable(sync::state_of(holder.key, now));
  };
  std::vector<schema::store::ApiKeyOwner> found;
  for (const schema::store::ApiKeyOwner& holder : keys) {
    if (!word.empty() && matches_prefix(holder.key, word)) found.push_back(holder);
  }
  if (std::any_of(found.begin(), found.end(), is_usable)) {
    found.erase(
        std::remove_if(found.begin(), found.end(), [&](const auto& holder) { return !is_usable(holder); }),
        found.end());
  }
  if (found.size() == 1) return found.front();
  if (!found.empty()) return ambiguous(found, word);
  // A whole key is a secret and must not be printed.
  const std::string shown = sync::is_api_key(word) ? "this" : platform::in_quotes(word);
  return fmt::format("no key begins with {}; \"giftsyncctl key list\" shows them", shown);
}

}  // namespace giftsync::cli
