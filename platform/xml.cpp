#include "platform/xml.h"

#include <fmt/format.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/tree.h>
#include <libxml/xmlerror.h>
#include <openssl/err.h>
#include <xmlsec/crypto.h>
#include <xmlsec/errors.h>
#include <xmlsec/io.h>
#include <xmlsec/xmldsig.h>
#include <xmlsec/xmlsec.h>
#include <xmlsec/xmltree.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <utility>

#include "platform/dependency_error.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync {
namespace {

constexpr std::size_t kMaxMessageCodePoints = 200;

std::string_view view_of(const xmlChar* text) {
  return text ? std::string_view(reinterpret_cast<const char*>(text)) : std::string_view();
}

/// What the parser's callbacks make of a document.
struct Builder {
  const XmlLimits& limits;
  xmlParserCtxt* context = nullptr;
  std::vector<XmlElement> open = {};  ///< from the root on
  std::size_t elements = 0;
  std::vector<std::size_t> declared = {};  ///< namespaces, by each open element
  std::size_t namespaces = 0;              ///< their sum
  std::optional<XmlElement> root = {};
  std::optional<XmlError> error = {};  ///< the first one

  /// Ends the parsing.
  void refuse(XmlFault fault, std::string_view message) {
    note(fault, message, static_cast<std::size_t>(std::max(xmlSAX2GetLineNumber(context), 0)));
    xmlStopParser(context);
  }
  void note(XmlFault fault, std::string_view message, std::size_t line) {
    if (error) return;
    const std::string visible = visible_text(trimmed(message));
    error = XmlError{std::string(truncated(visible, kMaxMessageCodePoints)), line, fault};
  }
};

/// An exception must not pass through the parser, which is C.
template <class Action>
void build(void* user, Action&& action) noexcept {
  Builder& builder = *static_cast<Builder*>(user);
  if (builder.error) return;
  action(builder);
}

/// Five pointers each: name, prefix, URI, begin and end of the value.
std::vector<XmlAttribute> attributes_of(const xmlChar** given, int count) {
  std::vector<XmlAttribute> attributes;
  for (const xmlChar** one = given; count > 0; --count, one += 5) {
    const auto length = static_cast<std::size_t>(one[4] - one[3]);
    attributes.push_back({std::string(view_of(one[2])), std::string(view_of(one[0])),
                          std::string(reinterpret_cast<const char*>(one[3]), length)});
  }
  return attributes;
}

void start_element(void* user, const xmlChar* name, const xmlChar*, const xmlChar* uri, int namespace_count,
                   const xmlChar**, int attribute_count, int, const xmlChar** attributes) {
  build(user, [&](Builder& builder) {
    if (builder.open.size() >= builder.limits.max_depth)
      return builder.refuse(XmlFault::limit, fmt::format("found more than {} elements inside of each other",
                                                         builder.limits.max_depth));
    if (++builder.elements > builder.limits.max_elements)
      return builder.refuse(XmlFault::limit,
                            fmt::format("found more than {} elements", builder.limits.max_elements));
    builder.declared.push_back(static_cast<std::size_t>(std::max(namespace_count, 0)));
    builder.namespaces += builder.declared.back();
    if (builder.namespaces > builder.limits.max_namespaces)
      return builder.refuse(XmlFault::limit, fmt::format("found more than {} namespaces declared around an "
                                                         "element",
                                                         builder.limits.max_namespaces));
    builder.open.push_back({.name_space = std::string(view_of(uri)),
                            .name = std::string(view_of(name)),
                            .attributes = attributes_of(attributes, attribute_count)});
  });
}

void end_element(void* user, const xmlChar*, const xmlChar*, const xmlChar*) {
  build(user, [](Builder& builder) {
    XmlElement ended = std::move(builder.open.back());
    builder.open.pop_back();
    builder.namespaces -= builder.declared.back();
    builder.declared.pop_back();
    if (builder.open.empty())
      builder.root = std::move(ended);
    else
      builder.open.back().children.push_back(std::move(ended));
  });
}

void add_text(void* user, const xmlChar* text, int length) {
  build(user, [&](Builder& builder) {
    if (!builder.open.empty())
      builder.open.back().text.append(reinterpret_cast<const char*>(text), static_cast<std::size_t>(length));
  });
}

void refuse_document_type(void* user, const xmlChar*, const xmlChar*, const xmlChar*) {
  build(user, [](Builder& builder) {
    builder.refuse(XmlFault::forbidden, "found a document type (DOCTYPE), which is not allowed");
  });
}

void refuse_instruction(void* user, const xmlChar*, const xmlChar*) {
  build(user, [](Builder& builder) {
    builder.refuse(XmlFault::forbidden, "found a processing instruction (<?...?>), which is not allowed");
  });
}

void note_comment(void* user, const xmlChar*) {
  build(user, [](Builder& builder) {
    if (!builder.limits.allows_comments)
      builder.refuse(XmlFault::forbidden, "found a comment (<!--...-->), which is not allowed");
  });
}

/// Without a document type there are no entities but the five that XML has.
xmlEntityPtr predefined_entity(void*, const xmlChar* name) {
  return xmlGetPredefinedEntity(name);
}

/// The text is read as UTF-8, so a document that names another encoding would be read wrongly.
void check_encoding(void* user) {
  build(user, [](Builder& builder) {
    const xmlParserInput* input = builder.context->input;
    for (const xmlChar* named : {builder.context->encoding, input ? input->encoding : nullptr}) {
      const std::string encoding = ascii_lower(view_of(named));
      if (!encoding.empty() && encoding != "utf-8" && encoding != "utf8" && encoding != "us-ascii")
        return builder.refuse(XmlFault::malformed,
                              "found an encoding other than UTF-8 in the XML declaration");
    }
  });
}

void note_error(void* user, xmlErrorPtr fault) {
  if (!fault || fault->level < XML_ERR_ERROR) return;
  build(user, [&](Builder& builder) {
    const char* message = fault->message ? fault->message : "the text is not well-formed XML";
    builder.note(XmlFault::malformed, message, static_cast<std::size_t>(std::max(fault->line, 0)));
  });
}

xmlSAXHandler callbacks() {
  xmlSAXHandler handler{};
  handler.initialized = XML_SAX2_MAGIC;
  handler.startDocument = check_encoding;
  handler.startElementNs = start_element;
  handler.endElementNs = end_element;
  handler.characters = add_text;
  handler.ignorableWhitespace = add_text;
  handler.cdataBlock = add_text;
  handler.internalSubset = refuse_document_type;
  handler.processingInstruction = refuse_instruction;
  handler.comment = note_comment;
  handler.getEntity = predefined_entity;
  handler.serror = note_error;
  return handler;
}

/// Where the markup that begins at `at` ends; npos at the end of the text. A start tag ends at the first '>'
/// that is not in quotes.
std::size_t end_of_markup(std::string_view text, std::size_t at) {
  const auto behind = [&](std::string_view mark) {
    const std::size_t found = text.find(mark, at);
    return found == std::string_view::npos ? found : found + mark.size();
  };
  const std::string_view rest = text.substr(at);
  if (rest.starts_with("<!--")) return behind("-->");
  if (rest.starts_with("<![CDATA[")) return behind("]]>");
  if (rest.starts_with("<?")) return behind("?>");
  char quote = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    if (quote == 0 && text[i] == '>') return i + 1;
    if (quote == 0 && (text[i] == '"' || text[i] == '\''))
      quote = text[i];
    else if (text[i] == quote)
      quote = 0;
  }
  return std::string_view::npos;
}

bool is_tag(std::string_view markup) {
  return !markup.starts_with("<!") && !markup.starts_with("<?");
}

std::size_t count_attributes(std::string_view tag) {
  std::size_t count = 0;
  char quote = 0;
  for (const char c : tag) {
    if (quote == 0 && c == '=') ++count;
    if (quote == 0 && (c == '"' || c == '\''))
      quote = c;
    else if (c == quote)
      quote = 0;
  }
  return count;
}

/// Why the parser is not shown a start tag; empty for none.
std::string large_tag(std::string_view text, const XmlLimits& limits) {
  for (std::size_t at = text.find('<'); at != std::string_view::npos;) {
    const std::size_t end = std::min(end_of_markup(text, at), text.size());
    if (const std::string_view tag = text.substr(at, end - at); is_tag(tag)) {
      if (tag.size() > limits.max_tag_bytes)
        return fmt::format("found a tag of more than {} bytes", limits.max_tag_bytes);
      if (count_attributes(tag) > limits.max_attributes)
        return fmt::format("found a tag with more than {} attributes", limits.max_attributes);
    }
    at = text.find('<', end);
  }
  return {};
}

/// The faults that the parser is not shown.
std::optional<XmlError> text_error(std::string_view text, const XmlLimits& limits) {
  if (text.empty()) return XmlError{"found no text", 0};
  if (text.size() > limits.max_bytes)
    return XmlError{fmt::format("found {} bytes; at most {} are allowed", text.size(), limits.max_bytes), 0,
                    XmlFault::limit};
  // Also keeps the parser from guessing another encoding: each of those has bytes that are no UTF-8, or NULs.
  if (!is_storable_text(text)) return XmlError{"the text is not UTF-8 without NUL", 0};
  if (std::string large = large_tag(text, limits); !large.empty())
    return XmlError{std::move(large), 0, XmlFault::limit};
  return std::nullopt;
}

struct FreeContext {
  void operator()(xmlParserCtxt* context) const {
    xmlFreeDoc(context->myDoc);
    xmlFreeParserCtxt(context);
  }
};

}  // namespace

std::optional<std::string_view> XmlElement::attribute(std::string_view attribute_name_space,
                                                      std::string_view attribute_name) const {
  for (const XmlAttribute& xml_attribute : attributes) {
    if (xml_attribute.name_space == attribute_name_space && xml_attribute.name == attribute_name)
      return xml_attribute.value;
  }
  return std::nullopt;
}

std::string describe(const XmlError& error) {
  return error.line == 0 ? error.message : fmt::format("line {}: {}", error.line, error.message);
}

tl::expected<XmlElement, XmlError> read_xml(std::string_view text, const XmlLimits& limits) {
  static const bool is_initialized = [] {
    xmlInitParser();  // before several threads use the library
    return true;
  }();
  (void)is_initialized;
  if (auto error = text_error(text, limits)) return tl::unexpected(std::move(*error));
  const std::unique_ptr<xmlParserCtxt, FreeContext> context(
      xmlCreateMemoryParserCtxt(text.data(), static_cast<int>(text.size())));
  if (!context) return tl::unexpected(XmlError{"there is no memory to read the text", 0});
  Builder builder{.limits = limits, .context = context.get()};
  *context->sax = callbacks();
  context->userData = &builder;
  // NOENT: without it an ampersand in an attribute stays the reference that it was written as.
  xmlCtxtUseOptions(context.get(), XML_PARSE_NONET | XML_PARSE_NOENT);
  xmlParseDocument(context.get());
  if (builder.error) return tl::unexpected(std::move(*builder.error));
  if (context->wellFormed == 0 || context->nsWellFormed == 0 || !builder.root)
    return tl::unexpected(XmlError{"the text is not well-formed XML", 0});
  return std::move(*builder.root);
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&apos;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

namespace {

struct FreeDocument {
  void operator()(xmlDoc* document) const { xmlFreeDoc(document); }
};
using Document = std::unique_ptr<xmlDoc, FreeDocument>;
struct FreeSignature {
  void operator()(xmlSecDSigCtx* context) const { xmlSecDSigCtxDestroy(context); }
};
using Context = std::unique_ptr<xmlSecDSigCtx, FreeSignature>;
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
  for (const xmlSecTransformId transform : transforms) {
    if (xmlSecDSigCtxEnableReferenceTransform(context, transform) < 0) return false;
  }
  return true;
}

bool enable_signatures(xmlSecDSigCtx* context, std::initializer_list<xmlSecTransformId> transforms) {
  for (const xmlSecTransformId transform : transforms) {
    if (xmlSecDSigCtxEnableSignatureTransform(context, transform) < 0) return false;
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

}  // namespace giftsync
