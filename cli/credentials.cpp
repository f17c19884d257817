#include "cli/credentials.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/duration.h"
#include "cli/text_table.h"
#include "platform/quoted_text.h"
#include "sync/api_key.h"
#include "sync/credential_state.h"

namespace giftsync::cli {
namespace {

constexpr std::string_view kKeyPrefix = "gsk_live_";

bool matches_prefix(const schema::store::ApiKey& key, const std::string& word) {
  if (sync::is_api_key(word)) return key.hash == sync::api_key_hash(word);
  return has_prefix(key.prefix, kKeyPrefix, word);
}

std::string ambiguous(const std::vector<schema::store::ApiKeyOwner>& found, const std::string& word,
                      bool is_by_name) {
  std::string prefixes;
  for (const schema::store::ApiKeyOwner& holder : found)
    prefixes.append(prefixes.empty() ? "" : ", ").append(holder.key.prefix);
  return fmt::format("{} matches {} keys: {}; {}", platform::in_quotes(word), found.size(), prefixes,
                     is_by_name ? "give the first characters of one of them" : "give more characters");
}

}  // namespace

bool has_prefix(std::string_view prefix, std::string_view kind, std::string_view word) {
  if (word.empty()) return false;
  return prefix.starts_with(word) ||
         (prefix.starts_with(kind) && prefix.substr(kind.size()).starts_with(word));
}

tl::expected<schema::store::ApiKeyOwner, std::string> find_api_key(
    const std::vector<schema::store::ApiKeyOwner>& keys, const std::string& word, platform::UtcMillis now) {
  const auto is_usable = [now](const schema::store::ApiKeyOwner& holder) {
    return sync::is_usable(sync::state_of(holder.key, now));
  };
  std::vector<schema::store::ApiKeyOwner> found;
  for (const schema::store::ApiKeyOwner& holder : keys) {
    if (!word.empty() && holder.key.name == word) found.push_back(holder);
  }
  const bool is_by_name = !found.empty();
  for (const schema::store::ApiKeyOwner& holder : keys) {
    if (!is_by_name && matches_prefix(holder.key, word)) found.push_back(holder);
  }
  if (std::any_of(found.begin(), found.end(), is_usable)) {
    found.erase(
        std::remove_if(found.begin(), found.end(), [&](const auto& holder) { return !is_usable(holder); }),
        found.end());
  }
  if (is_by_name && found.size() > 1 && is_usable(found.front())) {
    std::vector<schema::store::ApiKeyOwner> current = found;
    std::erase_if(current, [](const auto& holder) { return holder.key.expires_at.has_value(); });
    if (current.size() == 1) return current.front();
  }
  if (found.size() == 1) return found.front();
  if (!found.empty()) return tl::unexpected(ambiguous(found, word, is_by_name));
  // A whole key is a secret and must not be printed.
  const std::string shown = sync::is_api_key(word) ? "this" : platform::in_quotes(word);
  return tl::unexpected(
      fmt::format("no key begins with {} or has that name; \"giftsyncctl key list\" shows them", shown));
}

void add_key_filter(CLI::App& verb, std::string& word) {
  verb.add_option("--key", word,
                  "Only gifts asked for with this API key or organization token: its first characters or the "
                  "key's name")
      ->option_text("KEY");
}

tl::expected<std::string, std::string> credential_prefix_of(CliContext& ctx, const std::string& word,
                                                            platform::UtcMillis now) {
  for (const schema::store::OrganizationToken& token : ctx.store.organizations.list_tokens()) {
    if (token.prefix == sync::public_prefix(word)) return token.prefix;
  }
  const auto found = find_api_key(ctx.store.accounts.list_keys(), word, now);
  if (!found) return tl::unexpected(found.error());
  return found->key.prefix;
}

std::int64_t RotateOptions::grace_millis() const {
  return *parse_duration(grace);
}

void add_grace_option(CLI::App& verb, RotateOptions& options, const std::string& about) {
  verb.add_option("--grace", options.grace, about)
      ->option_text("TIME")
      ->check(CLI::Validator(duration_fault, ""));
}

void end_replaced(const Console& console, const std::string& prefix,
                  std::optional<platform::UtcMillis> expires_at, const RotateOptions& options,
                  const std::function<void(std::optional<platform::UtcMillis>)>& store_end) {
  if (options.grace_millis() == 0) {
    store_end(std::nullopt);
    console.info(fmt::format("{} is revoked.", prefix));
    return;
  }
  const platform::UtcMillis latest = console.now() + options.grace_millis();
  const platform::UtcMillis end = std::min(expires_at.value_or(latest), latest);
  store_end(end);
  console.info(fmt::format("{} works until {} UTC.", prefix, minute_text(end)));
}

}  // namespace giftsync::cli
