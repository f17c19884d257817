#include "schema/crm/external/gift_sql.h"

namespace giftsync::schema::crm::external {

std::string as_integer(sql::Dialect dialect, const std::string& expression) {
  return "cast(" + expression + " as " + (dialect == sql::Dialect::sqlite ? "integer" : "bigint") + ")";
}

std::string transaction_of(const MappedTables& tables, const std::string& alias, const std::string& object) {
  // SQLite's RETURNING accepts only unqualified columns.
  if (tables.dialect() == sql::Dialect::sqlite)
    return as_integer(tables.dialect(),
                      sql_common::quoted(tables.mapping().column_name(object, kTransaction)));
  return as_integer(tables.dialect(), tables.column(alias, object, kTransaction));
}

sql_common::TransactionTable transaction_table(const MappedTables& tables, const std::string& object) {
  return {tables.table(object),
          tables.column("t", object, kTransaction),
          tables.cast("c0", object, kTransaction),
          transaction_of(tables, "t", object),
          "",
          tables.not_deleted("t", object)};
}

std::string quoted_column(const MappedTables& tables, GiftField field) {
  return sql_common::quoted(tables.mapping().gift_column(field));
}

std::string cast_cell(const MappedTables& tables, const std::string& cell, GiftField field) {
  return tables.cast(cell, kGiftObject, std::string(descriptor_of(field).name));
}

}  // namespace giftsync::schema::crm::external
