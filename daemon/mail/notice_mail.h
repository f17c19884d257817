// daemon/mail: the frame of mails that tell users and senders what waits for them: from email.from, without
// pictures, and marked as automatic, so that no auto-responder answers.
#pragma once

#include <string>

#include "sync/delivery_step.h"

namespace giftsync::daemon::mail {

/// Both forms of a body while it is written.
struct NoticeBody {
  std::string text;
  std::string html;  ///< inside of <body>

  /// A paragraph of plain text. Control characters become spaces.
  void add_paragraph(const std::string& paragraph);
};

struct NoticeMail {
  const sync::MailIdentity& identity;
  std::string from_address;  ///< email.from
  std::string to;
  std::string subject;
  std::string language;
};

/// Returns the same bytes for the same arguments. Pure.
sync::OutgoingMail compose_notice(const NoticeMail& mail, NoticeBody body);

}  // namespace giftsync::daemon::mail
