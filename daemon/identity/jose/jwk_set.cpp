#include "daemon/identity/jose/jwk_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/digest.h"
#include "platform/strict_json.h"
#include "platform/text.h"

namespace giftsync::jose {
namespace {

std::string bytes_member(const JsonValue& key, std::string_view name) {
  return from_base64url(key.text_of(name)).value_or("");
}

/// Absent, or the text `wanted`.
bool allows(const JsonValue& key, std::string_view name, std::string_view wanted) {
  const JsonValue* value = key.find(name);
  return value == nullptr || value->text() == wanted;
}

bool allows_verification(const JsonValue& key) {
  const JsonValue* operations = key.find("key_ops");
  const auto is_verify = [](const JsonValue& one) { return one.text() == "verify"; };
  const bool is_allowed = operations == nullptr || std::any_of(operations->elements().begin(),
                                                               operations->elements().end(), is_verify);
  return is_allowed && allows(key, "use", "sig");
}

std::optional<Jwk> parse_key(const JsonValue& key) {
  // A private key that is published lets every reader sign.
  if (key.find("d") || key.find("k") || !allows_verification(key)) return std::nullopt;
  const std::string_view type = key.text_of("kty");
  const bool is_rsa = type == "RSA";
  if (!is_rsa && (type != "EC" || key.text_of("crv") != "P-256")) return std::nullopt;
  const JwsAlgorithm algorithm = is_rsa ? JwsAlgorithm::rs256 : JwsAlgorithm::es256;
  if (!allows(key, "alg", to_word(algorithm))) return std::nullopt;
  auto public_key = is_rsa ? PublicKey::from_rsa_numbers(bytes_member(key, "n"), bytes_member(key, "e"))
                           : PublicKey::from_p256_point(bytes_member(key, "x"), bytes_member(key, "y"));
  if (!public_key) return std::nullopt;
  return Jwk{std::string(key.text_of("kid")), algorithm, std::move(*public_key)};
}

}  // namespace

std::string_view to_word(JwsAlgorithm algorithm) {
  return algorithm == JwsAlgorithm::rs256 ? "RS256" : "ES256";
}

std::optional<JwsAlgorithm> parse_algorithm(std::string_view word) {
  for (const JwsAlgorithm one : {JwsAlgorithm::rs256, JwsAlgorithm::es256})
    if (to_word(one) == word) return one;
  return std::nullopt;
}

tl::expected<JwkSet, std::string> parse_jwk_set(std::string_view document) {
  const auto json = parse_json(without_byte_order_mark(document));
  if (!json) return tl::unexpected("not valid JSON: " + json.error().message);
  const JsonValue* list = json->root().find("keys");
  if (list == nullptr || !list->is_array()) return tl::unexpected(std::string("without a list \"keys\""));
  if (list->elements().size() > kMaxKeys)
    return tl::unexpected(fmt::format("{}; at most {} are read", list->elements().size(), kMaxKeys));
  JwkSet set;
  for (const JsonValue& one : list->elements()) {
    if (std::optional<Jwk> key = parse_key(one))
      set.keys.push_back(std::move(*key));
    else
      ++set.ignored;
  }
  return set;
}

}  // namespace giftsync::jose
