#include "crm/salesforce/org/package.h"

#include <Poco/DateTime.h>
#include <Poco/Path.h>
#include <Poco/Zip/Compress.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "embedded/giftsync_crm_salesforce.h"
#include "platform/xml.h"

namespace giftsync::salesforce {
namespace {

constexpr std::string_view kRoot = "force-app/main/default/";
constexpr std::string_view kObjects = "objects/";

/// A folder of whole files. ".layout-meta.xml" becomes ".layout".
struct FileKind {
  std::string_view folder;
  std::string_view ending;
  std::string_view type;
};
constexpr auto kFileKinds = std::to_array<FileKind>({{"applications/", ".app", "CustomApplication"},
                                                     {"layouts/", ".layout", "Layout"},
                                                     {"permissionsets/", ".permissionset", "PermissionSet"},
                                                     {"tabs/", ".tab", "CustomTab"}});

/// A folder of parts of an object.
struct PartKind {
  std::string_view folder;
  std::string_view element;  ///< in the object's file
  std::string_view type;
};
constexpr auto kPartKinds =
    std::to_array<PartKind>({{"compactLayouts", "compactLayouts", "CompactLayout"},
                             {"fields", "fields", "CustomField"},
                             {"listViews", "listViews", "ListView"},
                             {"validationRules", "validationRules", "ValidationRule"}});

std::string document(std::string_view type, const std::string& inside) {
  const std::string root(type);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<" + root +
         " xmlns=\"http://soap.sforce.com/2006/04/metadata\">\n" + inside + "</" + root + ">\n";
}

/// What is inside the root element of a file of the project.
std::string_view inside_of(std::string_view document) {
  const std::size_t root = document.find("\n<");
  const std::size_t begin = document.find('\n', root + 1);
  const std::size_t end = document.rfind("</");
  if (root == std::string_view::npos || begin == std::string_view::npos || end <= begin)
    std::abort();  // a bug
  return document.substr(begin + 1, end - begin - 1);
}

std::string indented(std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n') + 1, lines.size());
    text += "    ";
    text += lines.substr(0, end);
    lines.remove_prefix(end);
  }
  return text;
}

std::string name_in(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return std::string(file.substr(0, file.find("-meta.xml")));
}

/// "Message__c.field" -> "Message__c".
std::string without_ending(const std::string& name) {
  return name.substr(0, name.rfind('.'));
}

struct ObjectParts {
  std::string own;                                     ///< elements of the object itself
  std::map<std::string_view, std::string> by_element;  ///< those of one kind must follow each other
};

class PackageBuilder {
 public:
  void add(const SourceFile& source) {
    std::string_view path = source.path;
    if (!path.starts_with(kRoot)) return;  // of the project, not of the package
    path.remove_prefix(kRoot.size());
    if (path.starts_with(kObjects)) return add_part(path.substr(kObjects.size()), source.text);
    const auto kind = std::ranges::find_if(
        kFileKinds, [&](const FileKind& file_kind) { return path.starts_with(file_kind.folder); });
    if (kind == kFileKinds.end()) std::abort();  // a bug: a folder that this does not know
    const std::string name = name_in(path);
    files_.push_back({std::string(kind->folder) + name, source.text});
    members_[kind->type].insert(without_ending(name));
  }

  std::vector<SourceFile> finish(std::string_view api_version) {
    for (const auto& [object, parts] : objects_) files_.push_back(object_file(object, parts));
    files_.push_back({"package.xml", package(api_version)});
    std::ranges::sort(files_, {}, &SourceFile::path);
    return std::move(files_);
  }

 private:
  /// "Gift_Record__c/fields/Message__c.field-meta.xml".
  void add_part(std::string_view path, const std::string& text) {
    const std::string object(path.substr(0, path.find('/')));
    const std::string name = without_ending(name_in(path));
    const std::string_view rest = path.substr(object.size() + 1);
    ObjectParts& parts = objects_[object];
    if (rest.find('/') == std::string_view::npos) {
      parts.own = inside_of(text);
      members_["CustomObject"].insert(object);
      return;
    }
    const auto kind = std::ranges::find(kPartKinds, rest.substr(0, rest.find('/')), &PartKind::folder);
    if (kind == kPartKinds.end()) std::abort();  // a bug
    const std::string element(kind->element);
    parts.by_element[kind->element] +=
        "    <" + element + ">\n" + indented(inside_of(text)) + "    </" + element + ">\n";
    members_[kind->type].insert(object + "." + name);
  }

  static SourceFile object_file(const std::string& object, const ObjectParts& parts) {
    std::string text = parts.own;
    for (const auto& [element, lines] : parts.by_element) text += lines;
    return {std::string(kObjects) + object + ".object", document("CustomObject", text)};
  }

  std::string package(std::string_view api_version) const {
    std::string text;
    for (const auto& [type, names] : members_) {
      text += "    <types>\n";
      for (const std::string& name : names) text += "        <members>" + name + "</members>\n";
      text += "        <name>" + std::string(type) + "</name>\n    </types>\n";
    }
    return document("Package", text + "    <version>" + std::string(api_version) + "</version>\n");
  }

  std::vector<SourceFile> files_;
  std::map<std::string, ObjectParts> objects_;
  std::map<std::string_view, std::set<std::string>> members_;  ///< by type
};

/// The text of the only element of that name; empty when there is none.
std::string element_text(const XmlElement& parent, std::string_view name) {
  for (const XmlElement& child : parent.children) {
    if (child.name == name) return child.text;
  }
  return {};
}

std::vector<PackageRule> read_rules() {
  std::vector<PackageRule> rules;
  for (const SourceFile& file : package_sources()) {
    const std::size_t folder = file.path.find("/validationRules/");
    if (folder == std::string::npos) continue;
    const auto root = read_xml(file.text, {});
    if (!root) std::abort();  // a bug: the project has a file that is no XML
    const std::string object = file.path.substr(0, folder);
    rules.push_back({object.substr(object.rfind('/') + 1), element_text(*root, "fullName"),
                     element_text(*root, "errorConditionFormula"), element_text(*root, "errorMessage")});
  }
  return rules;
}

}  // namespace

std::vector<SourceFile> package_sources() {
  constexpr std::string_view kFolder = "conf/salesforce/";
  std::vector<SourceFile> files;
  for (const auto& [path, text] : embedded::giftsync_crm_salesforce_files)
    files.push_back({std::string(path.substr(kFolder.size())), std::string(text)});
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

const std::vector<PackageRule>& package_rules() {
  static const std::vector<PackageRule> rules = read_rules();
  return rules;
}

std::vector<SourceFile> metadata_package(const std::vector<SourceFile>& sources,
                                         std::string_view api_version) {
  PackageBuilder builder;
  for (const SourceFile& source : sources) builder.add(source);
  return builder.finish(api_version);
}

std::string zip_of(const std::vector<SourceFile>& files) {
  std::ostringstream bytes;
  Poco::Zip::Compress zip(bytes, true);
  for (const SourceFile& file : files) {
    std::istringstream text(file.text);
    zip.addFile(text, Poco::DateTime(), Poco::Path(file.path, Poco::Path::PATH_UNIX));
  }
  zip.close();
  return bytes.str();
}

}  // namespace giftsync::salesforce
