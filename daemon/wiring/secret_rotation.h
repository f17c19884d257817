// wiring: the rotation of the server secret (OPS-37, OPS-38). The store's fingerprint is exchanged in one
// transaction together with the former secret, sealed with the new one; then the files are exchanged, and all
// that the former secret seals is sealed again. Each step can be repeated: an end in between loses nothing,
// because readers try both secrets and both files.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/wiring/server_secret.h"
#include "platform/time.h"
#include "schema/store/store.h"

namespace giftsync::wiring {

/// A former secret is kept at least that long, unless another rotation comes first: a process that has not
/// seen the rotation yet seals with it.
inline constexpr std::int64_t kLeastKeptMillis = kHourMillis;

struct SealedAgain {
  std::int64_t texts = 0;
  std::int64_t unreadable = 0;  ///< neither secret opens these: nothing is lost that was not lost before
  bool is_complete = true;      ///< false: `may_continue` ended it
};

/// Seals with the current secret what the former one has sealed, row by row. Texts of the current secret
/// stay.
SealedAgain seal_again(const config::Settings& settings, const ServerSecrets& secrets,
                       const std::function<bool()>& may_continue);

/// Whether the former secret is of no more use: its links have ended, and kLeastKeptMillis are over.
bool may_drop_former(const store::SecretRotation& rotation, UtcMillis now);

/// seal_again(), and then, if it is complete and may_drop_former(), the store forgets the former secret.
SealedAgain finish_rotation(const config::Settings& settings, const ServerSecrets& secrets, UtcMillis now,
                            const std::function<bool()>& may_continue);

/// The next secret's bytes: the file's if it is there, else of a new file. Throws ServerSecretError.
std::string prepare_next_secret(const config::Settings& settings);

/// The next secret becomes the store's, and the current one its former one, whose links are valid until
/// `now` + `grace_millis`. A former one of before is dropped. The files of this machine are exchanged.
/// Nullopt, without a change, when another rotation was faster. Throws ConfigError as load_server_secrets().
std::optional<ServerSecrets> rotate_server_secret(const config::Settings& settings, store::Store& store,
                                                  const ServerSecrets& secrets, std::int64_t grace_millis,
                                                  UtcMillis now);

/// How a running process stands to the store's secret.
enum class SecretState {
  current,   ///< it has the store's secret
  rotated,   ///< another one is the store's, and its file is here: a reload takes it
  former,    ///< another one is the store's and not here; links of the process' own one are still valid
  unusable,  ///< as `former`, and they are not
};

struct SecretCheck {
  SecretState state = SecretState::current;
  std::string fault{};  ///< of `former` and `unusable`: what is wrong and the next step
  /// Unless `current`: until then links of the process' own secret are valid.
  std::optional<UtcMillis> links_until = {};
};

/// `secret`: of the process.
SecretCheck check_secret_of_process(const config::Settings& settings, store::Store& store,
                                    const std::string& secret, UtcMillis now);

}  // namespace giftsync::wiring
