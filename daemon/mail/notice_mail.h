// daemon/mail: the frame of mails that tell users and senders what waits for them: from email.from, without
// pictures, and marked as automatic, so that no auto-responder answers.
#pragma once

#include <span>
#include <string>

#include "schema/store/mail/notices.h"
#include "sync/alert_rules.h"
#include "sync/mail/delivery_step.h"

namespace giftsync::mail {

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

// Composes the mail that tells an admin what budgets and bursts did (GUARD-31), and an approver which request
// records and held gift requests wait (CON-31): numbers, items, costs and links to the console, the new ones
// first, then those that an earlier mail named (CON-53); of a held gift request also who asked, why it waits
// and the address of a single recipient (GUARD-29). No message and no gift's URL, and nothing to fetch.

struct ApproverMailData {
  std::string to;
  std::span<const store::ApproverNotice> notices;  ///< the repeated ones last
  sync::MailIdentity identity;
  std::string from_address;  ///< email.from
  std::string console_url;   ///< "https://admin.example.com/console"; empty while the console is off
  std::string language = "en";
  std::span<const store::AdminNotice> admin_notices = {};  ///< pauses first
};

/// Returns the same bytes for the same data. Pure.
sync::OutgoingMail compose_approver_mail(const ApproverMailData& data);

// Composes the mail that tells a sender which of their gifts are undelivered (MAIL-35): what the
// relay said, what happens next, and how to send the gift again. No message and no gift's URL.

struct SenderMailData {
  const store::SenderMail& mail;
  sync::MailIdentity identity;
  std::string from_address;  ///< email.from
  std::string console_url;   ///< "https://admin.example.com/console"; empty while the console is off
  std::string language = "en";
};

/// Returns the same bytes for the same data. Pure.
sync::OutgoingMail compose_sender_mail(const SenderMailData& data);

// Composes the mail with a sign-in link that its user asked for (SIGN-15): until when it works, which client
// asked, and that it may be ignored.

struct SignInMailData {
  const store::SignInMail& mail;
  sync::MailIdentity identity;
  std::string from_address;  ///< email.from
  std::string link;          ///< "https://admin.example.com/console/link/TOKEN"
  std::string host;          ///< of server.admin_url
  std::string language = "en";
};

/// Returns the same bytes for the same data. Pure.
sync::OutgoingMail compose_sign_in_mail(const SignInMailData& data);

// Composes the mail that tells admins which conditions of the status have begun and ended (OPS-43): what it
// is, since when, what to do next, and how long it lasted, in the words of the status. In English, as those
// are.

struct AlertMailData {
  const sync::AlertMail& mail;
  UtcMillis now;
  std::string from_address;  ///< email.from
  std::string to;
  std::string installation_id;  ///< makes Message-IDs globally unique
  std::string host;             ///< of server.base_url
  std::string console_url;      ///< empty while the console is off
};

/// Returns the same bytes for the same data. Pure.
sync::OutgoingMail compose_alert_mail(const AlertMailData& data);

}  // namespace giftsync::mail
