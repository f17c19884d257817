#include "schema/sql_crm/person_source.h"

#include <algorithm>

namespace giftsync::schema::sql_crm {
namespace {

std::string listed(const std::vector<Column>& columns) {
  std::string names;
  for (const Column& column : columns) names += (names.empty() ? "" : ", ") + column.name;
  return names;
}

/// Looks columns up and remembers which ones were missing.
class ColumnFinder {
 public:
  ColumnFinder(std::string object, std::vector<Column> columns)
      : object_(std::move(object)), columns_(std::move(columns)) {}

  const Column* find(const std::string& setting, const std::string& field) {
    const Column* column = find_column(columns_, field);
    if (!column) faults_.push_back(fault(setting, field));
    return column;
  }
  std::vector<KeyField> find_all(const std::string& setting, const std::vector<std::string>& fields,
                                 KeyField::Kind kind, const std::string& region) {
    std::vector<KeyField> found;
    for (const std::string& field : fields) {
      if (const Column* column = find(setting, field)) found.push_back({object_, kind, column->name, region});
    }
    return found;
  }
  std::vector<std::string> faults() && { return std::move(faults_); }

 private:
  std::string fault(const std::string& setting, const std::string& field) const {
    const std::string whole = "matching." + object_ + "." + setting;
    if (columns_.empty()) {
      return whole + ": the CRM's database has no table crm_" + object_ + "; run giftsyncctl db migrate";
    }
    return whole + ": the CRM's " + object_ + " has no field " + field + "; it has " + listed(columns_) +
           " (case does not matter). Correct the setting, or import the field with giftsyncctl crm import "
           "--object " +
           object_;
  }

  const std::string object_;
  const std::vector<Column> columns_;
  std::vector<std::string> faults_;
};

}  // namespace

const PersonMatchFields& fields_of(PersonObject object, const MatchFields& fields) {
  return object == PersonObject::contact ? fields.contact : fields.lead;
}

PersonSource person_source(soci::session& session, Dialect dialect, PersonObject object,
                           const MatchFields& fields) {
  PersonSource source;
  source.object = object == PersonObject::contact ? "contact" : "lead";
  const PersonMatchFields& wanted = fields_of(object, fields);
  ColumnFinder finder(source.object, columns_of(session, dialect, "crm_" + source.object));
  source.email_fields = finder.find_all("email_fields", wanted.email_fields, KeyField::Kind::email, "");
  source.phone_fields =
      finder.find_all("phone_fields", wanted.phone_fields, KeyField::Kind::phone, fields.default_region);
  if (const Column* column = finder.find("order_by.field", wanted.order_by.field)) source.order_by = *column;
  source.faults = std::move(finder).faults();
  return source;
}

OpportunitySource opportunity_source(soci::session& session, Dialect dialect, const MatchFields& fields) {
  OpportunitySource source;
  ColumnFinder finder("opportunity", columns_of(session, dialect, "crm_opportunity"));
  if (const Column* column = finder.find("order_by.field", fields.opportunity.order_by.field))
    source.order_by = *column;
  source.faults = std::move(finder).faults();
  return source;
}

}  // namespace giftsync::schema::sql_crm
