#include "daemon/signin/sp_metadata.h"

#include <Poco/SAX/AttributesImpl.h>
#include <Poco/XML/XMLWriter.h>

#include <initializer_list>
#include <sstream>
#include <utility>

#include "daemon/config/connection_urls.h"

namespace giftsync::signin {
namespace {

constexpr const char* kMetadataNamespace = "urn:oasis:names:tc:SAML:2.0:metadata";
constexpr const char* kXmlNamespace = "http://www.w3.org/XML/1998/namespace";

/// Writes the nested elements of a metadata document.
class MetadataWriter {
 public:
  using Attributes = std::initializer_list<std::pair<const char*, std::string>>;

  explicit MetadataWriter(std::ostream& out)
      : writer_(out, Poco::XML::XMLWriter::WRITE_XML_DECLARATION | Poco::XML::XMLWriter::PRETTY_PRINT) {
    writer_.setIndent("  ");
    writer_.startDocument();
    writer_.startPrefixMapping("md", kMetadataNamespace);
  }
  void begin(const char* name, Attributes attributes) { begin(name, attribute_list(attributes)); }
  void end(const char* name) { writer_.endElement(kMetadataNamespace, name, ""); }
  void empty(const char* name, Attributes attributes) {
    begin(name, attributes);
    end(name);
  }
  void text(const char* name, const std::string& text, const char* language = nullptr) {
    Poco::XML::AttributesImpl attributes;
    if (language) attributes.addAttribute(kXmlNamespace, "lang", "xml:lang", "CDATA", language);
    begin(name, attributes);
    writer_.characters(text);
    end(name);
  }
  void finish() { writer_.endDocument(); }

 private:
  static Poco::XML::AttributesImpl attribute_list(Attributes attributes) {
    Poco::XML::AttributesImpl list;
    for (const auto& [name, value] : attributes) list.addAttribute("", name, name, "CDATA", value);
    return list;
  }
  void begin(const char* name, const Poco::XML::AttributesImpl& attributes) {
    writer_.startElement(kMetadataNamespace, name, "", attributes);
  }
  Poco::XML::XMLWriter writer_;
};

void write_claim(MetadataWriter& writer, const std::string& claim, const char* friendly_name) {
  const bool is_uri = claim.find(':') != std::string::npos;
  writer.empty("RequestedAttribute",
               {{"Name", claim},
                {"NameFormat", is_uri ? "urn:oasis:names:tc:SAML:2.0:attrname-format:uri"
                                      : "urn:oasis:names:tc:SAML:2.0:attrname-format:basic"},
                {"FriendlyName", friendly_name},
                {"isRequired", "true"}});
}

}  // namespace

std::string sp_metadata(const config::SsoSettings& sso, const config::SsoConnectionSettings& connection) {
  std::ostringstream out;
  MetadataWriter writer(out);
  writer.begin("EntityDescriptor", {{"entityID", config::saml_entity_id(sso, connection)}});
  writer.begin("SPSSODescriptor", {{"AuthnRequestsSigned", "false"},
                                   {"WantAssertionsSigned", "true"},
                                   {"protocolSupportEnumeration", "urn:oasis:names:tc:SAML:2.0:protocol"}});
  writer.text("NameIDFormat", "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified");
  writer.empty("AssertionConsumerService", {{"Binding", "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"},
                                            {"Location", config::post_back_url(sso, connection)},
                                            {"index", "0"},
                                            {"isDefault", "true"}});
  writer.begin("AttributeConsumingService", {{"index", "0"}, {"isDefault", "true"}});
  writer.text("ServiceName", "giftsync", "en");
  write_claim(writer, connection.claim_user_id, "user_id");
  write_claim(writer, connection.claim_email, "email");
  write_claim(writer, connection.claim_name, "name");
  writer.end("AttributeConsumingService");
  writer.end("SPSSODescriptor");
  writer.end("EntityDescriptor");
  writer.finish();
  return out.str();
}

}  // namespace giftsync::signin
