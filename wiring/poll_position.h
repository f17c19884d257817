// wiring: where a poll continues after an admin has looked at a page that cannot be read, as giftsyncctl
// source set-cursor sets it (SRC-11).
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "daemon/config/settings.h"

namespace giftsync::wiring {

/// The poll's `cursor_state` with `value` as its next position: by the source's settings the URL of a page
/// (next), a cursor (cursor), or a time (since). A clause says what is allowed instead. `installation` is the
/// store's.
tl::expected<std::string, std::string> continue_poll_at(const daemon::config::SourceSettings& source,
                                                        const std::string& installation,
                                                        const std::string& cursor_state,
                                                        const std::string& value);

}  // namespace giftsync::wiring
