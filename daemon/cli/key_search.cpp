#include "daemon/cli/key_search.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/crypto/api_key.h"
#include "daemon/settings/settings_fault.h"

namespace giftsync::daemon {
namespace {

constexpr std::string_view kKeyStart = "gsk_live_";

bool begins(const schema::ApiKey& key, const std::string& word) {
  if (is_api_key(word)) return key.hash == api_key_hash(word);
  const std::string_view prefix = key.prefix;
  return prefix.starts_with(word) ||
         (prefix.starts_with(kKeyStart) && prefix.substr(kKeyStart.size()).starts_with(word));
}

std::string ambiguous(const std::vector<schema::KeyHolder>& found, const std::string& word) {
  std::string prefixes;
  for (const schema::KeyHolder& holder : found)
    prefixes.append(prefixes.empty() ? "" : ", ").append(holder.key.prefix);
  return fmt::format("{} may mean {} keys: {}; give more characters", in_quotes(word), found.size(),
                     prefixes);
}

}  // namespace

std::string key_state(const schema::ApiKey& key, schema::UtcMillis now) {
  if (key.revoked_at) return "revoked";
  if (!key.expires_at) return "active";
  return *key.expires_at <= now ? "expired" : "ending";
}

std::variant<schema::KeyHolder, std::string> find_key(const std::vector<schema::KeyHolder>& keys,
                                                      const std::string& word, schema::UtcMillis now) {
  const auto works = [now](const schema::KeyHolder& holder) {
    const std::string state = key_state(holder.key, now);
    return state == "active" || state == "ending";
  };
  std::vector<schema::KeyHolder> found;
  for (const schema::KeyHolder& holder : keys) {
    if (!word.empty() && begins(holder.key, word)) found.push_back(holder);
  }
  if (std::any_of(found.begin(), found.end(), works)) {
    found.erase(
        std::remove_if(found.begin(), found.end(), [&](const auto& holder) { return !works(holder); }),
        found.end());
  }
  if (found.size() == 1) return found.front();
  if (!found.empty()) return ambiguous(found, word);
  // A whole key is a secret and is not repeated.
  const std::string shown = is_api_key(word) ? "this" : in_quotes(word);
  return fmt::format("no key begins with {}; \"giftsyncctl key list\" shows them", shown);
}

}  // namespace giftsync::daemon
