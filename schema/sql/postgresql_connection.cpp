#include "schema/sql/postgresql_connection.h"

#include <libpq-fe.h>

#include <memory>
#include <string_view>

#include "schema/broken_world.h"

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

}  // namespace

std::string postgresql_connection(const DatabaseAddress& address) {
  char* fault = nullptr;
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options(
      PQconninfoParse(address.connection.c_str(), &fault), PQconninfoFree);
  const std::unique_ptr<char, void (*)(void*)> words(fault, PQfreemem);
  if (!options) {
    throw BrokenWorld(false, "the connection string cannot be read: " + std::string(fault ? fault : ""),
                      address.foreign);
  }
  std::string uri = "postgresql://";
  const auto add = [&](std::string_view key, std::string_view value) {
    uri += uri.ends_with("//") ? '?' : '&';
    uri.append(key).append("=").append(percent_encoded(value));
  };
  for (const PQconninfoOption* option = options.get(); option->keyword; ++option) {
    if (option->val) add(option->keyword, option->val);
  }
  if (!address.password.empty()) add("password", address.password);
  return uri;
}

}  // namespace giftsync::schema::sql
