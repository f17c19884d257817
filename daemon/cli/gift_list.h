// daemon/cli: `gift list`: the gift records of the CRM beside what the store knows of them. It goes through
// them in batches, so that a million records need the memory of one batch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/cli/console.h"
#include "daemon/cli/installation.h"

namespace giftsync::daemon {

struct GiftListing {
  bool json = false;
  bool skipped = false;         ///< those that matched nobody and by the settings have no record
  bool rematch_needed = false;  ///< those of which the CRM refused a lookup
  bool contradictory = false;   ///< those whose history contradicts itself, each with what does
  bool why = false;             ///< text only: each with the reason of its match
  std::optional<schema::Status> status;
  std::optional<std::string> campaign;   ///< utm_campaign_id
  std::optional<std::string> email_key;  ///< the recipient's
  std::int64_t limit = 0;                ///< 0: all
  bool newest = false;                   ///< the last ones, from the newest on, instead of the first
};

/// Lists by Transaction Id. Returns an exit code.
int list_gifts(const Console& console, Installation& place, const GiftListing& listing);

}  // namespace giftsync::daemon
