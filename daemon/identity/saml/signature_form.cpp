#include "daemon/identity/saml/signature_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <string>

#include "daemon/identity/saml/saml_names.h"
#include "platform/quoted_text.h"
#include "platform/text.h"

namespace giftsync::daemon::identity::saml {
namespace {

using platform::in_quotes;
using platform::XmlElement;
using Fault = std::optional<SamlRefusal>;
using Names = std::initializer_list<std::string_view>;

constexpr std::string_view kRsaSha1 = "http://www.w3.org/2000/09/xmldsig#rsa-sha1";
constexpr std::string_view kSha1 = "http://www.w3.org/2000/09/xmldsig#sha1";
constexpr std::array kSignatureMethods = {
    std::string_view("http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"),
    std::string_view("http://www.w3.org/2001/04/xmldsig-more#rsa-sha384"),
    std::string_view("http://www.w3.org/2001/04/xmldsig-more#rsa-sha512"),
    std::string_view("http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256"),
    std::string_view("http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384")};
constexpr std::array kDigestMethods = {std::string_view("http://www.w3.org/2001/04/xmlenc#sha256"),
                                       std::string_view("http://www.w3.org/2001/04/xmldsig-more#sha384"),
                                       std::string_view("http://www.w3.org/2001/04/xmlenc#sha512")};

SamlRefusal form_refusal(std::string message) {
  return refusal(7, std::move(message));
}

/// Whether the children of `element` are of XML Signature and have these names in this order, the last one
/// optional when it begins with '?'.
bool has_children(const XmlElement& element, Names names) {
  auto child = element.children.begin();
  for (const std::string_view name : names) {
    const bool is_optional = name.starts_with('?');
    if (child != element.children.end() && child->is(kSignature, name.substr(is_optional ? 1 : 0)))
      ++child;
    else if (!is_optional)
      return false;
  }
  return child == element.children.end();
}

bool has_only_attributes(const XmlElement& element, Names names) {
  return std::all_of(
      element.attributes.begin(), element.attributes.end(), [&](const platform::XmlAttribute& one) {
        return one.name_space.empty() && std::find(names.begin(), names.end(), one.name) != names.end();
      });
}

/// Each is searched for at each element, and before the signature is verified: with 200 of them a document of
/// 140 kB took a minute.
constexpr std::ptrdiff_t kMaxKeptPrefixes = 16;

bool has_few_prefixes(const XmlElement& namespaces) {
  const std::string_view list = namespaces.attribute("", "PrefixList").value_or("");
  return std::count_if(list.begin(), list.end(),
                       [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }) < kMaxKeptPrefixes;
}

/// Exclusive canonicalization may name prefixes that it keeps.
bool has_c14n_parameters_only(const XmlElement& element) {
  return element.children.empty() ||
         (element.children.size() == 1 &&
          element.children.front().is(kExclusiveC14n, "InclusiveNamespaces") &&
          has_only_attributes(element.children.front(), {"PrefixList"}) &&
          has_few_prefixes(element.children.front()) && element.children.front().children.empty());
}

std::string algorithm_of(const XmlElement& element) {
  return std::string(element.attribute("", "Algorithm").value_or(""));
}

Fault algorithm_fault(const XmlElement& method, std::span<const std::string_view> allowed,
                      std::string_view sha1, bool allows_sha1) {
  const std::string algorithm = algorithm_of(method);
  if (algorithm == sha1 && !allows_sha1)
    return form_refusal(
        fmt::format("{} is SHA-1, which can be forged; let the provider sign with RSA-SHA256, or set "
                    "hash: sha1 in the connection",
                    method.name));
  const bool is_known =
      algorithm == sha1 || std::find(allowed.begin(), allowed.end(), algorithm) != allowed.end();
  if (!is_known || !method.children.empty() || !has_only_attributes(method, {"Algorithm"}))
    return form_refusal(
        fmt::format("{} is {}; RSA or ECDSA with SHA-256 or stronger is allowed. Let the provider sign "
                    "with RSA-SHA256",
                    method.name, in_quotes(algorithm)));
  return std::nullopt;
}

Fault transforms_fault(const XmlElement& transforms) {
  const std::size_t count = transforms.children.size();
  bool is_allowed = count == 1 || count == 2;
  for (std::size_t i = 0; is_allowed && i < count; ++i) {
    const XmlElement& one = transforms.children[i];
    is_allowed = one.is(kSignature, "Transform") && has_only_attributes(one, {"Algorithm"}) &&
                 (i == 0 ? algorithm_of(one) == kEnveloped && one.children.empty()
                         : algorithm_of(one) == kExclusiveC14n && has_c14n_parameters_only(one));
  }
  if (is_allowed) return std::nullopt;
  return form_refusal(
      "the signature's Transforms are not enveloped-signature and then, at most, exclusive "
      "canonicalization; others can change what was signed");
}

Fault reference_fault(const XmlElement& reference, std::string_view signed_id, bool allows_sha1) {
  if (!has_only_attributes(reference, {"URI", "Id"}) ||
      !has_children(reference, {"Transforms", "DigestMethod", "DigestValue"}))
    return form_refusal(
        "the signature's Reference has other parts than URI, Transforms, DigestMethod and DigestValue");
  const std::string_view uri = reference.attribute("", "URI").value_or("");
  if (uri != "#" + std::string(signed_id))
    return form_refusal(fmt::format("the signature refers to {}; it must refer to the element around it, {}",
                                    in_quotes(uri), in_quotes("#" + std::string(signed_id))));
  if (auto fault = transforms_fault(reference.children[0])) return fault;
  return algorithm_fault(reference.children[1], kDigestMethods, kSha1, allows_sha1);
}

}  // namespace

std::optional<SamlRefusal> signature_form_fault(const XmlElement& signature, std::string_view signed_id,
                                                bool allows_sha1) {
  if (!has_children(signature, {"SignedInfo", "SignatureValue", "?KeyInfo"}))
    return form_refusal("the Signature has other parts than SignedInfo, SignatureValue and KeyInfo");
  const XmlElement& info = signature.children.front();
  if (!has_children(info, {"CanonicalizationMethod", "SignatureMethod", "Reference"}))
    return form_refusal(
        "SignedInfo does not consist of CanonicalizationMethod, SignatureMethod and exactly one "
        "Reference");
  const XmlElement& canonicalization = info.children[0];
  if (algorithm_of(canonicalization) != kExclusiveC14n || !has_c14n_parameters_only(canonicalization))
    return form_refusal(fmt::format("CanonicalizationMethod is {}; {} is allowed",
                                    in_quotes(algorithm_of(canonicalization)), kExclusiveC14n));
  if (auto fault = algorithm_fault(info.children[1], kSignatureMethods, kRsaSha1, allows_sha1)) return fault;
  return reference_fault(info.children[2], signed_id, allows_sha1);
}

}  // namespace giftsync::daemon::identity::saml
