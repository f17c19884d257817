#include "daemon/identity/saml/response_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "daemon/identity/saml/response_structure.h"
#include "daemon/identity/saml/saml_names.h"
#include "platform/certificate.h"
#include "platform/digest.h"
#include "platform/xml_signature.h"

namespace giftsync::daemon::identity::saml {
namespace {

using platform::XmlElement;

constexpr std::size_t kMaxFieldBytes = std::size_t{256} * 1024;
constexpr platform::XmlLimits kLimits{.max_bytes = std::size_t{192} * 1024,
                                      .max_depth = 60,
                                      .max_elements = 5'000,
                                      .max_tag_bytes = std::size_t{16} * 1024,
                                      .max_namespaces = 100,
                                      .allows_comments = false};

Outcome<XmlElement> read(std::string_view xml) {
  auto root = platform::read_xml(xml, kLimits);
  if (root) return std::move(*root);
  const bool is_forbidden = root.error().fault == platform::XmlFault::forbidden;
  return refuse(is_forbidden ? 2 : 1, "the response is refused: {}", describe(root.error()));
}

/// The certificates that are valid and strong enough now.
Outcome<platform::XmlSigners> signers(const SamlConnection& connection, platform::UtcMillis now) {
  platform::XmlSigners found{.allows_sha1 = connection.settings.sha1};
  std::string fault = "none is configured";
  for (const std::string& pem : connection.certificates) {
    const auto info = platform::parse_certificate(pem);
    if (!info) {
      fault = "one " + info.error();
      continue;
    }
    const platform::CertificateIssues issues = platform::validate_certificate(*info, now);
    if (issues.faults.empty())
      found.certificates.push_back(pem);
    else
      fault = "one " + issues.faults.front();
  }
  if (!found.certificates.empty()) return found;
  return refuse(
      8, "no certificate of the connection is valid ({}); set the one with which the provider signs now",
      fault);
}

/// The signed bytes of each signed element, in their order; a refusal when one of them is not verified.
Outcome<std::vector<std::string>> verify_all(std::string_view xml, const std::vector<SignedElement>& elements,
                                             const platform::XmlSigners& allowed) {
  std::vector<std::string> all;
  for (const SignedElement& one : elements) {
    auto bytes = platform::verified_xml(xml, one.path, allowed);
    if (!bytes)
      return refuse(
          8,
          "the signature of the {} is not verified: {}. If the provider has changed its certificate, "
          "set the new one as next_certificate",
          one.path.empty() ? "Response" : "Assertion", bytes.error());
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
  std::erase_if(response.children, [](const XmlElement& one) { return one.name == "Assertion"; });
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
  auto xml = platform::from_base64_text(packed);
  if (!xml || xml->empty())
    return refuse(1, "SAMLResponse is not base64; the provider must use the HTTP-POST binding");
  return std::move(*xml);
}

Outcome<VerifiedResponse> verify_response(std::string_view xml, const SamlConnection& connection,
                                          platform::UtcMillis now) {
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

}  // namespace giftsync::daemon::identity::saml
