// schema/store: what is known of the CRM's request records (design 3.3): where each one stands, what its
// approval is bound to, every move, and which gift was sent for it. Everything here survives the record
// itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/request_record.h"
#include "schema/store/gift_ledger.h"
#include "schema/time.h"

namespace giftsync::schema {

/// Where a request stands (the machine is drawn in sync/request_moves.h). A claimed one shows Approved in the
/// CRM.
enum class RequestState { pending, approved, claimed, rejected, sent };
inline constexpr std::array<RequestState, 5> kAllRequestStates{RequestState::pending, RequestState::approved,
                                                               RequestState::claimed, RequestState::rejected,
                                                               RequestState::sent};
std::string_view to_word(RequestState state);

/// How an approval came about.
enum class Approval { none, automatic, person };
std::string_view to_word(Approval approval);

struct KnownRequest {
  std::string key;  ///< the record's Id in the CRM
  std::string number;
  RequestState state = RequestState::pending;
  RequestStatus shown = RequestStatus::pending;  ///< what the CRM is known to show
  Approval approval = Approval::none;
  std::string approved_by;
  std::string approved_content;  ///< what the approval is bound to
  std::string order;             ///< what is sent once the claim is made
  std::string asked_by;          ///< who made it by command or over HTTP; empty: in the CRM
  std::string error;             ///< as in the record's Error Log
  std::int64_t failures = 0;
  std::optional<UtcMillis> due_at;  ///< to be looked at then, without being told
  bool deleted = false;             ///< in the CRM
  std::int64_t version = 0;         ///< 0: not in the book yet
  friend bool operator==(const KnownRequest&, const KnownRequest&) = default;
};

struct RequestMove {
  UtcMillis at;
  std::string who;
  std::string from;  ///< words of states
  std::string to;
  std::string comment;
  friend bool operator==(const RequestMove&, const RequestMove&) = default;
};

/// `next.version` is the version that was read: nothing is saved over a newer one.
struct RequestChange {
  KnownRequest next;
  std::vector<RequestMove> moves;
};

struct SentRequest {
  GiftRequestId gift_request;
  RequestOrigin origin;
};

struct RequestMaking {
  bool is_mismatch = false;  ///< the Idempotency-Key has been used for another body
  std::string creation_key;
  std::string key;  ///< the record's Id, when it is known to stand already
  std::string number;
};

struct MadeRequest {
  std::string key;  ///< the record's Id
  std::string number;
  std::string asker;
  std::string creation_key;
};

class RequestBook {
 public:
  explicit RequestBook(std::shared_ptr<sql::Database> database);

  /// Those that are in the book, in any order.
  std::vector<KnownRequest> find(std::span<const std::string> keys);
  /// In one transaction, each by itself; returns the keys of those that were saved, as version + 1.
  std::set<std::string> save(std::span<const RequestChange> changes);
  /// Keys of requests whose time has come, the longest due first.
  std::vector<std::string> due(UtcMillis now, std::size_t limit);
  /// Requests that are to be looked at after `latest` are due now; returns how many those were.
  std::int64_t end_waits_beyond(UtcMillis latest, UtcMillis now);
  /// By Request Number or Id.
  std::optional<KnownRequest> named(const std::string& number_or_id);

  /// Under which key the CRM is to make the request that a caller asks for: the same for the same
  /// Idempotency-Key, else `fresh_key`. Durable on return.
  RequestMaking begin_making(AccountId account, const IdempotencyKey& asked, const std::string& fresh_key,
                             UtcMillis now);
  /// Who made a request, which may be in the book already; whoever asks for it again under its creation key
  /// learns of it from here on.
  void note_made(const MadeRequest& made, UtcMillis now);
  /// Forgets Idempotency-Keys of requests that are older than `before`; returns how many.
  std::int64_t prune_makings(UtcMillis before);

  /// The database's own clock: what one daemon or command announces here, others see by the same clock.
  UtcMillis now();
  /// The oldest first.
  std::vector<RequestMove> moves(const std::string& key);

  /// Of these records, those that a gift was sent for.
  std::vector<SentRequest> sent(std::span<const std::string> keys);
  /// Of these gift requests, those that were sent for a record.
  std::vector<SentRequest> origins(std::span<const GiftRequestId> requests);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema
