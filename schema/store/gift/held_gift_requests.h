// schema/store: gift requests that wait until a person approves or rejects them (GUARD-25). A held request is
// no gift: it is one row with the id that was allotted to its gift request, and counts in no budget. It is
// inserted by GiftRequests, in place of the gifts; an approval creates them in one transaction with the
// change of its state.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/money.h"
#include "schema/record_fields.h"
#include "schema/store/statements/audit_log.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

struct NewGiftRequest;
struct NewRecipient;

/// Why a request waits.
struct HoldReason {
  std::string code;     ///< for programs: "recipients_above"
  std::string field;    ///< of the request; empty: the request as a whole
  std::string message;  ///< a sentence for people
};

struct HeldGiftRequest {
  GiftRequestId id;  ///< of the gift request that it becomes
  AccountId account;
  std::optional<OrganizationId> organization;  ///< the account's when it was held
  SendMode mode = SendMode::email;
  GiftId gift;
  std::string credential_prefix;
  std::string content;  ///< of content_of(); empty in a listing, and some time after the decision
  std::int64_t gifts = 0;
  std::optional<Money> amount;  ///< of all gifts, by the prices when it was held
  std::string findings;         ///< of findings_text()
  HeldState state = HeldState::held;
  UtcMillis held_at;
  UtcMillis expires_at;
  std::optional<UtcMillis> decided_at;
  std::string decided_by;
  std::string comment;
};

// One field a line.
// clang-format off
inline constexpr auto kHeldGiftRequestFields = record_fields(
    "held_gift_request",
    field<&HeldGiftRequest::id>("request_id"),
    field<&HeldGiftRequest::account>("account_id"),
    field<&HeldGiftRequest::organization>("organization_id"),
    field<&HeldGiftRequest::mode>("mode"),
    field<&HeldGiftRequest::gift>("gift_id"),
    field<&HeldGiftRequest::credential_prefix>("credential_prefix"),
    field<&HeldGiftRequest::content>("content"),
    field<&HeldGiftRequest::gifts>("gifts"),
    field<&HeldGiftRequest::amount>("amount"),
    field<&HeldGiftRequest::findings>("findings"),
    field<&HeldGiftRequest::state>("state"),
    field<&HeldGiftRequest::held_at>("held_at"),
    field<&HeldGiftRequest::expires_at>("expires_at"),
    field<&HeldGiftRequest::decided_at>("decided_at"),
    field<&HeldGiftRequest::decided_by>("decided_by"),
    field<&HeldGiftRequest::comment>("comment"));
// clang-format on

/// Reasons as stored, and back.
std::string findings_text(std::span<const HoldReason> reasons);
std::vector<HoldReason> reasons_of(const HeldGiftRequest& held);

/// What the caller sent, as JSON: all of the request that an approval does not read again.
std::string content_of(const NewGiftRequest& request);
/// The same as a request, without account, item and time; nothing when the content was emptied.
std::optional<NewGiftRequest> request_in(const HeldGiftRequest& held);

/// The row of a request that waits.
HeldGiftRequest held_row(GiftRequestId id, const NewGiftRequest& request, std::span<const HoldReason> reasons,
                         UtcMillis expires_at);

/// A person's decision.
struct HeldDecision {
  GiftRequestId request;
  std::string who;
  std::string comment;
  AuditEvent audit;  ///< inserted with the decision
};

/// Which requests a listing has; an empty field matches all.
struct HeldFilter {
  std::optional<HeldState> state = {};
  std::string credential_prefix = {};  ///< or its beginning
  /// Only those of this organization; one that is absent itself: of accounts without an organization.
  std::optional<std::optional<OrganizationId>> organization = {};
  bool test = false;  ///< requests of test keys, and no others; else none of them (TEST-7)
};

/// Any thread. Throws DependencyError.
class HeldGiftRequests {
 public:
  explicit HeldGiftRequests(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  std::optional<HeldGiftRequest> find(GiftRequestId id);
  /// Those of the filter with an id above `after`, by id; without their content, which may be long.
  /// Those that do not wait any more are searched 5,000 a statement.
  std::vector<HeldGiftRequest> list(const HeldFilter& filter, GiftRequestId after, std::size_t limit);
  /// How many wait; at most kMaxCounted + 1.
  std::int64_t count_waiting();
  /// False, without a change, when it does not wait any more.
  bool reject(const HeldDecision& decision, UtcMillis now);
  /// Ends those that waited too long, up to 500, each with an event of the audit log; returns them.
  std::vector<GiftRequestId> expire(UtcMillis now);
  /// Empties the content of those that were decided before then.
  void empty_contents(UtcMillis before);

 private:
  std::shared_ptr<sql::Database> database_;
};

// Parts of other transactions. For the store's .cpp files.

/// A condition on the table: requests of test keys, or all others.
std::string held_test_condition(bool is_test);
/// The columns of the table as records are read, without the content.
std::string held_columns_without_content();
void insert_held(soci::session& session, std::span<const HeldGiftRequest> held);
/// False, without a change, when it does not wait any more.
bool approve_held(soci::session& session, const HeldDecision& decision, UtcMillis now);

/// The domains to which gifts were ever requested, for rules that hold the first gift to one. Any thread.
class RecipientDomains {
 public:
  explicit RecipientDomains(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// The first domain of these recipients without a gift; empty when there is none.
  std::string first_new(std::span<const NewRecipient> recipients);
  /// Those of requests whose gifts are made now that this process has not seen: they are inserted with the
  /// gifts, in this order everywhere.
  std::set<std::string> unknown_of(std::span<const NewGiftRequest* const> requests);
  /// After the commit of that transaction.
  void remember(const std::set<std::string>& inserted);

 private:
  static constexpr std::size_t kMaxKnown = 100'000;

  std::shared_ptr<sql::Database> database_;
  std::mutex mutex_;
  std::set<std::string, std::less<>> known_;  // guarded by mutex_
};

}  // namespace giftsync::store
