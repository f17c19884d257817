#include "sync/access/credential.h"

#include <array>
#include <cstdint>

#include "platform/text.h"
#include "schema/enums.h"

namespace giftsync::sync {
namespace {

struct CredentialForm {
  std::string_view prefix;
  std::size_t random_digits;
  std::string_view name;
};
/// By CredentialKind. Each digit of a message token has 5.95 bits, and listings show the first seven.
constexpr std::array<CredentialForm, 3> kForms{{{"gsk_live_", 32, "an API key"},
                                                {"got_live_", 32, "an organization token"},
                                                {"gmt_live_", 50, "a message token"}}};
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

const CredentialForm& form_of(CredentialKind kind) {
  return kForms[static_cast<std::size_t>(kind)];
}

}  // namespace

NewCredential make_credential(CredentialKind kind, UtcMillis created_at, bool is_test) {
  const CredentialForm& form = form_of(kind);
  NewCredential made;
  made.kind = kind;
  made.text = std::string(is_test ? kTestKeyPrefix : form.prefix) + random_digits(form.random_digits);
  made.text += checksum(made.text);
  made.prefix = public_prefix(made.text);
  made.hash = api_key_hash(made.text);
  made.created_at = created_at;
  return made;
}

bool is_credential(CredentialKind kind, std::string_view text) {
  const CredentialForm& form = form_of(kind);
  static_assert(kForms.front().prefix.size() == kTestKeyPrefix.size());
  const bool has_prefix =
      text.starts_with(form.prefix) || (kind == CredentialKind::api_key && is_test_key(text));
  if (text.size() != form.prefix.size() + form.random_digits + kChecksumDigits || !has_prefix) return false;
  const std::string_view digits = text.substr(form.prefix.size());
  if (digits.find_first_not_of(kDigits) != std::string_view::npos) return false;
  return checksum(text.substr(0, text.size() - kChecksumDigits)) ==
         text.substr(text.size() - kChecksumDigits);
}

bool is_meant_by(const store::Credential& credential, std::string_view word) {
  if (word.empty()) return false;
  if (is_credential(credential.kind, word)) return credential.hash == api_key_hash(word);
  const std::string_view kind =
      is_test_key(credential.prefix) ? kTestKeyPrefix : form_of(credential.kind).prefix;
  const std::string_view prefix = credential.prefix;
  return prefix.starts_with(word) ||
         (prefix.starts_with(kind) && prefix.substr(kind.size()).starts_with(word));
}

CredentialKind kind_of_prefix(std::string_view prefix) {
  return kind_by_beginning(prefix).value_or(CredentialKind::api_key);
}

std::optional<CredentialKind> kind_by_beginning(std::string_view text) {
  if (is_test_key(text)) return CredentialKind::api_key;
  for (std::size_t i = 0; i < kForms.size(); ++i)
    if (text.starts_with(kForms[i].prefix)) return static_cast<CredentialKind>(i);
  return std::nullopt;
}

std::string describe(CredentialKind kind) {
  const CredentialForm& form = form_of(kind);
  return std::string(form.name) + " (" + std::string(form.prefix) + "...)";
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
                                                                {CredentialState::revoked, "revoked"},
                                                                {CredentialState::paused, "paused"}});

}  // namespace

std::string_view to_word(CredentialState state) {
  return kCredentialStates.word_of(state);
}

CredentialState state_of(const store::Credential& credential, UtcMillis now) {
  if (credential.revoked_at) return CredentialState::revoked;
  if (credential.expires_at && *credential.expires_at <= now) return CredentialState::expired;
  if (credential.paused_at) return CredentialState::paused;
  return credential.expires_at ? CredentialState::expiring : CredentialState::active;
}

ApiKeyAccess access_of(const store::ApiKeyOwner& caller, std::optional<Scope> needed, UtcMillis now) {
  if (!is_usable(state_of(caller.key, now)) || !caller.account.active) return ApiKeyAccess::refused;
  if (!has_api_access(caller.account.plan)) return ApiKeyAccess::plan_without_api_access;
  if (needed && !caller.key.scopes.contains(*needed)) return ApiKeyAccess::missing_scope;
  return ApiKeyAccess::allowed;
}

TokenStatus token_status(store::Credentials& credentials, std::string_view token, UtcMillis now) {
  using State = TokenStatus::State;
  const std::string_view text = giftsync::trimmed(token);
  if (text.empty()) return {State::missing, {}, {}, {}};
  // Malformed tokens are refused without a query.
  if (!is_credential(CredentialKind::organization_token, text)) return {State::unknown, {}, {}, {}};
  const std::string hash = api_key_hash(text);
  const auto found = credentials.find_by_hash(CredentialKind::organization_token, hash);
  if (!found || !equal_in_constant_time(found->hash, hash)) return {State::unknown, {}, {}, {}};
  const CredentialState state = state_of(*found, now);
  if (state == CredentialState::revoked) return {State::revoked, {}, {}, {}};
  if (state == CredentialState::expired) return {State::expired, {}, {}, {}};
  return {State::active, found->organization, found->owner, found->paused_at};
}

}  // namespace giftsync::sync
