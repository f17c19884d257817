// daemon/config: the keys of an external CRM (ARCH-32, SYNC-42): its database and the names of its tables and
// columns.
#include <algorithm>

#include "daemon/config/settings_keys.h"
#include "platform/text.h"
#include "schema/crm/external_names.h"
#include "schema/gift_record.h"

namespace giftsync::daemon::config {
namespace {

constexpr std::size_t kMaxColumns = 200;

template <class T>
Accessor<T> setting(T CrmSettings::*member) {
  return [member](Settings& settings) -> T& { return settings.crm.*member; };
}

TextFault check_identifier(std::string& text) {
  const std::string fault =
      text == "-" ? "which is not a name" : schema::crm::external_name_fault(text, false);
  return fault.empty() ? TextFault() : TextFault(fault);
}

bool is_object(const std::string& name) {
  const auto& objects = schema::crm::kExternalCrmObjects;
  return std::find(objects.begin(), objects.end(), name) != objects.end();
}

bool is_gift_field(const std::string& name) {
  const auto& fields = schema::kGiftFields;
  return std::any_of(fields.begin(), fields.end(), [&](const schema::FieldDescriptor& field) {
    return platform::ascii_lower(field.name) == platform::ascii_lower(name);
  });
}

std::string table_fault(const std::string& object, const std::string& table) {
  return is_object(object) ? schema::crm::external_name_fault(table, true)
                           : "which is not an object of the CRM";
}

std::string column_fault(const std::string& field, const std::string& column) {
  const std::size_t dot = field.find('.');
  std::string name = dot == std::string::npos ? "" : field.substr(dot + 1);
  if (!is_object(field.substr(0, dot)) || check_field_name(name)) return "which is not OBJECT.FIELD";
  // A field that giftsync does not read would be a line without effect.
  if (field.starts_with("gift_record.") && name != "Id" && !is_gift_field(name))
    return "which is not a field of the gift record";
  return schema::crm::external_name_fault(column, false);
}

}  // namespace

void add_external_crm_keys(std::vector<SettingsKey>& keys) {
  using C = CrmSettings;
  keys.push_back(
      {"crm.connection",
       "The database of an external CRM; without it giftsync makes the CRM's tables in its own store.",
       Text{setting(&C::connection),
            "a libpq connection string such as \"host=db.example.com dbname=crm\" (postgresql) or a "
            "file's path (sqlite)",
            nullptr}});
  keys.push_back({"crm.backend", "The kind of database behind connection.",
                  Choice{{"sqlite", "postgresql"},
                         [](Settings& settings, std::size_t index) {
                           settings.crm.backend = static_cast<StoreBackend>(index);
                         },
                         [](Settings& settings) { return static_cast<std::size_t>(settings.crm.backend); }}});
  keys.push_back({"crm.password",
                  "The password of the PostgreSQL user of that database, as a reference to a secret.",
                  SecretReference{setting(&C::password)},
                  false,
                  {"crm.backend", "postgresql"}});
  keys.push_back({"crm.schema",
                  "The schema of its tables.",
                  Text{setting(&C::schema), "a name of letters, digits and underscores", check_identifier},
                  false,
                  {"crm.backend", "postgresql"}});
  keys.push_back(
      {"crm.id_column", "The column of each table that holds the CRM's own id, such as sfid.",
       Text{setting(&C::id_column), "a name of letters, digits and underscores", check_identifier}});
  keys.push_back({"crm.tables",
                  "The tables of objects that differ from the default, the object's name in lower case; - if "
                  "the CRM has no such object.",
                  NameMap{setting(&C::tables), schema::crm::kExternalCrmObjects.size(),
                          "one of contact, lead, account, opportunity, opportunity_contact_role, user, task, "
                          "gift_record, permission_set_assignment, with a table's name or schema.table",
                          table_fault}});
  keys.push_back({"crm.columns",
                  "The columns of fields that differ from the default, the API name in lower case; - if the "
                  "CRM has no such field.",
                  NameMap{setting(&C::columns), kMaxColumns,
                          "an object and a field such as contact.Email or gift_record.Deal_Stage, with a "
                          "column's name",
                          column_fault}});
}

}  // namespace giftsync::daemon::config
