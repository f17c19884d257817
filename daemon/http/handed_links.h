// daemon/http: the URLs of a gift that giftsync does not mail, for whoever asked for it by a request record
// with the Send Type link (design 3.3). They let their bearer take the gift: they are shown, and neither
// stored, nor logged, nor written into the CRM.
#pragma once

#include <optional>
#include <string>

#include "daemon/http/gift_links.h"
#include "schema/store/store.h"

namespace giftsync::daemon {

struct HandedLinks {
  std::string redemption_url;
  std::string donation_url;
};

/// Those of the gift's present generation.
HandedLinks handed_links(const GiftLinks& links, const schema::RecipientTransaction& gift);

/// Why nobody is given them any more: the gift has expired or was refunded, counting what was decided this
/// very moment, and with them nothing can be taken. Nothing while they are good.
std::optional<schema::Status> end_of_links(schema::Store& store, const schema::RecipientTransaction& gift);

}  // namespace giftsync::daemon
