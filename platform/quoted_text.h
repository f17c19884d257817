// platform: quotes text from outside for messages: cut and without control characters. Pure.
#pragma once

#include <string>
#include <string_view>

namespace giftsync::platform {

/// `text` in double quotes, cut after 80 code points, with invisible characters and quotes escaped
/// (visible_text.h), so it can neither forge a log line nor control a terminal. User, password and
/// query of a URL are masked.
std::string in_quotes(std::string_view text);

/// `text` as one word of a POSIX shell, in single quotes where it needs them: for commands that can be
/// copied.
std::string shell_word(std::string_view text);

}  // namespace giftsync::platform
