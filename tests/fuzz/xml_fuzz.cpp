// The XML reader: what it has read is printed and read again. Outbound messages are read with it.
#include <algorithm>

#include "crm/salesforce/records/outbound_message.h"
#include "platform/visible_text.h"
#include "platform/xml.h"
#include "tests/fuzz/fuzz.h"

namespace giftsync::fuzz {
namespace {

constexpr std::string_view kXmlNameSpace = "http://www.w3.org/XML/1998/namespace";

/// With references for the white space that a reader changes.
std::string escaped(std::string_view text) {
  std::string all;
  for (const char c : xml_escaped(text))
    all += c == '\t' ? "&#9;" : c == '\n' ? "&#10;" : c == '\r' ? "&#13;" : std::string(1, c);
  return all;
}

/// `prefix` is declared in `out` unless it is the one that XML has.
std::string prefixed(const std::string& name_space, const std::string& name, std::string prefix,
                     std::string& out) {
  if (name_space.empty()) return name;
  if (name_space == kXmlNameSpace) return "xml:" + name;
  out += " xmlns:" + prefix + "=\"" + escaped(name_space) + "\"";
  return prefix + ":" + name;
}

std::string print(const XmlElement& element) {
  std::string attributes;
  const std::string name = prefixed(element.name_space, element.name, "e", attributes);
  for (std::size_t i = 0; i < element.attributes.size(); ++i) {
    const XmlAttribute& attribute = element.attributes[i];
    const std::string attribute_name =
        prefixed(attribute.name_space, attribute.name, "a" + std::to_string(i), attributes);
    attributes += " " + attribute_name + "=\"" + escaped(attribute.value) + "\"";
  }
  std::string out = "<" + name + attributes + ">" + escaped(element.text);
  for (const XmlElement& child : element.children) out += print(child);
  return out + "</" + name + ">";
}

bool is_same(const XmlElement& a, const XmlElement& b) {
  const auto is_same_attribute = [](const XmlAttribute& one, const XmlAttribute& two) {
    return one.name_space == two.name_space && one.name == two.name && one.value == two.value;
  };
  return a.is(b.name_space, b.name) && a.text == b.text &&
         std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(),
                    is_same_attribute) &&
         std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(), is_same);
}

void check_accepted(const XmlElement& root) {
  constexpr std::size_t kUnlimited = std::size_t{1} << 24;
  const XmlLimits limits{.max_bytes = kUnlimited,
                         .max_tag_bytes = kUnlimited,
                         .max_attributes = kUnlimited,
                         .max_namespaces = kUnlimited};
  const std::string printed = print(root);
  const auto again = read_xml(printed, limits);
  require(again.has_value(), "what was read is printed and read again", printed);
  require(is_same(root, *again), "it is read again as it was", printed);
}

}  // namespace
}  // namespace giftsync::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace giftsync;
  const std::string text = fuzz::text_of(bytes, size);
  const auto root = read_xml(text);
  if (root)
    fuzz::check_accepted(*root);
  else
    fuzz::require(visible_text(describe(root.error())) == describe(root.error()), "an error is visible text",
                  describe(root.error()));
  const auto message = salesforce::read_outbound_message(text);
  fuzz::require(root || !message, "an outbound message is XML");
  if (!message)
    fuzz::require(read_xml(salesforce::soap_fault(salesforce::SoapFaultSide::client, message.error().message))
                      .has_value(),
                  "a SOAP fault is XML", message.error().message);
  return 0;
}
