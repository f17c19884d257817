// daemon/salesforce: RequestRecord::revision of an org: when the record was modified last, as Salesforce
// wrote it, and when it was read. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "platform/time.h"

namespace giftsync::daemon::salesforce {

/// Stamps have whole seconds: only an edit in a later second than the last one shows.
inline constexpr std::int64_t kRecentEditMillis = 2 * platform::kSecondMillis;

struct RequestRevision {
  std::string last_modified;
  platform::UtcMillis read_at;  ///< by the org's clock, or somewhat before

  /// Every edit after the read has another LastModifiedDate. A claim and a decision need it (REQ-56).
  bool is_distinct() const;
};

std::string to_text(const RequestRevision& revision);
/// Nullopt for a record that was not read from an org.
std::optional<RequestRevision> parse_revision(const std::string& text);

}  // namespace giftsync::daemon::salesforce
