#include "crm/sql/external/privileges.h"

#include <map>
#include <optional>

#include "platform/text.h"
#include "schema/sql/database.h"

namespace giftsync::crm::external {
namespace {

constexpr const char* kGiftObject = "gift_record";
constexpr const char* kTask = "task";

/// Column names in lower case.
using ColumnNames = std::set<std::string>;
using ColumnNamesByRight = std::map<std::string, ColumnNames>;  // by "SELECT", "INSERT", "UPDATE"

/// A table in PostgreSQL's catalogue. The names are quoted for SQL.
struct Table {
  std::string oid;
  std::string name;  ///< with its schema
};

/// A column of a table, and what may be done with it.
struct TableColumn {
  std::string name;
  std::string quoted;
  std::string missing;  ///< the rights that are missing, each with a space behind it
  bool may(const std::string& right) const { return missing.find(right + " ") == std::string::npos; }
};

class PrivilegeCheck {
 public:
  PrivilegeCheck(soci::session& session, const Mapping& mapping, const ExternalCrmOptions& options)
      : session_(session), mapping_(mapping), options_(options) {}

  PrivilegeReport run() {
    user_ = query_text("SELECT quote_ident(current_user)");
    check_writable();
    for (const std::string& object : kExternalCrmObjects) {
      if (!mapping_.has(object)) continue;
      const ColumnNamesByRight needed = needed_columns(object);
      if (needed.empty()) continue;
      check_schema(object);
      if (const auto table = find_table(mapping_.table_name(object))) check_table(object, *table, needed);
    }
    check_status_log();
    return std::move(report_);
  }

 private:
  /// What the adapter's statements do with an object's table all the time.
  ColumnNamesByRight needed_columns(const std::string& object) const {
    ColumnNamesByRight needed;
    const auto add = [&](const char* right, const std::string& column) {
      if (!column.empty()) needed[right].insert(ascii_lower(column));
    };
    for (const UsedField& wanted : used_fields(options_)) {
      // Only tasks refer to a gift record's id.
      const bool is_used = options_.tasks || object != kGiftObject || wanted.field != "Id";
      if (wanted.object == object && is_used) add("SELECT", mapping_.column_name(object, wanted.field));
    }
    if (object == kGiftObject) {
      for (std::size_t i = 0; i < kGiftFieldCount; ++i)
        add("SELECT", mapping_.gift_column(static_cast<GiftField>(i)));
      for (const GiftField field : written_gift_fields(mapping_)) {
        add("INSERT", mapping_.gift_column(field));
        if (descriptor_of(field).owner == FieldOwner::giftsync) add("UPDATE", mapping_.gift_column(field));
      }
    }
    if (object == kTask && options_.tasks) {
      for (const char* field :
           {"RecipientTransactionId", "WhoId", "Type", "Status", "Subject", "OwnerId", "WhatId"})
        add("INSERT", mapping_.column_name(object, field));
      for (const std::string& field : options_.task_fields)
        add("INSERT", mapping_.column_name(object, field));
      add("UPDATE", mapping_.column_name(object, "Status"));
    }
    return needed;
  }

  /// What only `giftsyncctl rematch` does.
  ColumnNames relinked_columns(const std::string& object) const {
    ColumnNames names;
    const auto add = [&](const std::string& column) {
      if (!column.empty()) names.insert(ascii_lower(column));
    };
    if (object == kGiftObject) {
      for (const GiftField field : {GiftField::recipient_contact, GiftField::account,
                                    GiftField::recipient_lead, GiftField::opportunity, GiftField::deal_stage})
        add(mapping_.gift_column(field));
    }
    if (object == kTask && options_.tasks) add(mapping_.column_name(object, "WhoId"));
    return names;
  }

  void check_writable() {
    if (!query_text("SELECT 'standby' WHERE pg_is_in_recovery()").empty())
      report_.faults.push_back(
          "crm.connection: the database is a standby, which can only be read; name the primary");
    else if (query_text("SELECT current_setting('default_transaction_read_only')") == "on")
      report_.faults.push_back("crm.connection: default_transaction_read_only is on for the database user " +
                               user_ + ", who can only read; have it switched off (ALTER ROLE " + user_ +
                               " SET default_transaction_read_only = off)");
  }

  /// Only `giftsyncctl backfill status-timestamps` reads it, and many CRMs have none.
  void check_status_log() {
    const crm::sql_crm::StatusLogLocation& log = options_.status_log;
    const auto table = find_table(log.object);
    if (!table) return;
    const ColumnNames names{ascii_lower(log.transaction_id), ascii_lower(log.status), ascii_lower(log.time)};
    const std::string missing = missing_privileges(columns_of(*table), names, "SELECT");
    if (!missing.empty())
      report_.command_warnings.push_back("giftsyncctl backfill status-timestamps cannot read " + table->name +
                                         "; ask its owner for GRANT " + missing + " ON " + table->name +
                                         " TO " + user_);
  }

  void check_schema(const std::string& object) {
    const std::string schema = schema_of(mapping_.table_name(object));
    if (schema.empty()) return;
    const std::string quoted_schema =
        query_text("SELECT quote_ident(nspname) FROM pg_namespace WHERE nspname = '" + schema +
                   "' AND NOT has_schema_privilege(oid, 'USAGE')");
    if (quoted_schema.empty()) return;
    report_.inaccessible.insert(object);
    if (!reported_schemas_.insert(schema).second) return;
    const std::string key = schema == options_.names.schema ? "crm.schema" : "crm.tables." + object;
    report_.faults.push_back(key + ": the database user " + user_ + " may not use the schema " +
                             quoted_schema + "; ask its owner for GRANT USAGE ON SCHEMA " + quoted_schema +
                             " TO " + user_);
  }

  void check_table(const std::string& object, const Table& table, const ColumnNamesByRight& needed) {
    const std::vector<TableColumn> columns = columns_of(table);
    std::string rights;
    bool may_update = true;
    for (const char* right : {"SELECT", "INSERT", "UPDATE"}) {
      const auto names = needed.find(right);
      if (names == needed.end()) continue;
      const std::string missing = missing_privileges(columns, names->second, right);
      may_update = may_update && (missing.empty() || std::string(right) != "UPDATE");
      if (!missing.empty()) rights += (rights.empty() ? "" : ", ") + missing;
    }
    if (!rights.empty())
      report_.faults.push_back("crm.tables." + object + ": the database user " + user_ +
                               " lacks rights that giftsync needs; ask the owner of " + table.name +
                               " for GRANT " + rights + " ON " + table.name + " TO " + user_);
    const std::string links = missing_privileges(columns, relinked_columns(object), "UPDATE");
    if (may_update && !links.empty())
      report_.command_warnings.push_back("giftsyncctl rematch cannot write to " + table.name +
                                         "; ask its owner for GRANT " + links + " ON " + table.name + " TO " +
                                         user_);
    const auto inserted = needed.find("INSERT");
    if (inserted != needed.end()) check_sequences(object, table, inserted->second);
  }

  /// "SELECT (email, phone)"; without columns when the user may do it with none of the table's.
  static std::string missing_privileges(const std::vector<TableColumn>& columns, const ColumnNames& names,
                                        const std::string& right) {
    std::string list;
    bool none = true;
    for (const TableColumn& column : columns) {
      none = none && !column.may(right);
      if (names.contains(ascii_lower(column.name)) && !column.may(right))
        list += (list.empty() ? "" : ", ") + column.quoted;
    }
    if (list.empty()) return {};
    return none ? right : right + " (" + list + ")";
  }

  /// A column with a default takes the next number of its sequence.
  void check_sequences(const std::string& object, const Table& table, const ColumnNames& written) {
    std::string column;
    std::string sequence;
    soci::statement statement = sql::bound(
        session_,
        // CASE, because has_sequence_privilege() fails for whatever else a default depends on.
        "SELECT cast(a.attname as text), format('%I.%I', n.nspname, s.relname) FROM pg_attrdef f JOIN "
        "pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum JOIN pg_depend d ON d.classid = "
        "cast('pg_attrdef' as regclass) AND d.objid = f.oid AND d.refclassid = cast('pg_class' as regclass) "
        "JOIN pg_class s ON s.oid = d.refobjid JOIN pg_namespace n ON n.oid = s.relnamespace WHERE "
        "f.adrelid = " +
            table.oid +
            " AND CASE WHEN s.relkind = 'S' THEN NOT has_sequence_privilege(s.oid, 'USAGE, UPDATE') ELSE "
            "false END ORDER BY a.attnum",
        soci::into(column), soci::into(sequence));
    sql::each_row(statement, [&] {
      if (written.contains(ascii_lower(column))) return;
      report_.faults.push_back("crm.tables." + object + ": the database user " + user_ +
                               " may not take the numbers that new rows of " + table.name + " get in " +
                               column + "; ask the owner for GRANT USAGE ON SEQUENCE " + sequence + " TO " +
                               user_);
    });
  }

  std::vector<TableColumn> columns_of(const Table& table) {
    std::vector<TableColumn> columns;
    TableColumn column;
    const auto missing_right = [](const std::string& right) {
      return "CASE WHEN has_column_privilege(attrelid, attnum, '" + right + "') THEN '' ELSE '" + right +
             " ' END";
    };
    soci::statement statement =
        sql::bound(session_,
                   "SELECT cast(attname as text), quote_ident(attname), " + missing_right("SELECT") + " || " +
                       missing_right("INSERT") + " || " + missing_right("UPDATE") +
                       " FROM pg_attribute WHERE attrelid = " + table.oid +
                       " AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
                   soci::into(column.name), soci::into(column.quoted), soci::into(column.missing));
    sql::each_row(statement, [&] { columns.push_back(column); });
    return columns;
  }

  /// The catalogue shows a table in a schema that may not be used, too.
  std::optional<Table> find_table(const std::string& name) {
    const std::string schema = schema_of(name);
    const std::string where = schema.empty() ? "pg_table_is_visible(c.oid)" : "n.nspname = '" + schema + "'";
    Table table;
    soci::statement statement = sql::bound(
        session_,
        "SELECT cast(c.oid as text), format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN "
        "pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND "
        "c.relname = '" +
            name.substr(schema.empty() ? 0 : schema.size() + 1) + "' AND " + where,
        soci::into(table.oid), soci::into(table.name));
    sql::each_row(statement, [] {});
    return table.oid.empty() ? std::nullopt : std::optional(table);
  }

  /// Empty when the database's search path decides.
  static std::string schema_of(const std::string& name) {
    const std::size_t dot = name.find('.');
    return dot == std::string::npos ? std::string() : name.substr(0, dot);
  }

  std::string query_text(const std::string& query) {
    std::string text;
    soci::statement statement = sql::bound(session_, query, soci::into(text));
    sql::each_row(statement, [] {});
    return text;
  }

  soci::session& session_;
  const Mapping& mapping_;
  const ExternalCrmOptions& options_;
  std::string user_;
  ColumnNames reported_schemas_;
  PrivilegeReport report_;
};

}  // namespace

PrivilegeReport check_privileges(soci::session& session, const Mapping& mapping,
                                 const ExternalCrmOptions& options) {
  if (options.database.dialect == sql::Dialect::sqlite) return {};
  return PrivilegeCheck(session, mapping, options).run();
}

}  // namespace giftsync::crm::external
