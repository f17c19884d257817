#include "schema/store/gift/erased_address.h"

#include <algorithm>

#include "platform/digest.h"

namespace giftsync::store {
namespace {

constexpr std::string_view kMark = "erased:";
/// 96 bits: two of a million addresses do not collide.
constexpr std::size_t kMarkDigits = 24;

}  // namespace

std::string erased_address_hash(std::string_view key, std::string_view address_key) {
  return to_hex(hmac_sha256(key, address_key));
}

std::string erased_address_mark(std::string_view address_hash) {
  return std::string(kMark) + std::string(address_hash.substr(0, kMarkDigits));
}

bool is_erased_address(std::string_view text) {
  if (!text.starts_with(kMark) || text.size() != kMark.size() + kMarkDigits) return false;
  return text.find_first_not_of("0123456789abcdef", kMark.size()) == std::string_view::npos;
}

std::string new_erased_address_key(std::string_view server_secret) {
  return seal_text(server_secret, kErasedAddressLabel, to_hex(random_bytes(kSha256Bytes)));
}

std::optional<std::string> open_erased_address_key(std::string_view server_secret, std::string_view sealed) {
  const auto digits = open_sealed_text(server_secret, kErasedAddressLabel, sealed);
  return digits ? from_hex(*digits) : std::nullopt;
}

}  // namespace giftsync::store
