#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "schema/foreign_crm/gifts_without_id.h"
#include "schema/foreign_crm/people.h"
#include "schema/foreign_crm/records.h"
#include "schema/sql/written_apart.h"
#include "schema/sql_crm/gift_table.h"
#include "schema/sql_crm/record_rows.h"

namespace giftsync::schema::foreign_crm {
namespace {

using Kind = RowResult::Kind;
using sql_crm::TextRows;
using sql_crm::TransactionIds;

constexpr const char* kGift = "gift_record";
constexpr const char* kTransaction = "RecipientTransactionId";

struct Lookup {
  GiftField field;
  const char* object;
  std::string Associations::*id;  ///< null for people of ours
};
constexpr Lookup kLookups[] = {
    {GiftField::recipient_contact, "contact", &Associations::contact_id},
    {GiftField::account, "account", &Associations::account_id},
    {GiftField::recipient_lead, "lead", &Associations::lead_id},
    {GiftField::opportunity, "opportunity", &Associations::opportunity_id},
    {GiftField::sender, "user", nullptr},
    {GiftField::actual_sender, "user", nullptr},
    {GiftField::created_by, "user", nullptr},
    {GiftField::owner, "user", nullptr},
};

std::string quoted_column(const Tables& tables, GiftField field) {
  return sql_crm::quoted(tables.mapping().gift_column(field));
}

std::string cast_cell(const Tables& tables, std::size_t index, GiftField field) {
  return tables.cast("c" + std::to_string(index), kGift, std::string(field_of(field).name));
}

/// Where the row of the cells' transaction is; by the column as it is, so that its index serves.
std::string same_transaction(const Tables& tables) {
  return tables.column("t", kGift, kTransaction) + " = " + tables.cast("c0", kGift, kTransaction);
}

std::string returning(Dialect dialect, const Tables& tables, const std::string& alias) {
  return " RETURNING " + transaction_of(dialect, tables, alias, kGift);
}

std::vector<GiftField> owned(const std::vector<GiftField>& fields) {
  std::vector<GiftField> chosen;
  for (const GiftField field : fields)
    if (field_of(field).owner == FieldOwner::giftsync) chosen.push_back(field);
  return chosen;
}

/// The transaction first, then the fields.
TextRows cells(Dialect dialect, const std::vector<const GiftUpsert*>& rows,
               const std::vector<GiftField>& fields) {
  TextRows texts(dialect, 1 + fields.size());
  for (const GiftUpsert* row : rows) {
    TextRows::Row one{std::to_string(row->record.transaction().value)};
    for (const GiftField field : fields) one.push_back(sql_crm::text_of(row->record.get(field)));
    texts.add(one);
  }
  return texts;
}

/// What may be left leaves what a record has that is known to exist (see GiftUpsert); of one that only turned
/// out to exist it is cleared.
TransactionIds update(soci::session& session, Dialect dialect, const Tables& tables, bool known,
                      const std::vector<const GiftUpsert*>& rows) {
  const std::vector<GiftField> fields = owned(written_gift_fields(tables.mapping()));
  if (rows.empty() || fields.empty()) return {};
  TextRows texts = cells(dialect, rows, fields);
  std::string set;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string column = quoted_column(tables, fields[i]);
    std::string value = cast_cell(tables, i + 1, fields[i]);
    if (known && is_left_when_absent(fields[i]))
      value.insert(0, "coalesce(").append(", t.").append(column).append(")");
    set.append(i == 0 ? "" : ", ").append(column).append(" = ").append(value);
  }
  return run_returning(session, texts,
                       "UPDATE " + tables.table(kGift) + " AS t SET " + set + " FROM " + texts.as_table() +
                           " WHERE " + same_transaction(tables) + returning(dialect, tables, "t"));
}

TransactionIds insert(soci::session& session, Dialect dialect, const Tables& tables,
                      const std::vector<const GiftUpsert*>& rows) {
  if (rows.empty()) return {};
  const std::vector<GiftField> fields = written_gift_fields(tables.mapping());
  TextRows texts = cells(dialect, rows, fields);
  std::string names;
  std::string values;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    names += (i == 0 ? "" : ", ") + quoted_column(tables, fields[i]);
    values += (i == 0 ? "" : ", ") + cast_cell(tables, i + 1, fields[i]);
  }
  const std::string column = quoted_column(tables, GiftField::transaction_id);
  return run_returning(session, texts,
                       "INSERT INTO " + tables.table(kGift) + " (" + names + ") SELECT " + values + " FROM " +
                           texts.as_table() + " WHERE true ON CONFLICT (" + column +
                           ") DO NOTHING RETURNING cast(" + column + " as " +
                           (dialect == Dialect::sqlite ? "integer" : "bigint") + ")");
}

/// Lookups that lead nowhere are left empty and named (design 3.2). Only new records carry lookups.
std::vector<std::vector<GiftField>> clear_lookups(soci::session& session, Dialect dialect,
                                                  const Tables& tables, std::vector<GiftUpsert>& rows) {
  std::map<std::string, std::set<std::string>> wanted;
  const auto id_in = [&](const GiftUpsert& row, GiftField field) {
    const bool is_written = !row.exists && !tables.mapping().gift_column(field).empty();
    return is_written ? std::get_if<std::string>(&row.record.get(field)) : nullptr;
  };
  for (const GiftUpsert& row : rows) {
    for (const Lookup& lookup : kLookups)
      if (const auto* id = id_in(row, lookup.field)) wanted[lookup.object].insert(*id);
  }
  std::map<std::string, std::set<std::string>> missing;
  for (const auto& [object, ids] : wanted)
    missing[object] = missing_ids(session, dialect, tables, object, ids);
  std::vector<std::vector<GiftField>> cleared(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const Lookup& lookup : kLookups) {
      const auto* id = id_in(rows[i], lookup.field);
      if (!id || !missing[lookup.object].contains(*id)) continue;
      rows[i].record.set(lookup.field, FieldValue());
      cleared[i].push_back(lookup.field);
    }
  }
  return cleared;
}

std::map<std::int64_t, std::int64_t> newest_of(const NewestVersions& newest,
                                               const std::vector<GiftUpsert>& rows) {
  std::map<std::int64_t, std::int64_t> versions;
  if (!newest) return versions;
  std::vector<TransactionId> ids;
  for (const GiftUpsert& row : rows) ids.push_back(row.record.transaction());
  for (const auto& [id, version] : newest(ids)) versions[id.value] = version;
  return versions;
}

std::vector<RowResult> write(soci::session& session, Dialect dialect, const Tables& tables,
                             const NewestVersions& newest, std::span<const GiftUpsert> given) {
  lock_records(session, dialect);
  std::vector<GiftUpsert> rows(given.begin(), given.end());
  auto cleared = clear_lookups(session, dialect, tables, rows);
  const auto versions = newest_of(newest, rows);
  const auto is_past = [&](const GiftUpsert& row) {
    const auto known = versions.find(row.record.transaction().value);
    return known != versions.end() && known->second > row.record.version;
  };
  std::vector<std::int64_t> ids;
  for (const GiftUpsert& row : rows) ids.push_back(row.record.transaction().value);
  const std::set<std::int64_t> before = present(session, dialect, tables, kGift, ids);
  std::vector<const GiftUpsert*> known_rows;
  std::vector<const GiftUpsert*> found_rows;
  std::vector<const GiftUpsert*> new_rows;
  for (const GiftUpsert& row : rows) {
    if (before.contains(row.record.transaction().value)) {
      if (!is_past(row)) (row.exists ? known_rows : found_rows).push_back(&row);
    } else if (!row.exists) {
      new_rows.push_back(&row);
    }
  }
  TransactionIds updated = update(session, dialect, tables, true, known_rows);
  updated.merge(update(session, dialect, tables, false, found_rows));
  const TransactionIds created = insert(session, dialect, tables, new_rows);
  std::vector<RowResult> results;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (created.contains(ids[i]))
      results.push_back({Kind::created, {}, std::move(cleared[i])});
    else if (updated.contains(ids[i]))
      results.push_back({Kind::updated, {}, {}});
    else if (before.contains(ids[i]))
      results.push_back({Kind::unchanged, {}, {}});
    else if (rows[i].exists)
      results.push_back({Kind::gone, "the gift record was deleted in the CRM", {}});
    else
      results.push_back(
          {Kind::rejected,
           "the CRM's database did not keep the new gift record and gave no reason; look at its "
           "triggers and rules",
           {}});
  }
  return results;
}

std::string select_list(const Tables& tables) {
  std::string names;
  for (std::size_t i = 0; i < kGiftFieldCount; ++i)
    names += (i == 0 ? "" : ", ") + tables.gift_text(static_cast<GiftField>(i));
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

FieldValue value_of(const Tables& tables, std::size_t index, const std::string& text) {
  try {
    return sql_crm::value_of(kGiftFields[index], text);
  } catch (const BrokenWorld&) {
    throw BrokenWorld(false,
                      tables.mapping().table_name(kGift) + "." +
                          tables.mapping().gift_column(static_cast<GiftField>(index)) + " holds \"" + text +
                          "\", which is no value of its field; whoever owns it must correct or clear it",
                      true);
  }
}

template <class Parameter>
std::vector<GiftRecord> select_gifts(sql::Database& database, const Tables& tables, const std::string& where,
                                     const Parameter& parameter) {
  const std::string query =
      "SELECT " + select_list(tables) + " FROM " + tables.table(kGift) + " t WHERE " + where;
  return database.read([&](soci::session& session) {
    std::vector<GiftRecord> records;
    std::array<std::optional<std::string>, kGiftFieldCount> texts;
    soci::statement statement(session);
    for (auto& text : texts) statement.exchange(soci::into(text));
    statement.exchange(soci::use(parameter));
    statement.alloc();
    statement.prepare(query, sql::kRunOnce);
    statement.define_and_bind();
    sql::each_row(statement, [&] {
      GiftRecord& record = records.emplace_back();
      for (std::size_t i = 0; i < kGiftFieldCount; ++i)
        if (texts[i]) record.set(static_cast<GiftField>(i), value_of(tables, i, *texts[i]));
      add_formulas(record);
    });
    return records;
  });
}

/// "column = cell" for the lookups that matching decides; `first` is the number of the first cell.
template <class Pair>
std::string for_each_association(const Tables& tables, std::size_t first, const char* between, Pair&& pair) {
  std::string text;
  for (const Lookup& lookup : kLookups) {
    if (!lookup.id) continue;
    const std::string cell = "c" + std::to_string(first++);
    if (tables.mapping().gift_column(lookup.field).empty()) continue;
    text += (text.empty() ? "" : between) + pair(quoted_column(tables, lookup.field), cell);
  }
  return text;
}

std::vector<std::vector<GiftField>> clear_targets(soci::session& session, Dialect dialect,
                                                  const Tables& tables, std::vector<GiftRelink>& rows) {
  std::map<std::string, std::set<std::string>> wanted;
  for (const GiftRelink& row : rows) {
    for (const Lookup& lookup : kLookups) {
      if (lookup.id && !(row.to.*lookup.id).empty()) wanted[lookup.object].insert(row.to.*lookup.id);
    }
  }
  std::map<std::string, std::set<std::string>> missing;
  for (const auto& [object, ids] : wanted)
    missing[object] = missing_ids(session, dialect, tables, object, ids);
  std::vector<std::vector<GiftField>> cleared(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const Lookup& lookup : kLookups) {
      if (!lookup.id || !missing[lookup.object].contains(rows[i].to.*lookup.id)) continue;
      (rows[i].to.*lookup.id).clear();
      cleared[i].push_back(lookup.field);
    }
  }
  return cleared;
}

TransactionIds write_links(soci::session& session, Dialect dialect, const Tables& tables,
                           const std::vector<GiftRelink>& rows) {
  TextRows texts(dialect, 9);
  for (const GiftRelink& row : rows) {
    TextRows::Row cells{std::to_string(row.transaction.value)};
    for (const Associations* links : {&row.from, &row.to}) {
      for (const Lookup& lookup : kLookups)
        if (lookup.id) cells.emplace_back(links->*lookup.id);
    }
    texts.add(cells);
  }
  const std::string set = for_each_association(tables, 5, ", ", [](const auto& column, const auto& cell) {
    return column + " = nullif(" + cell + ", '')";
  });
  if (set.empty()) return {};  // the CRM has none of them
  return run_returning(session, texts,
                       "UPDATE " + tables.table(kGift) + " AS t SET " + set + " FROM " + texts.as_table() +
                           " WHERE " + same_transaction(tables) + " AND " +
                           for_each_association(tables, 1, " AND ",
                                                [](const auto& column, const auto& cell) {
                                                  return "coalesce(t." + column + ", '') = " + cell;
                                                }) +
                           returning(dialect, tables, "t"));
}

/// A task's Name follows its gift, unless somebody gave it another one.
void move_tasks(soci::session& session, Dialect dialect, const Tables& tables,
                std::span<const GiftRelink> rows, const TransactionIds& updated) {
  TextRows texts(dialect, 3);
  for (const GiftRelink& row : rows) {
    if (updated.contains(row.transaction.value) && row.from.contact_id != row.to.contact_id)
      texts.add({std::to_string(row.transaction.value), row.from.contact_id, row.to.contact_id});
  }
  if (texts.empty()) return;
  const std::string who = sql_crm::quoted(tables.mapping().column_name("task", "WhoId"));
  run_returning(session, texts,
                "UPDATE " + tables.table("task") + " AS t SET " + who + " = nullif(c2, '') FROM " +
                    texts.as_table() + " WHERE " + tables.column("t", "task", kTransaction) + " = " +
                    tables.cast("c0", "task", kTransaction) + " AND coalesce(t." + who +
                    ", '') = c1 RETURNING " + transaction_of(dialect, tables, "t", "task"));
}

std::string has_whole_id(Dialect dialect, const Tables& tables) {
  const Column* column = tables.type(kGift, kTransaction);
  return sql_crm::is_whole_id(dialect, tables.column("t", kGift, kTransaction),
                              column ? column->sql_type : "");
}

}  // namespace

void lock_records(soci::session& session, Dialect dialect) {
  // SQLite: BEGIN IMMEDIATE has done it.
  if (dialect == Dialect::postgresql)
    session << "SELECT pg_advisory_xact_lock(hashtext('giftsync gift records'))";
}

std::string transaction_of(Dialect dialect, const Tables& tables, const std::string& alias,
                           const std::string& object) {
  // SQLite's RETURNING knows the table by its columns only.
  std::string column = tables.column(alias, object, kTransaction);
  if (dialect == Dialect::sqlite)
    column = sql_crm::quoted(tables.mapping().column_name(object, kTransaction));
  return "cast(" + column + " as " + (dialect == Dialect::sqlite ? "integer" : "bigint") + ")";
}

std::set<std::int64_t> present(soci::session& session, Dialect dialect, const Tables& tables,
                               const std::string& object, const std::vector<std::int64_t>& wanted) {
  if (wanted.empty()) return {};
  // Through a join rather than a list, so that the column's own type and index count.
  TextRows texts(dialect, 1);
  for (const std::int64_t id : wanted) texts.add({std::to_string(id)});
  return run_returning(session, texts,
                       "SELECT " + transaction_of(dialect, tables, "t", object) + " FROM " +
                           texts.as_table() + " JOIN " + tables.table(object) + " t ON " +
                           tables.column("t", object, kTransaction) + " = " +
                           tables.cast("c0", object, kTransaction));
}

std::vector<RowResult> upsert_gifts(sql::Database& database, const Tables& tables,
                                    const NewestVersions& newest, std::span<const GiftUpsert> rows) {
  return sql::written_apart(rows, [&](std::span<const GiftUpsert> some) {
    sql_crm::refuse_equal_transactions(some);
    return database.write(
        [&](soci::session& session) { return write(session, database.dialect(), tables, newest, some); });
  });
}

std::vector<RowResult> relink_gifts(sql::Database& database, const Tables& tables, bool with_tasks,
                                    std::span<const GiftRelink> given) {
  if (given.empty()) return {};
  const Dialect dialect = database.dialect();
  return database.write([&](soci::session& session) {
    lock_records(session, dialect);
    std::vector<GiftRelink> rows(given.begin(), given.end());
    const auto cleared = clear_targets(session, dialect, tables, rows);
    const TransactionIds updated = write_links(session, dialect, tables, rows);
    if (with_tasks) move_tasks(session, dialect, tables, rows, updated);
    std::vector<std::int64_t> ids;
    for (const GiftRelink& row : rows) ids.push_back(row.transaction.value);
    const std::set<std::int64_t> known = present(session, dialect, tables, kGift, ids);
    return sql_crm::relink_results(ids, updated, known, cleared);
  });
}

std::vector<GiftRecord> gifts_above(sql::Database& database, const Tables& tables, TransactionId after,
                                    std::size_t limit) {
  const std::string column = tables.column("t", kGift, kTransaction);
  return select_gifts(database, tables,
                      column + " > :after AND " + has_whole_id(database.dialect(), tables) + " ORDER BY " +
                          column + " LIMIT " + std::to_string(limit),
                      after);
}

std::vector<GiftRecord> find_gifts(sql::Database& database, const Tables& tables,
                                   std::span<const TransactionId> transactions) {
  std::vector<std::int64_t> ids;
  for (const TransactionId id : transactions) ids.push_back(id.value);
  return select_gifts(database, tables,
                      sql::in_list(database.dialect(), tables.column("t", kGift, kTransaction), "ids", false),
                      sql::list_of(database.dialect(), ids));
}

std::vector<TransactionId> gifts_below(sql::Database& database, const Tables& tables, TransactionId below,
                                       std::size_t limit) {
  const std::string id = transaction_of(database.dialect(), tables, "t", kGift);
  const std::string column = tables.column("t", kGift, kTransaction);
  return database.read([&](soci::session& session) {
    TransactionId found;
    std::vector<TransactionId> ids;
    // By the column as it is, so that its index serves; beyond 2^53 it may be too coarse to tell.
    soci::statement statement =
        sql::bound(session,
                   "SELECT " + id + " FROM " + tables.table(kGift) + " t WHERE " + column + " <= :most AND " +
                       has_whole_id(database.dialect(), tables) + " AND " + id + " < :below ORDER BY " +
                       column + " DESC LIMIT " + std::to_string(limit),
                   soci::use(below, "most"), soci::use(below, "below"), soci::into(found));
    sql::each_row(statement, [&] { ids.push_back(found); });
    return ids;
  });
}

std::vector<TransactionId> gifts_to(sql::Database& database, const Tables& tables,
                                    const std::string& address) {
  if (tables.mapping().gift_column(GiftField::recipient_email).empty()) return {};
  const std::string address_key =
      sql_crm::email_key_text(database.dialect(), "t." + quoted_column(tables, GiftField::recipient_email));
  return database.read([&](soci::session& session) {
    TransactionId found;
    std::vector<TransactionId> ids;
    soci::statement statement = sql::bound(
        session,
        "SELECT " + transaction_of(database.dialect(), tables, "t", kGift) + " FROM " + tables.table(kGift) +
            " t WHERE " + address_key + " = :address AND " + has_whole_id(database.dialect(), tables) +
            " ORDER BY " + tables.column("t", kGift, kTransaction),
        soci::use(address), soci::into(found));
    sql::each_row(statement, [&] { ids.push_back(found); });
    return ids;
  });
}

std::int64_t count_gifts(sql::Database& database, const Tables& tables) {
  return database.read([&](soci::session& session) {
    long long count = 0;
    session << "SELECT count(*) FROM " + tables.table(kGift), soci::into(count);
    return static_cast<std::int64_t>(count);
  });
}

/// One statement a status: each time only where the record has none at that moment.
std::vector<TransactionId> fill_times(sql::Database& database, const Tables& tables,
                                      std::span<const RecordTimes> times) {
  const Dialect dialect = database.dialect();
  const TransactionIds touched = database.write([&](soci::session& session) {
    lock_records(session, dialect);
    TransactionIds filled;
    for (const Status status : kAllStatuses) {
      const GiftField field = time_field_of(status);
      if (tables.mapping().gift_column(field).empty()) continue;
      TextRows texts(dialect, 2);
      for (const RecordTimes& row : times) {
        if (row.times[status])
          texts.add({std::to_string(row.transaction.value), to_rfc3339(*row.times[status])});
      }
      if (texts.empty()) continue;
      const std::string column = quoted_column(tables, field);
      filled.merge(run_returning(session, texts,
                                 "UPDATE " + tables.table(kGift) + " AS t SET " + column + " = " +
                                     cast_cell(tables, 1, field) + " FROM " + texts.as_table() + " WHERE " +
                                     same_transaction(tables) + " AND t." + column + " IS NULL" +
                                     returning(dialect, tables, "t")));
    }
    return filled;
  });
  std::vector<TransactionId> ids;
  for (const std::int64_t id : touched) ids.push_back({id});
  return ids;
}

}  // namespace giftsync::schema::foreign_crm

namespace giftsync::schema {

std::int64_t count_gifts_without_id(const ForeignCrmOptions& options) {
  using namespace foreign_crm;
  sql::Database database(options.database);
  return database.read([&](soci::session& session) {
    const Dialect dialect = database.dialect();
    const Tables tables(dialect, Mapping(dialect, options.names), options, session);
    long long count = 0;
    session << "SELECT count(*) FROM " + tables.table(kGift) + " t WHERE CASE WHEN " +
                   tables.column("t", kGift, kTransaction) + " > 0 AND " + has_whole_id(dialect, tables) +
                   " THEN 0 ELSE 1 END = 1",
        soci::into(count);
    return static_cast<std::int64_t>(count);
  });
}

}  // namespace giftsync::schema
