// What the org's metadata is at this moment: deployments, and changes that an admin makes in Setup.
#include <algorithm>
#include <stdexcept>

#include "tests/salesforce/fake_org/org.h"
#include "tests/salesforce/fake_org/tables.h"

namespace giftsync::tests::fake_org {
namespace {

template <class List>
auto& named(List& list, const std::string& name) {
  const auto found = std::ranges::find_if(list, [&](const auto& one) { return one.name == name; });
  if (found == list.end()) throw std::runtime_error("fake org: there is no " + name);
  return *found;
}

void change_field(OrgSchema& schema, const Json& change) {
  Object& object = named(schema.objects, change.at("object").get<std::string>());
  const std::string name = change.at("field").get<std::string>();
  Field& field = named(object.fields, name);
  field.is_unique = change.value("unique", field.is_unique);
  field.is_external_id = change.value("external_id", field.is_external_id);
  field.is_restricted = change.value("restricted", field.is_restricted);
  field.length = change.value("length", field.length);
  field.precision = change.value("precision", field.precision);
  if (change.contains("picklist")) {
    field.kind = Kind::picklist;
    field.words.clear();
    for (const Json& word : change["picklist"])
      field.words.push_back({word.get<std::string>(), word.get<std::string>()});
  }
  if (change.contains("without_value")) {
    const std::string value = change["without_value"].get<std::string>();
    std::erase_if(field.words, [&](const PicklistWord& word) { return word.value == value; });
  }
  if (change.value("deleted", false))
    std::erase_if(object.fields, [&](const Field& one) { return one.name == name; });
}

void change_permission(OrgSchema& schema, const Json& change) {
  PermissionSet& set = named(schema.permission_sets, change.at("permission_set").get<std::string>());
  if (change.contains("field")) {
    FieldAccess& access = set.fields[change["field"].get<std::string>()];
    access.is_readable = change.value("readable", access.is_readable);
    access.is_editable = change.value("editable", access.is_editable);
  }
  if (change.contains("object")) {
    ObjectAccess& access = set.objects[change["object"].get<std::string>()];
    access.can_read = change.value("readable", access.can_read);
    access.can_edit = change.value("editable", access.can_edit);
    access.can_view_all = change.value("view_all", access.can_view_all);
  }
  if (change.contains("without_user_permission"))
    set.user_permissions.erase(change["without_user_permission"].get<std::string>());
}

}  // namespace

void Org::use_schema(OrgSchema schema) {
  schema_ = std::move(schema);
  add_missing_columns();
  database_.run_script(tables_script(schema_));
}

/// A table that was there before has no columns for new fields, which their indexes need.
void Org::add_missing_columns() {
  for (const Object& object : schema_.objects) {
    std::vector<std::string> columns;
    for (const Cells& row : database_.run("SELECT name FROM pragma_table_info('" + object.table + "')"))
      columns.push_back(row[0].value_or(""));
    if (columns.empty()) continue;
    for (const Field& field : object.fields) {
      if (field.formula.empty() && std::ranges::count(columns, field.column) == 0)
        database_.run("ALTER TABLE " + object.table + " ADD COLUMN " + column_definition(object, field));
    }
  }
}

std::string Org::package_namespace() const {
  for (const Object& object : schema_.objects) {
    const std::size_t end = object.name.find("__");
    if (object.is_custom && object.name.find("__", end + 2) != std::string::npos)
      return object.name.substr(0, end);
  }
  return {};
}

/// Those of the switch foreign_permission_sets: "xyz__Admin" of another package, or "Admin" of the org's own.
void Org::add_foreign_sets() {
  SourceFiles files = files_;
  for (const std::string& name : listed("foreign_permission_sets")) {
    const std::size_t end = name.find("__");
    if (end == std::string::npos)
      files.try_emplace("permissionsets/" + name + ".permissionset-meta.xml",
                        "<PermissionSet><label>The org's own</label></PermissionSet>");
    else
      database_.run("INSERT INTO crm_permission_set (name, label, namespaceprefix) VALUES (?1, ?1, ?2)",
                    {name.substr(end + 2), name.substr(0, end)});
  }
  if (files != files_) deploy(files);
}

/// Permission sets and rules as rows, for queries. Sets keep their Ids, since users have them.
void Org::write_catalog() {
  for (const char* table : {"crm_object_permissions", "crm_entity_definition", "crm_validation_rule"})
    database_.run(std::string("DELETE FROM ") + table);
  for (const PermissionSet& set : schema_.permission_sets) {
    database_.run(
        "INSERT INTO crm_permission_set (name, label) SELECT ?1, ?1 WHERE NOT EXISTS (SELECT 1 FROM "
        "crm_permission_set WHERE name = ?1 AND coalesce(namespaceprefix, '') IN ('', ?2))",
        {set.name, package_namespace()});
    database_.run(
        "UPDATE crm_permission_set SET permissionsviewalldata = ?, namespaceprefix = nullif(?2, '') WHERE "
        "name = ?3 AND coalesce(namespaceprefix, '') IN ('', ?2)",
        {set.user_permissions.contains("ViewAllData"), package_namespace(), set.name});
    for (const auto& [name, access] : set.objects)
      database_.run(
          "INSERT INTO crm_object_permissions (parentid, sobjecttype, permissionsread, permissionscreate, "
          "permissionsedit, permissionsdelete, permissionsviewallrecords) SELECT id, ?, ?, ?, ?, ?, ? FROM "
          "crm_permission_set WHERE name = ? AND coalesce(namespaceprefix, '') IN ('', ?)",
          {name, access.can_read, access.can_create, access.can_edit, access.can_delete, access.can_view_all,
           set.name, package_namespace()});
  }
  for (const Object& object : schema_.objects) {
    database_.run("INSERT INTO crm_entity_definition (qualifiedapiname) VALUES (?)", {object.name});
    for (const ValidationRule& rule : object.rules)
      database_.run(
          "INSERT INTO crm_validation_rule (validationname, active, errormessage, entitydefinitionid) SELECT "
          "?, ?, ?, id FROM crm_entity_definition WHERE qualifiedapiname = ?",
          {rule.name, rule.is_active, rule.message, object.name});
  }
  sets_of_user_.clear();
  formulas_.clear();
}

void Org::apply(const Json& change) {
  if (change.contains("permission_set"))
    change_permission(schema_, change);
  else
    change_field(schema_, change);
  write_catalog();
}

void Org::change(const Json& change) {
  apply(change);
  database_.run("INSERT INTO org_change (change) VALUES (?)", {change.dump()});
  set("deployed_at", std::to_string(now().value));
}

const Formula& Org::formula(const Object& object, const std::string& text) {
  const std::pair key(object.name, text);
  const auto known = formulas_.find(key);
  return known != formulas_.end() ? known->second
                                  : formulas_.emplace(key, parse_formula(text, object)).first->second;
}

bool Org::is_active(const Object& object, const ValidationRule& rule) {
  return !database_
              .run(
                  "SELECT 1 FROM crm_validation_rule r JOIN crm_entity_definition e ON e.id = "
                  "r.entitydefinitionid WHERE r.validationname = ? AND e.qualifiedapiname = ? AND r.active",
                  {rule.name, object.name})
              .empty();
}

}  // namespace giftsync::tests::fake_org
