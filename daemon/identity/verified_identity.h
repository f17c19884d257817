// daemon/identity: who an identity provider says has signed in, kept between its reply and the return of the
// browser that began the sign-in (SIGN-1). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "platform/time.h"

namespace giftsync::daemon::identity {

/// Why a sign-in was refused: for the log and the audit log, never for the browser (SIGN-6).
struct SignInRefusal {
  std::string rule;
  std::string text;             ///< a sentence
  bool is_unavailable = false;  ///< the provider does not respond
  /// Not empty: nothing of the provider's response counts, and the page offers to begin a sign-in through
  /// this connection (SIGN-9).
  std::string offered_connection = {};
};

struct VerifiedIdentity {
  std::string connection;
  std::string subject;
  std::string tenant;   ///< empty except for a directory
  std::string address;  ///< empty when the provider gives none that may link a user
  std::string name;
  std::optional<platform::UtcMillis> authenticated_at;
  std::optional<platform::UtcMillis> session_until = {};  ///< the provider ends its session then
};

/// As the attempt keeps it.
std::string to_text(const VerifiedIdentity& identity);
/// Nullopt for any text that to_text() does not make.
std::optional<VerifiedIdentity> identity_from_text(std::string_view text);

}  // namespace giftsync::daemon::identity
