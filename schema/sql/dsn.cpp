#include "schema/sql/dsn.h"

#include <libpq-fe.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "platform/dependency_error.h"
#include "platform/http_client.h"
#include "platform/text.h"
#include "schema/sql/query_watchdog.h"
#include "schema/sql/session.h"

namespace giftsync::sql {
namespace {

bool is_list_of_ports(std::string_view ports) {
  return ports.find_first_not_of("0123456789,") == std::string_view::npos;
}

/// Whether one letter was added, left out or changed.
bool is_misspelling(std::string_view text, std::string_view word) {
  const auto begin = std::mismatch(text.begin(), text.end(), word.begin(), word.end());
  const auto same = static_cast<std::size_t>(begin.first - text.begin());
  std::string_view text_rest = text.substr(same);
  std::string_view word_rest = word.substr(same);
  const bool is_longer = text_rest.size() > word_rest.size();
  const bool is_shorter = text_rest.size() < word_rest.size();
  if (!is_shorter && !text_rest.empty()) text_rest.remove_prefix(1);
  if (!is_longer && !word_rest.empty()) word_rest.remove_prefix(1);
  return text_rest == word_rest;
}

struct ParsedDsn {
  std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options{nullptr, PQconninfoFree};
  std::string fault;  ///< when there are no options
};

ParsedDsn parsed(const std::string& connection) {
  char* fault = nullptr;
  ParsedDsn result;
  result.options.reset(PQconninfoParse(connection.c_str(), &fault));
  const std::unique_ptr<char, void (*)(void*)> message(fault, PQfreemem);
  if (!result.options) result.fault = trimmed(fault ? fault : "it cannot be read");
  return result;
}

/// libpq's reason for not reading a text, without the text: libpq quotes words of it, and one may be a
/// password. The name of an unknown option is shown when it resembles a known one.
std::string reason_without_text(const std::string& reason) {
  constexpr std::string_view kUnknown = "invalid connection option \"";
  if (reason.starts_with(kUnknown)) {
    const std::string name =
        reason.substr(kUnknown.size(), reason.find('"', kUnknown.size()) - kUnknown.size());
    const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> known(PQconndefaults(),
                                                                               PQconninfoFree);
    for (const PQconninfoOption* option = known.get(); option && option->keyword; ++option) {
      if (ascii_lower(name) == option->keyword)
        return std::string("the option \"") + option->keyword + "\" is written in lower case";
      if (is_misspelling(name, option->keyword))
        return "invalid connection option \"" + name + "\"; did you mean \"" + option->keyword + "\"?";
    }
    return "it has an option that libpq does not know";
  }
  if (reason.starts_with("missing \"=\"")) return "a word in it has no \"=\"";
  return "it is no list of option=value and no URI";
}

/// Null for what libpq decides, or the environment.
const char* default_timeout(const PQconninfoOption& option) {
  constexpr std::pair<std::string_view, const char*> kTimeouts[] = {{"connect_timeout", "10"},
                                                                    {"keepalives_idle", "30"},
                                                                    {"keepalives_interval", "10"},
                                                                    {"keepalives_count", "3"},
                                                                    {"tcp_user_timeout", "60000"}};
  if (option.envvar && std::getenv(option.envvar)) return nullptr;
  for (const auto& [keyword, value] : kTimeouts) {
    if (keyword == option.keyword) return value;
  }
  return nullptr;
}

}  // namespace

std::string postgresql_uri(const Dsn& dsn) {
  const auto [options, fault] = parsed(dsn.connection);
  if (!options) {
    // Not libpq's reason, which quotes the text and so perhaps a password.
    throw DependencyError(false, "the connection string cannot be read", dsn.is_external_crm);
  }
  std::string uri = "postgresql://";
  const auto add = [&](std::string_view key, std::string_view value) {
    uri += uri.ends_with("//") ? '?' : '&';
    uri.append(key).append("=").append(percent_encoded(value));
  };
  for (const PQconninfoOption* option = options.get(); option->keyword; ++option) {
    if (option->val)
      add(option->keyword, option->val);
    else if (const char* timeout = default_timeout(*option))
      add(option->keyword, timeout);
  }
  if (!dsn.password.empty()) add("password", dsn.password);
  return uri;
}

void probe_connection(const std::string& uri, bool is_external_crm) {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(uri.c_str()), &PQfinish);
  const ActiveQuery active(PQsocket(connection.get()), is_external_crm);
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection.get(), "SELECT 1"), &PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) throw_postgresql_error(connection.get(), result.get());
}

std::optional<std::string> postgresql_dsn_error(const std::string& connection) {
  const auto [options, fault] = parsed(connection);
  if (!options) return reason_without_text(fault);
  for (const PQconninfoOption* option = options.get(); option->keyword; ++option) {
    const std::string_view value = option->val ? option->val : "";
    if (option->keyword == std::string_view("port") && !is_list_of_ports(value))
      return "its port is not a number; in a URI, \"@\" ends user and password, and other characters than "
             "letters and digits are percent-encoded in them";
    if (option->keyword == std::string_view("host") && value.find('@') != std::string_view::npos)
      return "its host has an \"@\"; in a URI, \"@\" in a password is written %40";
  }
  return std::nullopt;
}

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

}  // namespace giftsync::sql
