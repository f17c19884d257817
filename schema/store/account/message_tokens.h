// schema/store: the tokens that are the secret part of the URL to which a CRM sends messages (MSG-1 to
// MSG-4). Only their hashes are stored and passed. One token is current; while it replaces another one, both
// work.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/time.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

struct MessageToken {
  std::int64_t id = 0;      ///< allocated by the store
  std::string prefix = {};  ///< the token's first characters, which listings show
  std::string hash = {};    ///< hex SHA-256 of the token
  UtcMillis created_at = {};
  std::optional<UtcMillis> expires_at = {};    ///< it was replaced and works until then
  std::optional<UtcMillis> last_used_at = {};  ///< when a message under it was last stored
};

/// Any thread.
class MessageTokens {
 public:
  explicit MessageTokens(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// False, without a change, when there is a current token.
  bool create(const MessageToken& token);
  /// Makes `token` the current one. The former one works until `former_ends_at`, or is deleted without a
  /// time; those that were replaced before are deleted. False, without a change, when there is no current
  /// token.
  bool rotate(const MessageToken& token, std::optional<UtcMillis> former_ends_at);
  void remove(std::int64_t id);
  /// The oldest first.
  std::vector<MessageToken> list();

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
