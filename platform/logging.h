// platform: the log on standard error (captured by the journal), one line per event: text for people or JSON
// for collectors. Control characters in values are escaped, so a logged value cannot forge a line.
#pragma once

#include <string>

namespace giftsync::platform {

/// Makes spdlog's default logger. Call before the first thread starts; later calls, on any thread, change it.
/// `level`: debug, info, warning or error; `json`: one JSON object per line instead of text.
void set_up_logging(const std::string& level, bool json);

}  // namespace giftsync::platform
