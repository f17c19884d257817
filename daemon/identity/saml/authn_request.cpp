#include "daemon/identity/saml/authn_request.h"

#include <Poco/DeflatingStream.h>
#include <fmt/format.h>

#include <sstream>

#include "daemon/identity/saml/saml_names.h"
#include "platform/digest.h"
#include "platform/http_client.h"
#include "platform/random.h"
#include "platform/xml.h"

namespace giftsync::daemon::identity::saml {
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
      kProtocol, kAssertion, platform::xml_escaped(request.id), platform::to_rfc3339(request.issued_at),
      platform::xml_escaped(connection.settings.sign_in_url), platform::xml_escaped(connection.post_back_url),
      kPostBinding, request.force_authn ? " ForceAuthn=\"true\"" : "",
      platform::xml_escaped(connection.entity_id));
}

}  // namespace

std::string new_request_id() {
  return "_" + platform::random_hex(20);  // an xs:ID must not begin with a digit
}

std::string authn_request_url(const SamlConnection& connection, const AuthnRequest& request) {
  const std::string message = platform::to_base64_text(deflated(xml_of(request, connection)));
  const std::string url =
      platform::with_query_parameter(connection.settings.sign_in_url, "SAMLRequest", message);
  return platform::with_query_parameter(url, "RelayState", request.relay_state);
}

}  // namespace giftsync::daemon::identity::saml
