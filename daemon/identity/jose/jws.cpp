#include "daemon/identity/jose/jws.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "platform/digest.h"
#include "platform/strict_json.h"
#include "platform/text.h"
#include "platform/visible_text.h"

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
  const auto is_verify = [](const JsonValue& json_value) { return json_value.text() == "verify"; };
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
  for (const JwsAlgorithm algorithm : {JwsAlgorithm::rs256, JwsAlgorithm::es256})
    if (to_word(algorithm) == word) return algorithm;
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
  for (const JsonValue& element : list->elements()) {
    if (std::optional<Jwk> key = parse_key(element))
      set.keys.push_back(std::move(*key));
    else
      ++set.ignored;
  }
  return set;
}

namespace {

using Reason = JwsRefusal::Reason;

/// They name another key (jwk, jku, x5u), or change what the token means (crit, b64, RFC 7797).
constexpr std::array<std::string_view, 5> kRefusedMembers{"crit", "b64", "jwk", "jku", "x5u"};

struct Parts {
  std::string_view signed_text;  ///< header and payload with the dot between them
  std::string header;
  std::string payload;
  std::string signature;
};

std::optional<Parts> split(std::string_view compact) {
  const std::size_t first = compact.find('.');
  const std::size_t last = compact.rfind('.');
  if (compact.size() > kMaxTokenBytes || first == last) return std::nullopt;
  // A fourth part makes the payload invalid, because a dot is no base64url.
  const auto header = from_base64url(compact.substr(0, first));
  const auto payload = from_base64url(compact.substr(first + 1, last - first - 1));
  const auto signature = from_base64url(compact.substr(last + 1));
  if (!header || !payload || !signature) return std::nullopt;
  return Parts{compact.substr(0, last), *header, *payload, *signature};
}

struct Header {
  JwsAlgorithm algorithm;
  std::string type;
  std::optional<std::string> key_id;
};

/// The text of an optional member; false when it is there and no text.
bool read_text(const JsonValue& object, std::string_view name, std::optional<std::string>& text) {
  const JsonValue* value = object.find(name);
  if (value == nullptr) return true;
  if (!value->text()) return false;
  text = *value->text();
  return true;
}

tl::expected<Header, JwsRefusal> parse_header(std::string_view text, std::span<const std::string> allowed) {
  const auto refuse = [](Reason reason, std::string clause) {
    return tl::unexpected(JwsRefusal{reason, std::move(clause)});
  };
  const auto json = parse_json(without_byte_order_mark(text));
  if (!json) return refuse(Reason::malformed, "has a header that is not valid JSON: " + json.error().message);
  const JsonValue& root = json->root();
  std::optional<std::string> algorithm;
  std::optional<std::string> type;
  std::optional<std::string> key_id;
  if (!root.is_object() || !read_text(root, "alg", algorithm) || !read_text(root, "typ", type) ||
      !read_text(root, "kid", key_id) || !algorithm)
    return refuse(Reason::malformed, "has a header without alg, or with alg, typ or kid that is no text");
  for (const std::string_view name : kRefusedMembers) {
    if (root.find(name) != nullptr)
      return refuse(Reason::header, fmt::format("has the header member {}, which is never accepted", name));
  }
  const std::optional<JwsAlgorithm> known = parse_algorithm(*algorithm);
  if (!known || std::find(allowed.begin(), allowed.end(), *algorithm) == allowed.end())
    return refuse(Reason::algorithm, fmt::format("is signed with {}; allowed: {}", in_quotes(*algorithm),
                                                 fmt::join(allowed, ", ")));
  return Header{*known, type.value_or(""), key_id};
}

tl::expected<const Jwk*, JwsRefusal> find_key(const Header& header, const JwkSet& keys) {
  const Jwk* found = nullptr;
  for (const Jwk& key : keys.keys) {
    if (key.algorithm != header.algorithm || (header.key_id && key.key_id != *header.key_id)) continue;
    if (found != nullptr) {
      return tl::unexpected(JwsRefusal{
          Reason::unknown_key, header.key_id
                                   ? fmt::format("names key {}, and the provider has several of that name",
                                                 in_quotes(*header.key_id))
                                   : "names no key, and several keys of the provider fit"});
    }
    found = &key;
  }
  if (found == nullptr) {
    return tl::unexpected(JwsRefusal{
        Reason::unknown_key, header.key_id
                                 ? fmt::format("is signed with key {}, which the provider does not publish "
                                               "for {}",
                                               in_quotes(*header.key_id), to_word(header.algorithm))
                                 : fmt::format("names no key, and the provider publishes none for {}",
                                               to_word(header.algorithm))});
  }
  return found;
}

}  // namespace

tl::expected<VerifiedJws, JwsRefusal> verify_jws(std::string_view compact, const JwkSet& keys,
                                                 std::span<const std::string> allowed) {
  const std::optional<Parts> parts = split(compact);
  if (!parts)
    return tl::unexpected(JwsRefusal{Reason::malformed, "is not three parts of base64url with dots between"});
  const auto header = parse_header(parts->header, allowed);
  if (!header) return tl::unexpected(header.error());
  const auto key = find_key(*header, keys);
  if (!key) return tl::unexpected(key.error());
  const PublicKey& public_key = (*key)->key;
  const bool holds = header->algorithm == JwsAlgorithm::rs256
                         ? public_key.verifies(parts->signed_text, parts->signature, SignatureHash::sha256)
                         : public_key.verifies_p256_pair(parts->signed_text, parts->signature);
  if (!holds) {
    // Without kid the provider's one key may have been replaced.
    return tl::unexpected(JwsRefusal{header->key_id ? Reason::signature : Reason::unknown_key,
                                     "has a signature that is not the key's"});
  }
  return VerifiedJws{header->type, parts->payload};
}

}  // namespace giftsync::jose
