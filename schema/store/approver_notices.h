// schema/store: what approvers are mailed (CON-31). A notice belongs to one transition of a request record to
// pending and to one approver. An approver has one row in the mail outbox, whose transaction id is the
// negative id of the user; so these mails have all promises of the outbox, and a next mail is queued only
// when the one before has ended.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/ids.h"

namespace giftsync::schema::sql {
class Database;
}

namespace giftsync::schema::store {

/// Two mails to one approver are at least this far apart.
inline constexpr std::int64_t kApproverMailPauseMillis = 10 * platform::kMinuteMillis;

/// A request record that waits for approval and of which no approver has a notice.
struct UnnoticedRecord {
  std::string record_id;
  std::int64_t transition = 0;  ///< the one since which it waits
};

struct ApproverNotice {
  UserId user;
  std::int64_t transition = 0;
  std::string record_id;
  std::string number;
  std::string item;
  std::string cost;           ///< empty: not known
  bool is_repeated = false;   ///< an earlier mail named it, and it still waits
  bool was_approved = false;  ///< it waits since its approval was withdrawn; of take() alone
};

/// One mail.
struct ApproverMail {
  std::string email;                    ///< of the approver
  bool is_obsolete = false;             ///< nothing new in it waits any more, or the user is no approver now
  std::vector<ApproverNotice> notices;  ///< the new ones, then the repeated ones; each by Request Number
};

/// Any thread.
class ApproverNotices {
 public:
  explicit ApproverNotices(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// The ones of these records.
  std::vector<UnnoticedRecord> find_unnoticed(std::span<const std::string> record_ids);
  /// One transaction; a notice that exists stays as it is.
  void add(std::span<const ApproverNotice> notices, platform::UtcMillis now);
  /// Queues a mail for each approver with notices that no mail has, unless one of theirs has not ended: due
  /// now, or kApproverMailPauseMillis after the last one.
  void queue_mails(platform::UtcMillis now);
  /// The mail with this number for a sender that has claimed it. Before it may have been sent, and while
  /// `claimed_by` owns it, it takes the notices that no mail has and repeats those of earlier mails (CON-53),
  /// without those of records that do not wait any more. It stays the same when `claimed_by` is empty.
  ApproverMail take(UserId user, std::int64_t mail_number, const std::string& claimed_by);
  /// Deletes notices older than `before`.
  void prune(platform::UtcMillis before);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema::store
