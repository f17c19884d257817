// sync: what follows from one look at a request record: what the CRM shows now against what is known of it
// (design 3.3). Any order and any repetition of looks ends in the same state. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/store/request_book.h"
#include "sync/request_moves.h"

namespace giftsync::sync {

/// A write to the CRM that was announced in the book is taken for lost when it does not show by then; a claim
/// after the longer time.
inline constexpr std::int64_t kWriteInFlightMillis = 5 * schema::kSecondMillis;
inline constexpr std::int64_t kClaimInFlightMillis = 10 * schema::kSecondMillis;
/// An approved request whose edit was put back rests for so long: whoever made the edit meant something by
/// it, and can still reject.
inline constexpr std::int64_t kPutBackRestMillis = schema::kMinuteMillis;

struct RequestSight {
  schema::RequestRecord row;  ///< as the CRM has it
  std::string content;  ///< what an approval is bound to, with what the row leaves to its contact or creator
  schema::KnownRequest known;  ///< version 0 when it is seen for the first time
  bool has_gift = false;       ///< a gift was sent for it
  bool auto_approved_default = false;
  std::optional<schema::GiftId> gift_sent = {};  ///< of the catalogue; empty where it is not known
  /// To be written as long as nobody has claimed it; empty to clear what is there.
  std::optional<std::string> item_link = {};
  std::string own_user = {};  ///< whom giftsync's own writes name as Last Modified By; may be empty
};

struct RequestJudgement {
  schema::RequestChange change;  ///< what to keep; `is_changed` when it differs from what is known
  bool is_changed = false;
  schema::RequestWrite write;  ///< `is_written` when there is something to write
  bool is_written = false;
  bool may_claim = false;          ///< approved, and its time has come
  bool must_finish = false;        ///< claimed: its gift is to be sent
  std::vector<std::string> notes;  ///< for the operator's log
};

RequestJudgement judge(const RequestSight& sight, schema::UtcMillis now);
/// The same for a request that is not in the CRM any more.
RequestJudgement judge_deleted(const schema::KnownRequest& known, bool has_gift, schema::UtcMillis now);

/// A text that fits into Error Log.
std::string error_log_text(std::string_view text);

}  // namespace giftsync::sync
