// daemon/mail: tells an admin what went wrong with the relay, in one line, with the next step and without
// secrets.
#pragma once

#include <curl/curl.h>

#include <string>
#include <string_view>
#include <vector>

#include "daemon/mail/smtp_dialogue.h"

namespace giftsync::daemon {

/// The sentence for a transport fault: the relay's refusal if it gave one, else what libcurl says (`code` and
/// its words).
std::string explain_fault(const SmtpDialogue& dialogue, CURLcode code, std::string_view words);

/// One printable line of well-formed UTF-8, at most 500 code points, in which no `secrets` (nor their base64)
/// remain: some relays repeat the command that they refuse.
std::string as_log_line(std::string_view text, const std::vector<std::string>& secrets);

}  // namespace giftsync::daemon
