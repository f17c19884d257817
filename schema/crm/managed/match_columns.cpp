#include "schema/crm/managed/match_columns.h"

#include <algorithm>

namespace giftsync::schema::crm::managed {
namespace {

std::string column_names(const std::vector<sql_common::Column>& columns) {
  std::string names;
  for (const sql_common::Column& column : columns) names += (names.empty() ? "" : ", ") + column.name;
  return names;
}

/// Finds columns and collects the missing ones.
class ColumnFinder {
 public:
  ColumnFinder(std::string object, std::vector<sql_common::Column> columns)
      : object_(std::move(object)), columns_(std::move(columns)) {}

  const sql_common::Column* find(const std::string& setting, const std::string& field) {
    const sql_common::Column* column = sql_common::find_column(columns_, field);
    if (!column) faults_.push_back(fault(setting, field));
    return column;
  }
  std::vector<MatchKeyField> find_all(const std::string& setting, const std::vector<std::string>& fields,
                                      MatchKeyField::Kind kind, const std::string& region) {
    std::vector<MatchKeyField> found;
    for (const std::string& field : fields) {
      if (const sql_common::Column* column = find(setting, field))
        found.push_back({object_, kind, column->name, region});
    }
    return found;
  }
  std::vector<std::string> faults() && { return std::move(faults_); }

 private:
  std::string fault(const std::string& setting, const std::string& field) const {
    const std::string key = "matching." + object_ + "." + setting;
    if (columns_.empty()) {
      return key + ": the CRM's database has no table crm_" + object_ + "; run giftsyncctl db migrate";
    }
    return key + ": the CRM's " + object_ + " has no field " + field + "; it has " + column_names(columns_) +
           " (case does not matter). Correct the setting, or import the field with giftsyncctl crm import "
           "--object " +
           object_;
  }

  const std::string object_;
  const std::vector<sql_common::Column> columns_;
  std::vector<std::string> faults_;
};

}  // namespace

const PersonMatchFields& match_fields_of(PersonObject object, const MatchFields& fields) {
  return object == PersonObject::contact ? fields.contact : fields.lead;
}

PersonMatchColumns find_person_match_columns(soci::session& session, sql::Dialect dialect,
                                             PersonObject object, const MatchFields& fields) {
  PersonMatchColumns result;
  result.object = object == PersonObject::contact ? "contact" : "lead";
  const PersonMatchFields& wanted = match_fields_of(object, fields);
  ColumnFinder finder(result.object, sql_common::columns_of(session, dialect, "crm_" + result.object));
  result.email_fields = finder.find_all("email_fields", wanted.email_fields, MatchKeyField::Kind::email, "");
  result.phone_fields =
      finder.find_all("phone_fields", wanted.phone_fields, MatchKeyField::Kind::phone, fields.default_region);
  if (const sql_common::Column* column = finder.find("order_by.field", wanted.order_by.field))
    result.order_by = *column;
  result.faults = std::move(finder).faults();
  return result;
}

OpportunityOrderColumn find_opportunity_order_column(soci::session& session, sql::Dialect dialect,
                                                     const MatchFields& fields) {
  OpportunityOrderColumn result;
  ColumnFinder finder("opportunity", sql_common::columns_of(session, dialect, "crm_opportunity"));
  if (const sql_common::Column* column = finder.find("order_by.field", fields.opportunity.order_by.field))
    result.order_by = *column;
  result.faults = std::move(finder).faults();
  return result;
}

}  // namespace giftsync::schema::crm::managed
