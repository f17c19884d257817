// daemon/mail: composes one gift's mail as bytes: multipart/alternative, text and HTML, from the templates in
// web/. No caller input can add a header or markup: GMime encodes headers, mustache escapes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "daemon/content/branding.h"
#include "schema/store/gift/gift_requests.h"
#include "sync/mail/delivery_step.h"

namespace giftsync::mail {

/// What all mails of an installation have in common (settings: pages).
struct MailBranding {
  std::string language = "en";
  std::string company{};  ///< shown as text, since a mail loads no pictures; may be empty
  content::ColorScheme colors = content::color_scheme_of("#0a6650");
};

struct GiftMailData {
  store::Gift gift;             ///< the sender's name falls back to the address
  sync::MailIdentity identity;  ///< its date is the Date header, so that a retry has the same bytes
  std::string from_address;     ///< email.from
  std::string redemption_url;
  std::string donation_url;
  std::vector<std::pair<std::string, std::string>>
      extra_headers{};  ///< headers that a mail provider repeats in its reports
  MailBranding branding{};
  /// Where the recipient can ask for no more gifts (GUARD-5); empty: not offered.
  std::string stop_url{};
};

/// Returns the same bytes for the same data. Pure.
sync::OutgoingMail compose_gift_mail(const GiftMailData& data);

/// The same mail as its reader sees it.
struct ReadableMail {
  std::vector<std::pair<std::string, std::string>> headers;  ///< From, Reply-To, To, Subject, Date...
  std::string text;                                          ///< of its text form
};
ReadableMail readable_gift_mail(const GiftMailData& data);

}  // namespace giftsync::mail
