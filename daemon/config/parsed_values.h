// daemon/config: reads secrets. A settings file refers to secrets, so that the file itself can be shared.
//   file:PATH        the file's text, relative to the settings file's folder
//   env:NAME         an environment variable
//   credential:NAME  a file that systemd provides ($CREDENTIALS_DIRECTORY/NAME, LoadCredential= of the unit)
//   anything else    the secret itself; works, with a warning
#pragma once

#include <filesystem>
#include <string>
#include <tl/expected.hpp>

#include "daemon/config/settings.h"

namespace giftsync::config {

struct FetchedSecret {
  Secret secret;
  std::string warning;  ///< a weakness of its location, and the next step; may be empty
};

/// Never contains a secret's text.
struct SecretFault {
  std::string found;
  std::string next_step;
};

/// The secret that `reference` names; line ends at its end are cut, since editors add them. At most 64 KiB,
/// no NUL, not empty. Reads files and the environment.
tl::expected<FetchedSecret, SecretFault> fetch_secret(const std::string& reference,
                                                      const std::filesystem::path& folder);

/// The reference itself, or "literal" for the secret itself.
std::string secret_provenance(const std::string& reference);

}  // namespace giftsync::config
