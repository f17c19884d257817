#include "daemon/identity/verified_identity.h"

#include <nlohmann/json.hpp>

#include "platform/strict_json.h"

namespace giftsync::daemon::identity {

std::string to_text(const VerifiedIdentity& identity) {
  nlohmann::json all = {{"connection", identity.connection},
                        {"subject", identity.subject},
                        {"tenant", identity.tenant},
                        {"address", identity.address},
                        {"name", identity.name}};
  if (identity.authenticated_at) all["authenticated_at"] = identity.authenticated_at->value;
  if (identity.session_until) all["session_until"] = identity.session_until->value;
  return all.dump();
}

std::optional<VerifiedIdentity> identity_from_text(std::string_view text) {
  const auto json = platform::parse_json(text);
  if (!json) return std::nullopt;
  const auto member = [&](std::string_view name) { return std::string(json->root().text_of(name)); };
  VerifiedIdentity identity{member("connection"), member("subject"), member("tenant"),
                            member("address"),    member("name"),    {}};
  if (identity.connection.empty() || identity.subject.empty()) return std::nullopt;
  const auto time = [&](std::string_view name) -> std::optional<platform::UtcMillis> {
    const platform::JsonValue* value = json->root().find(name);
    if (value == nullptr || !value->integer()) return std::nullopt;
    return platform::UtcMillis{*value->integer()};
  };
  identity.authenticated_at = time("authenticated_at");
  identity.session_until = time("session_until");
  return identity;
}

}  // namespace giftsync::daemon::identity
