#include "platform/xml_signature.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xmlerror.h>
#include <openssl/err.h>
#include <xmlsec/crypto.h>
#include <xmlsec/errors.h>
#include <xmlsec/io.h>
#include <xmlsec/xmldsig.h>
#include <xmlsec/xmlsec.h>
#include <xmlsec/xmltree.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>

#include "platform/dependency_error.h"

namespace giftsync::platform {
namespace {

struct FreeDocument {
  void operator()(xmlDoc* document) const { xmlFreeDoc(document); }
};
using Document = std::unique_ptr<xmlDoc, FreeDocument>;
struct FreeContext {
  void operator()(xmlSecDSigCtx* context) const { xmlSecDSigCtxDestroy(context); }
};
using Context = std::unique_ptr<xmlSecDSigCtx, FreeContext>;
struct FreeKey {
  void operator()(xmlSecKey* key) const { xmlSecKeyDestroy(key); }
};
using Key = std::unique_ptr<xmlSecKey, FreeKey>;

void ignore_xmlsec_error(const char*, int, const char*, const char*, const char*, int, const char*) {}
void ignore_libxml_error(void*, xmlErrorPtr) {}

/// Keeps libxml2 from writing to standard error in this thread, and leaves no error behind for the next user
/// of OpenSSL in it.
class SilentLibraries {
 public:
  SilentLibraries() { xmlSetStructuredErrorFunc(nullptr, ignore_libxml_error); }
  ~SilentLibraries() {
    xmlSetStructuredErrorFunc(nullptr, nullptr);
    xmlResetLastError();
    ERR_clear_error();
  }
  SilentLibraries(const SilentLibraries&) = delete;
  SilentLibraries& operator=(const SilentLibraries&) = delete;
};

void initialize_once() {
  static const bool is_ready = [] {
    xmlInitParser();
    if (xmlSecInit() < 0 || xmlSecCryptoInit() < 0) return false;
    xmlSecErrorsSetCallback(ignore_xmlsec_error);  // both have set one that writes to standard error
    xmlSecIOCleanupCallbacks();  // without them no URI can be opened, whatever a document names
    return true;
  }();
  if (!is_ready) throw DependencyError(false, "libxmlsec cannot be initialized");
}

Document parse(std::string_view text) {
  return Document(xmlReadMemory(text.data(), static_cast<int>(text.size()), nullptr, nullptr,
                                XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING));
}

xmlNode* element_at(xmlDoc* document, std::span<const std::size_t> path) {
  xmlNode* element = xmlDocGetRootElement(document);
  for (std::size_t index : path) {
    element = element ? xmlFirstElementChild(element) : nullptr;
    for (; element && index > 0; --index) element = xmlNextElementSibling(element);
  }
  return element;
}

xmlNode* only_signature(xmlNode* element) {
  xmlNode* found = nullptr;
  for (xmlNode* child = xmlFirstElementChild(element); child; child = xmlNextElementSibling(child)) {
    if (!xmlSecCheckNodeName(child, xmlSecNodeSignature, xmlSecDSigNs)) continue;
    if (found) return nullptr;
    found = child;
  }
  return found;
}

/// Makes the element, and no other, the one to which a Reference can refer.
bool register_id(xmlDoc* document, xmlNode* element) {
  xmlAttr* attribute = xmlHasProp(element, BAD_CAST "ID");
  if (!attribute || attribute->ns) return false;
  const std::unique_ptr<xmlChar, decltype(xmlFree)> value(xmlGetNoNsProp(element, BAD_CAST "ID"), xmlFree);
  return value && xmlAddID(nullptr, document, value.get(), attribute) != nullptr;
}

bool enable_references(xmlSecDSigCtx* context, std::initializer_list<xmlSecTransformId> transforms) {
  for (const xmlSecTransformId one : transforms) {
    if (xmlSecDSigCtxEnableReferenceTransform(context, one) < 0) return false;
  }
  return true;
}

bool enable_signatures(xmlSecDSigCtx* context, std::initializer_list<xmlSecTransformId> transforms) {
  for (const xmlSecTransformId one : transforms) {
    if (xmlSecDSigCtxEnableSignatureTransform(context, one) < 0) return false;
  }
  return true;
}

/// A context that knows only what the profile has, one by one.
Context closed_context(bool allows_sha1) {
  Context context(xmlSecDSigCtxCreate(nullptr));
  if (!context) return nullptr;
  context->flags = XMLSEC_DSIG_FLAGS_IGNORE_MANIFESTS | XMLSEC_DSIG_FLAGS_STORE_SIGNEDINFO_REFERENCES;
  context->enabledReferenceUris = xmlSecTransformUriTypeSameDocument;
  bool is_closed =
      enable_references(context.get(),
                        {xmlSecTransformEnvelopedId, xmlSecTransformExclC14NId, xmlSecTransformSha256Id,
                         xmlSecTransformSha384Id, xmlSecTransformSha512Id}) &&
      enable_signatures(context.get(), {xmlSecTransformExclC14NId, xmlSecTransformRsaSha256Id,
                                        xmlSecTransformRsaSha384Id, xmlSecTransformRsaSha512Id,
                                        xmlSecTransformEcdsaSha256Id, xmlSecTransformEcdsaSha384Id});
  if (allows_sha1)
    is_closed = is_closed && enable_references(context.get(), {xmlSecTransformSha1Id}) &&
                enable_signatures(context.get(), {xmlSecTransformRsaSha1Id});
  return is_closed ? std::move(context) : nullptr;
}

Key key_of(const std::string& certificate) {
  return Key(xmlSecCryptoAppKeyLoadMemory(reinterpret_cast<const xmlSecByte*>(certificate.data()),
                                          static_cast<xmlSecSize>(certificate.size()),
                                          xmlSecKeyDataFormatCertPem, nullptr, nullptr, nullptr));
}

/// The bytes under the one reference; nullopt unless the key of the certificate made the signature.
std::optional<std::string> bytes_signed_by(const std::string& certificate, xmlNode* signature,
                                           bool allows_sha1) {
  Key key = key_of(certificate);
  const Context context = closed_context(allows_sha1);
  if (!key || !context) return std::nullopt;
  context->signKey = key.release();  // with it KeyInfo is not read
  if (xmlSecDSigCtxVerify(context.get(), signature) < 0 || context->status != xmlSecDSigStatusSucceeded ||
      xmlSecPtrListGetSize(&context->signedInfoReferences) != 1)
    return std::nullopt;
  auto* reference =
      static_cast<xmlSecDSigReferenceCtx*>(xmlSecPtrListGetItem(&context->signedInfoReferences, 0));
  xmlSecBuffer* bytes = reference ? xmlSecDSigReferenceCtxGetPreDigestBuffer(reference) : nullptr;
  if (!bytes || reference->status != xmlSecDSigStatusSucceeded || xmlSecBufferGetSize(bytes) == 0)
    return std::nullopt;
  return std::string(reinterpret_cast<const char*>(xmlSecBufferGetData(bytes)), xmlSecBufferGetSize(bytes));
}

}  // namespace

tl::expected<std::string, std::string> verified_xml(std::string_view text, std::span<const std::size_t> path,
                                                    const XmlSigners& signers) {
  initialize_once();
  const SilentLibraries silent;
  for (const std::string& certificate : signers.certificates) {
    // A document of its own for each: what one attempt leaves in it cannot reach the next.
    const Document document = parse(text);
    if (!document || document->intSubset) return tl::make_unexpected("the document cannot be read again");
    xmlNode* element = element_at(document.get(), path);
    xmlNode* signature = element ? only_signature(element) : nullptr;
    if (!signature || !register_id(document.get(), element))
      return tl::make_unexpected("the element has no signature or no ID");
    if (auto bytes = bytes_signed_by(certificate, signature, signers.allows_sha1)) return std::move(*bytes);
  }
  return tl::make_unexpected(
      "the signature is not of a configured certificate, or the content was changed after it");
}

}  // namespace giftsync::platform
