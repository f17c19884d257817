// sync: API keys: gsk_live_<32 random base62 digits><6 base62 digits of checksum> (HTTP-29), organization
// tokens: got_live_ and the same digits (REQ-39), and message tokens: gmt_live_ and 50 random digits, of
// which 43, 256 bits, stay secret (MSG-1). The text is shown once. The store keeps its hash; a plain hash is
// enough because a key has 190 random bits. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "platform/digest.h"  // equal_in_constant_time, for callers that compare hashes

namespace giftsync::sync {

struct NewCredential {
  std::string text;    ///< 47 characters, of message tokens 65; shown once, never stored
  std::string prefix;  ///< the first 16 characters; listings identify the key by them
  std::string hash;    ///< api_key_hash(text)
};

/// These throw platform::DependencyError when the system provides no random bytes.
NewCredential make_api_key();
NewCredential make_organization_token();
NewCredential make_message_token();

/// Whether the text has the form of a key and its checksum fits. Other texts are refused without a query; a
/// scanner for leaked secrets can also recognise keys by it.
bool is_api_key(std::string_view text);
bool is_organization_token(std::string_view text);
bool is_message_token(std::string_view text);

/// The first characters of a key or token. They are not secret: listings and the log identify it by them.
std::string public_prefix(std::string_view key_or_token);

/// Lower-case hex SHA-256 of the text.
std::string api_key_hash(std::string_view text);

}  // namespace giftsync::sync
