#include "crm/sql/external/gift_records.h"

#include "crm/sql/external/external_crm.h"
#include "crm/sql/external/person_lookup.h"
#include "crm/sql/gift_values.h"
#include "crm/sql/reference_checks.h"
#include "schema/ids.h"

namespace giftsync::crm::external {

std::string as_integer(sql::Dialect dialect, const std::string& expression) {
  return "cast(" + expression + " as " + (dialect == sql::Dialect::sqlite ? "integer" : "bigint") + ")";
}

std::string transaction_of(const MappedTables& tables, const std::string& alias, const std::string& object) {
  // SQLite's RETURNING accepts only unqualified columns.
  if (tables.dialect() == sql::Dialect::sqlite)
    return as_integer(tables.dialect(),
                      crm::sql_crm::quoted(tables.mapping().column_name(object, kTransaction)));
  return as_integer(tables.dialect(), tables.column(alias, object, kTransaction));
}

crm::sql_crm::TransactionTable transaction_table(const MappedTables& tables, const std::string& object) {
  return {tables.table(object),
          tables.column("t", object, kTransaction),
          tables.cast("c0", object, kTransaction),
          transaction_of(tables, "t", object),
          "",
          tables.not_deleted("t", object)};
}

std::string quoted_column(const MappedTables& tables, GiftField field) {
  return crm::sql_crm::quoted(tables.mapping().gift_column(field));
}

std::string cast_cell(const MappedTables& tables, const std::string& cell, GiftField field) {
  return tables.cast(cell, kGiftObject, std::string(descriptor_of(field).name));
}

// Reads gift records from an external table.

namespace {

std::string select_list(const MappedTables& tables) {
  std::string names = "0";  // there is no version
  for (std::size_t i = 0; i < kGiftFieldCount; ++i)
    names += ", " + tables.gift_text(static_cast<GiftField>(i));
  return names;
}

/// What the managed CRM computes; a replicated formula may be behind.
void add_formulas(GiftRecord& record) {
  const auto time = [&](GiftField field) { return std::get_if<UtcMillis>(&record.get(field)); };
  record.set(GiftField::opened, time(GiftField::opened_time) != nullptr);
  record.set(GiftField::redeemed, time(GiftField::redeemed_time) != nullptr);
  const UtcMillis* delivered = time(GiftField::delivered_time);
  const UtcMillis* undelivered = time(GiftField::undelivered_time);
  record.set(GiftField::delivered, delivered && (!undelivered || delivered->value >= undelivered->value));
}

template <class... Parameters>
std::vector<GiftRecord> select_gifts(soci::session& session, const MappedTables& tables,
                                     const std::string& where, const Parameters&... parameters) {
  std::vector<GiftRecord> records =
      crm::sql_crm::select_gifts(session,
                                 "SELECT " + select_list(tables) + " FROM " + tables.table(kGiftObject) +
                                     " t WHERE " + tables.not_deleted("t", kGiftObject) + " AND " + where,
                                 parameters...);
  for (GiftRecord& record : records) add_formulas(record);
  return records;
}

std::string has_valid_id_condition(const MappedTables& tables) {
  const crm::sql_crm::Column* column = tables.type(kGiftObject, kTransaction);
  return crm::sql_crm::valid_transaction_id_condition(
      tables.dialect(), tables.column("t", kGiftObject, kTransaction), column ? column->sql_type : "");
}

/// The transactions of the records; the condition follows. Conditions compare the unmodified column, so that
/// its index applies, and then the integer: beyond 2^53 a double may be inexact.
std::string select_ids(const MappedTables& tables) {
  return "SELECT " + transaction_of(tables, "t", kGiftObject) + " FROM " + tables.table(kGiftObject) +
         " t WHERE " + tables.not_deleted("t", kGiftObject) + " AND ";
}

}  // namespace

std::vector<GiftRecord> ExternalGiftRecords::page(TransactionId after, std::size_t limit) {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const std::string column = tables.column("t", kGiftObject, kTransaction);
    return select_gifts(session, tables,
                        column + " > :after AND " + has_valid_id_condition(tables) + " ORDER BY " + column +
                            " LIMIT " + std::to_string(limit),
                        after);
  });
}

std::vector<GiftRecord> ExternalGiftRecords::page_in_status(Status status, TransactionId after,
                                                            std::size_t limit) {
  if (!has_field(GiftField::status)) return {};
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const std::string column = tables.column("t", kGiftObject, kTransaction);
    return select_gifts(session, tables,
                        "t." + quoted_column(tables, GiftField::status) + " = :status AND " + column +
                            " > :after AND " + has_valid_id_condition(tables) + " ORDER BY " + column +
                            " LIMIT " + std::to_string(limit),
                        std::string(to_word(status)), after);
  });
}

std::vector<GiftRecord> gifts_of_transactions(soci::session& session, const MappedTables& tables,
                                              std::span<const TransactionId> transactions) {
  const std::string column = tables.column("t", kGiftObject, kTransaction);
  return select_gifts(session, tables, sql::in_list(tables.dialect(), column, "ids", false),
                      sql::list_of(tables.dialect(), transactions));
}

std::vector<GiftRecord> ExternalGiftRecords::find(std::span<const TransactionId> transactions) {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    return gifts_of_transactions(session, tables, transactions);
  });
}

std::vector<TransactionId> ExternalGiftRecords::transaction_ids_between(TransactionId from,
                                                                        TransactionId below,
                                                                        std::size_t limit) {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const std::string column = tables.column("t", kGiftObject, kTransaction);
    return crm::sql_crm::select_transaction_ids(
        session,
        select_ids(tables) + column + " >= :from AND " + column + " <= :most AND " +
            has_valid_id_condition(tables) + " AND " + transaction_of(tables, "t", kGiftObject) +
            " < :below ORDER BY " + column + " LIMIT " + std::to_string(limit),
        from, below, below);
  });
}

std::vector<TransactionId> ExternalGiftRecords::transaction_ids_below(TransactionId below,
                                                                      std::size_t limit) {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const std::string column = tables.column("t", kGiftObject, kTransaction);
    return crm::sql_crm::select_transaction_ids(
        session,
        select_ids(tables) + column + " <= :most AND " + has_valid_id_condition(tables) + " AND " +
            transaction_of(tables, "t", kGiftObject) + " < :below ORDER BY " + column + " DESC LIMIT " +
            std::to_string(limit),
        below, below);
  });
}

std::vector<TransactionId> ExternalGiftRecords::transaction_ids_by_email(const std::string& address) {
  if (!has_field(GiftField::recipient_email)) return {};
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const std::string email = "t." + quoted_column(tables, GiftField::recipient_email);
    return crm::sql_crm::select_transaction_ids(
        session,
        select_ids(tables) + email_expression(tables, email) + " = :address AND " +
            has_valid_id_condition(tables) + " ORDER BY " + tables.column("t", kGiftObject, kTransaction),
        address);
  });
}

std::vector<TransactionId> ExternalGiftRecords::transaction_ids_by_contact(const std::string& contact) {
  if (!has_field(GiftField::recipient_contact)) return {};
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const std::string column = "t." + quoted_column(tables, GiftField::recipient_contact);
    // The column may be a number or a UUID; on PostgreSQL its text is compared, and an index of text serves.
    const bool has_types = tables.dialect() == sql::Dialect::postgresql;
    return crm::sql_crm::select_transaction_ids(
        session,
        select_ids(tables) + (has_types ? "cast(" + column + " as text)" : column) +
            " IN (:contact, :short) AND " + has_valid_id_condition(tables) + " ORDER BY " +
            tables.column("t", kGiftObject, kTransaction),
        long_crm_id(contact), short_crm_id(contact));
  });
}

std::int64_t ExternalGiftRecords::count() {
  return crm_.read([](soci::session& session, const MappedTables& tables) {
    long long count = 0;
    session << "SELECT count(*) FROM " + tables.rows(kGiftObject), soci::into(count);
    return static_cast<std::int64_t>(count);
  });
}

std::int64_t count_invalid_transaction_ids(const ExternalCrmOptions& options) {
  ExternalDatabase crm(options);
  return crm.read([](soci::session& session, const MappedTables& tables) {
    long long count = 0;
    session << "SELECT count(*) FROM " + tables.table(kGiftObject) + " t WHERE " +
                   tables.not_deleted("t", kGiftObject) + " AND CASE WHEN " +
                   tables.column("t", kGiftObject, kTransaction) + " > 0 AND " +
                   has_valid_id_condition(tables) + " THEN 0 ELSE 1 END = 1",
        soci::into(count);
    return static_cast<std::int64_t>(count);
  });
}

// The lookups of gift records in an external table.

namespace {

/// As missing_rows(), of the tables that have rows.
crm::sql_crm::MissingIdsFinder nonempty_missing_ids_finder(soci::session& session,
                                                           const MappedTables& tables) {
  return [&session, &tables](const crm::sql_crm::RowIds& wanted) {
    crm::sql_crm::RowIds missing = missing_rows(session, tables, wanted);
    for (auto& [object, ids] : missing)
      if (tables.has(object)) crm::sql_crm::clear_if_table_empty(session, tables.rows(object), ids);
    return missing;
  };
}

}  // namespace

crm::sql_crm::MissingLookups clear_missing_lookups(soci::session& session, const MappedTables& tables,
                                                   std::vector<GiftUpsert>& rows) {
  const auto is_written = [&](const GiftUpsert& row, GiftField lookup) {
    return !row.exists && !tables.mapping().gift_column(lookup).empty();
  };
  crm::sql_crm::MissingLookups cleared_lookups = crm::sql_crm::find_missing_lookups(
      rows, is_written,
      [&](const crm::sql_crm::RowIds& wanted) { return missing_rows(session, tables, wanted); });
  for (std::size_t i = 0; i < rows.size(); ++i)
    crm::sql_crm::clear_lookups_of(rows[i].record, cleared_lookups[i]);
  return cleared_lookups;
}

std::vector<RowResult> ExternalGiftRecords::relink(std::span<const GiftRelink> rows) {
  if (rows.empty()) return {};
  return crm_.write([&](soci::session& session, const MappedTables& tables) {
    crm::sql_crm::RelinkTables relinked{
        transaction_table(tables, kGiftObject),
        [&](GiftField field) { return has_field(field) ? quoted_column(tables, field) : std::string(); },
        [&](const std::string& cell) { return cast_cell(tables, cell, GiftField::deal_stage); },
        std::nullopt};
    if (has_tasks_) {
      relinked.tasks = transaction_table(tables, "task");
      relinked.task_contact = crm::sql_crm::quoted(tables.mapping().column_name("task", "WhoId"));
    }
    return crm::sql_crm::relink(session, relinked, rows, nonempty_missing_ids_finder(session, tables));
  });
}

crm::sql_crm::MissingLookups ExternalGiftRecords::missing_lookups(std::span<const Associations> links) {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    return crm::sql_crm::find_missing_lookups(links, nonempty_missing_ids_finder(session, tables));
  });
}

// Reads the status timestamps of gift records, and fills missing ones.

namespace {

/// Each time only where the record has none at that moment.
crm::sql_crm::TransactionIds fill(soci::session& session, const MappedTables& tables, Status status,
                                  std::span<const GiftStatusTimes> times) {
  const GiftField field = time_field_of(status);
  if (tables.mapping().gift_column(field).empty()) return {};
  crm::sql_crm::TextRows texts(tables.dialect(), 2);
  for (const GiftStatusTimes& row : times) {
    if (row.times[status]) texts.add({std::to_string(row.transaction.value), to_rfc3339(*row.times[status])});
  }
  const std::string column = quoted_column(tables, field);
  return crm::sql_crm::update_rows(session, transaction_table(tables, kGiftObject), texts,
                                   column + " = " + cast_cell(tables, "c1", field),
                                   "t." + column + " IS NULL");
}

}  // namespace

std::vector<GiftStatusTimes> ExternalGiftRecords::find_status_times(
    std::span<const TransactionId> transactions) {
  std::vector<GiftStatusTimes> found;
  for (const GiftRecord& record : find(transactions)) {
    GiftStatusTimes& row = found.emplace_back(GiftStatusTimes{record.transaction(), {}});
    for (const Status status : kAllStatuses) {
      const FieldValue& value = record.get(time_field_of(status));
      if (const auto* time = std::get_if<UtcMillis>(&value)) row.times[status] = *time;
    }
  }
  return found;
}

std::vector<TransactionId> ExternalGiftRecords::fill_status_times(std::span<const GiftStatusTimes> times) {
  const crm::sql_crm::TransactionIds filled =
      crm_.write([&](soci::session& session, const MappedTables& tables) {
        crm::sql_crm::TransactionIds all;
        for (const Status status : kAllStatuses) all.merge(fill(session, tables, status, times));
        return all;
      });
  std::vector<TransactionId> ids;
  for (const std::int64_t id : filled) ids.push_back({id});
  return ids;
}

}  // namespace giftsync::crm::external
