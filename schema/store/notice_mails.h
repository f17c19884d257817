// schema/store: queues the mails that carry notices. A recipient has one row in the mail outbox, with a
// negative transaction id; so these mails have all promises of the outbox, and a next mail is queued only
// when the one before has ended. Included by this folder's .cpp files only.
#pragma once

#include <string>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/sql/database.h"

namespace giftsync::schema::store {

struct NoticeMails {
  MailKind kind;
  std::string table;                         ///< of the notices; those with mail_number 0 are in no mail yet
  std::string recipient;                     ///< the transaction id of a notice's mail, as SQL over `table` n
  std::string may_follow;                    ///< the last mail of a recipient that another one may follow
  std::string due = "cast(:now as bigint)";  ///< when the mail after it may leave, as SQL over its row
};

/// Whether queue_notice_mails() would queue a mail.
bool has_mail_to_queue(soci::session& session, const NoticeMails& mails);
/// Queues a mail for each recipient with notices that no mail has, unless the last one holds it up.
void queue_notice_mails(soci::session& session, sql::Dialect dialect, const NoticeMails& mails,
                        platform::UtcMillis now);

}  // namespace giftsync::schema::store
