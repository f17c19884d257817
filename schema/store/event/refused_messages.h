// schema/store: webhook messages that were refused although their sender was verified, as they came, so that
// an admin sees what the vendor sent (SRC-61). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/time.h"

namespace soci {
class session;
}

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

inline constexpr std::size_t kMaxRefusedPerSource = 100;
inline constexpr std::size_t kMaxRefusedBodyBytes = std::size_t{64} << 10;

struct RefusedMessage {
  std::int64_t id = 0;  ///< allocated by the store
  std::string source = {};
  std::string message_id = {};  ///< empty: the message has none
  std::int64_t status = 0;      ///< of the response
  std::string reason = {};      ///< a sentence
  std::int64_t size = 0;        ///< bytes of the whole body
  std::string body = {};        ///< at most its first kMaxRefusedBodyBytes; any bytes
  UtcMillis received_at = {};

  bool is_cut() const { return size > static_cast<std::int64_t>(body.size()); }
};

/// Inserts the messages and deletes all but the newest ones of their sources. They get ids in their order.
void insert_refused_messages(soci::session& session, std::span<const RefusedMessage> messages);

class RefusedMessages {
 public:
  explicit RefusedMessages(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// The newest ones of a source, newest first.
  std::vector<RefusedMessage> list(const std::string& source, std::size_t limit);
  /// Nullopt when the source has no such message, or not any more.
  std::optional<RefusedMessage> find(const std::string& source, std::int64_t id);
  /// Deletes messages older than `before`.
  void prune(UtcMillis before);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
