// The token endpoint and the sessions that it gives.
#pragma once

#include <optional>
#include <string>

#include "tests/salesforce/fake_org/http_values.h"
#include "tests/salesforce/fake_org/org.h"

namespace giftsync::tests::fake_org {

/// POST /services/oauth2/token: JWT bearer and client credentials.
ApiAnswer token_answer(Org& org, const ApiRequest& request);

/// The Id of the session's user. Throws ApiError 401 for a session that has ended or was refused.
std::string session_user(Org& org, const ApiRequest& request);

}  // namespace giftsync::tests::fake_org
