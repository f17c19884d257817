// sync: the URLs of a gift that giftsync does not mail: its request record has the Send Type link (REQ-49).
// Their bearer can claim the gift: they are shown to the requester, and never stored, logged or written to
// the CRM.
#pragma once

#include <optional>
#include <string>

#include "schema/store/store.h"
#include "sync/gift_links.h"

namespace giftsync::sync {

struct RequestUrls {
  std::string redemption_url;
  std::string donation_url;
};

/// The URLs of the gift's current generation.
RequestUrls request_urls(const GiftLinks& links, const schema::store::RecipientTransaction& gift);

/// The status that ends the URLs: the gift has expired or was refunded, by everything accepted so far.
/// Nullopt while they are valid.
std::optional<schema::Status> urls_end_status(schema::store::Store& store,
                                              const schema::store::RecipientTransaction& gift);

}  // namespace giftsync::sync
