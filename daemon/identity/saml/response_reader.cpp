#include "daemon/identity/saml/response_reader.h"

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <set>
#include <span>
#include <utility>

#include "platform/digest.h"
#include "platform/keys.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::saml {
namespace {

constexpr std::size_t kMaxFieldBytes = std::size_t{256} * 1024;
constexpr XmlLimits kLimits{.max_bytes = std::size_t{192} * 1024,
                            .max_depth = 60,
                            .max_elements = 5'000,
                            .max_tag_bytes = std::size_t{16} * 1024,
                            .max_namespaces = 100,
                            .allows_comments = false};

Outcome<XmlElement> read(std::string_view xml) {
  auto root = read_xml(xml, kLimits);
  if (root) return std::move(*root);
  const bool is_forbidden = root.error().fault == XmlFault::forbidden;
  return refuse(is_forbidden ? 2 : 1, "the response is refused: {}", describe(root.error()));
}

/// The certificates that are valid and strong enough now.
Outcome<XmlSigners> signers(const SamlConnection& connection, UtcMillis now) {
  XmlSigners found{.allows_sha1 = connection.settings.sha1};
  std::string fault = "none is configured";
  for (const std::string& pem : connection.certificates) {
    const auto info = parse_certificate(pem);
    if (!info) {
      fault = "one " + info.error();
      continue;
    }
    const CertificateIssues issues = validate_certificate(*info, now);
    if (issues.faults.empty())
      found.certificates.push_back(pem);
    else
      fault = "one " + issues.faults.front().clause;
  }
  if (!found.certificates.empty()) return found;
  return refuse(
      8, "no certificate of the connection is valid ({}); set the one with which the provider signs now",
      fault);
}

/// The signed bytes of each signed element, in their order; a refusal when one of them is not verified.
Outcome<std::vector<std::string>> verify_all(std::string_view xml, const std::vector<SignedElement>& elements,
                                             const XmlSigners& allowed) {
  std::vector<std::string> all;
  for (const SignedElement& element : elements) {
    auto bytes = verified_xml(xml, element.path, allowed);
    if (!bytes)
      return refuse(
          8,
          "the signature of the {} is not verified: {}. If the provider has changed its certificate, "
          "set the new one as next_certificate",
          element.path.empty() ? "Response" : "Assertion", bytes.error());
    all.push_back(std::move(*bytes));
  }
  return all;
}

/// SAML-10: the bytes are a document of their own, whose root is what the signature refers to.
Outcome<XmlElement> read_signed(const std::string& bytes, const SignedElement& element) {
  auto root = read(bytes);
  if (!root) return root;
  const bool is_expected =
      element.path.empty() ? root->is(kProtocol, "Response") : root->is(kAssertion, "Assertion");
  if (is_expected && root->attribute("", "ID") == element.id) return root;
  return refuse(10, "the signed bytes are not the element that the signature refers to");
}

void remove_assertions(XmlElement& response) {
  std::erase_if(response.children, [](const XmlElement& element) { return element.name == "Assertion"; });
}

Outcome<VerifiedResponse> from_signed_response(XmlElement root, std::string bytes) {
  const auto index = find_assertion(root);
  if (!index) return tl::unexpected(index.error());
  VerifiedResponse verified{.signed_bytes = std::move(bytes), .is_response_signed = true};
  verified.assertion = std::move(root.children[*index]);
  root.children.erase(root.children.begin() + static_cast<std::ptrdiff_t>(*index));
  verified.response = std::move(root);
  return verified;
}

}  // namespace

Outcome<std::string> decoded_response(std::string_view field) {
  if (field.size() > kMaxFieldBytes)
    return refuse(1, "SAMLResponse has {} bytes; at most {} are allowed", field.size(), kMaxFieldBytes);
  std::string packed(field);
  std::erase_if(packed, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
  auto xml = from_base64_text(packed);
  if (!xml || xml->empty())
    return refuse(1, "SAMLResponse is not base64; the provider must use the HTTP-POST binding");
  return std::move(*xml);
}

Outcome<VerifiedResponse> verify_response(std::string_view xml, const SamlConnection& connection,
                                          UtcMillis now) {
  auto outer = read(xml);
  if (!outer) return tl::unexpected(outer.error());
  const auto elements = signed_elements(*outer, connection.settings.sha1);
  if (!elements) return tl::unexpected(elements.error());
  const auto allowed = signers(connection, now);
  if (!allowed) return tl::unexpected(allowed.error());
  auto bytes = verify_all(xml, *elements, *allowed);
  if (!bytes) return tl::unexpected(bytes.error());
  auto root = read_signed(bytes->front(), elements->front());
  if (!root) return tl::unexpected(root.error());
  if (elements->front().path.empty())
    return from_signed_response(std::move(*root), std::move(bytes->front()));
  remove_assertions(*outer);
  return VerifiedResponse{.signed_bytes = std::move(bytes->front()),
                          .assertion = std::move(*root),
                          .response = std::move(*outer),
                          .is_response_signed = false};
}

namespace {

/// Calls `visit` with the element and all elements inside of it, except what is in `skipped`.
void each_element(const XmlElement& element, const XmlElement* skipped,
                  const std::function<void(const XmlElement&)>& visit) {
  if (&element == skipped) return;
  visit(element);
  for (const XmlElement& child : element.children) each_element(child, skipped, visit);
}

std::size_t count_named(const XmlElement& root, const XmlElement* skipped, std::string_view name) {
  std::size_t count = 0;
  each_element(root, skipped, [&](const XmlElement& element) { count += element.name == name ? 1 : 0; });
  return count;
}

/// Assertions in an Advice are someone else's evidence: they are neither counted nor read.
const XmlElement* advice_of(const XmlElement& assertion) {
  const auto found = std::find_if(assertion.children.begin(), assertion.children.end(),
                                  [](const XmlElement& element) { return element.is(kAssertion, "Advice"); });
  return found == assertion.children.end() ? nullptr : &*found;
}

Outcome<void> check_root(const XmlElement& response) {
  if (!response.is(kProtocol, "Response"))
    return refuse(3, "the document's root is {}; a samlp:Response is expected", in_quotes(response.name));
  if (response.attribute("", "Version") != "2.0")
    return refuse(3, "the Response is not of version 2.0; set the provider to SAML 2.0");
  return {};
}

bool is_id_name(std::string_view name) {
  return ascii_lower(name) == "id";
}

/// An ASCII xs:ID: it goes into a reference, where another character could mean something else.
bool is_plain_id(std::string_view id) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !id.empty() && is_letter(id.front()) && std::all_of(id.begin(), id.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

/// SAML-5, in the whole document: an ID in an Advice could be referred to as well.
Outcome<void> check_ids(const XmlElement& response) {
  Outcome<void> verdict;
  std::set<std::string_view> ids;
  each_element(response, nullptr, [&](const XmlElement& element) {
    for (const XmlAttribute& attribute : element.attributes) {
      if (!verdict || !is_id_name(attribute.name)) continue;
      if (!attribute.name_space.empty())
        verdict = refuse(5, "{} has an ID in the namespace {}; IDs have none", in_quotes(element.name),
                         in_quotes(attribute.name_space));
      else if (!ids.insert(attribute.value).second)
        verdict = refuse(5, "two elements have the ID {}; each needs its own", in_quotes(attribute.value));
    }
  });
  return verdict;
}

/// Where the signature of a Response or an Assertion must be: directly behind its Issuer.
std::size_t signature_place(const XmlElement& element) {
  return !element.children.empty() && element.children.front().is(kAssertion, "Issuer") ? 1 : 0;
}

const XmlElement* signature_in_place(const XmlElement& element) {
  const std::size_t place = signature_place(element);
  if (place >= element.children.size() || !element.children[place].is(kSignature, "Signature"))
    return nullptr;
  return &element.children[place];
}

/// Adds the element when it has a signature. Its form is held to SAML-7, its ID to SAML-5.
Outcome<void> add_signed(const XmlElement& element, std::vector<std::size_t> path, bool allows_sha1,
                         std::vector<SignedElement>& found) {
  const XmlElement* signature = signature_in_place(element);
  if (!signature) return {};
  const std::string id(element.attribute("", "ID").value_or(""));
  if (!is_plain_id(id))
    return refuse(5,
                  "the signed {} has the ID {}; letters, digits, '_', '-' and '.' are allowed, not "
                  "beginning with a digit",
                  in_quotes(element.name), in_quotes(id));
  Outcome<void> form = check_signature_form(*signature, id, allows_sha1);
  if (form) found.push_back({std::move(path), id});
  return form;
}

}  // namespace

Outcome<std::size_t> find_assertion(const XmlElement& response) {
  if (const Outcome<void> root = check_root(response); !root) return tl::unexpected(root.error());
  if (count_named(response, nullptr, "EncryptedAssertion") > 0)
    return refuse(4, "the Assertion is encrypted; turn encryption of assertions off at the provider");
  const auto at = std::find_if(response.children.begin(), response.children.end(),
                               [](const XmlElement& element) { return element.is(kAssertion, "Assertion"); });
  const XmlElement* advice = at == response.children.end() ? nullptr : advice_of(*at);
  const std::size_t count = count_named(response, advice, "Assertion");
  if (at == response.children.end() || count != 1)
    return refuse(4,
                  "the Response contains {} elements named Assertion{}; exactly one, directly inside of the "
                  "Response, is expected",
                  count, at == response.children.end() && count > 0 ? ", none of them in its place" : "");
  if (at->attribute("", "Version") != "2.0")
    return refuse(4, "the Assertion is not of version 2.0; set the provider to SAML 2.0");
  return static_cast<std::size_t>(at - response.children.begin());
}

Outcome<std::vector<SignedElement>> signed_elements(const XmlElement& response, bool allows_sha1) {
  const auto index = find_assertion(response);
  if (!index) return tl::unexpected(index.error());
  if (const Outcome<void> ids = check_ids(response); !ids) return tl::unexpected(ids.error());
  const XmlElement& assertion = response.children[*index];
  std::vector<SignedElement> found;
  Outcome<void> verdict = add_signed(response, {}, allows_sha1, found);
  if (verdict) verdict = add_signed(assertion, {*index}, allows_sha1, found);
  if (!verdict) return tl::unexpected(verdict.error());
  const std::size_t count = count_named(response, advice_of(assertion), "Signature");
  if (found.empty() || count != found.size())
    return refuse(
        6,
        "the response contains {} elements named Signature, of which {} directly behind the Issuer of "
        "the Response or the Assertion; one or two, each in its place, are expected. Let the provider "
        "sign the assertion",
        count, found.size());
  return found;
}

namespace {
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
  return std::all_of(element.attributes.begin(), element.attributes.end(),
                     [&](const XmlAttribute& attribute) {
                       return attribute.name_space.empty() &&
                              std::find(names.begin(), names.end(), attribute.name) != names.end();
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
    const XmlElement& element = transforms.children[i];
    is_allowed = element.is(kSignature, "Transform") && has_only_attributes(element, {"Algorithm"}) &&
                 (i == 0 ? algorithm_of(element) == kEnveloped && element.children.empty()
                         : algorithm_of(element) == kExclusiveC14n && has_c14n_parameters_only(element));
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

}  // namespace giftsync::saml
