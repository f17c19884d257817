#include "schema/crm/managed/row_reader.h"

#include <algorithm>

#include "platform/text.h"
#include "schema/crm/sql_common/table_rows.h"

namespace giftsync::schema::crm::managed {
namespace {

/// giftsync's own columns, which are no fields of the object.
bool is_internal(const std::string& column) {
  return column == "record_version" || column == "claimed" || column == "creation_key";
}

/// Without columns when there is no such object.
sql_common::TableToRead table_of(soci::session& session, sql::Dialect dialect, const std::string& object) {
  sql_common::TableToRead table{"crm_" + object, {"id", sql_common::ColumnType::text, "text"}, {}, {}};
  if (std::find(kReadableObjects.begin(), kReadableObjects.end(), object) == kReadableObjects.end())
    return table;
  table.columns = sql_common::readable_columns(session, dialect, table.table);
  std::erase_if(table.columns, [](const sql_common::Column& column) { return is_internal(column.name); });
  if (const sql_common::Column* mark = sql_common::find_column(table.columns, "isdeleted"))
    table.condition = sql_common::not_deleted_condition(dialect, "t.isdeleted", mark->type);
  table.field_names["id"] = "Id";
  for (const std::string& field : sql_common::known_fields(object))
    table.field_names[platform::ascii_lower(field)] = field;
  return table;
}

}  // namespace

std::vector<CrmRow> ManagedRowReader::page(const std::string& object, const std::string& after,
                                           std::size_t limit) {
  const sql::Dialect dialect = database_.dialect();
  return database_.read([&](soci::session& session) {
    const sql_common::TableToRead table = table_of(session, dialect, object);
    return table.columns.empty() ? std::vector<CrmRow>()
                                 : sql_common::read_page(session, dialect, table, after, limit);
  });
}

std::optional<CrmRow> ManagedRowReader::find(const std::string& object, const std::string& id) {
  const sql::Dialect dialect = database_.dialect();
  return database_.read([&](soci::session& session) {
    const sql_common::TableToRead table = table_of(session, dialect, object);
    return table.columns.empty() ? std::nullopt : sql_common::read_row(session, dialect, table, id);
  });
}

}  // namespace giftsync::schema::crm::managed
