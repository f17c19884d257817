// schema/store: what senders are mailed of gifts that became undelivered (MAIL-34). A notice belongs to one
// sending of a gift. A sender, that is an e-mail address, has one row in the mail outbox, whose transaction
// id is below those of approvers' mails.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/ids.h"

namespace giftsync::schema::sql {
class Database;
}

namespace giftsync::schema::store {

/// The transaction ids of senders' mails are below the negative of this, those of approvers' mails above.
inline constexpr std::int64_t kSenderMailIds = 1'000'000'000'000'000;
constexpr bool is_mail_to_sender(TransactionId mail) {
  return mail.value < -kSenderMailIds;
}

/// Gifts that became undelivered longer ago get no notice.
inline constexpr std::int64_t kMaxNoticedAgeMillis = 7 * platform::kDayMillis;
/// So long before notices were turned on a gift may have become undelivered that gets one.
inline constexpr std::int64_t kNoticedBeforeMillis = platform::kDayMillis;

struct SenderNotice {
  TransactionId gift;
  std::string item;
  std::string recipient;  ///< the name; may be empty
  std::string email;      ///< of the recipient, as the mail that failed had it
  std::string reply;      ///< of the relay; empty: a source reported the failure
  platform::UtcMillis sent_at;
  platform::UtcMillis undelivered_at;
  std::string terms;  ///< LifecycleTerms of the gift
};

/// One mail.
struct SenderMail {
  std::string email;                  ///< of the sender
  bool is_obsolete = false;           ///< no gift in it is undelivered any more
  std::int64_t gifts = 0;             ///< all that it is about
  std::vector<SenderNotice> notices;  ///< of the first kMaxNamed gifts, by their ids
  static constexpr std::size_t kMaxNamed = 50;
};

/// Any thread.
class SenderNotices {
 public:
  explicit SenderNotices(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// One transaction, or none when there is nothing to do: adds a notice for each gift that giftsync mailed,
  /// that is undelivered, and of whose last sending there is none, at most kMaxAdded. Queues a mail for each
  /// sender with notices that no mail has, unless the last one has not ended, or ended less than
  /// `pause_millis` ago. The first call since end() turns notices on. Returns whether more may be found now.
  bool queue_mails(std::int64_t pause_millis, platform::UtcMillis now);
  static constexpr std::size_t kMaxAdded = 500;
  /// Turns notices off: those that no mail has yet are dropped.
  void end();
  /// The mail with this number for who has claimed it. Before it may have been sent, and while `claimed_by`
  /// owns it, it takes the notices that no mail has, and drops those of gifts that are not undelivered any
  /// more. It stays the same when `claimed_by` is empty.
  SenderMail take(TransactionId mail, std::int64_t number, const std::string& claimed_by);
  /// Deletes notices older than `before`.
  void prune(platform::UtcMillis before);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema::store
