// schema: the CRM as a port. Batch-first, because a remote CRM is paid by the call: every function takes up
// to kCrmBatch rows and answers for each row on its own; one bad row never holds up the others. Nothing here
// assumes more than 200-row upserts by external id. A CRM that cannot be reached throws BrokenWorld. Any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/gift_record.h"
#include "schema/ids.h"

namespace giftsync::schema {

inline constexpr std::size_t kCrmBatch = 200;
/// Candidates that are fetched for one recipient and one kind of field (design 3.2).
inline constexpr std::size_t kMaxCandidates = 200;

enum class PersonObject { contact, lead };

struct OrderBy {
  std::string field;  ///< API name without prefix and suffix
  bool descending = true;
};

/// Which fields of contacts (or leads) are compared, and who wins when several match (Spec 6.4).
struct PersonMatchFields {
  std::vector<std::string> email_fields;
  std::vector<std::string> phone_fields;
  OrderBy order_by;
};

struct MatchFields {
  PersonMatchFields contact;
  PersonMatchFields lead;
  std::string default_region;  ///< for phone numbers without a country
};

/// A recipient as matching compares it: email_key() and phone_key() of schema/address.h; empty ones match
/// nothing.
struct RecipientKeys {
  std::string email_key;
  std::string phone_key;
};

struct Candidate {
  std::string id;
  std::string name;           ///< for explanations
  std::string account_id;     ///< contacts; empty when there is none
  bool converted = false;     ///< leads
  std::string matched_field;  ///< the first of the configured fields that is equal
  std::string order_value;    ///< the order-by field as text, empty when null; for explanations
};

/// Both lists are ordered by the configured field and direction, nulls last, then by id, and hold at most
/// kMaxCandidates.
struct Candidates {
  std::vector<Candidate> by_email;
  std::vector<Candidate> by_phone;
};

struct CrmUser {
  std::string id;
  std::string name;
  std::string email;
  bool active = true;
};

/// What became of one row of an upsert.
struct RowResult {
  enum class Kind {
    created,
    updated,
    unchanged,  ///< the CRM already holds this version or a newer one
    gone,       ///< it was there once and somebody deleted it; nothing was written
    retry,      ///< a fault that may pass
    rejected,   ///< the CRM refuses the row as it is
  };
  Kind kind = Kind::retry;
  std::string reason;  ///< for gone, retry and rejected
};

/// One gift record to write. When `exists` is set only the fields that giftsync owns are written.
struct GiftUpsert {
  GiftRecord record;
  bool exists = false;
};

class Crm {
 public:
  virtual ~Crm() = default;

  /// One answer for each recipient, in their order.
  virtual std::vector<Candidates> find_candidates(PersonObject object,
                                                  std::span<const RecipientKeys> recipients) = 0;

  /// For each e-mail key the users with that address: active ones first, then by id.
  virtual std::vector<std::vector<CrmUser>> find_users(std::span<const std::string> email_keys) = 0;

  /// Upserts by Transaction Id: exactly one record for each, and never an older version over a newer one.
  virtual std::vector<RowResult> upsert_gift_records(std::span<const GiftUpsert> rows) = 0;

  /// Gift records with a Transaction Id above `after`, in its order.
  virtual std::vector<GiftRecord> gift_records(TransactionId after, std::size_t limit) = 0;

  /// Empty when there is none.
  virtual std::optional<TransactionId> highest_transaction_id() = 0;
};

}  // namespace giftsync::schema
