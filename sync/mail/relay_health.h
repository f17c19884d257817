// sync: whether a daemon may send through its relay, from what its connections report (MAIL-4, MAIL-27,
// MAIL-30). Pure; the caller serialises the calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/store/mail/delivery_queue.h"

namespace giftsync::sync {

// Tells a relay's fault from a recipient's when the relay's answer to a mail does not say whose it is
// (MAIL-27). Pure.

/// A mail that got such an answer. Its attempt has ended and is stored.
struct SuspectMail {
  store::DeliveryClaim claim;
  std::int64_t attempt = 0;
  std::string recipient;
  std::string reply;
  bool is_refusal = false;  ///< a 5xx that ends the mail once it is the recipient's; else it is deferred
  bool is_limit_reached = false;  ///< of a refusal: the first one was a day ago
};

enum class SuspectVerdict {
  undecided,   ///< the next mail decides
  recipients,  ///< refused again after the relay took another mail, or nothing has decided for a day
  relay,       ///< every mail failed, of kMinSuspectRecipients different recipients
};
inline constexpr std::size_t kMinSuspectRecipients = 3;

/// `recipients`: of the suspects since the relay last worked.
bool is_relays_fault(std::span<const std::string> recipients);

/// Which of the waiting mails shows most: the first to another domain than the suspects', else the first to
/// another address, else the first. `waiting` is not empty.
std::size_t most_telling(std::span<const std::string> waiting, std::span<const std::string> suspects);

/// The recipients of the suspects.
std::vector<std::string> recipients_of(std::span<const SuspectMail> suspects);

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
  void set_pause(std::optional<store::CircuitBreaker> stored) { pause_ = std::move(stored); }
  /// The relay works again, or its settings were changed.
  void end_pause(const store::CircuitBreaker& stored, UtcMillis now);
  const std::optional<store::CircuitBreaker>& pause() const { return pause_; }

  /// A connection that may test does so until end().
  SendPermission begin(std::size_t connection, UtcMillis now);
  void end(std::size_t connection);

  /// A connection failed in a way that concerns no recipient. After `relay` pause() is the new pause.
  FaultScope record_fault(std::size_t connection, const std::string& reason, UtcMillis now);
  /// After `relay` pause() is the new pause; after `recipients` the mail's own attempt decides.
  SuspectVerdict record_suspect(std::size_t connection, SuspectMail mail, UtcMillis now);
  const std::vector<SuspectMail>& suspects() const { return suspects_; }
  /// How many there were: a mail that began before the last one shows nothing about it.
  std::int64_t refusals() const { return refusals_; }

  struct Working {
    bool has_resumed = false;  ///< a pause has ended
    /// The relay refuses these mails only, as far as is known. Refusals are tried once more.
    std::vector<SuspectMail> of_one_recipient;
  };
  /// The relay took the mail to `recipient`, or (not `is_taken`) refused or deferred it for itself.
  Working record_working(std::size_t connection, const std::string& recipient, bool is_taken, UtcMillis now);
  /// When the day began after which a mail that was first deferred or refused at `first` is given up: a long
  /// pause is no recipient's fault, and one that is not over yet ends now at the earliest.
  UtcMillis day_started_at(UtcMillis first, UtcMillis now) const;
  /// The end of the last long pause or pause by an admin (MAIL-36), which the store keeps; 0: none ended.
  UtcMillis long_pause_ended_at() const { return long_pause_ended_at_; }
  void set_long_pause_ended_at(UtcMillis stored) { long_pause_ended_at_ = stored; }

 private:
  struct Connection {
    std::int64_t failures = 0;           ///< since it last worked
    std::optional<UtcMillis> worked_at;  ///< none: it never worked, or failed since
    UtcMillis rests_until{0};
  };
  void begin_pause(const std::string& reason, UtcMillis now);
  bool is_known_fault(std::size_t connection, UtcMillis now) const;

  std::vector<Connection> connections_;
  std::optional<store::CircuitBreaker> pause_;
  std::optional<std::size_t> tester_;
  std::int64_t refusals_ = 0;
  std::vector<SuspectMail> suspects_;         ///< since the relay last worked
  std::vector<SuspectMail> paused_suspects_;  ///< refused before a pause or in it
  std::set<std::string> refused_before_;      ///< recipients whose mail was refused before another was taken
  UtcMillis long_pause_ended_at_{0};
};

}  // namespace giftsync::sync
