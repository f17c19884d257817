#include "daemon/identity/saml/authn_request.h"

#include <Poco/DeflatingStream.h>
#include <fmt/format.h>

#include <sstream>

#include "platform/digest.h"
#include "platform/http_client.h"
#include "platform/xml.h"

namespace giftsync::saml {
namespace {

constexpr int kRawDeflate = -15;  // the window's bits; negative: without zlib's header
constexpr int kBestCompression = 9;

std::string deflated(const std::string& text) {
  std::ostringstream out;
  Poco::DeflatingOutputStream deflating(out, kRawDeflate, kBestCompression);
  deflating << text;
  deflating.close();
  return out.str();
}

/// The document, UTF-8.
std::string xml_of(const AuthnRequest& request, const SamlConnection& connection) {
  return fmt::format(
      R"(<samlp:AuthnRequest xmlns:samlp="{}" xmlns:saml="{}" ID="{}" Version="2.0" IssueInstant="{}" )"
      R"(Destination="{}" AssertionConsumerServiceURL="{}" ProtocolBinding="{}"{}>)"
      R"(<saml:Issuer>{}</saml:Issuer></samlp:AuthnRequest>)",
      kProtocol, kAssertion, xml_escaped(request.id), to_rfc3339(request.issued_at),
      xml_escaped(connection.settings.sign_in_url), xml_escaped(connection.post_back_url), kPostBinding,
      request.force_authn ? " ForceAuthn=\"true\"" : "", xml_escaped(connection.entity_id));
}

}  // namespace

std::string new_request_id() {
  return "_" + random_hex(20);  // an xs:ID must not begin with a digit
}

std::string authn_request_url(const SamlConnection& connection, const AuthnRequest& request) {
  const std::string message = to_base64_text(deflated(xml_of(request, connection)));
  const std::string url = with_query_parameter(connection.settings.sign_in_url, "SAMLRequest", message);
  return with_query_parameter(url, "RelayState", request.relay_state);
}

}  // namespace giftsync::saml
