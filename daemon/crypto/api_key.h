// daemon/crypto: API keys (Spec 5, design 3.4): gsk_live_<32 random base62 digits><6 base62 digits of
// checksum>, and organization tokens (Spec 5.6): got_live_ and the same. The text is shown once; the store
// keeps its hash, which is enough since a key has 190 random bits. From any thread.
#pragma once

#include <string>
#include <string_view>

#include "daemon/crypto/digest.h"  // equal_in_constant_time, for whoever compares hashes

namespace giftsync::daemon {

struct NewKey {
  std::string text;    ///< 47 characters; to be shown once and forgotten
  std::string prefix;  ///< the first 16 characters, by which listings show the key
  std::string hash;    ///< api_key_hash(text)
};

/// Both throw schema::BrokenWorld when the system gives no random bytes.
NewKey make_api_key();
NewKey make_organization_token();

/// True when the text has the form of a key and its checksum fits: what is false is refused without asking
/// the store, and a scanner for leaked secrets can tell a key from chance.
bool is_api_key(std::string_view text);
bool is_organization_token(std::string_view text);

/// The first characters of a key or token, which are no secret: listings and the log name it by them.
std::string public_prefix(std::string_view key_or_token);

/// Lower-case hex SHA-256 of the text.
std::string api_key_hash(std::string_view text);

}  // namespace giftsync::daemon
