// Signs XML documents as an identity provider does, and as a forger would: any transform, reference and
// algorithm that libxmlsec has.
#pragma once

#include <string>
#include <string_view>

#include "tests/support/test_certificate.h"
#include "tests/support/test_keys.h"

namespace giftsync::saml {

/// A key with its self-signed certificate.
struct Signer {
  tests::TestKey key = tests::make_rsa_key();
  std::string certificate = tests::certificate_of(key.get());
};

/// The parts of a signature that is still to be made.
struct SignatureTemplate {
  std::string uri = {};  ///< "#_a1"
  std::string canonicalization = "http://www.w3.org/2001/10/xml-exc-c14n#";
  std::string method = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
  std::string digest = "http://www.w3.org/2001/04/xmlenc#sha256";
  /// Inside of Transforms.
  std::string transforms =
      R"(<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/>)"
      R"(<ds:Transform Algorithm="http://www.w3.org/2001/10/xml-exc-c14n#"/>)";
  std::string more_references = {};
  std::string objects = {};  ///< behind SignatureValue
};
/// A ds:Signature without values.
std::string text_of(const SignatureTemplate& signature);

/// Fills in the values of the `index`-th signature of the document, in its order. Without `hmac_key` the
/// signer's key signs.
std::string sign(const std::string& xml, const Signer& signer, std::size_t index = 0,
                 std::string_view hmac_key = {});

/// The certificate's base64 without the lines around it.
std::string certificate_base64(const std::string& pem);
/// "<ds:KeyInfo>" with the certificate, or with the bare RSA key.
std::string key_info_certificate(const Signer& signer);
std::string key_info_value(const Signer& signer);

}  // namespace giftsync::saml
