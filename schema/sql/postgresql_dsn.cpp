#include "schema/sql/postgresql_dsn.h"

#include <libpq-fe.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "platform/dependency_error.h"
#include "platform/text.h"
#include "schema/sql/active_query.h"
#include "schema/sql/dsn_check.h"
#include "schema/sql/session.h"

namespace giftsync::schema::sql {
namespace {

std::string percent_encoded(std::string_view value) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string text;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_') {
      text += c;
    } else {
      text += '%';
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    }
  }
  return text;
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
  if (!result.options) result.fault = platform::trimmed(fault ? fault : "it cannot be read");
  return result;
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
    throw platform::DependencyError(false, "the connection string cannot be read: " + fault,
                                    dsn.is_external_crm);
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
  return options ? std::nullopt : std::optional(fault);
}

}  // namespace giftsync::schema::sql
