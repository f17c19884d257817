// sync: to whom giftsync sends: not to who is on the do-not-send list (GUARD-1), and only to allowed domains
// (GUARD-6). Every path that makes or mails a gift asks here; no approval overrides it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "platform/time.h"
#include "schema/store/gift/do_not_send.h"

namespace giftsync::sync {

/// Who added an entry that the recipient asked for.
inline constexpr const char* kRecipientActor = "recipient";

// The patterns of the list: "ana@example.com" is an address, "example.com" a domain with its subdomains,
// "*.gov" subdomains alone. Addresses compare as everywhere (MATCH-1). Pure.

/// The pattern in the form that is compared; else why it is none, as a sentence's end ("is no address ...").
tl::expected<std::string, std::string> do_not_send_pattern(std::string_view text);
/// It has no dot: "com", "*.gov". It covers so much that a command asks first.
bool is_top_level_pattern(std::string_view pattern);
/// All patterns that match the address, the most special first.
std::vector<std::string> patterns_of(std::string_view email);
/// Why the text cannot be an entry's comment, as a sentence's end; nothing when it can.
std::optional<std::string> do_not_send_comment_error(std::string_view text);
/// Whether the recipient asked for such an entry, which is not removed without a further question.
bool is_wish(DoNotSendReason reason);
/// What audit events have of a pattern: "***@example.com" of an address (CON-16), else all of it.
std::string audited_pattern(std::string_view pattern);

/// Why nothing is sent to an address.
struct SendingFinding {
  std::string code;     ///< for programs: "do_not_send", "recipient_not_allowed"
  std::string message;  ///< a sentence that can be read out to the sender
};

/// What the entry says to who wanted to send a gift there. Pure.
std::string describe(const store::DoNotSendEntry& entry);

/// Why nothing may be sent to the domain of this address, or to a person whose data was erased, whatever the
/// list has. `allowed_domains`: as do_not_send_pattern() returns them; empty allows all. Pure.
std::optional<SendingFinding> domain_finding(std::span<const std::string> allowed_domains,
                                             const std::string& email);

/// The strongest entry for each of these addresses that has one, by its place. Reads the store. Throws
/// DependencyError.
std::map<std::size_t, store::DoNotSendEntry> find_listed(store::DoNotSend& list,
                                                         std::span<const std::string> emails, UtcMillis now);

/// Nullopt for an address that gifts may be sent to; one result for each. Reads the store. Throws
/// DependencyError.
std::vector<std::optional<SendingFinding>> refused_recipients(store::DoNotSend& list,
                                                              std::span<const std::string> allowed_domains,
                                                              std::span<const std::string> emails,
                                                              UtcMillis now);

/// The same for a busy daemon. Any thread. Throws DependencyError when the store fails.
class SendingPolicy {
 public:
  /// `allowed_domains`: as do_not_send_pattern() returns them; empty allows all.
  SendingPolicy(store::DoNotSend& list, std::vector<std::string> allowed_domains,
                std::function<UtcMillis()> now);

  /// As refused_recipients(). A new entry of the list counts within a second, in all daemons (GUARD-2);
  /// without a matching one the store is read at most twice a second.
  std::vector<std::optional<SendingFinding>> check(std::span<const std::string> emails);

  /// Why a gift that was accepted must not be mailed to this address now (GUARD-3): it is not allowed, or the
  /// person or an admin does not want it. A bounce concerns new gifts alone.
  std::optional<SendingFinding> check_mail(const std::string& email);

  /// Reads what is new in the list, if that was not done within half a second. A worker calls it, too, so
  /// that no caller waits for the whole list after a quiet time.
  void refresh();

 private:
  bool is_fresh(std::int64_t max_age_millis) const;
  bool may_be_listed(const std::string& email) const;

  store::DoNotSend& list_;
  const std::vector<std::string> allowed_domains_;
  const std::function<UtcMillis()> now_;
  std::mutex refresh_mutex_;  // held by the thread that refreshes
  mutable std::shared_mutex mutex_;
  std::vector<std::uint64_t> listed_;      // guarded by mutex_; hashes of patterns, in order, each once
  std::optional<UtcMillis> refreshed_at_;  // guarded by mutex_
  std::string revision_;                   // guarded by refresh_mutex_; of what listed_ has
};

}  // namespace giftsync::sync
