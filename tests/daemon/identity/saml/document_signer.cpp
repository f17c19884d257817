#include "tests/daemon/identity/saml/document_signer.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <xmlsec/crypto.h>
#include <xmlsec/io.h>
#include <xmlsec/xmldsig.h>
#include <xmlsec/xmlsec.h>
#include <xmlsec/xmltree.h>

#include <stdexcept>
#include <vector>

#include "platform/digest.h"
#include "platform/xml.h"

namespace giftsync::saml {
namespace {

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(std::string("the document cannot be signed: ") + what);
}

void collect_signatures(xmlNode* element, std::vector<xmlNode*>& found) {
  if (xmlSecCheckNodeName(element, xmlSecNodeSignature, xmlSecDSigNs)) found.push_back(element);
  for (xmlNode* child = xmlFirstElementChild(element); child; child = xmlNextElementSibling(child))
    collect_signatures(child, found);
}

xmlSecKey* hmac_key_of(std::string_view key) {
  return xmlSecKeyReadMemory(xmlSecKeyDataHmacId, reinterpret_cast<const xmlSecByte*>(key.data()),
                             static_cast<xmlSecSize>(key.size()));
}

xmlSecKey* private_key_of(const Signer& signer) {
  const std::string pem = tests::private_pem(signer.key);
  return xmlSecCryptoAppKeyLoadMemory(reinterpret_cast<const xmlSecByte*>(pem.data()),
                                      static_cast<xmlSecSize>(pem.size()), xmlSecKeyDataFormatPem, nullptr,
                                      nullptr, nullptr);
}

std::string number_base64(const EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  require(EVP_PKEY_get_bn_param(key, name, &number) == 1, name);
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
  BN_free(number);
  return to_base64_text(bytes);
}

}  // namespace

std::string text_of(const SignatureTemplate& signature) {
  return R"(<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:SignedInfo>)"
         R"(<ds:CanonicalizationMethod Algorithm=")" +
         signature.canonicalization + R"("/><ds:SignatureMethod Algorithm=")" + signature.method +
         R"("/><ds:Reference URI=")" + signature.uri + R"("><ds:Transforms>)" + signature.transforms +
         R"(</ds:Transforms><ds:DigestMethod Algorithm=")" + signature.digest +
         R"("/><ds:DigestValue></ds:DigestValue></ds:Reference>)" + signature.more_references +
         R"(</ds:SignedInfo><ds:SignatureValue></ds:SignatureValue>)" + signature.objects + "</ds:Signature>";
}

std::string sign(const std::string& xml, const Signer& signer, std::size_t index, std::string_view hmac_key) {
  // libxmlsec must be initialized once in a process, and the code under test does it.
  static const bool is_ready = !verified_xml("", {}, {}).has_value();
  require(is_ready, "libxmlsec");
  xmlSecIORegisterDefaultCallbacks();
  xmlDoc* document =
      xmlReadMemory(xml.data(), static_cast<int>(xml.size()), nullptr, nullptr, XML_PARSE_NOENT);
  require(document != nullptr, "it is not well-formed");
  const xmlChar* ids[] = {BAD_CAST "ID", nullptr};
  xmlSecAddIDs(document, xmlDocGetRootElement(document), ids);
  std::vector<xmlNode*> signatures;
  collect_signatures(xmlDocGetRootElement(document), signatures);
  require(index < signatures.size(), "it has fewer signatures");
  xmlSecDSigCtx* context = xmlSecDSigCtxCreate(nullptr);
  context->signKey = hmac_key.empty() ? private_key_of(signer) : hmac_key_of(hmac_key);
  require(context->signKey != nullptr, "there is no key");
  const bool is_signed = xmlSecDSigCtxSign(context, signatures[index]) >= 0;
  xmlSecDSigCtxDestroy(context);
  xmlSecIOCleanupCallbacks();
  xmlChar* text = nullptr;
  int size = 0;
  xmlDocDumpMemory(document, &text, &size);
  std::string result(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  xmlFree(text);
  xmlFreeDoc(document);
  require(is_signed, "libxmlsec refuses");
  result.erase(0, result.find("?>") + 3);  // the declaration
  return result;
}

std::string certificate_base64(const std::string& pem) {
  const std::string begin = "-----BEGIN CERTIFICATE-----\n";
  const std::size_t from = pem.find(begin) + begin.size();
  std::string text = pem.substr(from, pem.find("-----END") - from);
  std::erase(text, '\n');
  return text;
}

std::string key_info_certificate(const Signer& signer) {
  return R"(<ds:KeyInfo><ds:X509Data><ds:X509Certificate>)" + certificate_base64(signer.certificate) +
         "</ds:X509Certificate></ds:X509Data></ds:KeyInfo>";
}

std::string key_info_value(const Signer& signer) {
  return "<ds:KeyInfo><ds:KeyValue><ds:RSAKeyValue><ds:Modulus>" +
         number_base64(signer.key.get(), OSSL_PKEY_PARAM_RSA_N) + "</ds:Modulus><ds:Exponent>" +
         number_base64(signer.key.get(), OSSL_PKEY_PARAM_RSA_E) +
         "</ds:Exponent></ds:RSAKeyValue></ds:KeyValue></ds:KeyInfo>";
}

}  // namespace giftsync::saml
