#include "schema/sql/postgresql_connection.h"

#include <libpq-fe.h>

#include <cstdlib>
#include <memory>
#include <string_view>

#include "schema/broken_world.h"
#include "schema/connection_fault.h"
#include "schema/sql/owed_answer.h"
#include "schema/sql/session.h"
#include "schema/text.h"

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

struct ParsedConnection {
  std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options{nullptr, PQconninfoFree};
  std::string fault;  ///< when there are no options
};

ParsedConnection parsed(const std::string& connection) {
  char* fault = nullptr;
  ParsedConnection result;
  result.options.reset(PQconninfoParse(connection.c_str(), &fault));
  const std::unique_ptr<char, void (*)(void*)> words(fault, PQfreemem);
  if (!result.options) result.fault = trimmed(fault ? fault : "it cannot be read");
  return result;
}

/// Null for what libpq decides, or the environment.
const char* default_patience(const PQconninfoOption& option) {
  constexpr std::pair<std::string_view, const char*> kPatience[] = {{"connect_timeout", "10"},
                                                                    {"keepalives_idle", "30"},
                                                                    {"keepalives_interval", "10"},
                                                                    {"keepalives_count", "3"},
                                                                    {"tcp_user_timeout", "60000"}};
  if (option.envvar && std::getenv(option.envvar)) return nullptr;
  for (const auto& [keyword, value] : kPatience) {
    if (keyword == option.keyword) return value;
  }
  return nullptr;
}

}  // namespace

std::string postgresql_connection(const DatabaseAddress& address) {
  const auto [options, fault] = parsed(address.connection);
  if (!options) {
    throw BrokenWorld(false, "the connection string cannot be read: " + fault, address.foreign);
  }
  std::string uri = "postgresql://";
  const auto add = [&](std::string_view key, std::string_view value) {
    uri += uri.ends_with("//") ? '?' : '&';
    uri.append(key).append("=").append(percent_encoded(value));
  };
  for (const PQconninfoOption* option = options.get(); option->keyword; ++option) {
    if (option->val)
      add(option->keyword, option->val);
    else if (const char* patience = default_patience(*option))
      add(option->keyword, patience);
  }
  if (!address.password.empty()) add("password", address.password);
  return uri;
}

void require_answer(const std::string& uri, bool foreign) {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(uri.c_str()), &PQfinish);
  const OwedAnswer owed(PQsocket(connection.get()), foreign);
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(connection.get(), "SELECT 1"), &PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) throw_postgresql_error(connection.get(), result.get());
}

}  // namespace giftsync::schema::sql

namespace giftsync::schema {

std::optional<std::string> postgresql_connection_fault(const std::string& connection) {
  const auto [options, fault] = sql::parsed(connection);
  return options ? std::nullopt : std::optional(fault);
}

}  // namespace giftsync::schema
