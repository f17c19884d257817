// The fake org's objects and fields as values. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace giftsync::tests::fake_org {

/// A field's value: null, checkbox, number, or text. A date/time is text of the form
/// "2026-01-31T10:00:00.000Z", so that the order of texts is the order of times.
using Value = std::variant<std::monostate, bool, double, std::string>;
using Values = std::map<std::string, Value>;  ///< by the field's API name

enum class Kind {
  id,
  reference,
  text,
  long_text,
  email,
  phone,
  url,
  picklist,
  currency,
  number,
  checkbox,
  date,
  date_time
};

struct PicklistWord {
  std::string value;
  std::string label;
  bool is_default = false;
};

struct Field {
  std::string name;
  std::string label;
  std::string column;
  Kind kind = Kind::text;
  int length = 0;
  int precision = 0;
  int scale = 0;
  bool is_custom = false;
  bool is_createable = true;
  bool is_updateable = true;
  bool is_required = false;
  bool is_unique = false;
  bool is_case_sensitive = false;
  bool is_external_id = false;
  bool is_restricted = false;  ///< picklist
  bool is_auto_number = false;
  std::string formula = {};               ///< computed from other fields
  std::vector<std::string> targets = {};  ///< objects that a reference may have
  std::string relationship = {};          ///< "Account" of AccountId, "Account__r" of Account__c
  std::vector<PicklistWord> words = {};
};

struct ValidationRule {
  std::string name;
  std::string formula;
  std::string message;
  bool is_active = true;  ///< as deployed
};

struct Object {
  std::string name;
  std::string label;
  std::string plural_label;
  std::string table;
  std::string key_prefix;
  bool is_custom = false;
  bool is_read_only = false;
  std::string number_format = {};  ///< of an auto number: "R-{00000000}"
  std::vector<Field> fields;
  std::vector<ValidationRule> rules = {};

  /// Without regard to case, as everywhere in Salesforce.
  const Field* find(std::string_view field_name) const;
  const Field* find_relationship(std::string_view relationship_name) const;
};

struct ObjectAccess {
  bool can_read = false;
  bool can_create = false;
  bool can_edit = false;
  bool can_delete = false;
  bool can_view_all = false;
};
struct FieldAccess {
  bool is_readable = false;
  bool is_editable = false;
};
/// By "Object__c" and "Object__c.Field__c"; only custom fields and objects are in it.
struct PermissionSet {
  std::string name;
  std::map<std::string, ObjectAccess> objects;
  std::map<std::string, FieldAccess> fields;
  std::set<std::string> user_permissions = {};  ///< "ViewSetup"
};

struct OrgSchema {
  std::vector<Object> objects;
  std::vector<PermissionSet> permission_sets;

  const Object* find(std::string_view object_name) const;
  const Object* find_by_prefix(std::string_view id) const;
};

bool equal_names(std::string_view one, std::string_view other);

/// The standard objects, without custom fields.
std::vector<Object> standard_objects();
/// Id, IsDeleted and the stamps, which every object has.
std::vector<Field> system_fields();

}  // namespace giftsync::tests::fake_org
