// daemon/mail: one-line descriptions of relay errors for the admin, with the next step and without secrets.
#pragma once

#include <curl/curl.h>

#include <string>
#include <string_view>
#include <vector>

#include "daemon/mail/smtp_session.h"

namespace giftsync::daemon::mail {

/// Describes a transport fault: the relay's refusal if there is one, else libcurl's `code` and message.
std::string describe_error(const SmtpSession& session, CURLcode code, std::string_view curl_message);

/// One printable line of well-formed UTF-8, at most 500 code points, in which no `secrets` (nor their base64)
/// remain: some relays repeat the command that they refuse.
std::string as_log_line(std::string_view text, const std::vector<std::string>& secrets);

}  // namespace giftsync::daemon::mail
