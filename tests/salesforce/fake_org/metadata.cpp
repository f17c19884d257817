#include "tests/salesforce/fake_org/metadata.h"

#include <Poco/AutoPtr.h>
#include <Poco/DOM/DOMParser.h>
#include <Poco/DOM/Document.h>
#include <Poco/DOM/Element.h>
#include <Poco/DOM/NodeList.h>
#include <Poco/SAX/InputSource.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "daemon/salesforce/package_fields.h"
#include "platform/text.h"

namespace giftsync::tests::fake_org {
namespace {

namespace fs = std::filesystem;
using Poco::XML::Element;
using Document = Poco::AutoPtr<Poco::XML::Document>;

Document parse(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  Poco::XML::InputSource source(file);
  Poco::XML::DOMParser parser;
  parser.setFeature(Poco::XML::DOMParser::FEATURE_FILTER_WHITESPACE, true);
  return parser.parse(&source);
}

std::vector<const Element*> children(const Element& parent, const std::string& name) {
  std::vector<const Element*> found;
  for (const Poco::XML::Node* node = parent.firstChild(); node != nullptr; node = node->nextSibling()) {
    const auto* element = dynamic_cast<const Element*>(node);
    if (element != nullptr && (name.empty() || element->localName() == name)) found.push_back(element);
  }
  return found;
}

const Element* child(const Element& parent, const std::string& name) {
  const std::vector<const Element*> found = children(parent, name);
  return found.empty() ? nullptr : found.front();
}

std::string text(const Element& parent, const std::string& name) {
  const Element* found = child(parent, name);
  return found == nullptr ? std::string() : found->innerText();
}

bool flag(const Element& parent, const std::string& name) {
  return text(parent, name) == "true";
}

int number(const Element& parent, const std::string& name) {
  return platform::parse_number<int>(text(parent, name)).value_or(0);
}

/// In the order of names, so that every run gives the same key prefixes.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  if (fs::exists(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

Kind kind_of(const std::string& type) {
  constexpr std::pair<const char*, Kind> kKinds[] = {
      {"Text", Kind::text},         {"TextArea", Kind::long_text}, {"LongTextArea", Kind::long_text},
      {"Email", Kind::email},       {"Phone", Kind::phone},        {"Url", Kind::url},
      {"Picklist", Kind::picklist}, {"Currency", Kind::currency},  {"Number", Kind::number},
      {"Checkbox", Kind::checkbox}, {"DateTime", Kind::date_time}, {"Lookup", Kind::reference}};
  for (const auto& [name, kind] : kKinds) {
    if (type == name) return kind;
  }
  throw std::runtime_error("metadata: unknown field type " + type);
}

int length_of(const Element& root, Kind kind) {
  if (const int given = number(root, "length"); given > 0) return given;
  switch (kind) {
    case Kind::email:
      return 80;
    case Kind::phone:
      return 40;
    case Kind::url:
    case Kind::picklist:
    case Kind::long_text:
      return 255;
    default:
      return 0;
  }
}

void read_picklist(const Element& root, Field& field) {
  const Element* set = child(root, "valueSet");
  const Element* definition = set == nullptr ? nullptr : child(*set, "valueSetDefinition");
  if (definition == nullptr) throw std::runtime_error("metadata: " + field.name + " has no values");
  field.is_restricted = flag(*set, "restricted");
  for (const Element* value : children(*definition, "value"))
    field.words.push_back({text(*value, "fullName"), text(*value, "label"), flag(*value, "default")});
}

/// The column that the managed CRM has for the field, so that the same plain SQL works on both.
std::string column_of(const std::string& object, const std::string& field) {
  using namespace daemon::salesforce;
  if (object == kRequestObject) {
    for (std::size_t at = 0; at < schema::kRequestRecordFieldCount; ++at) {
      const auto one = static_cast<schema::RequestRecordField>(at);
      if (packaged_name(one, "giftsync") == field) return std::string(descriptor_of(one).column);
    }
  }
  return platform::ascii_lower(field.ends_with("__c") ? field.substr(0, field.size() - 3) : field);
}

Field read_field(const fs::path& path, const std::string& object) {
  const Document document = parse(path);
  const Element& root = *document->documentElement();
  Field field;
  field.name = text(root, "fullName");
  if (path.filename() != field.name + ".field-meta.xml")
    throw std::runtime_error("metadata: " + path.string() + " has the field " + field.name);
  field.label = text(root, "label");
  field.column = column_of(object, field.name);
  field.kind = kind_of(text(root, "type"));
  field.length = length_of(root, field.kind);
  field.precision = number(root, "precision");
  field.scale = number(root, "scale");
  field.is_custom = true;
  field.is_required = flag(root, "required");
  field.is_unique = flag(root, "unique");
  field.is_case_sensitive = flag(root, "caseSensitive");
  field.is_external_id = flag(root, "externalId");
  field.formula = text(root, "formula");
  field.is_createable = field.is_updateable = field.formula.empty();
  if (field.kind == Kind::picklist) read_picklist(root, field);
  if (field.kind == Kind::reference) {
    field.targets = {text(root, "referenceTo")};
    field.relationship = field.name.substr(0, field.name.size() - 1) + "r";
  }
  return field;
}

Field name_field(const Element& definition) {
  Field field;
  field.name = "Name";
  field.label = text(definition, "label");
  field.column = "name";
  field.length = 80;
  field.is_auto_number = text(definition, "type") == "AutoNumber";
  field.is_createable = field.is_updateable = !field.is_auto_number;
  return field;
}

Field owner_field() {
  Field field;
  field.name = field.label = "OwnerId";
  field.column = "ownerid";
  field.kind = Kind::reference;
  field.targets = {"User"};
  field.relationship = "Owner";
  return field;
}

std::vector<ValidationRule> read_rules(const fs::path& folder) {
  std::vector<ValidationRule> rules;
  for (const fs::path& path : files_in(folder / "validationRules")) {
    const Document document = parse(path);
    const Element& root = *document->documentElement();
    if (flag(root, "active"))
      rules.push_back(
          {text(root, "fullName"), text(root, "errorConditionFormula"), text(root, "errorMessage")});
  }
  return rules;
}

Object read_object(const fs::path& folder, char prefix_letter) {
  Object object;
  object.name = folder.filename().string();
  const Document document = parse(folder / (object.name + ".object-meta.xml"));
  const Element& root = *document->documentElement();
  object.label = text(root, "label");
  object.plural_label = text(root, "pluralLabel");
  object.table = "crm_" + platform::ascii_lower(object.name.substr(0, object.name.size() - 3));
  object.key_prefix = std::string("a0") + prefix_letter;
  object.is_custom = true;
  const Element* name = child(root, "nameField");
  if (name == nullptr) throw std::runtime_error("metadata: " + object.name + " has no name field");
  object.number_format = text(*name, "displayFormat");
  object.fields = system_fields();
  object.fields.push_back(name_field(*name));
  object.fields.push_back(owner_field());
  for (const fs::path& path : files_in(folder / "fields"))
    object.fields.push_back(read_field(path, object.name));
  object.rules = read_rules(folder);
  return object;
}

PermissionSet read_permission_set(const fs::path& path) {
  const Document document = parse(path);
  const Element& root = *document->documentElement();
  PermissionSet set;
  set.name = path.filename().string();
  set.name.resize(set.name.find('.'));
  for (const Element* one : children(root, "objectPermissions"))
    set.objects[text(*one, "object")] = {flag(*one, "allowRead"), flag(*one, "allowCreate"),
                                         flag(*one, "allowEdit"), flag(*one, "allowDelete")};
  for (const Element* one : children(root, "fieldPermissions"))
    set.fields[text(*one, "field")] = {flag(*one, "readable"), flag(*one, "editable")};
  return set;
}

}  // namespace

OrgSchema read_org_schema(const fs::path& project) {
  const fs::path main = project / "force-app" / "main" / "default";
  OrgSchema schema{standard_objects(), {}};
  char prefix_letter = 'G';
  for (const fs::path& folder : files_in(main / "objects")) {
    if (folder.filename() != "Activity") {
      schema.objects.push_back(read_object(folder, prefix_letter++));
      continue;
    }
    const auto task = std::ranges::find(schema.objects, "Task", &Object::name);
    for (const fs::path& path : files_in(folder / "fields")) task->fields.push_back(read_field(path, "Task"));
  }
  for (const fs::path& path : files_in(main / "permissionsets"))
    schema.permission_sets.push_back(read_permission_set(path));
  return schema;
}

}  // namespace giftsync::tests::fake_org
