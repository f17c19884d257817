// schema/store: what users and senders are mailed. An approver's notice (CON-31) belongs to one transition
// of a request record to pending or to a held gift request (GUARD-29), an admin's to a threshold of a budget
// or to a pause by a burst (GUARD-31). A user has one row in the mail outbox, whose transaction id is the
// negative id of the user, for both; so these mails have all promises of the outbox, and a next mail is
// queued only when the one before has ended.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/sql/dsn.h"
#include "schema/store/account/admin_notices.h"
#include "schema/store/gift/held_gift_requests.h"
#include "schema/store/statements/mail_ids.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

/// Two mails to one user are at least this far apart, unless the second one has notices to an admin.
inline constexpr std::int64_t kApproverMailPauseMillis = 10 * kMinuteMillis;

/// A request record that waits for approval and of which no approver has a notice.
struct UnnoticedRecord {
  std::string record_id;
  std::int64_t transition = 0;  ///< the one since which it waits
};

struct ApproverNotice {
  UserId user;
  std::int64_t transition = 0;  ///< of a held gift request its negative id
  std::string record_id;
  std::string number;
  std::string item;
  std::string cost;           ///< empty: not known
  bool is_repeated = false;   ///< an earlier mail named it, and it still waits
  bool was_approved = false;  ///< it waits since its approval was withdrawn; of take() alone
  // Of a held gift request:
  std::string asked_by = {};   ///< the account's address with the key or token
  std::string recipient = {};  ///< the address, if there is one alone
  std::string reasons = {};    ///< why it waits; sentences
  /// The key or token was paused when the mail was made; of take() alone.
  std::optional<UtcMillis> paused_at = {};

  bool is_of_held() const { return transition < 0; }
};

/// One mail. It has what the user's roles of now allow.
struct ApproverMail {
  std::string email;                       ///< of the user
  bool is_obsolete = false;                ///< nothing new in it waits any more, or is for the user's roles
  std::vector<ApproverNotice> notices;     ///< the new ones, then the repeated ones; each by Request Number
  std::vector<AdminNotice> admin_notices;  ///< pauses first
};

/// Any thread.
class ApproverNotices {
 public:
  explicit ApproverNotices(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// Whether approvers have the console, without which they decide nothing: while it is off the notices to
  /// them are left for a mail after it is on. To be called before the others.
  void set_console(bool is_on) { has_console_ = is_on; }

  /// The ones of these records.
  std::vector<UnnoticedRecord> find_unnoticed(std::span<const std::string> record_ids);
  /// Held gift requests that wait and of which no approver has a notice, with ids above `after`, by id; with
  /// their content only if they have one recipient.
  std::vector<HeldGiftRequest> find_unnoticed_held(GiftRequestId after, std::size_t limit);
  /// One transaction; a notice that exists stays as it is.
  void add(std::span<const ApproverNotice> notices, UtcMillis now);
  /// Queues a mail for each user with notices that no mail has, unless one of theirs has not ended: due now,
  /// or kApproverMailPauseMillis after the last one. With a notice to an admin one is due now in any case.
  void queue_mails(UtcMillis now);
  /// The mail with this number for a sender that has claimed it. Before it may have been sent, and while
  /// `claimed_by` owns it, it takes the notices that no mail has and repeats those of earlier mails (CON-53),
  /// without those of records that do not wait any more. It stays the same when `claimed_by` is empty, but
  /// for a role that the user has lost, and for held requests of an organization that the user does not see.
  /// Notices to admins are never repeated.
  ApproverMail take(UserId user, std::int64_t mail_number, const std::string& claimed_by);
  /// Deletes notices older than `before`, those to admins too.
  void prune(UtcMillis before);

 private:
  std::shared_ptr<sql::Database> database_;
  bool has_console_ = true;
};

// Queues the mails that carry notices. A recipient has one row in the mail outbox, with a
// negative transaction id; so these mails have all promises of the outbox, and a next mail is queued only
// when the one before has ended. Included by this folder's .cpp files only.

struct NoticeMails {
  MailKind kind;
  std::string notices;                       ///< their table, or a SELECT; with mail_number 0: in no mail yet
  std::string recipient;                     ///< the transaction id of a notice's mail, as SQL over them as n
  std::string may_follow;                    ///< the last mail of a recipient that another one may follow
  std::string due = "cast(:now as bigint)";  ///< when the mail after it may leave, as SQL over its row
};

/// Whether queue_notice_mails() would queue a mail.
bool has_mail_to_queue(soci::session& session, const NoticeMails& mails);
/// Queues a mail for each recipient with notices that no mail has, unless the last one holds it up.
void queue_notice_mails(soci::session& session, const NoticeMails& mails, UtcMillis now);

// What senders are mailed of gifts that became undelivered (MAIL-34). A notice belongs to one
// sending of a gift. A sender, that is an e-mail address, has one row in the mail outbox, whose transaction
// id is below those of approvers' mails.

/// Gifts that became undelivered longer ago get no notice.
inline constexpr std::int64_t kMaxNoticedAgeMillis = 7 * kDayMillis;
/// So long before notices were turned on a gift may have become undelivered that gets one.
inline constexpr std::int64_t kNoticedBeforeMillis = kDayMillis;

struct SenderNotice {
  TransactionId gift;
  std::string item;
  std::string recipient;  ///< the name; may be empty
  std::string email;      ///< of the recipient, as the mail that failed had it
  std::string reply;      ///< of the relay; empty: a source reported the failure
  UtcMillis sent_at;
  UtcMillis undelivered_at;
  std::string terms;                                       ///< LifecycleTerms of the gift
  std::optional<UtcMillis> extended_until = std::nullopt;  ///< of the gift
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
  bool queue_mails(std::int64_t pause_millis, UtcMillis now);
  static constexpr std::size_t kMaxAdded = 500;
  /// Turns notices off: those that no mail has yet are dropped.
  void end();
  /// The mail with this number for who has claimed it. Before it may have been sent, and while `claimed_by`
  /// owns it, it takes the notices that no mail has, and drops those of gifts that are not undelivered any
  /// more. It stays the same when `claimed_by` is empty.
  SenderMail take(TransactionId mail, std::int64_t number, const std::string& claimed_by);
  /// Deletes notices older than `before`.
  void prune(UtcMillis before);

 private:
  std::shared_ptr<sql::Database> database_;
};

// Which undelivered gifts have no notice for their sender (MAIL-34). Included by this folder's
// .cpp files and their tests only.

/// Gifts that giftsync mailed and that became undelivered since then, by their last sending; in that order,
/// by the index recipient_transaction_undelivered. `sending` counts the sendings of a gift. That a source
/// reported the last one, and not the one before, only the times tell, of which some have whole seconds.
std::string unnoticed_gifts(sql::Dialect dialect, UtcMillis since, std::size_t limit);

// Sign-in links that users ask for by mail (SIGN-15). Every request is a row, of any address, so that the
// answer takes the same time; the worker that queues mails looks for its user. A user has one row in the mail
// outbox, whose transaction id is below those of test gifts' mails.

/// A link works for so long after it was asked for.
inline constexpr std::int64_t kMailedLinkMillis = 10 * kMinuteMillis;

struct SignInRequest {
  std::string token_hash = {};  ///< hex SHA-256 of the link's token
  std::string salt = {};        ///< from which the token follows, with the server secret
  std::string email_key = {};   ///< of the address that was entered
  std::string client = {};      ///< the address that asked
  std::int64_t mail_number = 0;
  UtcMillis created_at = {};
  UtcMillis expires_at = {};
};

/// One mail with a link.
struct SignInMail {
  std::string email = {};     ///< of the user
  std::string salt = {};      ///< of the link's token
  std::string client = {};    ///< the address that asked
  UtcMillis expires_at = {};  ///< the link
  bool is_obsolete = false;   ///< the link was used or has ended, or its user gets none any more
};

/// Any thread.
class SignInMails {
 public:
  explicit SignInMails(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  void add(const SignInRequest& request);
  /// Queues a mail for each user whose address has asked, unless their last one has not ended. Others get
  /// none: no active user has the address, or one without a role or with a role from a provider's groups,
  /// who signs in there.
  void queue_mails(UtcMillis now);
  /// The mail with this number for a sender that has claimed it. Before it may have been sent, and while
  /// `claimed_by` owns it, it takes the user's requests, stores the link of the last one, and adds the event.
  /// It stays the same when `claimed_by` is empty.
  SignInMail take(TransactionId mail, std::int64_t number, const std::string& claimed_by, UtcMillis now);
  /// Deletes requests that ended before `before`.
  void prune(UtcMillis before);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
