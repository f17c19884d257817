// schema/foreign_crm: whether somebody else's tables are what the settings say, all of it at once.
#include <set>

#include "schema/foreign_crm/mapping.h"
#include "schema/foreign_crm/people.h"
#include "schema/foreign_crm/rights.h"
#include "schema/sql/database.h"
#include "schema/text.h"

namespace giftsync::schema {
namespace {

using namespace foreign_crm;

constexpr const char* kTextIds =
    ": name a text column that rows are known by, or as the table a view that casts its ids to text "
    "(foreign-crm.md, Ids)";

/// Ids of the CRM's rows; whoever holds a number instead holds no text.
bool is_id(const WantedField& wanted) {
  if (wanted.type == FieldType::lookup) return true;
  return wanted.type == FieldType::text && wanted.field.ends_with("Id");
}

const char* usable_words(FieldType type) {
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

/// SQLite's types are advice: times, money and truth may stand in text or numbers there.
bool is_usable(Dialect dialect, FieldType type, ColumnType column) {
  const bool sqlite = dialect == Dialect::sqlite;
  switch (type) {
    case FieldType::currency:
      return column == ColumnType::number || (sqlite && column == ColumnType::text);
    case FieldType::number:
      return column == ColumnType::number;
    case FieldType::date_time:
      return column == ColumnType::date_time || (sqlite && column == ColumnType::text);
    case FieldType::checkbox:
      return column == ColumnType::checkbox || (sqlite && column == ColumnType::number);
    default:
      return column == ColumnType::text;
  }
}

class Check {
 public:
  Check(soci::session& session, const ForeignCrmOptions& options)
      : session_(session),
        options_(options),
        dialect_(options.database.dialect),
        mapping_(dialect_, options.names) {}

  ForeignCrmReport run() {
    check_names();
    check_the_rights();
    std::set<std::string> seen;
    for (const WantedField& wanted : wanted_fields(options_)) {
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
    check_emails("contact", options_.match_fields.contact.email_fields);
    check_emails("lead", options_.match_fields.lead.email_fields);
    return std::move(report_);
  }

 private:
  void fault(const std::string& key, const std::string& what) { report_.faults.push_back(key + ": " + what); }

  /// Names go into statements: nothing but identifiers passes, whoever made the options.
  void check_names() {
    for (const auto& [object, table] : options_.names.tables) {
      if (const std::string bad = foreign_name_fault(table, true); !bad.empty())
        fault("crm.tables." + object, "\"" + table + "\", " + bad);
    }
    for (const auto& [field, column] : options_.names.columns) {
      if (const std::string bad = foreign_name_fault(column, false); !bad.empty())
        fault("crm.columns." + field, "\"" + column + "\", " + bad);
    }
    if (!report_.faults.empty()) throw BrokenWorld(false, report_.faults.front());
  }
  void check_the_rights() {
    RightsReport rights = check_rights(session_, mapping_, options_);
    report_.faults = std::move(rights.faults);
    report_.of_commands = std::move(rights.of_commands);
    closed_ = std::move(rights.closed);
  }
  static bool is_vital(const std::string& object) { return object == "gift_record" || object == "contact"; }
  /// Tasks are looked for only where the settings ask for them.
  static bool may_be_absent(const std::string& object) { return !is_vital(object) && object != "task"; }
  void check_absent(const std::string& object) {
    if (is_vital(object)) fault("crm.tables." + object, "giftsync cannot work without it; name its table");
    if (object == "task") fault("crm.tables.task", "tasks.enabled is on and needs it; name its table");
  }
  /// Without its name a schema is not looked at for its own sake.
  std::string schema_advice(const std::string& object) const {
    const bool is_named = mapping_.table_name(object).find('.') != std::string::npos;
    return dialect_ == Dialect::sqlite || is_named
               ? ""
               : ", or its schema in crm.schema (the user needs USAGE on that, too)";
  }
  std::vector<Column> read_columns(const std::string& object) {
    // PostgreSQL would not even answer whether the table is there; the missing right is told already.
    if (closed_.contains(object)) return {};
    std::vector<Column> columns = mapping_.columns(session_, object);
    if (columns.empty())
      fault("crm.tables." + object, "the CRM's database has no table " + mapping_.table_name(object) +
                                        " that this user may see; name its table" + schema_advice(object) +
                                        (may_be_absent(object) ? ", or write \"-\" if there is none" : ""));
    return columns;
  }
  void check_field(const WantedField& wanted) {
    const std::vector<Column>& columns = columns_[wanted.object];
    const std::string name = mapping_.column_name(wanted.object, wanted.field);
    const std::string key = "crm.columns." + wanted.object + "." + wanted.field;
    const bool needed = wanted.field == "RecipientTransactionId" || wanted.field == "Id" ||
                        wanted.field == "AssigneeId" || wanted.field == "PermissionSetName" ||
                        !wanted.because.empty();
    const std::string asked = wanted.because.empty() ? "" : " (asked for by " + wanted.because + ")";
    if (name.empty()) {
      if (needed) fault(key, "giftsync needs it; name its column" + asked);
      return;
    }
    if (columns.empty()) return;  // said already
    const Column* column = sql_crm::find_column(columns, name);
    // Nothing but a task refers to a gift record's id.
    const bool is_unused = wanted.object == "gift_record" && wanted.field == "Id" && !options_.tasks;
    if (!column) {
      fault(key, mapping_.table_name(wanted.object) + " has no column " + name + asked + "; name its column" +
                     (needed ? "" : ", or write \"-\" to do without it"));
    } else if (!is_ordering(wanted) && !is_unused && !is_usable(dialect_, wanted.type, column->type)) {
      fault(key, mapping_.table_name(wanted.object) + "." + name + " is of type " + column->sql_type +
                     "; it must hold " + usable_words(wanted.type) + (is_id(wanted) ? kTextIds : ""));
    }
  }
  /// Two fields that are written into one column: one of them would be lost, or every write fail.
  void check_shared_columns(const std::string& object) {
    if (!mapping_.has(object)) return;
    std::map<std::string, std::string> field_of_column;  // column names in lower case: SQL compares them so
    for (const WantedField& wanted : wanted_fields(options_)) {
      if (wanted.object != object) continue;
      const std::string column = mapping_.column_name(object, wanted.field);
      if (column.empty()) continue;
      const auto [first, is_first] = field_of_column.try_emplace(ascii_lower(column), wanted.field);
      if (!is_first)
        fault("crm.columns." + object + "." + wanted.field,
              mapping_.table_name(object) + "." + column + " is the column of " + object + "." +
                  first->second +
                  " already, and a column holds one field; name another column for one of them, or write "
                  "\"-\" to do without it");
    }
  }
  /// Everything has an order.
  static bool is_ordering(const WantedField& wanted) { return wanted.because.ends_with("order_by.field"); }
  std::string plain_table(const std::string& object) {
    return dialect_ == Dialect::sqlite ? mapping_.table_name(object) : mapping_.table(object);
  }
  void check_unique(const std::string& object) {
    const std::string column = mapping_.column_name(object, "RecipientTransactionId");
    if (columns_[object].empty() || !sql_crm::find_column(columns_[object], column)) return;
    if (sql_crm::is_unique(session_, dialect_, plain_table(object), column)) return;
    fault("crm.columns." + object + ".RecipientTransactionId",
          mapping_.table_name(object) + "." + column +
              " has no unique index, without which a gift could get two rows; ask the owner for CREATE "
              "UNIQUE INDEX ON " +
              mapping_.table_name(object) + " (" + column + ")");
  }
  void check_emails(const std::string& object, const std::vector<std::string>& fields) {
    for (const std::string& field : fields) {
      const std::string column = mapping_.column_name(object, field);
      if (!mapping_.has(object) || !sql_crm::find_column(columns_[object], column) ||
          has_email_index(object, column))
        continue;
      report_.slow.push_back(mapping_.table_name(object) + " has no index on " + email_expression(column) +
                             ": every look-up reads the whole table; ask the owner for CREATE INDEX ON " +
                             mapping_.table_name(object) + " (" + email_expression(column) + ")");
    }
  }
  bool has_email_index(const std::string& object, const std::string& column) {
    const std::string query =
        dialect_ == Dialect::sqlite
            ? "SELECT coalesce(sql, '') FROM sqlite_master WHERE type = 'index' AND tbl_name = :table"
            : "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = to_regclass(:table) AND "
              "indisvalid";
    bool found = false;
    std::string definition;
    const std::string table = plain_table(object);
    soci::statement statement = (session_.prepare << query, soci::into(definition), soci::use(table));
    sql::each_row(statement, [&] {
      // PostgreSQL shows lower(trim(email)) as lower(TRIM(BOTH FROM email)), older ones as lower(btrim(...)).
      std::string bare;
      for (const char c : ascii_lower(definition)) {
        if (c != ' ' && c != '"' && c != '(' && c != ')') bare += c;
      }
      const std::string lower = ascii_lower(column);
      for (const char* trimmed : {"lowertrim", "lowerbtrim", "lowertrimbothfrom"})
        found = found || bare.find(trimmed + lower) != std::string::npos;
    });
    return found;
  }

  soci::session& session_;
  const ForeignCrmOptions& options_;
  const Dialect dialect_;
  const Mapping mapping_;
  std::map<std::string, std::vector<Column>> columns_;
  std::set<std::string> closed_;  ///< objects whose tables cannot be looked at
  ForeignCrmReport report_;
};

}  // namespace

ForeignCrmReport check_foreign_crm(const ForeignCrmOptions& options) {
  sql::Database database(options.database);
  return database.snapshot([&](soci::session& session) { return Check(session, options).run(); });
}

}  // namespace giftsync::schema
