#include "tests/salesforce/fake_org/metadata.h"

#include <Poco/AutoPtr.h>
#include <Poco/DOM/DOMParser.h>
#include <Poco/DOM/Document.h>
#include <Poco/DOM/Element.h>
#include <Poco/DOM/NodeList.h>
#include <Poco/Exception.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "crm/salesforce/calls/api_names.h"
#include "platform/text.h"

namespace giftsync::tests::fake_org {
namespace {

namespace fs = std::filesystem;
using Poco::XML::Element;
using Document = Poco::AutoPtr<Poco::XML::Document>;

using File = SourceFiles::value_type;

Document parse(const File& file) {
  Poco::XML::DOMParser parser;
  parser.setFeature(Poco::XML::DOMParser::FEATURE_FILTER_WHITESPACE, true);
  try {
    return parser.parseString(file.second);
  } catch (const Poco::Exception& error) {
    throw MetadataError(file.first, error.displayText());
  }
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
  return parse_number<int>(text(parent, name)).value_or(0);
}

/// By path, so that every run gives the same key prefixes.
std::vector<const File*> files_below(const SourceFiles& files, const std::string& folder) {
  std::vector<const File*> found;
  for (auto file = files.lower_bound(folder); file != files.end() && file->first.starts_with(folder); ++file)
    found.push_back(&*file);
  return found;
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

Kind kind_of(const std::string& type, const std::string& path) {
  constexpr std::pair<const char*, Kind> kKinds[] = {
      {"Text", Kind::text},         {"TextArea", Kind::long_text}, {"LongTextArea", Kind::long_text},
      {"Email", Kind::email},       {"Phone", Kind::phone},        {"Url", Kind::url},
      {"Picklist", Kind::picklist}, {"Currency", Kind::currency},  {"Number", Kind::number},
      {"Checkbox", Kind::checkbox}, {"DateTime", Kind::date_time}, {"Lookup", Kind::reference}};
  for (const auto& [name, kind] : kKinds) {
    if (type == name) return kind;
  }
  throw MetadataError(path, "Unknown field type: " + type);
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

void read_picklist(const Element& root, Field& field, const std::string& path) {
  const Element* set = child(root, "valueSet");
  const Element* definition = set == nullptr ? nullptr : child(*set, "valueSetDefinition");
  if (definition == nullptr) throw MetadataError(path, field.name + " has no values");
  field.is_restricted = flag(*set, "restricted");
  for (const Element* value : children(*definition, "value"))
    field.words.push_back({text(*value, "fullName"), text(*value, "label"), flag(*value, "default")});
}

/// "Message" of Message__c and of thx__Message__c.
std::string own_name(const std::string& name) {
  const std::string without_end = name.ends_with("__c") ? name.substr(0, name.size() - 3) : name;
  const std::size_t space = without_end.find("__");
  return space == std::string::npos ? without_end : without_end.substr(space + 2);
}

/// The column that the managed CRM has for the field, so that the same plain SQL works on both.
std::string column_of(const std::string& object, const std::string& field) {
  if (object == "Request_Record__c") {
    static const salesforce::ApiNames names{salesforce::OrgNames{}};
    for (std::size_t at = 0; at < kRequestRecordFieldCount; ++at) {
      const auto one = static_cast<RequestRecordField>(at);
      if (names.field(one) == field) return std::string(descriptor_of(one).column);
    }
  }
  return ascii_lower(own_name(field));
}

Field read_field(const File& file, const std::string& object) {
  const std::string& path = file.first;
  const Document document = parse(file);
  const Element& root = *document->documentElement();
  Field field;
  field.name = text(root, "fullName");
  if (file_name(path) != field.name + ".field-meta.xml")
    throw MetadataError(path, "The file has the field " + field.name);
  field.label = text(root, "label");
  field.column = column_of(object, field.name);
  field.kind = kind_of(text(root, "type"), path);
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
  if (field.kind == Kind::picklist) read_picklist(root, field, path);
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

std::vector<ValidationRule> read_rules(const SourceFiles& files, const std::string& folder) {
  std::vector<ValidationRule> rules;
  for (const File* file : files_below(files, folder + "validationRules/")) {
    const Document document = parse(*file);
    const Element& root = *document->documentElement();
    rules.push_back({text(root, "fullName"), text(root, "errorConditionFormula"), text(root, "errorMessage"),
                     flag(root, "active")});
  }
  return rules;
}

Object read_object(const SourceFiles& files, const std::string& name, char prefix_letter) {
  const std::string folder = "objects/" + name + "/";
  const auto definition = files.find(folder + name + ".object-meta.xml");
  if (definition == files.end()) throw MetadataError(folder, "There is no definition of the object " + name);
  Object object;
  object.name = name;
  const Document document = parse(*definition);
  const Element& root = *document->documentElement();
  object.label = text(root, "label");
  object.plural_label = text(root, "pluralLabel");
  object.table = "crm_" + ascii_lower(own_name(object.name));
  object.key_prefix = std::string("a0") + prefix_letter;
  object.is_custom = true;
  const Element* name_element = child(root, "nameField");
  if (name_element == nullptr) throw MetadataError(definition->first, "Must specify a nameField");
  object.number_format = text(*name_element, "displayFormat");
  object.fields = system_fields();
  object.fields.push_back(name_field(*name_element));
  object.fields.push_back(owner_field());
  for (const File* file : files_below(files, folder + "fields/"))
    object.fields.push_back(read_field(*file, object.name));
  object.rules = read_rules(files, folder);
  return object;
}

PermissionSet read_permission_set(const File& file) {
  const Document document = parse(file);
  const Element& root = *document->documentElement();
  PermissionSet set;
  set.name = file_name(file.first);
  set.name.resize(set.name.find('.'));
  for (const Element* one : children(root, "objectPermissions"))
    set.objects[text(*one, "object")] = {flag(*one, "allowRead"), flag(*one, "allowCreate"),
                                         flag(*one, "allowEdit"), flag(*one, "allowDelete"),
                                         flag(*one, "viewAllRecords")};
  for (const Element* one : children(root, "fieldPermissions"))
    set.fields[text(*one, "field")] = {flag(*one, "readable"), flag(*one, "editable")};
  for (const Element* one : children(root, "userPermissions")) {
    if (flag(*one, "enabled")) set.user_permissions.insert(text(*one, "name"));
  }
  return set;
}

/// A set may name only what is there.
void check_permission_set(const PermissionSet& set, const OrgSchema& schema, const std::string& path) {
  for (const auto& [name, access] : set.objects) {
    if (schema.find(name) == nullptr)
      throw MetadataError(path, "In field: object - no CustomObject named " + name + " found");
  }
  for (const auto& [name, access] : set.fields) {
    const std::size_t dot = std::min(name.find('.'), name.size());
    const Object* object = schema.find(name.substr(0, dot));
    if (object == nullptr || dot == name.size() || object->find(name.substr(dot + 1)) == nullptr)
      throw MetadataError(path, "In field: field - no CustomField named " + name + " found");
  }
}

std::set<std::string> object_names(const SourceFiles& files) {
  constexpr std::size_t kStart = std::string_view("objects/").size();
  std::set<std::string> names;
  for (const File* file : files_below(files, "objects/"))
    names.insert(file->first.substr(kStart, file->first.find('/', kStart) - kStart));
  return names;
}

}  // namespace

SourceFiles read_project(const fs::path& project) {
  SourceFiles files;
  const fs::path main = project / "force-app" / "main" / "default";
  if (project.empty() || !fs::exists(main)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(main)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    files[fs::relative(entry.path(), main).generic_string()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return files;
}

OrgSchema read_org_schema(const SourceFiles& files) {
  OrgSchema schema{standard_objects(), {}};
  char prefix_letter = 'G';
  for (const std::string& name : object_names(files)) {
    if (name != "Activity") {
      schema.objects.push_back(read_object(files, name, prefix_letter++));
      continue;
    }
    const auto task = std::ranges::find(schema.objects, "Task", &Object::name);
    for (const File* file : files_below(files, "objects/Activity/fields/"))
      task->fields.push_back(read_field(*file, "Task"));
  }
  for (const File* file : files_below(files, "permissionsets/")) {
    schema.permission_sets.push_back(read_permission_set(*file));
    check_permission_set(schema.permission_sets.back(), schema, file->first);
  }
  return schema;
}

}  // namespace giftsync::tests::fake_org
