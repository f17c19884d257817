#include "daemon/sso/route.h"

#include <algorithm>

#include "schema/address.h"
#include "schema/text.h"

namespace giftsync::daemon {

std::vector<std::string> domains_of(const SsoConnectionSettings& connection) {
  std::vector<std::string> domains = connection.domains;
  const bool is_new = !connection.domain.empty() &&
                      std::find(domains.begin(), domains.end(), connection.domain) == domains.end();
  if (is_new) domains.push_back(connection.domain);
  return domains;
}

std::string domain_key(std::string_view domain) {
  const std::string address = "a@" + std::string(schema::trimmed(domain));
  if (schema::email_fault(address)) return {};
  return schema::email_key(address).substr(2);
}

const SsoConnectionSettings* route(const SsoSettings& sso, std::string_view address) {
  const std::size_t at = address.rfind('@');
  const std::string domain = at == std::string_view::npos ? "" : domain_key(address.substr(at + 1));
  if (domain.empty()) return nullptr;
  for (const SsoConnectionSettings& connection : sso.connections) {
    const std::vector<std::string> domains = domains_of(connection);
    if (std::find(domains.begin(), domains.end(), domain) != domains.end()) return &connection;
  }
  return nullptr;
}

}  // namespace giftsync::daemon
