// daemon/cli: one request record as JSON and as text, with its moves and its gift.
#pragma once

#include <string>

#include "daemon/cli/console.h"
#include "daemon/cli/installation.h"
#include "daemon/cli/json_list.h"

namespace giftsync::daemon {

/// Its fields by API names without prefix and suffix (Spec 2.6).
Json request_json(const schema::RequestRecord& record);
/// Id, Name and Request_Status.
Json request_summary(const schema::RequestRecord& record);

int show_request(const Console& console, Installation& place, const std::string& number, bool json);

}  // namespace giftsync::daemon
