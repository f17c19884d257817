// daemon/mail: tells an admin what went wrong with the relay, in one line, with the next step and without
// secrets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/mail/smtp_dialogue.h"

namespace giftsync::daemon {

/// What libcurl said of an exchange, in the words that matter here.
enum class SmtpObstacle { none, login_denied, no_starttls, certificate, other };

/// The sentence for a transport fault. `system_words` is libcurl's or the system's own text.
std::string explain_fault(const SmtpDialogue& dialogue, SmtpObstacle obstacle, std::string_view system_words);

/// One printable line of well-formed UTF-8, at most 500 code points, in which no `secrets` (nor their base64)
/// remain: some relays repeat the command that they refuse.
std::string as_log_line(std::string_view text, const std::vector<std::string>& secrets);

}  // namespace giftsync::daemon
