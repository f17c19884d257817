#include "tests/salesforce/fake_org/metadata_zip.h"

#include <Poco/AutoPtr.h>
#include <Poco/DOM/DOMParser.h>
#include <Poco/DOM/DOMWriter.h>
#include <Poco/DOM/Document.h>
#include <Poco/DOM/Element.h>
#include <Poco/Exception.h>
#include <Poco/StreamCopier.h>
#include <Poco/Zip/ZipArchive.h>
#include <Poco/Zip/ZipStream.h>

#include <algorithm>
#include <set>
#include <sstream>

namespace giftsync::tests::fake_org {
namespace {

using Poco::XML::Element;
using Document = Poco::AutoPtr<Poco::XML::Document>;

/// What a file of the zip becomes.
struct FileKind {
  const char* folder;
  const char* zip_ending;
  const char* source_ending;
  const char* type;
};
constexpr FileKind kFileKinds[] = {
    {"layouts/", ".layout", ".layout-meta.xml", "Layout"},
    {"tabs/", ".tab", ".tab-meta.xml", "CustomTab"},
    {"applications/", ".app", ".app-meta.xml", "CustomApplication"},
    {"permissionsets/", ".permissionset", ".permissionset-meta.xml", "PermissionSet"}};

/// What an object's file contains.
struct PartKind {
  const char* element;
  const char* folder;
  const char* ending;
  const char* type;
};
constexpr PartKind kPartKinds[] = {
    {"fields", "fields/", ".field-meta.xml", "CustomField"},
    {"validationRules", "validationRules/", ".validationRule-meta.xml", "ValidationRule"},
    {"listViews", "listViews/", ".listView-meta.xml", "ListView"},
    {"compactLayouts", "compactLayouts/", ".compactLayout-meta.xml", "CompactLayout"}};

Document parse(const std::string& path, const std::string& text) {
  Poco::XML::DOMParser parser;
  parser.setFeature(Poco::XML::DOMParser::FEATURE_FILTER_WHITESPACE, true);
  try {
    return parser.parseString(text);
  } catch (const Poco::Exception& error) {
    throw MetadataError(path, error.displayText());
  }
}

std::vector<const Element*> children(const Element& parent) {
  std::vector<const Element*> found;
  for (const Poco::XML::Node* node = parent.firstChild(); node != nullptr; node = node->nextSibling()) {
    if (const auto* element = dynamic_cast<const Element*>(node)) found.push_back(element);
  }
  return found;
}

std::string text_in(const Element& parent, const std::string& name) {
  for (const Element* child : children(parent)) {
    if (child->localName() == name) return child->innerText();
  }
  return {};
}

std::string document_of(const std::string& type, const std::vector<const Element*>& elements) {
  std::ostringstream text;
  text << "<" << type << ">";
  Poco::XML::DOMWriter writer;
  for (const Element* element : elements) writer.writeNode(text, element);
  text << "</" << type << ">";
  return text.str();
}

int line_of(const std::string& text, const std::string& name) {
  const std::size_t at = text.find("<fullName>" + name + "<");
  if (at == std::string::npos) return 1;
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

/// Elements of one name must follow each other.
void check_order(const std::string& path, const Element& root) {
  std::set<std::string> seen;
  std::string last;
  for (const Element* child : children(root)) {
    if (child->localName() != last && !seen.insert(child->localName()).second)
      throw MetadataError(
          path, "Element " + child->localName() + " is duplicated at this location in type CustomObject");
    last = child->localName();
  }
}

void read_object_file(const std::string& path, const std::string& text, MetadataZip& zip) {
  const std::string object = path.substr(8, path.rfind('.') - 8);
  const Document document = parse(path, text);
  check_order(path, *document->documentElement());
  std::vector<const Element*> own;
  for (const Element* child : children(*document->documentElement())) {
    const auto* kind = std::ranges::find_if(
        kPartKinds, [&](const PartKind& one) { return child->localName() == one.element; });
    if (kind == std::end(kPartKinds)) {
      own.push_back(child);
      continue;
    }
    const std::string name = text_in(*child, "fullName");
    const std::string source = "objects/" + object + "/" + kind->folder + name + kind->ending;
    zip.sources[source] = document_of(kind->type, children(*child));
    zip.components[source] = {path, kind->type, object + "." + name, line_of(text, name)};
  }
  if (own.empty()) return;
  const std::string source = "objects/" + object + "/" + object + ".object-meta.xml";
  zip.sources[source] = document_of("CustomObject", own);
  zip.components[source] = {path, "CustomObject", object};
}

void read_file(const std::string& path, const std::string& text, MetadataZip& zip) {
  if (path.starts_with("objects/") && path.ends_with(".object")) return read_object_file(path, text, zip);
  for (const FileKind& kind : kFileKinds) {
    if (!path.starts_with(kind.folder) || !path.ends_with(kind.zip_ending)) continue;
    const std::string start = path.substr(0, path.size() - std::string_view(kind.zip_ending).size());
    zip.sources[start + kind.source_ending] = text;
    zip.components[start + kind.source_ending] = {path, kind.type,
                                                  start.substr(std::string_view(kind.folder).size())};
    parse(path, text);
    return;
  }
  throw MetadataError(path, "Unknown folder or file type");
}

/// "CustomField Gift_Record__c.Message__c".
std::set<std::string> listed_components(const std::string& text) {
  std::set<std::string> listed;
  const Document document = parse("package.xml", text);
  for (const Element* types : children(*document->documentElement())) {
    if (types->localName() != "types") continue;
    for (const Element* member : children(*types)) {
      if (member->localName() == "members")
        listed.insert(text_in(*types, "name") + " " + member->innerText());
    }
  }
  return listed;
}

void check_package(const MetadataZip& zip) {
  const auto package = zip.entries.find("package.xml");
  if (package == zip.entries.end()) throw MetadataError("package.xml", "No package.xml found");
  std::set<std::string> listed = listed_components(package->second);
  for (const auto& [source, component] : zip.components) {
    if (listed.erase(component.type + " " + component.name) == 0)
      throw MetadataError(source, "The component " + component.name + " is not listed in package.xml");
  }
  if (!listed.empty())
    throw MetadataError("package.xml",
                        "An object of type and name '" + *listed.begin() +
                            "' was named in package.xml, but was not found in zipped directory");
}

}  // namespace

MetadataZip read_metadata_zip(const std::string& bytes) {
  MetadataZip zip;
  try {
    std::istringstream stream(bytes);
    const Poco::Zip::ZipArchive archive(stream);
    for (auto header = archive.headerBegin(); header != archive.headerEnd(); ++header) {
      if (header->second.isDirectory()) continue;
      std::istringstream again(bytes);
      Poco::Zip::ZipInputStream entry(again, header->second);
      Poco::StreamCopier::copyToString(entry, zip.entries[header->first]);
    }
  } catch (const Poco::Exception& error) {
    throw MetadataError("deploy.zip", "The zip file cannot be read: " + error.displayText());
  }
  for (const auto& [path, text] : zip.entries) {
    if (path != "package.xml") read_file(path, text, zip);
  }
  check_package(zip);
  return zip;
}

}  // namespace giftsync::tests::fake_org
