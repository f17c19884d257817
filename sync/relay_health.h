// sync: whether a daemon may send through its relay, from what its connections report (MAIL-4, MAIL-27,
// MAIL-30). Pure; the caller serialises the calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/store/delivery_queue.h"
#include "sync/suspect_mails.h"

namespace giftsync::sync {

enum class SendPermission {
  wait,  ///< delivery is paused, another connection tests the relay, or this connection rests
  test,  ///< mails one at a time until one shows whether the relay works
  send,
};

enum class FaultScope {
  connection,  ///< the other connections work: this one rests
  relay,       ///< delivery pauses
  known,       ///< the pause for it has begun already
};

class RelayHealth {
 public:
  explicit RelayHealth(std::size_t connections) : connections_(connections) {}

  /// The pause as it is stored: an admin may have ended it.
  void set_pause(std::optional<schema::store::CircuitBreaker> stored) { pause_ = std::move(stored); }
  const std::optional<schema::store::CircuitBreaker>& pause() const { return pause_; }

  /// A connection that may test does so until end().
  SendPermission begin(std::size_t connection, platform::UtcMillis now);
  void end(std::size_t connection);

  /// A connection failed in a way that concerns no recipient. After `relay` pause() is the new pause.
  FaultScope record_fault(std::size_t connection, const std::string& reason, platform::UtcMillis now);
  /// True when the mails show the relay's fault: pause() is the new pause.
  bool record_suspect(std::size_t connection, SuspectMail mail, platform::UtcMillis now);
  const std::vector<SuspectMail>& suspects() const { return suspects_; }

  struct Working {
    bool has_resumed = false;                   ///< a pause has ended
    std::vector<SuspectMail> of_one_recipient;  ///< the relay refuses these mails only
  };
  /// The relay took a mail or refused it for itself.
  Working record_working(std::size_t connection, platform::UtcMillis now);

 private:
  struct Connection {
    std::int64_t failures = 0;                     ///< since it last worked
    std::optional<platform::UtcMillis> worked_at;  ///< none: it never worked, or failed since
    platform::UtcMillis rests_until{0};
  };
  void begin_pause(const std::string& reason, platform::UtcMillis now);
  bool is_known_fault(std::size_t connection, platform::UtcMillis now) const;

  std::vector<Connection> connections_;
  std::optional<schema::store::CircuitBreaker> pause_;
  std::optional<std::size_t> tester_;
  std::vector<SuspectMail> suspects_;  ///< since the relay last worked
};

}  // namespace giftsync::sync
