// daemon: the campaign of a gift goes along on links that lead out of giftsync.
#pragma once

#include <string>
#include <string_view>

namespace giftsync::daemon {

/// `url` with utm_campaign_id=CAMPAIGN in its query, percent-encoded (RFC 3986); query and fragment stay as
/// they are, and a link that names a campaign already is left alone, as is one that is not http(s). Pure.
std::string with_campaign(std::string_view url, std::string_view campaign);

}  // namespace giftsync::daemon
