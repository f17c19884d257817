// crm/sql: shared parts of writing gift records and tasks: rows identified by their
// Transaction Id, and lookups whose targets may not exist. Included by schema/'s .cpp files only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "crm/gift_records.h"
#include "crm/sql/table_rows.h"
#include "schema/sql/database.h"

namespace giftsync::crm::sql_crm {

using TransactionIds = std::set<std::int64_t>;

/// The database's time as a value of the CRM's time columns, an SQL expression.
std::string now_expression(sql::Dialect dialect);

/// email_key() for an ASCII address in that column, as an SQL expression. A database of PostgreSQL that is
/// not UTF-8 has no white space beyond ASCII.
std::string email_key_expression(sql::Dialect dialect, const std::string& column, bool is_unicode = true);

/// Runs a statement over `rows` that ends with "RETURNING recipienttransactionid".
TransactionIds run_returning(soci::session& session, TextRows& rows, const std::string& query);

/// The Transaction Ids that a query selects, in its order; `values` are its parameters.
template <class... Values>
std::vector<TransactionId> select_transaction_ids(soci::session& session, const std::string& query,
                                                  const Values&... values) {
  TransactionId id;
  std::vector<TransactionId> ids;
  soci::statement statement = sql::bound(session, query, soci::into(id), soci::use(values)...);
  sql::each_row(statement, [&] { ids.push_back(id); });
  return ids;
}

/// The wanted transactions that have a row in the table for which the condition is true.
TransactionIds existing_transactions(soci::session& session, const std::string& table,
                                     const std::vector<std::int64_t>& wanted,
                                     const std::string& condition = "true");

/// A table with at most one row for each transaction, as statements name it under the alias t.
struct TransactionTable {
  std::string name;                ///< in quotes where needed
  std::string transaction;         ///< its column: "t.recipienttransactionid"
  std::string given;               ///< the cell c0 as a value of that column
  std::string returned;            ///< the transaction in RETURNING, an integer
  std::string on_update = {};      ///< an assignment that every update makes; may be empty
  std::string condition = "true";  ///< other rows are treated as if they did not exist
};

/// Those of the cells' transactions that have a row. The join uses the column's own type and index.
TransactionIds existing_transactions(soci::session& session, const TransactionTable& table,
                                     const std::vector<std::int64_t>& wanted);

/// Those of the wanted transactions whose row the table's condition leaves out.
TransactionIds excluded_transactions(soci::session& session, TransactionTable table,
                                     const std::vector<std::int64_t>& wanted);

/// Updates the rows of the cells' transactions for which the condition is true; returns them.
TransactionIds update_rows(soci::session& session, const TransactionTable& table, TextRows& cells,
                           const std::string& assignments, const std::string& condition);

/// Ids by the object of their target: "contact".
using RowIds = std::map<std::string, std::set<std::string>>;

/// The managed CRM's table of an object: "crm_contact".
std::string table_of(const std::string& object);

/// The ids that refer to no row of the managed tables; one statement. A CRM without a single account (or
/// user) does not store any, and then none counts as missing.
RowIds missing_rows(soci::session& session, const RowIds& wanted);

/// An empty table shows nothing about missing rows, because it may be being refilled: then none counts as
/// missing.
void clear_if_table_empty(soci::session& session, const std::string& table, std::set<std::string>& missing);

/// One statement may not write a record twice; such rows are refused as a whole and then written apart
/// (crm/sql/rows_by_key.h).
void reject_duplicate_transactions(std::span<const GiftUpsert> rows);

/// "a0G000000000000042": 18 characters, always the same for the same transaction.
std::string derived_id(std::string_view key_prefix, TransactionId transaction);

}  // namespace giftsync::crm::sql_crm
