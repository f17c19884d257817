// schema/store: how many gifts an address got lately (GUARD-19). They are counted in the transaction that
// makes new ones, so that a limit holds for all callers and daemons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/sql/dsn.h"

namespace soci {
class session;
}

namespace giftsync::store {

/// The most gifts of an address.
struct FrequencyRule {
  std::int64_t gifts = 0;  ///< 0: no limit
  std::int64_t days = 30;
  bool within_organization = false;  ///< gifts of other organizations do not count
  bool refuses = true;               ///< else the request is made with a warning
  bool holds = false;                ///< instead of being refused it waits for a person
  /// What stands for an erased address (DoNotSend::mark_of); without it gifts of erased people do not count.
  std::function<std::string(std::string_view address_key)> mark_of = {};
};

/// A request whose recipients are counted.
struct FrequencyRequest {
  UtcMillis at;
  OrganizationId organization;      ///< of its account; 0: none
  std::vector<std::string> emails;  ///< as requested
  /// Of a request whose gifts exist already: its own, from this id on, do not count.
  std::optional<TransactionId> made = {};
  bool is_test = false;  ///< test gifts count for it, and no others
};

/// A recipient beyond the limit.
struct RecentRecipient {
  std::size_t place = 0;  ///< in the request
  std::string email;
  std::int64_t gifts = 0;                   ///< that the address got
  std::optional<UtcMillis> newest_at = {};  ///< of these
  std::int64_t requested = 0;               ///< of the request, for this address
  std::int64_t limit = 0;
  std::int64_t days = 0;
  std::optional<UtcMillis> fits_at = {};  ///< when the address may get what is requested; nothing: never
  bool holds = false;                     ///< of the rule
};

/// The newest gifts of the addresses of several requests. One transaction.
class RecipientFrequency {
 public:
  /// Of an address so many gifts are looked at, the newest ones (GUARD-21).
  static constexpr std::int64_t kMaxGifts = 100;
  enum class Use {
    to_create,  ///< other transactions that create gifts for these scopes wait for the end of this one
    to_read,
  };

  /// Without a limit it reads nothing.
  RecipientFrequency(soci::session& session, const FrequencyRule& rule,
                     std::span<const FrequencyRequest> requests, Use use);

  /// The recipients that are beyond the limit, in their order; equal addresses count together.
  std::vector<RecentRecipient> beyond_limit(const FrequencyRequest& request) const;
  /// The gifts of the request are made in this transaction: later ones count them.
  void add(const FrequencyRequest& request);

 private:
  struct CountedGift {
    UtcMillis sent_at;
    TransactionId id;
    OrganizationId organization;
    bool is_sent_elsewhere = false;
  };
  /// Those among the requests that are for tests, or the others.
  void read(soci::session& session, std::span<const FrequencyRequest> requests, bool is_test);
  std::vector<UtcMillis> times_of(const std::string& key, const FrequencyRequest& request) const;

  const FrequencyRule rule_;
  std::map<std::string, std::vector<CountedGift>> gifts_;  // by gifts_key()
};

/// The newest gifts of each address of a list, bound as :keys, that were sent or sent again after :since and
/// count; with the address in the form of the list. Test gifts, or all others.
std::string recent_gifts_query(sql::Dialect dialect, bool is_test = false);

}  // namespace giftsync::store
