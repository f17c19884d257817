// schema/store: gift requests and their recipient transactions (ARCH-15, HTTP-5). Each request is created
// completely or not at all, and only once.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/gift_numbers.h"
#include "schema/ids.h"
#include "schema/store/gift/catalogue.h"
#include "schema/store/gift/held_gift_requests.h"
#include "schema/store/gift/recipient_frequency.h"
#include "schema/store/gift/sending_usage.h"
#include "schema/store/statements/id_block.h"
#include "schema/store/statements/mail_turns.h"

namespace soci {
class session;
}

namespace giftsync::store {

/// The item and the sender of a request, as of the time of sending.
struct GiftRequest {
  GiftRequestId id;
  AccountId account;
  SendMode mode = SendMode::email;
  GiftId gift;
  std::string item_name;
  std::string item_description;
  GiftCosts costs;
  std::string sender_email;
  std::string sender_name;
  std::optional<std::string> utm_campaign_id;
  std::string triggered_by{};  ///< the CRM user who sent it; empty: unknown
  UtcMillis created_at;
  std::string terms;  ///< of its gifts' lifecycle, stamped at sending (sync/gift/lifecycle); may be empty
  std::string credential_prefix{};  ///< of the API key or organization token that asked for it; may be empty
  std::string http_request_id{};    ///< the Request-Id of that call; may be empty
  std::optional<OrganizationId> organization = std::nullopt;  ///< the account's at sending
  std::string sending_day{};  ///< in which it counts in budgets, stamped at sending (GUARD-8); may be empty
  bool is_test = false;       ///< a test key asked for it: its gifts are test gifts (TEST-1)
  std::string reference{};    ///< the caller's own; may be empty
};

/// The terms of test gifts: their steps follow from the recipient's address (TEST-5).
inline constexpr std::string_view kTestTerms = "test";

/// The gift_source of adopted gifts, whose records were in the CRM before giftsync (SYNC-52). Changes
/// from every source apply to them, and no timer ever does. No source may have this name.
inline constexpr std::string_view kAdoptedGiftSource = "crm";

struct RecipientTransaction {
  TransactionId id;
  std::string email;
  std::string first_name;
  std::string last_name;
  std::string message;
  std::int64_t generation = 0;  ///< of its links: a higher one invalidates the older links (PAGE-3)
  Status status = Status::sent;
  StatusTimes times;          ///< the sent time is always set
  bool has_conflict = false;  ///< two of its final statuses contradict each other
  std::int64_t version = 1;   ///< grows with every fold that changed something
  std::string phone;          ///< as reported by a source; may be empty
  std::string gift_source;    ///< empty for giftsync's own gifts, else the source that reported it
  std::optional<Status> untimed_status = std::nullopt;  ///< an adopted record's status without a time
  std::optional<UtcMillis> due_at = std::nullopt;       ///< when a timer checks it (LIFE-11)
  std::optional<UtcMillis> resent_at = std::nullopt;    ///< when it was last resent
  std::int64_t last_reminder_day = 0;                   ///< the last reminder day that was handled; 0: none
  std::string external_id{};  ///< its source's own id, when `id` was allotted for it (SRC-58); else empty
  bool is_test = false;       ///< as its request
  std::string reference{};    ///< the caller's own; may be empty
  std::optional<UtcMillis> extended_until = std::nullopt;  ///< it expires then, unless its terms say later
};

/// Its id is its source's or the CRM's, and not allotted here.
inline bool has_foreign_id(const RecipientTransaction& transaction) {
  return !transaction.gift_source.empty() && transaction.external_id.empty();
}

/// One gift to one recipient, with its request.
struct Gift {
  GiftRequest request;
  RecipientTransaction transaction;
};

/// As which the gift is counted in reports; nothing of a test gift (TEST-7).
std::optional<CountedGift> counted_gift(const GiftRequest& request, const RecipientTransaction& transaction);

struct NewRecipient {
  std::string email;
  std::string first_name;
  std::string last_name;
  std::string message;
  std::string reference{};  ///< the caller's own; may be empty
};

struct IdempotencyKey {
  std::string key;
  std::string body_hash;  ///< of the recognised fields
  /// Of those that the versions before `reference` recognised, for keys that they used; empty: as body_hash.
  std::string former_hash{};
};

/// The request record that a gift is sent for, and the lookups of its gift record; empty ids are left to
/// matching. A record is sent once: a second gift request for it is always a replay of the first. It is
/// sent only while the store still has it claimed in that version; otherwise the outcome is `failed` and
/// the record has to be reconciled again.
struct RequestRecordLink {
  std::string record_id;  ///< the record's Id
  std::int64_t entry_version = 0;
  std::string contact_id;
  std::string lead_id;
  std::string account_id;
  std::string opportunity_id;
  std::string sender_id;
};

/// The gift request that a request record was sent as.
struct RequestRecordGift {
  GiftRequestId gift_request;
  RequestRecordLink link;
};

struct NewGiftRequest {
  GiftRequest request;  ///< its id is allocated by GiftRequests
  std::vector<NewRecipient> recipients;
  std::optional<IdempotencyKey> idempotency;
  std::string warnings;  ///< opaque; returned with a replay
  std::optional<RequestRecordLink> request_record = std::nullopt;
  /// What `warnings` becomes when recipients got many gifts lately; absent: it stays.
  std::function<std::string(const std::vector<RecentRecipient>&)> warnings_with_recent = {};
  std::vector<HoldReason> hold_reasons = {};  ///< if any, it is held (GUARD-24); never of a request record
  /// It was held: it gets the id that it was allotted then, if it waits still, and counts beyond limits.
  std::shared_ptr<const HeldDecision> approval = nullptr;
  /// Of a request record: a person approved it, so limits that hold are counted only.
  bool passes_holding_limits = false;
};

struct CreateOutcome {
  enum class Kind {
    created,
    replayed,  ///< this key has been used for the same body, or the request record has been sent: `request`
               ///< and `recipients` are the first call's
    body_mismatch,  ///< this key was used for another body; nothing was created
    held,           ///< it waits for a person, or did under this key before: `held` says what became of it
    refused,  ///< it does not fit in `exceeded`, or `recent` got too many gifts; nothing was created, and
              ///< its key is free
    failed,   ///< the database refused this request alone; nothing was created, `error` has the reason
    unknown,  ///< the connection broke during COMMIT, the result is unknown; resolve_unknown() finds out
  };
  Kind kind = Kind::created;
  GiftRequestId request;
  std::vector<RecipientTransaction> recipients;  ///< in the order of the request
  std::string warnings;
  std::string error;
  bool transient = false;                 ///< of a failed one: a retry may succeed
  TransactionId first_transaction{};      ///< of an unknown one
  std::vector<ExceededLimit> exceeded{};  ///< of a refused one
  std::vector<RecentRecipient> recent{};  ///< of a refused one, or of a created one that the rule warns of
  std::shared_ptr<const HeldGiftRequest> held = nullptr;  ///< of a held one
};

/// Filter for listings; an empty field matches all.
struct GiftFilter {
  std::optional<Status> status;
  std::optional<UtcMillis> since;       ///< that came to `status`, or without one were sent, then or later
  std::optional<UtcMillis> until;       ///< and before then
  std::optional<std::string> campaign;  ///< the exact utm_campaign_id
  std::optional<std::string> sender;    ///< an e-mail address
  std::optional<std::string> item;      ///< the item's number or its exact name
  std::optional<std::string> key;       ///< GiftRequest::credential_prefix
  bool test = false;                    ///< test gifts, and no others; else none of them (TEST-7)
};

/// Gifts of a listing by id.
struct GiftPage {
  std::vector<Gift> gifts;
  std::optional<TransactionId> next;  ///< the listing continues after this id; absent at the end
};

/// The place of a gift in the order of sending; gifts sent at the same time are in the order of their ids.
struct SentPosition {
  UtcMillis sent_at;
  TransactionId id;

  /// Above every gift.
  static SentPosition end() { return {{std::numeric_limits<std::int64_t>::max()}, {}}; }
};

/// A part of a search from the latest gift on.
struct LatestGifts {
  std::vector<Gift> gifts;           ///< the latest sent first
  std::optional<SentPosition> next;  ///< the search continues below it; absent at the end
};

/// The lifecycle of a gift from its sending on (LIFE-2).
struct LifecycleStamp {
  std::string terms;
  std::optional<UtcMillis> due_at;  ///< when a timer first checks it
};
using LifecycleStampFunction = std::function<LifecycleStamp(SendMode mode, UtcMillis sent_at)>;
/// How a request with these recipients counts (GUARD-8).
using SendingChargeFunction = std::function<SendingCharge(const GiftRequest& request)>;

/// How requests are held.
struct HoldTerms {
  std::int64_t expire_millis = 7 * kDayMillis;
  /// Why a request is held that exceeds these limits, which all hold, or for these recipients.
  std::function<std::vector<HoldReason>(const std::vector<ExceededLimit>&,
                                        const std::vector<RecentRecipient>&)>
      reasons_of = {};
};

class GiftRequests {
 public:
  GiftRequests(const std::shared_ptr<sql::Database>& database, MailTurns& mail_turns);

  /// Sets the function that stamps new gifts; without it no timer ever applies to them. To be called
  /// before anything is created; the function is called by any thread.
  void set_lifecycle_stamp(LifecycleStampFunction stamp) { lifecycle_stamp_ = std::move(stamp); }

  /// Sets the function that says how new requests count; without it they count nowhere. Likewise.
  void set_sending_charge(SendingChargeFunction charge) { sending_charge_ = std::move(charge); }

  /// Sets how many gifts an address may get (GUARD-19), and the time that the days end with; without it each
  /// request's own. Likewise.
  void set_frequency_rule(const FrequencyRule& rule, std::function<UtcMillis()> time = {}) {
    frequency_rule_ = rule;
    frequency_time_ = std::move(time);
  }
  const FrequencyRule& frequency_rule() const { return frequency_rule_; }

  /// Whether test gifts are mailed to their sender (TEST-2). Likewise.
  void set_test_mail(bool is_mailed) { mails_test_gifts_ = is_mailed; }

  /// Sets how requests are held. Likewise.
  void set_hold_terms(HoldTerms terms) { hold_terms_ = std::move(terms); }

  /// Creates all requests in one transaction, durable on return, one outcome each: request,
  /// transactions, mail outbox rows, CRM outbox rows and idempotency rows together. Meant for a
  /// group-commit writer; any thread. When the connection breaks during COMMIT it looks its ids up at
  /// once; requests that cannot be looked up yet are `unknown`.
  std::vector<CreateOutcome> create(std::span<const NewGiftRequest> requests);
  /// Retries to find out the result of an unknown request, and creates it under its allocated ids if it
  /// was not committed. Still unknown while the database is unreachable.
  CreateOutcome resolve_unknown(const NewGiftRequest& input, const CreateOutcome& unknown);

  /// The outcome of a create with that key (replayed or body_mismatch); nullopt when the key is new. The keys
  /// of test requests are apart from the others.
  std::optional<CreateOutcome> find_idempotent(AccountId account, SendMode mode, const IdempotencyKey& key,
                                               bool is_test = false);

  /// The recipients of the request that would be beyond the frequency rule now. Nothing is written.
  std::vector<RecentRecipient> find_beyond_frequency(const NewGiftRequest& request);

  /// A new request of so many gifts beside each limit that it would count in now. Nothing is written.
  std::vector<AskedLimit> ask_limits(const GiftRequest& request, std::size_t gifts);

  std::optional<GiftRequest> find_gift_request(GiftRequestId id);
  std::vector<RecipientTransaction> find_recipients(GiftRequestId id);
  /// The first domain of these recipients to which no gift was requested before; empty when there is none.
  std::string first_new_domain(std::span<const NewRecipient> recipients) {
    return domains_.first_new(recipients);
  }
  /// The existing gifts, by id.
  std::vector<Gift> find(std::span<const TransactionId> ids);
  /// The gifts of the filter with an id above `after`, ascending: up to `limit` of the next 5,000 gifts, so
  /// that no statement reads the whole table for a value that few gifts have (OPS-34).
  GiftPage list(const GiftFilter& filter, TransactionId after, std::size_t limit);
  /// The gifts of the filter that were sent before `below`, the latest first.
  std::vector<SentPosition> list_latest(const GiftFilter& filter, SentPosition below, std::size_t limit);
  /// The gifts of the filter among the next 5,000 that were sent before `below` and since the filter's time,
  /// the latest first: no statement reads the whole table for a value that few gifts have (OPS-34).
  LatestGifts search_latest(const GiftFilter& filter, SentPosition below);
  /// When the gift was sent before which at least `count` others were sent; nullopt: there are fewer.
  std::optional<UtcMillis> sent_at_of_latest(std::size_t count);
  /// The gifts with conflicts and an id above `after`, ascending.
  std::vector<TransactionId> list_conflicting(TransactionId after, std::size_t limit);
  /// The existing gifts that were sent elsewhere and have that system's ids, in any order.
  std::vector<TransactionId> filter_external(std::span<const TransactionId> ids);
  /// The ids without a gift, whatever its source; in any order.
  std::vector<TransactionId> filter_unknown(std::span<const TransactionId> ids);
  /// The highest of the ids that were allotted here.
  std::optional<TransactionId> highest_transaction_id();
  /// Ids for gifts that were sent elsewhere under ids of another kind; no gift has one of them.
  std::vector<TransactionId> allocate_transaction_ids(std::size_t count);
  /// No id of a new gift will be below it.
  TransactionId next_transaction_id();
  /// Allocates no transaction id below `lowest` from now on.
  void start_transaction_ids_at(TransactionId lowest);
  /// Deletes idempotency keys older than `before`; returns how many.
  std::int64_t prune_idempotency(UtcMillis before);

 private:
  friend class UrgentWrites;  // creates requests in the transaction of a group
  struct Draft;
  using OtherWrites = std::function<void(soci::session&)>;
  struct GroupOutcome {
    std::vector<CreateOutcome> requests;
    enum class Commit {
      done,
      refused,  ///< nothing was committed; the requests have been created one by one
      unknown,  ///< the connection broke during COMMIT; the requests have been looked up one by one
    } commit = Commit::done;
  };
  /// As create(); `others` writes in the same transaction, after the requests. It may run more than once.
  GroupOutcome create_with(std::span<const NewGiftRequest> requests, const OtherWrites& others);
  LifecycleStamp lifecycle_stamp_of(const GiftRequest& request) const;
  std::int64_t first_turn_of(const GiftRequest& request);
  SendingCharge charge_of(const NewGiftRequest& input) const;
  FrequencyRequest frequency_request(const NewGiftRequest& asked) const;
  std::vector<Draft> draft(std::span<const NewGiftRequest> requests);
  CreateOutcome::Kind decide(soci::session& session, UsageCount& count, const Draft& draft,
                             CreateOutcome& outcome) const;
  UsageCount keep_allowed(soci::session& session, UsageCount::Use use, std::vector<const Draft*>& drafts,
                          const std::vector<std::size_t>& places, std::vector<CreateOutcome>& outcomes) const;
  struct Inserted {
    std::vector<CreateOutcome> outcomes;
    std::set<std::string> domains;
  };
  Inserted insert(soci::session& session, UsageCount::Use use, std::span<const Draft> drafts,
                  const OtherWrites& others);
  std::vector<CreateOutcome> commit(std::span<const Draft> drafts, const OtherWrites& others = {});
  std::vector<RecentRecipient> find_beyond(const FrequencyRequest& request);
  CreateOutcome committed(const Draft& draft);
  std::optional<CreateOutcome> find_committed(const Draft& draft);
  CreateOutcome commit_alone(Draft draft, bool may_be_committed);
  bool overlaps_external(const Draft& draft);
  void read_replay(CreateOutcome& outcome);
  void find_replayed(CreateOutcome& outcome);

  std::shared_ptr<sql::Database> database_;
  LifecycleStampFunction lifecycle_stamp_;
  SendingChargeFunction sending_charge_;
  FrequencyRule frequency_rule_;
  bool mails_test_gifts_ = false;
  std::function<UtcMillis()> frequency_time_;
  HoldTerms hold_terms_;
  RecipientDomains domains_;
  IdBlock request_ids_;
  IdBlock transaction_ids_;
  MailTurns& mail_turns_;
};

}  // namespace giftsync::store
