// daemon/mail: composes one gift's mail as bytes: multipart/alternative, text and HTML, from the templates in
// web/. No caller input can add a header or markup: GMime encodes headers, mustache escapes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/mail/transport.h"
#include "platform/time.h"

namespace giftsync::daemon::mail {

/// What all mails of an installation have in common (settings: pages).
struct MailBranding {
  std::string language = "en";
  std::string company{};           ///< shown as text, since a mail loads no pictures; may be empty
  std::string colour = "#0a6650";  ///< in lower case
};

struct GiftMailData {
  std::string message_id;    ///< without angle brackets
  std::string from_address;  ///< email.from
  std::string sender_name;   ///< shown as the From name; falls back to sender_email when empty
  std::string sender_email;  ///< Reply-To
  std::string recipient_email;
  std::string first_name;  ///< may be empty
  std::string last_name;   ///< may be empty
  std::string message;     ///< lines separated by \n (\r\n and \r are accepted too)
  std::string item_name;
  std::string item_description;  ///< may be empty
  std::string redemption_url;
  std::string donation_url;
  std::vector<std::pair<std::string, std::string>>
      extra_headers{};  ///< headers that a mail provider repeats in its reports
  MailBranding branding{};
  bool is_reminder = false;  ///< a second mail about a gift that was mailed some days ago
  platform::UtcMillis date;  ///< when the gift was sent; the Date header, so that a retry has the same bytes
};

/// Returns the same bytes for the same data. Pure.
OutgoingMail compose_gift_mail(const GiftMailData& data);

}  // namespace giftsync::daemon::mail
