// platform: one fault of a settings file, as parts and as the message for the admin.
#pragma once

#include <string>
#include <string_view>

namespace giftsync::platform {

struct FileFault {
  int line = 0;           ///< from 1; 0: the file as a whole
  std::string key;        ///< dotted path; empty: none
  std::string found;      ///< what the file has; never a secret's text
  std::string allowed;    ///< what it may have
  std::string next_step;  ///< what the admin should do
};

/// "giftsyncd.yaml:4: email.transport: found "pigeon"; allowed: smtp, file; correct it".
std::string to_line(const FileFault& fault, std::string_view file);

}  // namespace giftsync::platform
