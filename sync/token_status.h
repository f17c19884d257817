// sync: looks up an organization token that came from the settings or from a request of the CRM's sending
// interface. Any thread. (REQ-36)
#pragma once

#include <string_view>

#include "schema/store/organizations.h"
#include "sync/send_authorization.h"

namespace giftsync::sync {

/// Throws platform::DependencyError when the store fails.
TokenStatus token_status(schema::store::Organizations& organizations, std::string_view token,
                         platform::UtcMillis now);

}  // namespace giftsync::sync
