#include "daemon/signin/home_realm.h"

#include <algorithm>

#include "daemon/config/connection_urls.h"
#include "platform/text.h"
#include "platform/visible_text.h"
#include "schema/contact_normalization.h"

namespace giftsync::signin {

const config::SsoConnectionSettings* find_by_name(const config::SsoSettings& sso, std::string_view name) {
  for (const config::SsoConnectionSettings& connection : sso.connections)
    if (connection.name == name) return &connection;
  return nullptr;
}

bool is_in_domains(const config::SsoConnectionSettings& connection, std::string_view address) {
  const std::size_t at = address.rfind('@');
  if (at == std::string_view::npos || at == 0) return false;
  const std::string domain = normalized_domain(address.substr(at + 1));
  const std::vector<std::string> domains = config::all_domains(connection);
  return !domain.empty() && std::find(domains.begin(), domains.end(), domain) != domains.end();
}

bool is_identity_line(std::string_view text) {
  return !text.empty() && count_code_points(text) <= kMaxIdentityCodePoints && is_plain_line(text);
}

std::optional<std::string> address_error(std::string_view address) {
  if (trimmed(address).size() != address.size()) return "has white space around it";
  return email_error(address);
}

const config::SsoConnectionSettings* find_connection(const config::SsoSettings& sso,
                                                     std::string_view address) {
  for (const config::SsoConnectionSettings& connection : sso.connections)
    if (is_in_domains(connection, address)) return &connection;
  return nullptr;
}

std::vector<std::string> known_groups(const config::SsoConnectionSettings& connection,
                                      std::span<const std::string> of_user) {
  std::vector<std::string> known;
  for (const auto& [group, role] : connection.groups)
    // A user without groups may come with one empty text.
    if (!group.empty() && std::find(of_user.begin(), of_user.end(), group) != of_user.end())
      known.push_back(group);
  return known;
}

}  // namespace giftsync::signin
