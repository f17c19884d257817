#include "daemon/signin/home_realm.h"

#include <algorithm>

#include "daemon/config/connection_urls.h"
#include "schema/contact_normalization.h"

namespace giftsync::daemon::signin {

const config::SsoConnectionSettings* find_connection(const config::SsoSettings& sso,
                                                     std::string_view address) {
  const std::size_t at = address.rfind('@');
  const std::string domain =
      at == std::string_view::npos ? "" : schema::normalized_domain(address.substr(at + 1));
  if (domain.empty()) return nullptr;
  for (const config::SsoConnectionSettings& connection : sso.connections) {
    const std::vector<std::string> domains = config::all_domains(connection);
    if (std::find(domains.begin(), domains.end(), domain) != domains.end()) return &connection;
  }
  return nullptr;
}

}  // namespace giftsync::daemon::signin
