// daemon/settings: the keys of a CRM that someone else owns (design 2): where it is and what its tables and
// columns are called.
#include <algorithm>

#include "daemon/settings/settings_keys.h"
#include "schema/foreign_crm/foreign_crm.h"
#include "schema/gift_record.h"
#include "schema/text.h"

namespace giftsync::daemon {
namespace {

constexpr std::size_t kMaxColumns = 200;

template <class T>
Place<T> of(T CrmSettings::*member) {
  return [member](Settings& settings) -> T& { return settings.crm.*member; };
}

TextFault check_identifier(std::string& text) {
  const std::string fault = text == "-" ? "which is no name" : schema::foreign_name_fault(text, false);
  return fault.empty() ? TextFault() : TextFault(fault);
}

bool is_object(const std::string& name) {
  const auto& objects = schema::kForeignObjects;
  return std::find(objects.begin(), objects.end(), name) != objects.end();
}

bool is_gift_field(const std::string& name) {
  const auto& fields = schema::kGiftFields;
  return std::any_of(fields.begin(), fields.end(), [&](const schema::RecordField& field) {
    return schema::ascii_lower(field.name) == schema::ascii_lower(name);
  });
}

std::string table_fault(const std::string& object, const std::string& table) {
  return is_object(object) ? schema::foreign_name_fault(table, true) : "which is no object of the CRM";
}

std::string column_fault(const std::string& field, const std::string& column) {
  const std::size_t dot = field.find('.');
  std::string name = dot == std::string::npos ? "" : field.substr(dot + 1);
  if (!is_object(field.substr(0, dot)) || check_field_name(name)) return "which is no OBJECT.FIELD";
  // A field that nobody asks for would be a line without effect.
  if (field.starts_with("gift_record.") && name != "Id" && !is_gift_field(name))
    return "which is no field of the gift record";
  return schema::foreign_name_fault(column, false);
}

}  // namespace

void add_foreign_crm_keys(std::vector<SettingsKey>& keys) {
  using C = CrmSettings;
  keys.push_back(
      {"crm.connection",
       "The database of a CRM that someone else owns; without it giftsync makes the CRM's tables in "
       "its own store.",
       Text{of(&C::connection),
            "a libpq connection string such as \"host=db.example.com dbname=crm\" (postgresql) or a "
            "file's path (sqlite)",
            nullptr}});
  keys.push_back({"crm.backend", "What kind of database connection leads to.",
                  Choice{{"sqlite", "postgresql"},
                         [](Settings& settings, std::size_t word) {
                           settings.crm.backend = static_cast<StoreBackend>(word);
                         },
                         [](Settings& settings) { return static_cast<std::size_t>(settings.crm.backend); }}});
  keys.push_back({"crm.password",
                  "The password of the PostgreSQL user of that database, as a reference to a secret.",
                  SecretReference{of(&C::password)},
                  false,
                  {"crm.backend", "postgresql"}});
  keys.push_back({"crm.schema",
                  "The schema of its tables.",
                  Text{of(&C::schema), "a name of letters, digits and underscores", check_identifier},
                  false,
                  {"crm.backend", "postgresql"}});
  keys.push_back({"crm.id_column", "The column of each table that holds the CRM's own id, such as sfid.",
                  Text{of(&C::id_column), "a name of letters, digits and underscores", check_identifier}});
  keys.push_back({"crm.tables",
                  "The tables of objects that are not named by the rule, which is the object's name in lower "
                  "case; - if the CRM has no such object.",
                  NameMap{of(&C::tables), schema::kForeignObjects.size(),
                          "one of contact, lead, account, opportunity, opportunity_contact_role, user, task, "
                          "gift_record, permission_set_assignment, with a table's name or schema.table",
                          table_fault}});
  keys.push_back(
      {"crm.columns",
       "The columns of fields that are not named by the rule, which is the API name in lower case; "
       "- if the CRM has no such field.",
       NameMap{of(&C::columns), kMaxColumns,
               "an object and a field such as contact.Email or gift_record.Deal_Stage, with a "
               "column's name",
               column_fault}});
}

}  // namespace giftsync::daemon
