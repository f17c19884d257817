// schema/store: gift requests and their recipient transactions (Spec 2.3, 2.4), each created whole or not at
// all, each once, whatever breaks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/ids.h"
#include "schema/status_times.h"
#include "schema/store/catalogue.h"
#include "schema/store/id_block.h"
#include "schema/time.h"
#include "schema/words.h"

namespace giftsync::schema {

/// What was asked for, and by whom, as it was when it was sent.
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
  std::string triggered_by{};  ///< the CRM user at whose hand it was sent; empty: none is known
  UtcMillis created_at;
  std::string
      terms;  ///< of its gifts' life, stamped when they were sent (sync/lifecycle_terms); may be empty
};

/// The origin of gifts whose records were in the CRM before giftsync knew of them (design 4, backfill).
/// Changes from every source apply to them, and no timer ever touches them. No source may have this name.
inline constexpr std::string_view kAdoptedOrigin = "crm";

struct RecipientTransaction {
  TransactionId id;
  std::string email;
  std::string first_name;
  std::string last_name;
  std::string message;
  std::int64_t generation = 0;  ///< of its links: a higher one makes the older links dead (design 3.5)
  Status status = Status::sent;
  StatusTimes times;           ///< the sent time is always there
  bool contradictory = false;  ///< something in its history contradicts something else
  std::int64_t version = 1;    ///< grows with every fold that changed something
  std::string phone;           ///< as reported, of a gift from outside; may be empty
  std::string origin;          ///< empty for our own gifts, else the source that reported it
  std::optional<Status> untimed_status = std::nullopt;  ///< an adopted record's status that has no time
  std::optional<UtcMillis> due_at = std::nullopt;       ///< when a timer is to look at it (design 3.6)
  std::optional<UtcMillis> resent_at = std::nullopt;    ///< when it was last sent again
  std::int64_t reminded_day = 0;  ///< the last of its reminder days that was seen to; 0: none
};

/// One gift to one person, with the request it belongs to.
struct Gift {
  GiftRequest request;
  RecipientTransaction transaction;
};

struct NewRecipient {
  std::string email;
  std::string first_name;
  std::string last_name;
  std::string message;
};

struct IdempotencyKey {
  std::string key;
  std::string body_hash;  ///< of the recognised fields
};

/// The request record of the CRM that a gift is sent for, and what its gift record refers to; empty ids are
/// left to matching. A record is sent once: a second gift request for it is a replay of the first, for ever.
/// And it is sent only while the book still has it claimed, in that version: else the outcome is `failed`, to
/// be looked at again.
struct RequestOrigin {
  std::string key;  ///< the record's Id
  std::int64_t book_version = 0;
  std::string contact_id;
  std::string lead_id;
  std::string account_id;
  std::string opportunity_id;
  std::string sender_id;
};

struct NewGiftRequest {
  GiftRequest request;  ///< its id is allotted by the ledger
  std::vector<NewRecipient> recipients;
  std::optional<IdempotencyKey> idempotency;
  std::string warnings;  ///< opaque; given back with a replay
  std::optional<RequestOrigin> origin = std::nullopt;
};

struct CreateOutcome {
  enum class Kind {
    created,
    replayed,  ///< this key has been used for the same body, or the request record has been sent: `request`
               ///< and `recipients` are the first call's
    body_mismatch,  ///< this key has been used for another body; nothing was created
    failed,         ///< the database refused this one alone; nothing was created, `error` says why
    unknown,        ///< the connection broke during COMMIT: it may stand or not; settle() finds out
  };
  Kind kind = Kind::created;
  GiftRequestId request;
  std::vector<RecipientTransaction> recipients;  ///< in the order of the call
  std::string warnings;
  std::string error;
  bool transient = false;             ///< of a failed one: trying again later may work
  TransactionId first_transaction{};  ///< of an unknown one
};

/// Which gifts to list; an empty one means all.
struct GiftFilter {
  std::optional<Status> status;
  std::optional<UtcMillis> since;       ///< that came to `status`, or without one were sent, then or later
  std::optional<UtcMillis> until;       ///< and before then
  std::optional<std::string> campaign;  ///< the exact utm_campaign_id
  std::optional<std::string> sender;    ///< an e-mail address
};

/// What a gift's life goes by from the moment that it is sent (design 3.6).
struct LifeStamp {
  std::string terms;
  std::optional<UtcMillis> due_at;  ///< when a timer is first to look at it
};
using LifeStampOf = std::function<LifeStamp(SendMode mode, UtcMillis sent_at)>;

class GiftLedger {
 public:
  explicit GiftLedger(const std::shared_ptr<sql::Database>& database);

  /// What gifts are stamped with that are created from now on; without it no timer ever touches them. Called
  /// before anything is created; the function is called by any thread.
  void stamp_with(LifeStampOf stamp) { stamp_ = std::move(stamp); }

  /// Creates all of them in one transaction, durable on return, one outcome each: request, transactions,
  /// outbox rows, sync marks and idempotency rows together. Meant for a group-commit writer; any thread. When
  /// the connection breaks during COMMIT it looks its ids up at once; those that cannot be looked up yet are
  /// `unknown`.
  std::vector<CreateOutcome> create(std::span<const NewGiftRequest> requests);
  /// One more try to learn what became of an unknown one, and to create it under the ids it was allotted if
  /// it does not stand. Unknown again while the database stays away.
  CreateOutcome settle(const NewGiftRequest& asked, const CreateOutcome& unknown);

  /// What a create with that key would answer (replayed or body_mismatch), nullopt when the key is new.
  std::optional<CreateOutcome> first_use(AccountId account, SendMode mode, const IdempotencyKey& key);

  std::optional<GiftRequest> request(GiftRequestId id);
  std::vector<RecipientTransaction> recipients(GiftRequestId id);
  /// Those that exist, by id.
  std::vector<Gift> gifts(std::span<const TransactionId> ids);
  /// Those of the filter with an id above `after`, in their order.
  std::vector<Gift> list(const GiftFilter& filter, TransactionId after, std::size_t limit);
  /// Those with contradictions in their history and an id above `after`, in their order.
  std::vector<TransactionId> contradictory(TransactionId after, std::size_t limit);
  /// Those that exist and were sent elsewhere, in any order.
  std::vector<TransactionId> sent_elsewhere(std::span<const TransactionId> ids);
  /// Those of which there is no gift, whoever sent it; in any order.
  std::vector<TransactionId> without_gift(std::span<const TransactionId> ids);
  /// Of our own gifts.
  std::optional<TransactionId> highest_transaction_id();
  /// No id of a new gift will be below it.
  TransactionId next_transaction_id();
  /// No transaction id below `lowest` is allotted any more.
  void start_transaction_ids_at(TransactionId lowest);
  /// Forgets idempotency keys older than `before`; returns how many.
  std::int64_t prune_idempotency(UtcMillis before);

 private:
  struct Draft;
  LifeStamp stamp_of(const GiftRequest& request) const;
  std::vector<Draft> draft(std::span<const NewGiftRequest> requests);
  std::vector<CreateOutcome> commit(std::span<const Draft> drafts);
  CreateOutcome commit_alone(Draft draft, bool may_stand);
  bool meets_external(const Draft& draft);
  void read_replay(CreateOutcome& outcome);

  std::shared_ptr<sql::Database> database_;
  LifeStampOf stamp_;
  IdBlock request_ids_;
  IdBlock transaction_ids_;
};

}  // namespace giftsync::schema
