// daemon/mail: composes the mail that tells an approver which request records wait (CON-31): numbers, items,
// costs and links to the console, the new ones first, then those that an earlier mail named (CON-53). Nothing
// of recipients, messages or gifts' URLs, and nothing to fetch.
#pragma once

#include <span>
#include <string>

#include "schema/store/approver_notices.h"
#include "sync/delivery_step.h"

namespace giftsync::daemon::mail {

struct ApproverMailData {
  std::string to;
  std::span<const schema::store::ApproverNotice> notices;  ///< the repeated ones last
  sync::MailIdentity identity;
  std::string from_address;  ///< email.from
  std::string console_url;   ///< "https://admin.example.com/console"
  std::string language = "en";
};

/// Returns the same bytes for the same data. Pure.
sync::OutgoingMail compose_approver_mail(const ApproverMailData& data);

}  // namespace giftsync::daemon::mail
