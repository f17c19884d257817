// schema: which URL of an item's picture a gift's page shows (PAGE-18).
#pragma once

#include <string>

namespace giftsync {

/// The Content Security Policy source that allows only this picture; empty for a URL that must not be loaded:
/// not https, or with characters that a policy cannot contain.
std::string csp_image_source(const std::string& url);

}  // namespace giftsync
