// daemon/settings: one fault of a settings file, as parts and as the line that the admin reads.
#pragma once

#include <string>
#include <string_view>

namespace giftsync::daemon {

struct SettingsFault {
  int line = 0;           ///< of the file, from 1; 0: the file as a whole
  std::string key;        ///< dotted path; empty: none
  std::string found;      ///< what the file has; never a secret's text
  std::string allowed;    ///< what it may have
  std::string next_step;  ///< what to do now
};

/// "giftsyncd.yaml:4: email.transport: found "pigeon"; allowed: smtp, file; correct it".
std::string to_line(const SettingsFault& fault, std::string_view file);

/// The text in double quotes, cut after 80 code points, control characters and quotes as escapes: a settings
/// file can neither forge a line of a log nor steer a terminal.
std::string in_quotes(std::string_view text);

}  // namespace giftsync::daemon
