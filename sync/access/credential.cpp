#include "sync/access/credential.h"

#include <cstdint>

#include "platform/digest.h"
#include "platform/text.h"
#include "schema/enums.h"

namespace giftsync::sync {
namespace {

struct CredentialForm {
  std::string_view prefix;
  std::size_t random_digits;
};
constexpr CredentialForm kApiKey{"gsk_live_", 32};
constexpr CredentialForm kOrganizationToken{"got_live_", 32};
/// Each digit has 5.95 bits, and listings show the first seven.
constexpr CredentialForm kMessageToken{"gmt_live_", 50};
constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kChecksumDigits = 6;
constexpr std::size_t kPublicPrefixCharacters = 16;

/// Bytes from 248 on would make the first digits more likely than the others.
std::string random_digits(std::size_t count) {
  constexpr unsigned kUnbiasedBytes = 256 / 62 * 62;
  std::string digits;
  while (digits.size() < count) {
    for (const char c : random_bytes(count - digits.size())) {
      const unsigned byte = static_cast<unsigned char>(c);
      if (byte < kUnbiasedBytes) digits += kDigits[byte % kDigits.size()];
    }
  }
  return digits;
}

/// The first 32 bits of the SHA-256, which always fit into six digits.
std::string checksum(std::string_view text) {
  const std::string digest = sha256(text);
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(digest[i]);
  std::string digits(kChecksumDigits, kDigits.front());
  for (std::size_t i = kChecksumDigits; i-- > 0; number /= 62) digits[i] = kDigits[number % 62];
  return digits;
}

NewCredential make_credential(const CredentialForm& form) {
  std::string text = std::string(form.prefix) + random_digits(form.random_digits);
  text += checksum(text);
  return {text, public_prefix(text), api_key_hash(text)};
}

bool is_well_formed(const CredentialForm& form, std::string_view text) {
  if (text.size() != form.prefix.size() + form.random_digits + kChecksumDigits ||
      !text.starts_with(form.prefix))
    return false;
  const std::string_view digits = text.substr(form.prefix.size());
  if (digits.find_first_not_of(kDigits) != std::string_view::npos) return false;
  return checksum(text.substr(0, text.size() - kChecksumDigits)) ==
         text.substr(text.size() - kChecksumDigits);
}

}  // namespace

NewCredential make_api_key() {
  return make_credential(kApiKey);
}

NewCredential make_organization_token() {
  return make_credential(kOrganizationToken);
}

NewCredential make_message_token() {
  return make_credential(kMessageToken);
}

bool is_api_key(std::string_view text) {
  return is_well_formed(kApiKey, text);
}

bool is_organization_token(std::string_view text) {
  return is_well_formed(kOrganizationToken, text);
}

bool is_message_token(std::string_view text) {
  return is_well_formed(kMessageToken, text);
}

std::string public_prefix(std::string_view key_or_token) {
  return std::string(key_or_token.substr(0, kPublicPrefixCharacters));
}

std::string api_key_hash(std::string_view text) {
  return sha256_hex(text);
}

namespace {

constexpr auto kCredentialStates = enum_words<CredentialState>({{CredentialState::active, "active"},
                                                                {CredentialState::expiring, "expiring"},
                                                                {CredentialState::expired, "expired"},
                                                                {CredentialState::revoked, "revoked"}});

CredentialState state_by_expiry(std::optional<UtcMillis> expires_at, UtcMillis now) {
  if (!expires_at) return CredentialState::active;
  return *expires_at <= now ? CredentialState::expired : CredentialState::expiring;
}

template <typename Credential>
CredentialState credential_state(const Credential& credential, UtcMillis now) {
  return credential.revoked_at ? CredentialState::revoked : state_by_expiry(credential.expires_at, now);
}

}  // namespace

std::string_view to_word(CredentialState state) {
  return kCredentialStates.word_of(state);
}

CredentialState state_of(const store::ApiKey& key, UtcMillis now) {
  return credential_state(key, now);
}

CredentialState state_of(const store::OrganizationToken& token, UtcMillis now) {
  return credential_state(token, now);
}

CredentialState state_of(const store::MessageToken& token, UtcMillis now) {
  return state_by_expiry(token.expires_at, now);
}

ApiKeyAccess access_of(const store::ApiKeyOwner& caller, std::optional<Scope> needed, UtcMillis now) {
  if (!is_usable(state_of(caller.key, now)) || !caller.account.active) return ApiKeyAccess::refused;
  if (!has_api_access(caller.account.plan)) return ApiKeyAccess::plan_without_api_access;
  if (needed && !caller.key.scopes.contains(*needed)) return ApiKeyAccess::missing_scope;
  return ApiKeyAccess::allowed;
}

TokenStatus token_status(store::Organizations& organizations, std::string_view token, UtcMillis now) {
  using State = TokenStatus::State;
  const std::string_view text = giftsync::trimmed(token);
  if (text.empty()) return {State::missing, {}, {}};
  // Malformed tokens are refused without a query.
  if (!is_organization_token(text)) return {State::unknown, {}, {}};
  const std::string hash = api_key_hash(text);
  const auto found = organizations.find_token_by_hash(hash);
  if (!found || !equal_in_constant_time(found->hash, hash)) return {State::unknown, {}, {}};
  const CredentialState state = state_of(*found, now);
  if (state == CredentialState::revoked) return {State::revoked, {}, {}};
  if (state == CredentialState::expired) return {State::expired, {}, {}};
  return {State::active, found->organization, found->organization_name};
}

}  // namespace giftsync::sync
