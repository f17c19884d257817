#include "daemon/identity/saml/signature_form.h"

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
using Names = std::initializer_list<std::string_view>;

constexpr std::string_view kRsaSha1 = "http://www.w3.org/2000/09/xmldsig#rsa-sha1";
constexpr std::string_view kSha1 = "http://www.w3.org/2000/09/xmldsig#sha1";
constexpr std::array<std::string_view, 5> kSignatureMethods = {
    "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", "http://www.w3.org/2001/04/xmldsig-more#rsa-sha384",
    "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512",
    "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256",
    "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384"};
constexpr std::array<std::string_view, 3> kDigestMethods = {"http://www.w3.org/2001/04/xmlenc#sha256",
                                                            "http://www.w3.org/2001/04/xmldsig-more#sha384",
                                                            "http://www.w3.org/2001/04/xmlenc#sha512"};

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

Outcome<void> check_algorithm(const XmlElement& method, std::span<const std::string_view> allowed,
                              std::string_view sha1, bool allows_sha1) {
  const std::string algorithm = algorithm_of(method);
  if (algorithm == sha1 && !allows_sha1)
    return refuse(7,
                  "{} is SHA-1, which can be forged; let the provider sign with RSA-SHA256, or set "
                  "hash: sha1 in the connection",
                  method.name);
  const bool is_known =
      algorithm == sha1 || std::find(allowed.begin(), allowed.end(), algorithm) != allowed.end();
  if (!is_known || !method.children.empty() || !has_only_attributes(method, {"Algorithm"}))
    return refuse(7,
                  "{} is {}; RSA or ECDSA with SHA-256 or stronger is allowed. Let the provider sign "
                  "with RSA-SHA256",
                  method.name, in_quotes(algorithm));
  return {};
}

Outcome<void> check_transforms(const XmlElement& transforms) {
  const std::size_t count = transforms.children.size();
  bool is_allowed = count == 1 || count == 2;
  for (std::size_t i = 0; is_allowed && i < count; ++i) {
    const XmlElement& one = transforms.children[i];
    is_allowed = one.is(kSignature, "Transform") && has_only_attributes(one, {"Algorithm"}) &&
                 (i == 0 ? algorithm_of(one) == kEnveloped && one.children.empty()
                         : algorithm_of(one) == kExclusiveC14n && has_c14n_parameters_only(one));
  }
  if (is_allowed) return {};
  return refuse(7,
                "the signature's Transforms are not enveloped-signature and then, at most, exclusive "
                "canonicalization; others can change what was signed");
}

Outcome<void> check_reference(const XmlElement& reference, std::string_view signed_id, bool allows_sha1) {
  if (!has_only_attributes(reference, {"URI", "Id"}) ||
      !has_children(reference, {"Transforms", "DigestMethod", "DigestValue"}))
    return refuse(
        7, "the signature's Reference has other parts than URI, Transforms, DigestMethod and DigestValue");
  const std::string_view uri = reference.attribute("", "URI").value_or("");
  if (uri != "#" + std::string(signed_id))
    return refuse(7, "the signature refers to {}; it must refer to the element around it, {}", in_quotes(uri),
                  in_quotes("#" + std::string(signed_id)));
  if (Outcome<void> transforms = check_transforms(reference.children[0]); !transforms) return transforms;
  return check_algorithm(reference.children[1], kDigestMethods, kSha1, allows_sha1);
}

}  // namespace

Outcome<void> check_signature_form(const XmlElement& signature, std::string_view signed_id,
                                   bool allows_sha1) {
  if (!has_children(signature, {"SignedInfo", "SignatureValue", "?KeyInfo"}))
    return refuse(7, "the Signature has other parts than SignedInfo, SignatureValue and KeyInfo");
  const XmlElement& info = signature.children.front();
  if (!has_children(info, {"CanonicalizationMethod", "SignatureMethod", "Reference"}))
    return refuse(7,
                  "SignedInfo does not consist of CanonicalizationMethod, SignatureMethod and exactly one "
                  "Reference");
  const XmlElement& canonicalization = info.children[0];
  if (algorithm_of(canonicalization) != kExclusiveC14n || !has_c14n_parameters_only(canonicalization))
    return refuse(7, "CanonicalizationMethod is {}; {} is allowed", in_quotes(algorithm_of(canonicalization)),
                  kExclusiveC14n);
  Outcome<void> method = check_algorithm(info.children[1], kSignatureMethods, kRsaSha1, allows_sha1);
  if (!method) return method;
  return check_reference(info.children[2], signed_id, allows_sha1);
}

}  // namespace giftsync::daemon::identity::saml
