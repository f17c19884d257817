// Checks JSON Web Tokens that are signed with RS256. Pure, apart from OpenSSL.
#pragma once

#include <optional>
#include <string>

#include "tests/salesforce/fake_org/json_text.h"

namespace giftsync::tests::fake_org {

/// The claims of a token whose signature the key of the PEM (a certificate or a public key) confirms.
std::optional<Json> verified_claims(const std::string& token, const std::string& pem);

}  // namespace giftsync::tests::fake_org
