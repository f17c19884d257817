// crm/sql/external: checks all external tables and columns against the settings.
#include <set>

#include "crm/sql/external/mapping.h"
#include "crm/sql/external/person_lookup.h"
#include "crm/sql/external/privileges.h"
#include "crm/sql/table_rows.h"
#include "platform/text.h"
#include "schema/sql/database.h"

namespace giftsync::crm::external {
namespace {

constexpr const char* kTextIdHint =
    ": name a text column that rows are known by, or as the table a view that casts its ids to text "
    "(docs/operations/external-crm.md, Ids)";

/// Ids of CRM rows must be text columns.
bool is_id(const UsedField& wanted) {
  if (wanted.type == FieldType::lookup) return true;
  return wanted.type == FieldType::text && wanted.field.ends_with("Id");
}

const char* expected_type(FieldType type) {
  switch (type) {
    case FieldType::currency:
    case FieldType::number:
      return "a number";
    case FieldType::date_time:
      return "a time (timestamp)";
    case FieldType::checkbox:
      return "true or false (boolean)";
    default:
      return "text";
  }
}

/// SQLite's types are only an affinity: times, money and booleans may be text or numbers.
bool is_usable(sql::Dialect dialect, FieldType type, crm::sql_crm::ColumnType column) {
  const bool sqlite = dialect == sql::Dialect::sqlite;
  switch (type) {
    case FieldType::currency:
      return column == crm::sql_crm::ColumnType::number ||
             (sqlite && column == crm::sql_crm::ColumnType::text);
    case FieldType::number:
      return column == crm::sql_crm::ColumnType::number;
    case FieldType::date_time:
      return column == crm::sql_crm::ColumnType::date_time ||
             (sqlite && column == crm::sql_crm::ColumnType::text);
    case FieldType::checkbox:
      return column == crm::sql_crm::ColumnType::checkbox ||
             (sqlite && column == crm::sql_crm::ColumnType::number);
    default:
      return column == crm::sql_crm::ColumnType::text;
  }
}

class ExternalCrmCheck {
 public:
  ExternalCrmCheck(soci::session& session, const ExternalCrmOptions& options)
      : session_(session), options_(options), dialect_(session), mapping_(options.names) {}

  ExternalCrmReport run() {
    check_names();
    add_privilege_faults();
    std::set<std::string> seen;
    for (const UsedField& wanted : used_fields(options_)) {
      if (!mapping_.has(wanted.object)) {
        if (seen.insert(wanted.object).second) check_absent(wanted.object);
        continue;
      }
      if (seen.insert(wanted.object).second) columns_[wanted.object] = read_columns(wanted.object);
      check_field(wanted);
    }
    check_shared_columns("gift_record");
    if (options_.tasks) check_shared_columns("task");
    check_unique("gift_record");
    if (options_.tasks) check_unique("task");
    if (may_read_) check_all_emails();
    if (report_.faults.empty()) check_orders();
    return std::move(report_);
  }

 private:
  void add_fault(const std::string& key, const std::string& what) {
    report_.faults.push_back(key + ": " + what);
  }

  /// Names become part of statements: only identifiers are accepted, whatever the origin of the options.
  void check_names() {
    for (const auto& [object, table] : options_.names.tables) {
      if (const std::string bad = external_name_fault(table, true); !bad.empty())
        add_fault("crm.tables." + object, "\"" + table + "\", " + bad);
    }
    for (const auto& [field, column] : options_.names.columns) {
      if (const std::string bad = external_name_fault(column, false); !bad.empty())
        add_fault("crm.columns." + field, "\"" + column + "\", " + bad);
    }
    if (!report_.faults.empty()) throw DependencyError(false, report_.faults.front());
  }
  void add_privilege_faults() {
    PrivilegeReport privileges = check_privileges(session_, mapping_, options_);
    report_.faults = std::move(privileges.faults);
    may_read_ = report_.faults.empty();
    report_.command_warnings = std::move(privileges.command_warnings);
    inaccessible_ = std::move(privileges.inaccessible);
  }
  static bool is_required(const std::string& object) {
    return object == "gift_record" || object == "contact";
  }
  /// Tasks are checked only when the settings enable them.
  static bool may_be_absent(const std::string& object) { return !is_required(object) && object != "task"; }
  void check_absent(const std::string& object) {
    if (is_required(object))
      add_fault("crm.tables." + object, "giftsync cannot work without it; name its table");
    if (object == "task") add_fault("crm.tables.task", "tasks.enabled is on and needs it; name its table");
  }
  /// The schema is checked only together with a named table.
  std::string schema_hint(const std::string& object) const {
    const bool has_enumerator = mapping_.table_name(object).find('.') != std::string::npos;
    return dialect_ == sql::Dialect::sqlite || has_enumerator
               ? ""
               : ", or its schema in crm.schema (the user needs USAGE on that, too)";
  }
  std::vector<crm::sql_crm::Column> read_columns(const std::string& object) {
    // PostgreSQL does not even report whether the table exists; the missing right is reported already.
    if (inaccessible_.contains(object)) return {};
    std::vector<crm::sql_crm::Column> columns = mapping_.columns(session_, object);
    if (columns.empty())
      add_fault("crm.tables." + object,
                "the CRM's database has no table " + mapping_.table_name(object) +
                    " that this user may see; name its table" + schema_hint(object) +
                    (may_be_absent(object) ? ", or write \"-\" if there is none" : ""));
    return columns;
  }
  void check_field(const UsedField& wanted) {
    const std::vector<crm::sql_crm::Column>& columns = columns_[wanted.object];
    const std::string name = mapping_.column_name(wanted.object, wanted.field);
    const std::string key = "crm.columns." + wanted.object + "." + wanted.field;
    const bool needed = wanted.field == "RecipientTransactionId" || wanted.field == "Id" ||
                        wanted.field == "AssigneeId" || wanted.field == "PermissionSetName" ||
                        !wanted.required_by.empty();
    if (wanted.field == kDeletionMark && !columns.empty()) return check_deletion_mark(wanted, name);
    const std::string requester =
        wanted.required_by.empty() ? "" : " (required by " + wanted.required_by + ")";
    if (name.empty()) {
      if (needed) add_fault(key, "giftsync needs it; name its column" + requester);
      return;
    }
    if (columns.empty()) return;  // reported already
    const crm::sql_crm::Column* column = crm::sql_crm::find_column(columns, name);
    // Nothing but a task refers to a gift record's id.
    const bool is_unused = wanted.object == "gift_record" && wanted.field == "Id" && !options_.tasks;
    const bool is_day = wanted.field == kDueDate;
    const bool holds_day = is_day && column && column->type == crm::sql_crm::ColumnType::date;
    if (!column) {
      add_fault(key, mapping_.table_name(wanted.object) + " has no column " + name + requester +
                         "; name its column" + (needed ? "" : ", or write \"-\" to do without it"));
    } else if (!is_order_by(wanted) && !is_unused && !holds_day &&
               !is_usable(dialect_, wanted.type, column->type)) {
      add_fault(key, mapping_.table_name(wanted.object) + "." + name + " is of type " + column->sql_type +
                         "; it must hold " + (is_day ? "a date" : expected_type(wanted.type)) +
                         (is_id(wanted) ? kTextIdHint : ""));
    }
  }
  /// Two fields that are written into one column: one of them would be lost, or every write fail.
  void check_shared_columns(const std::string& object) {
    if (!mapping_.has(object)) return;
    std::map<std::string, std::string> field_of_column;  // column names in lower case: SQL compares them so
    for (const UsedField& wanted : used_fields(options_)) {
      if (wanted.object != object) continue;
      const std::string column = mapping_.column_name(object, wanted.field);
      if (column.empty()) continue;
      const auto [first, is_first] = field_of_column.try_emplace(ascii_lower(column), wanted.field);
      if (!is_first)
        add_fault("crm.columns." + object + "." + wanted.field,
                  mapping_.table_name(object) + "." + column + " is the column of " + object + "." +
                      first->second +
                      " already, and a column holds one field; name another column for one of them, or write "
                      "\"-\" to do without it");
    }
  }
  /// Everything has an order.
  static bool is_order_by(const UsedField& wanted) { return wanted.required_by.ends_with("order_by.field"); }
  std::string catalog_table_name(const std::string& object) {
    return dialect_ == sql::Dialect::sqlite ? mapping_.table_name(object) : mapping_.table(object);
  }
  void check_unique(const std::string& object) {
    const std::string column = mapping_.column_name(object, "RecipientTransactionId");
    if (columns_[object].empty() || !crm::sql_crm::find_column(columns_[object], column)) return;
    if (crm::sql_crm::is_unique(session_, catalog_table_name(object), column)) return;
    add_fault("crm.columns." + object + ".RecipientTransactionId",
              mapping_.table_name(object) + "." + column +
                  " has no unique index, without which a gift could get two rows; ask the owner for CREATE "
                  "UNIQUE INDEX ON " +
                  mapping_.table_name(object) + " (" + column + ")");
  }
  void check_orders() {
    check_order("contact", options_.match_fields.contact.order_by);
    check_order("lead", options_.match_fields.lead.order_by);
    if (options_.match_fields.opportunity.enabled)
      check_order("opportunity", options_.match_fields.opportunity.order_by);
  }
  /// Text that holds numbers.
  void check_order(const std::string& object, const OrderBy& by) {
    if (!mapping_.has(object)) return;
    const std::string id = mapping_.column_name(object, "Id");
    const crm::sql_crm::Column* column =
        crm::sql_crm::find_column(columns_[object], mapping_.column_name(object, by.field));
    if (!column || column->type != crm::sql_crm::ColumnType::text || column->name == ascii_lower(id)) return;
    const crm::sql_crm::TextNumbers found = crm::sql_crm::read_text_numbers(
        session_, mapping_.table(object), "cast(" + crm::sql_crm::quoted(id) + " as text)",
        "cast(" + crm::sql_crm::quoted(mapping_.column_name(object, by.field)) + " as text)");
    if (!found.are_mostly_numbers()) return;
    report_.order_warnings.push_back(
        crm::sql_crm::text_order_sentence("matching." + object + ".order_by.field", by.field, object, found) +
        "; order by a column of a number type, or name as crm.tables." + object +
        " a view that casts it (docs/operations/external-crm.md)");
  }
  void check_emails(const MappedTables& tables, const std::string& object,
                    const std::vector<std::string>& fields) {
    for (const std::string& field : fields) {
      const std::string column = mapping_.column_name(object, field);
      const crm::sql_crm::Column* found = crm::sql_crm::find_column(columns_[object], column);
      if (!found || found->type != crm::sql_crm::ColumnType::text ||
          is_indexed(object, email_expression(tables, tables.column("p", object, field))))
        continue;
      report_.slow_lookups.push_back(
          mapping_.table_name(object) + " has no index for the e-mail addresses in " + column +
          ": every lookup scans the whole table; ask the owner for CREATE INDEX " + object + "_" +
          ascii_lower(column) + "_address ON " + mapping_.table_name(object) + " (" +
          email_expression(tables, column) + ")");
    }
  }
  void check_all_emails() {
    if (dialect_ == sql::Dialect::postgresql) session_ << "SET LOCAL enable_seqscan = off";
    const MappedTables tables(mapping_, session_);
    check_emails(tables, "contact", options_.match_fields.contact.email_fields);
    check_emails(tables, "lead", options_.match_fields.lead.email_fields);
  }
  void check_deletion_mark(const UsedField& wanted, const std::string& column) {
    const std::string key = "crm.columns." + wanted.object + "." + wanted.field;
    const std::string table = mapping_.table_name(wanted.object);
    const crm::sql_crm::Column* mark = crm::sql_crm::find_column(columns_[wanted.object], column);
    const bool is_time = mark && (mark->type == crm::sql_crm::ColumnType::date ||
                                  mark->type == crm::sql_crm::ColumnType::date_time);
    if (mark)
      report_.deletion_marks.push_back(table + ": a row counts as deleted where " + mark->name +
                                       (is_time ? " has a time" : " is true"));
    else if (column.empty() || ascii_lower(column) == ascii_lower(kDeletionMark))
      report_.deletion_marks.push_back(
          table + ": no column says which rows are deleted; if there is one, name it as " + key);
    else
      add_fault(key,
                table + " has no column " + column + "; name its column, or write \"-\" to do without it");
  }
  /// Whether a plan that avoids reading the whole table searches an index, also through a view.
  bool is_indexed(const std::string& object, const std::string& expression) {
    const bool sqlite = dialect_ == sql::Dialect::sqlite;
    long long number = 0;  // of SQLite's steps
    std::string step;
    soci::statement statement(session_);
    for (int i = 0; sqlite && i < 3; ++i) statement.exchange(soci::into(number));
    statement.exchange(soci::into(step));
    statement.alloc();
    statement.prepare((sqlite ? "EXPLAIN QUERY PLAN SELECT 1 FROM " : "EXPLAIN SELECT 1 FROM ") +
                          mapping_.table(object) + " p WHERE " + expression + " = 'a'",
                      sql::kRunOnce);
    statement.define_and_bind();
    bool found = false;
    sql::each_row(statement,
                  [&] { found = found || step.find(sqlite ? "SEARCH" : "Index Cond") != std::string::npos; });
    return found;
  }

  soci::session& session_;
  const ExternalCrmOptions& options_;
  const sql::Dialect dialect_;
  const Mapping mapping_;
  std::map<std::string, std::vector<crm::sql_crm::Column>> columns_;
  std::set<std::string> inaccessible_;  ///< objects whose tables are not visible
  bool may_read_ = false;
  ExternalCrmReport report_;
};

}  // namespace

ExternalCrmReport check_external_crm(const ExternalCrmOptions& options) {
  sql::Database database(options.database);
  return database.snapshot([&](soci::session& session) { return ExternalCrmCheck(session, options).run(); });
}

}  // namespace giftsync::crm::external
