// daemon/identity: who an identity provider says has signed in, kept as text between its reply and the return
// of the browser that began the sign-in (SIGN-1). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/signin/sign_in_outcome.h"

namespace giftsync::daemon::identity {

using signin::Outcome;
using signin::refuse;
using signin::SignInRefusal;
using signin::VerifiedIdentity;

/// As the attempt keeps it.
std::string to_text(const VerifiedIdentity& identity);
/// Nullopt for any text that to_text() does not make.
std::optional<VerifiedIdentity> identity_from_text(std::string_view text);

}  // namespace giftsync::daemon::identity
