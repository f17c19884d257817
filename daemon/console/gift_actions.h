// daemon/console: what a user may do with a gift (CON-20, CON-21). Any thread.
#pragma once

#include <optional>
#include <string>

#include "daemon/console/page_call.h"

namespace giftsync::console {

/// The user without the roles auditor and approver: seeing a gift through them permits no action on it.
store::Viewer acting_viewer(const store::Viewer& viewer);
/// The gift that the path names, if the user sees it.
std::optional<store::ConsoleGift> find_gift(const PageCall& call);
/// The gift that a post names, if the user may act on it.
std::optional<store::ConsoleGift> find_gift_to_change(const PageCall& call);
/// The event of an action on the gift.
store::AuditEvent gift_event(const PageCall& call, const std::string& action, const store::Gift& gift);
/// "/gifts/17"
std::string path_of(const store::Gift& gift);

/// "Maria Santos", as the sender typed it; may be empty, and is "***" where the viewer does not see it.
std::string recipient_name(const store::RecipientTransaction& transaction);

/// Sets `actions`, `has_actions` and `sees_crm` of a gift's page. What does not apply is no form: it has the
/// reason for which its command would refuse it.
void add_gift_actions(const PageCall& call, const store::ConsoleGift& shown, Data& data);

}  // namespace giftsync::console
