#include "crm/sql/transaction_rows.h"

#include <array>
#include <cstdio>

#include "crm/sql/columns.h"
#include "schema/contact_normalization.h"
#include "schema/ids.h"

namespace giftsync::crm::sql_crm {

std::string now_expression(sql::Dialect dialect) {
  return dialect == sql::Dialect::sqlite ? "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
                                         : "date_trunc('milliseconds', now())";
}

std::string email_key_expression(sql::Dialect dialect, const std::string& column, bool is_unicode) {
  std::vector<char32_t> spaces{' ', '\t', '\n', '\v', '\f', '\r'};
  if (is_unicode) spaces.insert(spaces.end(), kWideSpaces.begin(), kWideSpaces.end());
  const bool sqlite = dialect == sql::Dialect::sqlite;
  std::string list;
  for (const char32_t space : spaces) {
    std::array<char, 16> code{};
    std::snprintf(code.data(), code.size(), sqlite ? ", %u" : "\\u%04X", static_cast<unsigned>(space));
    list += code.data();
  }
  // Folded by bytes: the database's language may have other rules for letters.
  return sqlite ? "lower(trim(" + column + ", char(" + list.substr(2) + ")))"
                : "lower(btrim(" + column + ", E'" + list + "') COLLATE \"C\")";
}

TransactionIds run_returning(soci::session& session, TextRows& rows, const std::string& query) {
  TransactionIds ids;
  long long id = 0;
  soci::statement statement(session);
  statement.exchange(soci::into(id));
  rows.bind(statement);
  statement.alloc();
  statement.prepare(query, sql::kRunOnce);
  statement.define_and_bind();
  sql::each_row(statement, [&] { ids.insert(id); });
  return ids;
}

TransactionIds existing_transactions(soci::session& session, const std::string& table,
                                     const std::vector<std::int64_t>& wanted, const std::string& condition) {
  const std::string list = sql::list_of(session, wanted);
  TransactionIds ids;
  long long id = 0;
  soci::statement statement =
      sql::bound(session,
                 "SELECT recipienttransactionid FROM " + table + " WHERE " +
                     sql::in_list(session, "recipienttransactionid", "list", false) + " AND " + condition,
                 soci::into(id), soci::use(list));
  sql::each_row(statement, [&] { ids.insert(id); });
  return ids;
}

TransactionIds existing_transactions(soci::session& session, const TransactionTable& table,
                                     const std::vector<std::int64_t>& wanted) {
  if (wanted.empty()) return {};
  TextRows cells(session, 1);
  for (const std::int64_t id : wanted) cells.add({std::to_string(id)});
  return run_returning(session, cells,
                       "SELECT " + table.returned + " FROM " + cells.as_table() + " JOIN " + table.name +
                           " t ON " + table.transaction + " = " + table.given + " WHERE " + table.condition);
}

TransactionIds excluded_transactions(soci::session& session, TransactionTable table,
                                     const std::vector<std::int64_t>& wanted) {
  if (table.condition == "true") return {};
  table.condition = "NOT (" + table.condition + ")";
  return existing_transactions(session, table, wanted);
}

TransactionIds update_rows(soci::session& session, const TransactionTable& table, TextRows& cells,
                           const std::string& assignments, const std::string& condition) {
  if (cells.empty()) return {};
  const std::string always = table.on_update.empty() ? "" : ", " + table.on_update;
  return run_returning(session, cells,
                       "UPDATE " + table.name + " AS t SET " + assignments + always + " FROM " +
                           cells.as_table() + " WHERE " + table.transaction + " = " + table.given + " AND " +
                           table.condition + " AND " + condition + " RETURNING " + table.returned);
}

std::string table_of(const std::string& object) {
  return "crm_" + object;
}

RowIds missing_rows(soci::session& session, const RowIds& wanted) {
  std::string query;
  std::vector<std::string> lists;
  for (const auto& [object, ids] : wanted) {
    if (ids.empty()) continue;
    const std::string table = table_of(object);
    const std::string name = "ids" + std::to_string(lists.size());
    query += std::string(query.empty() ? "" : " UNION ALL ") + "SELECT '" + object +
             "' AS found_in, t.id FROM " + table + " t WHERE " + sql::in_list(session, "t.id", name, true) +
             " AND " + row_not_deleted_condition(session, table, "t");
    // An object without a single row is not stored in this CRM: its Ids cannot be checked.
    if (object == "account" || object == "user")
      query += " UNION ALL SELECT '" + object + "', '' WHERE NOT EXISTS (SELECT 1 FROM " + table + ")";
    lists.push_back(sql::list_of(session, crm_id_forms(std::vector<std::string>(ids.begin(), ids.end()))));
  }
  RowIds missing = wanted;
  if (lists.empty()) return missing;
  std::string object;
  std::string id;
  soci::statement statement(session);
  statement.exchange(soci::into(object));
  statement.exchange(soci::into(id));
  for (const std::string& list : lists) statement.exchange(soci::use(list));
  statement.alloc();
  statement.prepare(query, sql::kRunOnce);
  statement.define_and_bind();
  sql::each_row(statement, [&] {
    if (id.empty())
      missing[object].clear();
    else
      for (const std::string& form : crm_id_forms(std::span(&id, 1))) missing[object].erase(form);
  });
  return missing;
}

void clear_if_table_empty(soci::session& session, const std::string& table, std::set<std::string>& missing) {
  if (missing.empty()) return;
  long long rows = 0;
  session << "SELECT count(*) FROM (SELECT 1 FROM " + table + " LIMIT 1) first_row", soci::into(rows);
  if (rows == 0) missing.clear();
}

void reject_duplicate_transactions(std::span<const GiftUpsert> rows) {
  TransactionIds seen;
  for (const GiftUpsert& row : rows) {
    if (!seen.insert(row.record.transaction().value).second)
      throw sql::ConstraintViolation("a transaction is there twice");
  }
}

std::string derived_id(std::string_view key_prefix, TransactionId transaction) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::string id = std::string(key_prefix) + "000000000000000";
  auto rest = static_cast<std::uint64_t>(transaction.value);
  for (std::size_t at = id.size(); rest > 0 && at > key_prefix.size(); rest /= kDigits.size())
    id[--at] = kDigits[rest % kDigits.size()];
  return id;
}

}  // namespace giftsync::crm::sql_crm
