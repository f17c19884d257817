#include "schema/foreign_crm/rights.h"

#include <map>
#include <optional>

#include "schema/sql/database.h"
#include "schema/text.h"

namespace giftsync::schema::foreign_crm {
namespace {

constexpr const char* kGift = "gift_record";
constexpr const char* kTask = "task";

/// Column names in lower case.
using Names = std::set<std::string>;
using NamesByRight = std::map<std::string, Names>;  // by "SELECT", "INSERT", "UPDATE"

/// A table as PostgreSQL has it. Names are quoted where SQL asks for it.
struct Table {
  std::string oid;
  std::string name;  ///< with its schema
};

/// A column of a table, and what may be done with it.
struct TableColumn {
  std::string name;
  std::string quoted;
  std::string lacks;  ///< the rights that are missing, each with a space behind it
  bool may(const std::string& right) const { return lacks.find(right + " ") == std::string::npos; }
};

class Look {
 public:
  Look(soci::session& session, const Mapping& mapping, const ForeignCrmOptions& options)
      : session_(session), mapping_(mapping), options_(options) {}

  RightsReport run() {
    user_ = one_text("SELECT quote_ident(current_user)");
    look_whether_it_can_be_written();
    for (const std::string& object : kForeignObjects) {
      if (!mapping_.has(object)) continue;
      const NamesByRight needed = needs(object);
      if (needed.empty()) continue;
      look_at_schema(object);
      if (const auto table = find_table(mapping_.table_name(object))) look_at_table(object, *table, needed);
    }
    look_at_status_log();
    return std::move(report_);
  }

 private:
  /// What the adapter's statements do with an object's table all the time.
  NamesByRight needs(const std::string& object) const {
    NamesByRight needed;
    const auto add = [&](const char* right, const std::string& column) {
      if (!column.empty()) needed[right].insert(ascii_lower(column));
    };
    for (const WantedField& wanted : wanted_fields(options_)) {
      // Only tasks refer to a gift record's id.
      const bool is_used = options_.tasks || object != kGift || wanted.field != "Id";
      if (wanted.object == object && is_used) add("SELECT", mapping_.column_name(object, wanted.field));
    }
    if (object == kGift) {
      for (std::size_t i = 0; i < kGiftFieldCount; ++i)
        add("SELECT", mapping_.gift_column(static_cast<GiftField>(i)));
      for (const GiftField field : written_gift_fields(mapping_)) {
        add("INSERT", mapping_.gift_column(field));
        if (field_of(field).owner == FieldOwner::giftsync) add("UPDATE", mapping_.gift_column(field));
      }
    }
    if (object == kTask && options_.tasks) {
      for (const char* field :
           {"RecipientTransactionId", "WhoId", "Type", "Status", "Subject", "OwnerId", "WhatId"})
        add("INSERT", mapping_.column_name(object, field));
      add("UPDATE", mapping_.column_name(object, "Status"));
    }
    return needed;
  }

  /// What only `giftsyncctl rematch` does.
  Names rematched(const std::string& object) const {
    Names names;
    const auto add = [&](const std::string& column) {
      if (!column.empty()) names.insert(ascii_lower(column));
    };
    if (object == kGift) {
      for (const GiftField field : {GiftField::recipient_contact, GiftField::account,
                                    GiftField::recipient_lead, GiftField::opportunity, GiftField::deal_stage})
        add(mapping_.gift_column(field));
    }
    if (object == kTask && options_.tasks) add(mapping_.column_name(object, "WhoId"));
    return names;
  }

  void look_whether_it_can_be_written() {
    if (!one_text("SELECT 'standby' WHERE pg_is_in_recovery()").empty())
      report_.faults.push_back(
          "crm.connection: the database is a standby, which can only be read; name the primary");
    else if (one_text("SELECT current_setting('default_transaction_read_only')") == "on")
      report_.faults.push_back("crm.connection: default_transaction_read_only is on for the database user " +
                               user_ + ", who can only read; have it switched off (ALTER ROLE " + user_ +
                               " SET default_transaction_read_only = off)");
  }

  /// Only `giftsyncctl backfill status-timestamps` reads it, and many CRMs have none.
  void look_at_status_log() {
    const StatusLogPlace& log = options_.status_log;
    const auto table = find_table(log.object);
    if (!table) return;
    const Names names{ascii_lower(log.transaction_id), ascii_lower(log.status), ascii_lower(log.time)};
    const std::string missing = missing_of(columns_of(*table), names, "SELECT");
    if (!missing.empty())
      report_.of_commands.push_back("giftsyncctl backfill status-timestamps cannot read " + table->name +
                                    "; ask its owner for GRANT " + missing + " ON " + table->name + " TO " +
                                    user_);
  }

  void look_at_schema(const std::string& object) {
    const std::string schema = schema_of(mapping_.table_name(object));
    if (schema.empty()) return;
    const std::string closed = one_text("SELECT quote_ident(nspname) FROM pg_namespace WHERE nspname = '" +
                                        schema + "' AND NOT has_schema_privilege(oid, 'USAGE')");
    if (closed.empty()) return;
    report_.closed.insert(object);
    if (!told_schemas_.insert(schema).second) return;
    const std::string key = schema == options_.names.schema ? "crm.schema" : "crm.tables." + object;
    report_.faults.push_back(key + ": the database user " + user_ + " may not use the schema " + closed +
                             "; ask its owner for GRANT USAGE ON SCHEMA " + closed + " TO " + user_);
  }

  void look_at_table(const std::string& object, const Table& table, const NamesByRight& needed) {
    const std::vector<TableColumn> columns = columns_of(table);
    std::string rights;
    bool may_update = true;
    for (const char* right : {"SELECT", "INSERT", "UPDATE"}) {
      const auto names = needed.find(right);
      if (names == needed.end()) continue;
      const std::string missing = missing_of(columns, names->second, right);
      may_update = may_update && (missing.empty() || std::string(right) != "UPDATE");
      if (!missing.empty()) rights += (rights.empty() ? "" : ", ") + missing;
    }
    if (!rights.empty())
      report_.faults.push_back("crm.tables." + object + ": the database user " + user_ +
                               " lacks rights that giftsync needs; ask the owner of " + table.name +
                               " for GRANT " + rights + " ON " + table.name + " TO " + user_);
    const std::string links = missing_of(columns, rematched(object), "UPDATE");
    if (may_update && !links.empty())
      report_.of_commands.push_back("giftsyncctl rematch cannot write to " + table.name +
                                    "; ask its owner for GRANT " + links + " ON " + table.name + " TO " +
                                    user_);
    const auto inserted = needed.find("INSERT");
    if (inserted != needed.end()) look_at_sequences(object, table, inserted->second);
  }

  /// "SELECT (email, phone)"; without columns when the user may do it with none of the table's.
  static std::string missing_of(const std::vector<TableColumn>& columns, const Names& names,
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

  /// A column that giftsync leaves to its default takes the next number of the sequence behind it.
  void look_at_sequences(const std::string& object, const Table& table, const Names& written) {
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
    const auto lacks = [](const std::string& right) {
      return "CASE WHEN has_column_privilege(attrelid, attnum, '" + right + "') THEN '' ELSE '" + right +
             " ' END";
    };
    soci::statement statement = sql::bound(
        session_,
        "SELECT cast(attname as text), quote_ident(attname), " + lacks("SELECT") + " || " + lacks("INSERT") +
            " || " + lacks("UPDATE") + " FROM pg_attribute WHERE attrelid = " + table.oid +
            " AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        soci::into(column.name), soci::into(column.quoted), soci::into(column.lacks));
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

  std::string one_text(const std::string& query) {
    std::string text;
    soci::statement statement = sql::bound(session_, query, soci::into(text));
    sql::each_row(statement, [] {});
    return text;
  }

  soci::session& session_;
  const Mapping& mapping_;
  const ForeignCrmOptions& options_;
  std::string user_;
  Names told_schemas_;
  RightsReport report_;
};

}  // namespace

RightsReport check_rights(soci::session& session, const Mapping& mapping, const ForeignCrmOptions& options) {
  if (options.database.dialect == Dialect::sqlite) return {};
  return Look(session, mapping, options).run();
}

}  // namespace giftsync::schema::foreign_crm
