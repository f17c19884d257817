// schema/store: who gets no gifts (GUARD-1): addresses, domains and subdomains. A weaker reason never
// replaces a stronger one. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/record_fields.h"
#include "schema/store/gift/change_log.h"
#include "schema/store/statements/audit_log.h"

namespace giftsync::store {

struct DoNotSendEntry {
  std::string pattern;  ///< as sync::do_not_send_pattern() returns it
  DoNotSendReason reason = DoNotSendReason::blocked;
  std::string comment;                       ///< of the admin; may be empty
  std::optional<TransactionId> transaction;  ///< the gift whose page, complaint or bounce it was
  UtcMillis added_at;    ///< by the database's clock, which add() reads; also of a later change
  std::string added_by;  ///< an admin's name, "recipient", or the source of the report
  std::optional<UtcMillis> expires_at;
  /// Of an erased person the hash of the address; `pattern` is its mark (erased_address.h). Else empty.
  std::string pattern_hash = {};
};

// One field a line.
// clang-format off
inline constexpr auto kDoNotSendFields = record_fields(
    "do_not_send",
    field<&DoNotSendEntry::pattern>("pattern"),
    field<&DoNotSendEntry::reason>("reason"),
    field<&DoNotSendEntry::comment>("comment"),
    field<&DoNotSendEntry::transaction>("transaction_id"),
    field<&DoNotSendEntry::added_at>("added_at"),
    field<&DoNotSendEntry::added_by>("added_by"),
    field<&DoNotSendEntry::expires_at>("expires_at"),
    field<&DoNotSendEntry::pattern_hash>("pattern_hash"));
// clang-format on

/// Which entries a listing has; an empty field matches all.
struct DoNotSendFilter {
  std::string text = {};  ///< a part of the pattern
  std::optional<DoNotSendReason> reason = {};
};

/// As DoNotSend::add, inside another transaction; returns how many are new or changed. For this folder's .cpp
/// files.
std::int64_t upsert_do_not_send(soci::session& session, std::span<const DoNotSendEntry> entries);
/// Of mail servers and providers: an entry lengthens the one that exists, and never shortens it. Skips
/// entries of gifts whose person was erased. For this folder's .cpp files.
void upsert_reported_do_not_send(soci::session& session, std::span<const DoNotSendEntry> entries);
/// Replaces the address in its entries by its keyed hash, which refuses it as before; returns how many. For
/// this folder's .cpp files.
std::int64_t erase_do_not_send(soci::session& session, const std::string& address_key,
                               const std::string& address_hash);

class DoNotSend {
 public:
  explicit DoNotSend(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// The key of erased addresses (erased_address.h). To be called before the list is used; without it entries
  /// of erased people are not found by their address.
  void set_erased_address_key(std::string key) { erased_address_key_ = std::move(key); }
  bool has_erased_address_key() const { return !erased_address_key_.empty(); }
  /// The hash and the mark of an address as email_key() returns it; empty without the key.
  std::string hash_of(std::string_view address_key) const;
  std::string mark_of(std::string_view address_key) const;
  /// Whether an entry is of an erased person.
  bool has_erased_entries();

  /// In one transaction, with the event if there is one and an entry changes. Returns how many entries are
  /// new or changed.
  std::int64_t add(std::span<const DoNotSendEntry> entries, const std::optional<AuditEvent>& audit);
  /// The same as a part of another transaction, such as that of a complaint.
  static TransactionEffect add_effect(std::vector<DoNotSendEntry> entries,
                                      const std::optional<AuditEvent>& audit = {});
  /// Whether it was listed for this reason. Its other reasons stay.
  bool remove(const std::string& pattern, DoNotSendReason reason, const std::optional<AuditEvent>& audit);

  /// Of each pattern the entry that counts; that of an erased person has the mark as its pattern (GUARD-17).
  std::map<std::string, DoNotSendEntry> find(std::span<const std::string> patterns, UtcMillis now);
  /// All entries of the address itself, also those that have ended, for each reason; those of an erased
  /// person too.
  std::vector<DoNotSendEntry> entries_of(const std::string& address_key);
  /// A text that changes with each new or changed entry.
  std::string revision();
  /// The patterns that were added or changed in the last milliseconds, or all; in any order.
  std::vector<std::string> patterns(std::optional<std::int64_t> of_last_millis);
  /// The entries that count, in the order of the patterns, behind `after`.
  std::vector<DoNotSendEntry> list(const DoNotSendFilter& filter, const std::string& after, std::size_t limit,
                                   UtcMillis now);
  /// How many patterns are listed for each reason that counts.
  std::map<DoNotSendReason, std::int64_t> count(UtcMillis now);
  /// Deletes entries that ended before then.
  void prune(UtcMillis before);

 private:
  std::shared_ptr<sql::Database> database_;
  std::string erased_address_key_;
};

}  // namespace giftsync::store
