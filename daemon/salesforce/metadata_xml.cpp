#include "daemon/salesforce/metadata_xml.h"

#include <Poco/SAX/AttributesImpl.h>
#include <Poco/XML/XMLWriter.h>

#include <algorithm>
#include <sstream>
#include <tuple>
#include <utility>

namespace giftsync::daemon::salesforce {
namespace {

void write(Poco::XML::XMLWriter& writer, const MetadataElement& element) {
  if (element.children.empty()) {
    writer.dataElement({}, {}, element.name, element.text);
    return;
  }
  writer.startElement({}, {}, element.name);
  for (const MetadataElement& child : element.children) write(writer, child);
  writer.endElement({}, {}, element.name);
}

}  // namespace

MetadataElement metadata_leaf(std::string_view name, std::string_view text) {
  return {std::string(name), std::string(text)};
}

MetadataElement metadata_flag(std::string_view name, bool value) {
  return metadata_leaf(name, value ? "true" : "false");
}

std::string metadata_document(std::string_view type, std::vector<MetadataElement> elements) {
  std::ranges::stable_sort(elements, {}, [](const MetadataElement& element) {
    return std::tuple(element.name != "fullName", element.name);
  });
  std::ostringstream text;
  Poco::XML::XMLWriter writer(
      text, Poco::XML::XMLWriter::WRITE_XML_DECLARATION | Poco::XML::XMLWriter::PRETTY_PRINT);
  writer.setNewLine("\n");
  writer.setIndent("    ");
  writer.startDocument();
  Poco::XML::AttributesImpl attributes;
  attributes.addAttribute({}, {}, "xmlns", "CDATA", "http://soap.sforce.com/2006/04/metadata");
  writer.startElement({}, {}, std::string(type), attributes);
  for (const MetadataElement& element : elements) write(writer, element);
  writer.endElement({}, {}, std::string(type));
  writer.endDocument();
  return std::move(text).str();
}

}  // namespace giftsync::daemon::salesforce
