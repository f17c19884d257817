// sync: adds a gift's campaign to links that leave giftsync.
#pragma once

#include <string>
#include <string_view>

namespace giftsync::sync {

/// `url` with utm_campaign_id=CAMPAIGN in its query, percent-encoded (RFC 3986). Query and fragment stay
/// unchanged. A link that has a campaign already, or that is not http(s), is returned unchanged. Pure.
std::string add_utm_campaign(std::string_view url, std::string_view campaign);

}  // namespace giftsync::sync
