// daemon/mail: turns one gift into the bytes of its mail: multipart/alternative, text and HTML, from web/
// templates. Nothing a caller wrote can add a header or break out of the HTML: GMime encodes headers,
// mustache escapes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/mail/transport.h"
#include "schema/time.h"

namespace giftsync::daemon {

/// What all mails of an installation have in common (settings: pages).
struct MailFace {
  std::string language = "en";
  std::string company{};           ///< shown as text: a mail asks nobody for a picture; may be empty
  std::string colour = "#0a6650";  ///< in lower case
};

struct GiftMailFacts {
  std::string message_id;    ///< without angle brackets
  std::string from_address;  ///< email.from
  std::string sender_name;   ///< shown as the From name; falls back to sender_email when empty
  std::string sender_email;  ///< Reply-To
  std::string recipient_email;
  std::string first_name;  ///< may be empty
  std::string last_name;   ///< may be empty
  std::string message;     ///< lines separated by \n (\r\n and \r are taken too)
  std::string item_name;
  std::string item_description;  ///< may be empty
  std::string redemption_url;
  std::string donation_url;
  std::vector<std::pair<std::string, std::string>> more_headers{};  ///< what a mail provider gives back
  MailFace face{};
  bool is_reminder = false;  ///< of a gift whose mail the recipient has had for some days
  schema::UtcMillis date;    ///< when the gift was sent: the Date header, so that a repeat has the same bytes
};

/// The mail, the same bytes for the same facts. Pure.
OutgoingMail compose_gift_mail(const GiftMailFacts& facts);

}  // namespace giftsync::daemon
