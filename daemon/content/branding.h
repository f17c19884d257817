// daemon/content: what all pages of an installation have in common (settings: pages): the company's name,
// colour and logo.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/content/logo.h"

namespace giftsync::daemon::content {

struct Branding {
  std::string company;  ///< may be empty
  std::string style;    ///< the style sheet, in the company's colour
  std::optional<Logo> logo = {};
  std::string style_source = {};  ///< of `style`, see source_hash()
};

/// 'sha256-...' of CSP Level 3: allows exactly this inline source.
std::string source_hash(std::string_view text);

/// `colour` is "#rrggbb" in lower case. Pure.
Branding make_branding(const std::string& company, const std::string& colour, std::optional<Logo> logo = {});

}  // namespace giftsync::daemon::content
