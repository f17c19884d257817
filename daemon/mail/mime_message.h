// daemon/mail: an RFC 5322 message with a text and an HTML form, as bytes (GMime). The same input gives the
// same bytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "platform/time.h"

namespace giftsync::mail {

struct Mailbox {
  std::string name;     ///< may be empty
  std::string address;  ///< ASCII
};

struct MimeMessage {
  std::string message_id;  ///< without angle brackets
  Mailbox from;
  Mailbox reply_to;
  Mailbox to;
  std::string subject;
  UtcMillis date;
  std::vector<std::pair<std::string, std::string>> extra_headers{};  ///< short and ASCII
  std::string unsubscribe_url{};  ///< takes a one-click POST (RFC 8058); empty: no such headers
  std::string text;               ///< UTF-8, lines end with \n
  std::string html;               ///< UTF-8, lines end with \n
};

/// multipart/alternative with CRLF line ends and no line longer than 76 characters (headers: 78 where they
/// can be folded). Control characters in header fields become spaces. Pure; any thread.
std::string mime_bytes(const MimeMessage& message);

/// `text` for a header field or an address: control characters and Unicode line separators become spaces.
std::string without_controls(std::string_view text);

}  // namespace giftsync::mail
