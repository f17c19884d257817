// cli: refused webhook messages: what listings say about the last one, and `source refused` (SRC-60, SRC-61).
#pragma once

#include <string>

#include "schema/store/event/sources.h"

namespace giftsync::cli {

/// "last refused 2026-11-21 12:31 UTC, 12 in a row: status: found nothing"; empty when none was refused.
std::string last_refusal_text(const store::SourceSummary& row);

}  // namespace giftsync::cli
