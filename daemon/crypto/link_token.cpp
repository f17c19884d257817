#include "daemon/crypto/link_token.h"

#include <exception>

#include "daemon/crypto/digest.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kIdBytes = 7;
constexpr std::size_t kGenerationBytes = 4;
constexpr std::size_t kClaimBytes = 1 + kIdBytes + kGenerationBytes;
constexpr std::size_t kCodeBytes = 20;
constexpr std::size_t kFingerprintBytes = 16;
constexpr std::int64_t kMaxGeneration = (std::int64_t{1} << 32) - 1;

// Each use of the secret has a label, so that what one makes is never valid for another.
constexpr std::string_view kLinkLabel = "giftsync link token 1";
constexpr std::string_view kFingerprintLabel = "giftsync server secret fingerprint 1";

void append_number(std::string& bytes, std::int64_t number, std::size_t count) {
  for (std::size_t i = count; i-- > 0;) bytes += static_cast<char>(number >> (8 * i) & 0xFF);
}

std::int64_t number_in(std::string_view bytes) {
  std::int64_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

std::optional<LinkClaim> claim_in(std::string_view bytes) {
  const std::int64_t kind = number_in(bytes.substr(0, 1));
  const std::int64_t id = number_in(bytes.substr(1, kIdBytes));
  if (kind > static_cast<std::int64_t>(LinkKind::view) || id < 1 || id > schema::kMaxId) return std::nullopt;
  return LinkClaim{
      static_cast<LinkKind>(kind), {id}, number_in(bytes.substr(1 + kIdBytes, kGenerationBytes))};
}

}  // namespace

LinkSigner::LinkSigner(std::string_view secret_bytes)
    : key_(hmac_sha256(secret_bytes, kLinkLabel)),
      fingerprint_(hmac_sha256(secret_bytes, kFingerprintLabel)) {
  if (secret_bytes.empty()) std::terminate();
  fingerprint_.resize(kFingerprintBytes);
  key_id_ = to_base64url(fingerprint_).front();
}

std::string LinkSigner::code_of(std::string_view signed_bytes) const {
  return hmac_sha256(key_, key_id_ + std::string(signed_bytes)).substr(0, kCodeBytes);
}

std::string LinkSigner::token(LinkKind kind, schema::TransactionId transaction,
                              std::int64_t generation) const {
  const bool is_id = transaction.value >= 1 && transaction.value <= schema::kMaxId;
  if (!is_id || generation < 0 || generation > kMaxGeneration) std::terminate();
  std::string bytes;
  append_number(bytes, static_cast<std::int64_t>(kind), 1);
  append_number(bytes, transaction.value, kIdBytes);
  append_number(bytes, generation, kGenerationBytes);
  bytes += code_of(bytes);
  return key_id_ + to_base64url(bytes);
}

std::optional<LinkClaim> LinkSigner::verify(std::string_view token) const {
  constexpr std::size_t kMaxTokenCharacters = 64;
  if (token.empty() || token.size() > kMaxTokenCharacters || token.front() != key_id_) return std::nullopt;
  const std::optional<std::string> bytes = from_base64url(token.substr(1));
  if (!bytes || bytes->size() != kClaimBytes + kCodeBytes) return std::nullopt;
  const std::string_view claim = std::string_view(*bytes).substr(0, kClaimBytes);
  if (!equal_in_constant_time(code_of(claim), std::string_view(*bytes).substr(kClaimBytes)))
    return std::nullopt;
  return claim_in(claim);
}

std::string LinkSigner::fingerprint() const {
  return to_hex(fingerprint_);
}

}  // namespace giftsync::daemon
