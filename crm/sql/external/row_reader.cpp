#include "crm/sql/external/row_reader.h"

#include <algorithm>

#include "platform/text.h"

namespace giftsync::crm::external {

ExternalRowReader::ExternalRowReader(ExternalDatabase& crm, const ExternalCrmOptions& options) : crm_(crm) {
  for (const UsedField& used : used_fields(options)) named_fields_.emplace_back(used.object, used.field);
  for (const auto& [name, column] : options.names.columns) {
    const std::size_t dot = name.find('.');
    if (dot != std::string::npos) named_fields_.emplace_back(name.substr(0, dot), name.substr(dot + 1));
  }
}

crm::sql_crm::FieldNames ExternalRowReader::field_names(const std::string& object) const {
  crm::sql_crm::FieldNames names;
  const auto add = [&](const std::string& field) {
    const std::string column = crm_.mapping().column_name(object, field);
    if (!column.empty()) names.try_emplace(ascii_lower(column), field);
  };
  add("Id");
  for (const auto& [of, field] : named_fields_) {
    if (of == object) add(field);
  }
  for (const std::string& field : crm::sql_crm::known_fields(object)) add(field);
  return names;
}

std::optional<crm::sql_crm::TableToRead> ExternalRowReader::table_of(soci::session& session,
                                                                     const MappedTables& tables,
                                                                     const std::string& object) const {
  const Mapping& mapping = crm_.mapping();
  const auto& objects = kExternalCrmObjects;
  if (std::find(objects.begin(), objects.end(), object) == objects.end() || !mapping.has(object)) return {};
  const bool sqlite = crm_.database().dialect() == sql::Dialect::sqlite;
  crm::sql_crm::TableToRead table;
  table.table = mapping.table(object);
  table.columns = crm::sql_crm::readable_columns(session, crm_.database().dialect(),
                                                 sqlite ? mapping.table_name(object) : table.table);
  table.field_names = field_names(object);
  table.condition = tables.not_deleted("t", object);
  for (const char* key : {"Id", "RecipientTransactionId"}) {
    const std::string column = ascii_lower(mapping.column_name(object, key));
    const auto found =
        std::find_if(table.columns.begin(), table.columns.end(),
                     [&](const crm::sql_crm::Column& one) { return ascii_lower(one.name) == column; });
    if (found == table.columns.end()) continue;
    table.key = *found;
    return table;
  }
  return {};
}

std::vector<std::string> ExternalRowReader::objects() {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    std::vector<std::string> found;
    for (const std::string& object : kReadableObjects) {
      if (table_of(session, tables, object)) found.push_back(object);
    }
    return found;
  });
}

std::vector<CrmRow> ExternalRowReader::page(const std::string& object, const std::string& after,
                                            std::size_t limit) {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const auto table = table_of(session, tables, object);
    return table ? crm::sql_crm::read_page(session, crm_.database().dialect(), *table, after, limit)
                 : std::vector<CrmRow>();
  });
}

std::optional<CrmRow> ExternalRowReader::find(const std::string& object, const std::string& id) {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const auto table = table_of(session, tables, object);
    return table ? crm::sql_crm::read_row(session, crm_.database().dialect(), *table, id) : std::nullopt;
  });
}

}  // namespace giftsync::crm::external
