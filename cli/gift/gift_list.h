// cli: `gift list`: the gifts of the store and the gift records of the CRM, joined. Reads in batches, so
// that memory holds one batch only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/cli_context.h"
#include "cli/console.h"

namespace giftsync::cli {

struct GiftListing {
  bool json = false;
  bool skipped = false;       ///< gifts without a match that have no record by the settings
  bool needs_relink = false;  ///< gifts whose lookup the CRM refused
  bool refused = false;       ///< gifts whose record the CRM refuses, with the reason
  bool conflicting = false;   ///< gifts with conflicting changes, with the conflicts
  bool explain = false;       ///< text output only: print the reason of the match
  std::optional<Status> status;
  std::optional<std::string> campaign;   ///< utm_campaign_id
  std::optional<std::string> email_key;  ///< the recipient's
  std::optional<UtcMillis> since;        ///< sent then or later; with `status`, that came to it then
  std::optional<std::string> sender;     ///< an e-mail address
  std::optional<std::string> contact;    ///< the CRM's id of the contact that the record is linked to
  std::optional<std::string> item;       ///< the item's number or its exact name
  std::optional<std::string> key;        ///< the first characters of the API key or token that asked for it
  std::int64_t limit = 0;                ///< 0: all
  bool newest = false;                   ///< the latest sent first; `limit` keeps them
};

/// Lists by Transaction Id, or the latest sent first. Returns an exit code.
int list_gifts(const Console& console, CliContext& ctx, const GiftListing& listing);

}  // namespace giftsync::cli
