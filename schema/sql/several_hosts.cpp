#include <libpq-fe.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "schema/sql/dsn_check.h"

namespace giftsync::schema::sql {
namespace {

std::string value_of(const PQconninfoOption* option, std::string_view keyword) {
  for (; option->keyword; ++option) {
    if (option->keyword == keyword) return option->val ? option->val : "";
  }
  return {};
}

std::ptrdiff_t count_listed(const std::string& list) {
  return list.empty() ? 0 : 1 + std::count(list.begin(), list.end(), ',');
}

}  // namespace

std::optional<std::string> several_hosts_fault(const std::string& connection) {
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options(
      PQconninfoParse(connection.c_str(), nullptr), PQconninfoFree);
  if (!options) return std::nullopt;
  const auto count_of = [&](std::string_view keyword) {
    return count_listed(value_of(options.get(), keyword));
  };
  const std::ptrdiff_t hosts = std::max(count_of("host"), count_of("hostaddr"));
  const std::ptrdiff_t ports = count_of("port");
  if (hosts <= 1 && ports <= 1) return std::nullopt;
  if (ports > 1 && ports != hosts)
    return std::to_string(hosts) + " hosts and " + std::to_string(ports) +
           " ports: name one port for all hosts, or one for each";
  const std::string wanted = value_of(options.get(), "target_session_attrs");
  if (wanted == "read-write" || wanted == "primary" || std::getenv("PGTARGETSESSIONATTRS"))
    return std::nullopt;
  return std::to_string(hosts) +
         " hosts without target_session_attrs=read-write: a connection could lead to a standby, which "
         "accepts "
         "no writes; add it";
}

}  // namespace giftsync::schema::sql
