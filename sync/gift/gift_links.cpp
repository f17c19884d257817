#include "sync/gift/gift_links.h"

#include <exception>

#include "platform/digest.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "sync/gift/gift_actions.h"

namespace giftsync::sync {
namespace {

constexpr std::size_t kIdBytes = 7;
constexpr std::size_t kGenerationBytes = 4;
constexpr std::size_t kPayloadBytes = 1 + kIdBytes + kGenerationBytes;
constexpr std::size_t kMacBytes = 20;
constexpr std::size_t kFingerprintBytes = 16;
constexpr std::int64_t kMaxGeneration = (std::int64_t{1} << 32) - 1;

// Each purpose of the secret has a label, so that a code made for one is never valid for another.
constexpr std::string_view kLinkLabel = "giftsync link token 1";
constexpr std::string_view kFingerprintLabel = "giftsync server secret fingerprint 1";
constexpr std::string_view kAddressLabel = "giftsync link address 1";
constexpr std::string_view kSignInLabel = "giftsync sign-in link 1";

void append_number(std::string& bytes, std::int64_t number, std::size_t count) {
  for (std::size_t i = count; i-- > 0;) bytes += static_cast<char>(number >> (8 * i) & 0xFF);
}

std::int64_t parse_number(std::string_view bytes) {
  std::int64_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

std::optional<LinkPayload> parse_payload(std::string_view bytes) {
  const std::int64_t kind = parse_number(bytes.substr(0, 1));
  const std::int64_t id = parse_number(bytes.substr(1, kIdBytes));
  if (kind > static_cast<std::int64_t>(LinkKind::stop) || id < 1 || id > kMaxId) return std::nullopt;
  return LinkPayload{
      static_cast<LinkKind>(kind), {id}, parse_number(bytes.substr(1 + kIdBytes, kGenerationBytes))};
}

}  // namespace

LinkSigner::LinkSigner(std::string_view secret_bytes)
    : key_(hmac_sha256(secret_bytes, kLinkLabel)),
      fingerprint_(hmac_sha256(secret_bytes, kFingerprintLabel)),
      address_key_(hmac_sha256(secret_bytes, kAddressLabel)),
      sign_in_key_(hmac_sha256(secret_bytes, kSignInLabel)) {
  if (secret_bytes.empty()) std::terminate();
  fingerprint_.resize(kFingerprintBytes);
  key_id_ = to_base64url(fingerprint_).front();
}

std::string LinkSigner::mac_of(std::string_view signed_bytes) const {
  return hmac_sha256(key_, key_id_ + std::string(signed_bytes)).substr(0, kMacBytes);
}

std::string LinkSigner::token(LinkKind kind, TransactionId transaction, std::int64_t generation) const {
  const bool is_valid_id = transaction.value >= 1 && transaction.value <= kMaxId;
  if (!is_valid_id || generation < 0 || generation > kMaxGeneration) std::terminate();
  std::string bytes;
  append_number(bytes, static_cast<std::int64_t>(kind), 1);
  append_number(bytes, transaction.value, kIdBytes);
  append_number(bytes, generation, kGenerationBytes);
  bytes += mac_of(bytes);
  return key_id_ + to_base64url(bytes);
}

std::int64_t LinkSigner::address_number(std::string_view email) const {
  return parse_number(hmac_sha256(address_key_, email_key(email)).substr(0, kGenerationBytes));
}

std::string LinkSigner::sign_in_token(std::string_view salt) const {
  return to_base64url(hmac_sha256(sign_in_key_, salt));
}

std::optional<LinkPayload> LinkSigner::verify(std::string_view token) const {
  constexpr std::size_t kMaxTokenCharacters = 64;
  if (token.empty() || token.size() > kMaxTokenCharacters || token.front() != key_id_) return std::nullopt;
  const std::optional<std::string> bytes = from_base64url(token.substr(1));
  if (!bytes || bytes->size() != kPayloadBytes + kMacBytes) return std::nullopt;
  const std::string_view payload = std::string_view(*bytes).substr(0, kPayloadBytes);
  if (!equal_in_constant_time(mac_of(payload), std::string_view(*bytes).substr(kPayloadBytes)))
    return std::nullopt;
  return parse_payload(payload);
}

std::string LinkSigner::fingerprint() const {
  return to_hex(fingerprint_);
}

std::optional<LinkPayload> GiftLinks::verify(std::string_view token, UtcMillis now) const {
  const UtcMillis end = end_;
  std::optional<LinkPayload> payload = signer_.verify(token);
  if (payload && now >= end) return std::nullopt;
  if (payload || !former_ || now >= former_->valid_until || end != kNoEnd) return payload;
  payload = former_->signer.verify(token);
  if (payload) payload->is_of_former_secret = true;
  return payload;
}

namespace {

constexpr std::string_view kParameterName = "utm_campaign_id";

/// All but the unreserved characters of RFC 3986.
std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kUnreserved =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (kUnreserved.find(c) != std::string_view::npos)
      encoded += c;
    else
      encoded.append({'%', kHex[byte >> 4], kHex[byte & 15]});
  }
  return encoded;
}

bool has_campaign(std::string_view query) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    if (pair.substr(0, pair.find('=')) == kParameterName) return true;
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
  }
  return false;
}

bool is_web_link(std::string_view url) {
  const std::string scheme = ascii_lower(url.substr(0, std::string_view("https://").size()));
  return scheme.starts_with("http://") || scheme.starts_with("https://");
}

}  // namespace

std::string add_utm_campaign(std::string_view url, std::string_view campaign) {
  if (campaign.empty() || !is_web_link(url)) return std::string(url);
  const std::size_t hash = url.find('#');
  const std::string_view fragment = hash == std::string_view::npos ? "" : url.substr(hash);
  const std::string_view page = url.substr(0, hash);
  const std::size_t query_mark = page.find('?');
  const std::string_view query = query_mark == std::string_view::npos ? "" : page.substr(query_mark + 1);
  if (has_campaign(query)) return std::string(url);
  std::string result(page);
  if (query_mark == std::string_view::npos)
    result += '?';
  else if (!query.empty() && !query.ends_with('&'))
    result += '&';
  return result.append(kParameterName).append("=").append(percent_encoded(campaign)).append(fragment);
}

RequestUrls request_urls(const GiftLinks& links, const store::RecipientTransaction& gift) {
  return {links.url_for(LinkKind::redeem, gift), links.url_for(LinkKind::donate, gift)};
}

std::optional<Status> urls_end_status(store::ChangeLog& changes, const store::RecipientTransaction& gift) {
  const Status status = current_status(changes, gift).status;
  const bool is_ended = status == Status::expired || status == Status::refunded;
  return is_ended ? std::optional(status) : std::nullopt;
}

}  // namespace giftsync::sync
