#include "daemon/sso/provider_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "daemon/crypto/digest.h"
#include "daemon/http/strict_json.h"
#include "daemon/settings/settings_fault.h"
#include "daemon/settings/text_rules.h"
#include "daemon/sources/web_fetch.h"
#include "daemon/sso/certificate.h"
#include "daemon/sso/connection_addresses.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kLeastRsaBits = 2048;

std::string text_in(const JsonValue& object, std::string_view name) {
  const JsonValue* value = object.find(name);
  return value ? std::string(value->text().value_or("")) : std::string();
}

/// Nullopt: the document does not say.
std::optional<std::vector<std::string>> words_in(const JsonValue& object, std::string_view name) {
  const JsonValue* list = object.find(name);
  if (!list || !list->is_array()) return std::nullopt;
  std::vector<std::string> words;
  for (const JsonValue& element : list->elements()) words.emplace_back(element.text().value_or(""));
  return words;
}

bool has_word(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string address_in(const JsonValue& root, std::string_view name, Findings& findings) {
  std::string address = text_in(root, name);
  if (address.empty()) {
    findings.fault(fmt::format("The discovery document names no {}.", name));
    return {};
  }
  std::string checked = address;
  if (const TextFault fault = check_https_url(checked)) {
    findings.fault(fmt::format("The discovery document's {} is {}, {}.", name, in_quotes(address), *fault));
    return {};
  }
  findings.good(fmt::format("{}: {}", name, address));
  return address;
}

bool is_guid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const char c = text[i];
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    if (dash ? c != '-' : !hex) return false;
  }
  return true;
}

std::string without_slash(std::string text) {
  if (text.ends_with('/')) text.pop_back();
  return text;
}

void judge_issuer(const std::string& told, const SsoSettings& sso, const SsoConnectionSettings& connection,
                  Findings& findings) {
  if (told.empty()) return findings.fault("The discovery document names no issuer.");
  if (is_expected_issuer(sso, connection, told)) return findings.good(fmt::format("issuer: {}", told));
  if (connection.kind == SsoKind::oidc && without_slash(told) == without_slash(connection.issuer)) {
    return findings.fault(fmt::format(
        "The provider calls itself {}, the settings have {}: they differ in the slash at the end, "
        "and every sign-in would be refused. Write it as the provider does.",
        in_quotes(told), in_quotes(connection.issuer)));
  }
  const std::string expected = connection.kind == SsoKind::oidc
                                   ? in_quotes(connection.issuer)
                                   : fmt::format("the directory {} at {}", connection.domain, sso.authority);
  findings.fault(fmt::format(
      "The provider calls itself {}, which is not {}. Either the settings name the wrong address, "
      "or what answers there is not who it should be.",
      in_quotes(told), expected));
}

void judge_abilities(const JsonValue& root, Findings& findings) {
  if (const auto types = words_in(root, "response_types_supported"); types && !has_word(*types, "code"))
    findings.fault("The provider does not offer the authorization code flow (response type \"code\").");
  if (const auto hashes = words_in(root, "id_token_signing_alg_values_supported")) {
    const bool is_signed = std::any_of(hashes->begin(), hashes->end(), [](const std::string& one) {
      return one != "none" && !one.starts_with("HS");
    });
    if (!is_signed) findings.fault("The provider signs its tokens with no key that could be checked.");
  }
  const auto methods = words_in(root, "token_endpoint_auth_methods_supported");
  if (methods && !has_word(*methods, "client_secret_basic") && !has_word(*methods, "client_secret_post"))
    findings.fault("The provider takes no client secret at its token endpoint.");
}

std::size_t bits_of(const std::string& number) {
  const std::size_t first = number.find_first_not_of('\0');
  if (first == std::string::npos) return 0;
  return (number.size() - first) * 8 -
         static_cast<std::size_t>(std::countl_zero(static_cast<unsigned char>(number[first])));
}

std::string pem_of(const std::string& base64) {
  std::string pem = "-----BEGIN CERTIFICATE-----\n";
  for (std::size_t at = 0; at < base64.size(); at += 64) pem += base64.substr(at, 64) + "\n";
  return pem + "-----END CERTIFICATE-----\n";
}

/// The certificate that a key may come with.
void judge_key_certificate(const JsonValue& key, const std::string& name, schema::UtcMillis now,
                           Findings& findings) {
  const auto chain = words_in(key, "x5c");
  if (!chain || chain->empty()) return;
  const auto read = read_certificate(pem_of(chain->front()));
  if (const auto* fault = std::get_if<std::string>(&read))
    return findings.warn(fmt::format("Key {} comes with a certificate (x5c) {}.", name, *fault));
  const CertificateJudgement judged = judge_certificate(std::get<CertificateFacts>(read), now);
  for (const std::string& fault : judged.faults)
    findings.warn(fmt::format("Key {} comes with a certificate {}.", name, fault));
}

/// Whether tokens may be signed with it.
bool judge_key(const JsonValue& key, schema::UtcMillis now, Findings& findings) {
  const std::string type = text_in(key, "kty");
  const std::string use = text_in(key, "use");
  const std::string name = in_quotes(text_in(key, "kid"));
  if (key.find("d") || key.find("k")) {
    findings.fault(
        fmt::format("The provider publishes the secret part of key {}: whoever reads it can sign "
                    "in as anybody. It must make a new key.",
                    name));
    return false;
  }
  if (!use.empty() && use != "sig") return false;
  if (type != "RSA" && type != "EC" && type != "OKP") return false;
  if (type == "RSA") {
    const std::size_t bits = bits_of(from_base64url(text_in(key, "n")).value_or(""));
    if (bits < kLeastRsaBits) {
      findings.fault(fmt::format("Key {} has {} bits; {} are the least.", name, bits, kLeastRsaBits));
      return false;
    }
  }
  judge_key_certificate(key, name, now, findings);
  return true;
}

}  // namespace

bool is_expected_issuer(const SsoSettings& sso, const SsoConnectionSettings& connection,
                        const std::string& told) {
  if (connection.kind == SsoKind::oidc) return told == connection.issuer;
  if (connection.identity_api_v2) {
    const std::string begin = sso.authority + "/";
    constexpr std::string_view kEnd = "/v2.0";
    if (!told.starts_with(begin) || !told.ends_with(kEnd) || told.size() < begin.size() + kEnd.size())
      return false;
    const std::string tenant = told.substr(begin.size(), told.size() - begin.size() - kEnd.size());
    return is_guid(tenant) || schema::ascii_lower(tenant) == connection.domain;
  }
  // v1 names a token service by the directory's id: "https://sts.windows.net/{id}/".
  const std::size_t host = std::string_view("https://").size();
  const std::size_t slash = told.find('/', host);
  if (!told.starts_with("https://") || slash == std::string::npos) return false;
  const bool is_service = told.compare(host, 4, "sts.") == 0 || same_origin(told, sso.authority);
  return is_service && is_guid(without_slash(told.substr(slash + 1)));
}

ToldAddresses judge_discovery(std::string_view document, const SsoSettings& sso,
                              const SsoConnectionSettings& connection, Findings& findings) {
  const auto read = read_strict_json(document);
  if (const auto* fault = std::get_if<JsonFault>(&read)) {
    findings.fault(fmt::format("The discovery document is no JSON: {}", fault->message));
    return {};
  }
  const JsonValue& root = std::get<JsonDocument>(read).root();
  if (!root.is_object()) {
    findings.fault(fmt::format("The discovery document is no object but {}.", root.kind_in_words()));
    return {};
  }
  judge_issuer(text_in(root, "issuer"), sso, connection, findings);
  ToldAddresses told;
  told.authorize = address_in(root, "authorization_endpoint", findings);
  told.token = address_in(root, "token_endpoint", findings);
  told.keys = address_in(root, "jwks_uri", findings);
  judge_abilities(root, findings);
  return told;
}

void judge_keys(std::string_view document, schema::UtcMillis now, Findings& findings) {
  const auto read = read_strict_json(document);
  if (const auto* fault = std::get_if<JsonFault>(&read))
    return findings.fault(fmt::format("The provider's keys are no JSON: {}", fault->message));
  const JsonValue* keys = std::get<JsonDocument>(read).root().find("keys");
  if (!keys || !keys->is_array()) return findings.fault("The provider's keys have no list \"keys\".");
  std::size_t signing = 0;
  for (const JsonValue& key : keys->elements()) signing += judge_key(key, now, findings) ? 1 : 0;
  if (signing == 0) return findings.fault("None of the provider's keys can be used to check a signature.");
  findings.good(
      fmt::format("{} of {} keys can be used to check signatures", signing, keys->elements().size()));
}

}  // namespace giftsync::daemon
