// schema/foreign_crm: gift records written into somebody else's table.
#include <algorithm>
#include <map>
#include <set>

#include "schema/address.h"
#include "schema/foreign_crm/gift_statements.h"
#include "schema/foreign_crm/records.h"
#include "schema/sql/written_apart.h"
#include "schema/sql_crm/gift_table.h"
#include "schema/sql_crm/record_rows.h"

namespace giftsync::schema::foreign_crm {
namespace {

using Kind = RowResult::Kind;
using sql_crm::TextRows;
using sql_crm::TransactionIds;

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

/// What may be left leaves what a record has, where nothing is given (see GiftUpsert).
TransactionIds update(soci::session& session, Dialect dialect, const Tables& tables,
                      const std::vector<const GiftUpsert*>& rows) {
  const std::vector<GiftField> fields = owned(written_gift_fields(tables.mapping()));
  if (rows.empty() || fields.empty()) return {};
  TextRows texts = cells(dialect, rows, fields);
  std::string set;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string column = quoted_column(tables, fields[i]);
    std::string value = cast_cell(tables, i + 1, fields[i]);
    if (is_left_when_absent(fields[i]))
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

std::map<std::int64_t, std::int64_t> newest_of(const NewestVersions& newest,
                                               const std::vector<GiftUpsert>& rows) {
  std::map<std::int64_t, std::int64_t> versions;
  if (!newest) return versions;
  std::vector<TransactionId> ids;
  for (const GiftUpsert& row : rows) ids.push_back(row.record.transaction());
  for (const auto& [id, version] : newest(ids)) versions[id.value] = version;
  return versions;
}

/// A column that is too short cuts it.
bool has_address_of(const GiftRecord& record, const GiftRecord& ours) {
  const auto key = [](const GiftRecord& of) {
    const auto* address = std::get_if<std::string>(&of.get(GiftField::recipient_email));
    return address ? email_key(*address) : std::string();
  };
  const std::string theirs = key(record);
  return theirs.empty() ? key(ours).empty() : key(ours).starts_with(theirs);
}

/// Of whatever precision the CRM is: a stranger's was hardly sent within the same second.
bool was_sent_when(const GiftRecord& record, const GiftRecord& ours) {
  const auto* one = std::get_if<UtcMillis>(&record.get(GiftField::sent_at));
  const auto* other = std::get_if<UtcMillis>(&ours.get(GiftField::sent_at));
  if (!one || !other) return !one && !other;
  return are_within_a_second(*one, *other);
}

/// Of the records that are there those that giftsync did not write: they tell neither the recipient's address
/// nor the time of sending that it would have written. What the CRM does not have tells nothing.
TransactionIds strangers_among(soci::session& session, Dialect dialect, const Tables& tables,
                               const std::vector<const GiftUpsert*>& rows) {
  const bool has_address = !tables.mapping().gift_column(GiftField::recipient_email).empty();
  const bool has_time = !tables.mapping().gift_column(GiftField::sent_at).empty();
  std::map<TransactionId, const GiftRecord*> ours;
  std::vector<TransactionId> ids;
  for (const GiftUpsert* row : rows) {
    if (row->may_take_over) continue;
    ours[row->record.transaction()] = &row->record;
    ids.push_back(row->record.transaction());
  }
  if (ids.empty() || (!has_address && !has_time)) return {};
  TransactionIds strangers;
  for (const GiftRecord& record : gifts_of(session, dialect, tables, ids)) {
    const GiftRecord& mine = *ours.at(record.transaction());
    const bool is_mine =
        (has_address && has_address_of(record, mine)) || (has_time && was_sent_when(record, mine));
    if (!is_mine) strangers.insert(record.transaction().value);
  }
  return strangers;
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
  const TransactionIds strangers = strangers_among(session, dialect, tables, found_rows);
  std::erase_if(found_rows,
                [&](const GiftUpsert* row) { return strangers.contains(row->record.transaction().value); });
  known_rows.insert(known_rows.end(), found_rows.begin(), found_rows.end());
  const TransactionIds updated = update(session, dialect, tables, known_rows);
  const TransactionIds created = insert(session, dialect, tables, new_rows);
  std::vector<RowResult> results;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (created.contains(ids[i]))
      results.push_back({Kind::created, {}, std::move(cleared[i])});
    else if (updated.contains(ids[i]))
      results.push_back({Kind::updated, {}, {}});
    else if (strangers.contains(ids[i]))
      results.push_back(refused_for_strangers_record({ids[i]}));
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

}  // namespace

std::vector<RowResult> upsert_gifts(sql::Database& database, const Tables& tables,
                                    const NewestVersions& newest, std::span<const GiftUpsert> rows) {
  return sql::written_apart(rows, [&](std::span<const GiftUpsert> some) {
    sql_crm::refuse_equal_transactions(some);
    return database.write(
        [&](soci::session& session) { return write(session, database.dialect(), tables, newest, some); });
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
