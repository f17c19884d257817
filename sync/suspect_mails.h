// sync: tells a relay's fault from a recipient's when the relay's answer to a mail does not say whose it is
// (MAIL-27). Pure.
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
  bool is_refusal = false;  ///< a 5xx that ends the mail once it is the recipient's; else it is deferred
  bool is_limit_reached = false;  ///< of a refusal: the first one was a day ago
};

enum class SuspectVerdict {
  undecided,   ///< the next mail decides
  recipients,  ///< refused again after the relay took another mail, or nothing has decided for a day
  relay,       ///< every mail failed, of kMinSuspectRecipients different recipients
};
inline constexpr std::size_t kMinSuspectRecipients = 3;

/// `recipients`: of the suspects since the relay last worked.
bool is_relays_fault(std::span<const std::string> recipients);

/// Which of the waiting mails shows most: the first to another domain than the suspects', else the first to
/// another address, else the first. `waiting` is not empty.
std::size_t most_telling(std::span<const std::string> waiting, std::span<const std::string> suspects);

/// The recipients of the suspects.
std::vector<std::string> recipients_of(std::span<const SuspectMail> suspects);

}  // namespace giftsync::sync
