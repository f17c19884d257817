// daemon: what an organization token is worth (Spec 5.6), wherever it was found: in the settings or in a
// request of the CRM's interface. Any thread.
#pragma once

#include <string_view>

#include "schema/store/organization_book.h"
#include "sync/send_permission.h"

namespace giftsync::daemon {

/// Throws schema::BrokenWorld when the store cannot be asked.
sync::TokenStanding token_standing(schema::OrganizationBook& organizations, std::string_view token,
                                   schema::UtcMillis now);

/// "active", "ending" (works until it expires), "expired" or "revoked".
std::string_view token_state(const schema::OrganizationToken& token, schema::UtcMillis now);

}  // namespace giftsync::daemon
