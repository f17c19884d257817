// daemon/console: an answer of the matching as both pages of matches show it (CON-23). Any thread.
#pragma once

#include "daemon/console/page_call.h"
#include "sync/match_explanation.h"

namespace giftsync::daemon::console {

/// Sets `explained` with what was compared, the candidates in their order, the choice and its reason; for a
/// masked viewer without what may name a recipient.
void set_explanation(const PageCall& call, const sync::MatchExplanation& found, Data& data);

}  // namespace giftsync::daemon::console
