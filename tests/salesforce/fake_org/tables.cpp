#include "tests/salesforce/fake_org/tables.h"

#include "tests/salesforce/fake_org/record_ids.h"

namespace giftsync::tests::fake_org {
namespace {

constexpr const char* kNow = "(strftime('%Y-%m-%dT%H:%M:%S.000Z', 'now'))";

std::string type_of(const Field& field) {
  switch (field.kind) {
    case Kind::checkbox:
      return " BOOLEAN";
    case Kind::number:
      return " BIGINT";
    default:
      return " TEXT";
  }
}

/// The end of an Id without capital letters after its prefix.
std::string suffix_of(const std::string& key_prefix) {
  return to_long_id(key_prefix + "000000000000").substr(15);
}

/// Edits with plain SQL move the stamp that polls go by, as an edit in the browser would.
std::string stamp_trigger(const Object& object) {
  return "CREATE TRIGGER IF NOT EXISTS " + object.table + "_stamp AFTER UPDATE ON " + object.table +
         " WHEN new.systemmodstamp IS old.systemmodstamp BEGIN UPDATE " + object.table +
         " SET systemmodstamp = strftime('%Y-%m-%dT%H:%M:%S.000Z', 'now') WHERE id = new.id; END;\n";
}

/// Records that plain SQL inserts get the next number, too.
std::string number_trigger(const Object& object) {
  if (object.number_format.empty()) return {};
  const std::size_t open = object.number_format.find('{');
  const std::size_t width = object.number_format.find('}') - open - 1;
  const std::string counter = "'number of " + object.name + "'";
  return "CREATE TRIGGER IF NOT EXISTS " + object.table + "_number AFTER INSERT ON " + object.table +
         " WHEN new.name IS NULL BEGIN INSERT INTO org_counter (name, value) VALUES (" + counter +
         ", 1) ON CONFLICT (name) DO UPDATE SET value = value + 1; UPDATE " + object.table + " SET name = '" +
         object.number_format.substr(0, open) + "' || (SELECT printf('%0" + std::to_string(width) +
         "d', value) FROM org_counter WHERE name = " + counter + ") WHERE id = new.id; END;\n";
}

std::string table(const Object& object) {
  std::string text = "CREATE TABLE IF NOT EXISTS " + object.table + " (";
  for (const Field& field : object.fields) {
    if (!field.formula.empty()) continue;
    text += (field.kind == Kind::id ? "" : ", ") + column_definition(object, field);
  }
  if (object.name == "PermissionSetAssignment") text += ", permissionsetname TEXT";
  text += ");\n";
  for (const Field& field : object.fields) {
    const bool has_index = field.is_unique || field.is_external_id || field.name == "Email" ||
                           (field.kind == Kind::reference && object.name == "OpportunityContactRole");
    if (has_index)
      text += "CREATE INDEX IF NOT EXISTS " + object.table + "_" + field.column + " ON " + object.table +
              " (" + field.column + ");\n";
  }
  return text + stamp_trigger(object) + number_trigger(object);
}

constexpr const char* kOwnTables = R"sql(
CREATE TABLE IF NOT EXISTS org_setting (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS org_session (token TEXT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, ends_at BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS org_counter (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS org_metadata (path TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS org_change (change TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS org_deployment (id TEXT NOT NULL PRIMARY KEY, result TEXT NOT NULL, looks BIGINT NOT NULL);
)sql";

/// A set may be assigned by its name with plain SQL: "Admin", or "xyz__Admin" of another package.
constexpr const char* kAssignmentTrigger = R"sql(
CREATE TRIGGER IF NOT EXISTS org_assignment_by_name AFTER INSERT ON crm_permission_set_assignment
  WHEN new.permissionsetid IS NULL BEGIN
  INSERT INTO crm_permission_set (name, label) SELECT new.permissionsetname, new.permissionsetname
    WHERE NOT EXISTS (SELECT 1 FROM crm_permission_set
      WHERE new.permissionsetname IN (name, namespaceprefix || '__' || name));
  UPDATE crm_permission_set_assignment SET isactive = coalesce(new.isactive, 1),
    permissionsetid = (SELECT id FROM crm_permission_set
      WHERE new.permissionsetname IN (name, namespaceprefix || '__' || name)
      ORDER BY namespaceprefix IS NOT NULL, rowid LIMIT 1)
    WHERE id = new.id;
END;
)sql";

}  // namespace

std::string column_definition(const Object& object, const Field& field) {
  if (field.kind == Kind::id)
    return "id TEXT NOT NULL PRIMARY KEY DEFAULT ('" + object.key_prefix +
           "' || lower(substr(hex(randomblob(8)), 1, 12)) || '" + suffix_of(object.key_prefix) + "')";
  std::string text = field.column + type_of(field);
  if (field.name == "IsDeleted") return text + " NOT NULL DEFAULT 0";
  if (field.name == "CreatedDate" || field.name == "LastModifiedDate" || field.name == "SystemModstamp")
    return text + " DEFAULT " + kNow;
  if (field.kind == Kind::checkbox && object.is_custom) return text + " NOT NULL DEFAULT 0";
  return text;
}

std::string own_tables_script() {
  return kOwnTables;
}

std::string tables_script(const OrgSchema& schema) {
  std::string script;
  for (const Object& object : schema.objects) script += table(object);
  return script + kAssignmentTrigger;
}

}  // namespace giftsync::tests::fake_org
