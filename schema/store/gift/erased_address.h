// schema/store: what stands for the address of a person whose data was erased (GUARD-17): a keyed hash, under
// a key of its own, which the store keeps sealed with the server secret. The key never changes, so that
// hashes stay comparable when the server secret does. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "platform/keys.h"

namespace giftsync::store {

/// In the store's metadata: the key, sealed with the server secret for the purpose kErasedAddressLabel.
inline constexpr const char* kErasedAddressKeyFact = "erased_address_key";
inline constexpr std::string_view kErasedAddressLabel = "erased address key";

/// What replaces a name, a message or another text of an erased person.
inline constexpr const char* kErased = "erased";

/// 64 hex digits for an address as email_key() returns it.
std::string erased_address_hash(std::string_view key, std::string_view address_key);
/// What replaces the address: "erased:" and the beginning of its hash, so that the gifts of an erased person
/// can be counted and found again by who has the address.
std::string erased_address_mark(std::string_view address_hash);
/// Whether the text is such a mark. No address is one.
bool is_erased_address(std::string_view text);

/// A new key, sealed with the server secret.
std::string new_erased_address_key(std::string_view server_secret);
/// The key; nullopt for a text that was not sealed with this server secret.
std::optional<std::string> open_erased_address_key(std::string_view server_secret, std::string_view sealed);

}  // namespace giftsync::store
