// daemon/mail: composes the mail that tells a sender which of their gifts are undelivered (MAIL-35): what the
// relay said, what happens next, and how to send the gift again. No message and no gift's URL.
#pragma once

#include <string>

#include "schema/store/sender_notices.h"
#include "sync/delivery_step.h"

namespace giftsync::daemon::mail {

struct SenderMailData {
  const schema::store::SenderMail& mail;
  sync::MailIdentity identity;
  std::string from_address;  ///< email.from
  std::string console_url;   ///< "https://admin.example.com/console"; empty while the console is off
  std::string language = "en";
};

/// Returns the same bytes for the same data. Pure.
sync::OutgoingMail compose_sender_mail(const SenderMailData& data);

}  // namespace giftsync::daemon::mail
