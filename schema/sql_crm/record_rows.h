// schema/sql_crm: what writing gift records and writing tasks have in common: rows told apart by their
// Transaction Id, and lookups that may point to nothing. Included by schema/'s .cpp files only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/sql/database.h"
#include "schema/sql_crm/text_rows.h"

namespace giftsync::schema::sql_crm {

using TransactionIds = std::set<std::int64_t>;

/// The database's time as a value of the CRM's time columns, an SQL expression.
std::string now_text(Dialect dialect);

/// What email_key() makes of an address in ASCII in that column, an SQL expression.
std::string email_key_text(Dialect dialect, const std::string& column);

/// Runs a statement over `rows` that ends with "RETURNING recipienttransactionid".
TransactionIds run_returning(soci::session& session, TextRows& rows, const std::string& query);

/// Those of the wanted transactions that have a row in the table for which the condition is true.
TransactionIds present_in(soci::session& session, Dialect dialect, const std::string& table,
                          const std::vector<std::int64_t>& wanted, const std::string& condition = "true");

/// Ids by the object that they should be of: "contact".
using RowIds = std::map<std::string, std::set<std::string>>;

/// Our own table of an object: "crm_contact".
std::string table_of(const std::string& object);

/// Those of the ids that lead to no row of our own tables; one statement. A CRM without a single account (or
/// user) does not keep any, and then none is missing.
RowIds missing_rows(soci::session& session, Dialect dialect, const RowIds& wanted);

/// A table without a single row says nothing about what is missing: perhaps it is just being filled anew.
/// Then none is.
void forget_if_empty(soci::session& session, const std::string& table, std::set<std::string>& missing);

/// One statement may not touch a record twice, so such rows are refused as a whole, and written apart
/// (schema/sql/written_apart.h).
void refuse_equal_transactions(std::span<const GiftUpsert> rows);

/// "a0G000000000000042": 18 characters, the same for the same transaction for ever.
std::string derived_id(std::string_view key_prefix, TransactionId transaction);

}  // namespace giftsync::schema::sql_crm
