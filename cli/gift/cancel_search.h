// cli: what `gift cancel` found by a filter, in text and JSON.
#pragma once

#include "cli/listing.h"
#include "sync/gift/cancel_search.h"

namespace giftsync::cli {

/// Shows on a terminal how far the search is.
sync::CancelPreview find_gifts_to_cancel(const Console& console, store::Store& store,
                                         const sync::CancelFilter& filter);

Json filter_json(const sync::CancelFilter& filter);
/// For the person who confirms.
void print(const Console& console, const sync::CancelPreview& preview);
/// `currency`: of the total price; may be empty.
Json preview_json(const sync::CancelPreview& preview, const std::string& currency);

}  // namespace giftsync::cli
