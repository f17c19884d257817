// sync: tells a relay's fault from a recipient's when the relay answers a recipient with a code such as 421
// or 530 (MAIL-27). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schema/store/delivery_queue.h"

namespace giftsync::sync {

/// A mail that got such an answer. Its attempt has ended and is stored.
struct SuspectMail {
  schema::store::DeliveryClaim claim;
  std::int64_t attempt = 0;
  std::string recipient;
  std::string reply;
};

enum class SuspectVerdict {
  undecided,   ///< the next mail decides
  recipients,  ///< the relay worked for another mail: the answers concern their recipients
  relay,       ///< every mail failed, of kMinSuspectRecipients different recipients
};
inline constexpr std::size_t kMinSuspectRecipients = 3;

/// `recipients`: of the suspects since the relay last worked; `has_worked_since`: for another mail.
SuspectVerdict classify_suspects(std::span<const std::string> recipients, bool has_worked_since);

/// Which of the waiting mails shows most: the first to another domain than the suspects', else the first to
/// another address, else the first. `waiting` is not empty.
std::size_t most_telling(std::span<const std::string> waiting, std::span<const std::string> suspects);

/// The recipients of the suspects.
std::vector<std::string> recipients_of(std::span<const SuspectMail> suspects);

}  // namespace giftsync::sync
