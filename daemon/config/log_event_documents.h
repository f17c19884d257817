// daemon/config: the documents of the log's kinds of lines, made from their table (OPS-47). The build writes
// them with daemon/wiring/settings_documents_main.cpp; docs/operations/events.md is a copy of the first.
#pragma once

#include <string>

namespace giftsync::config {

/// docs/operations/events.md: each kind with its level, meaning, next step and MESSAGE_ID.
std::string log_events_page();

/// giftsync.catalog, for /usr/lib/systemd/catalog: `journalctl -x` explains lines with it.
std::string journal_catalog();

}  // namespace giftsync::config
