// crm/sql/external: writes gift records into an external table.
#include <algorithm>
#include <map>

#include "crm/sql/external/gift_records.h"
#include "crm/sql/gift_values.h"
#include "crm/sql/rows_by_key.h"
#include "crm/sql/transaction_rows.h"
#include "schema/contact_normalization.h"

namespace giftsync::crm::external {
namespace {

using Kind = RowResult::Kind;

std::vector<GiftField> owned(const std::vector<GiftField>& fields) {
  std::vector<GiftField> chosen;
  for (const GiftField field : fields)
    if (descriptor_of(field).owner == FieldOwner::giftsync) chosen.push_back(field);
  return chosen;
}

/// The transaction first, then the fields.
crm::sql_crm::TextRows cells(sql::Dialect dialect, const std::vector<const GiftUpsert*>& rows,
                             const std::vector<GiftField>& fields) {
  crm::sql_crm::TextRows texts(dialect, 1 + fields.size());
  for (const GiftUpsert* row : rows) {
    crm::sql_crm::TextRows::Row one{std::to_string(row->record.transaction().value)};
    for (const GiftField field : fields) one.push_back(crm::sql_crm::text_of(row->record.get(field)));
    texts.add(one);
  }
  return texts;
}

/// A field that is preserved when absent retains the record's value (see GiftUpsert).
crm::sql_crm::TransactionIds update(soci::session& session, const MappedTables& tables,
                                    const std::vector<const GiftUpsert*>& rows) {
  const std::vector<GiftField> fields = owned(written_gift_fields(tables.mapping()));
  if (rows.empty() || fields.empty()) return {};
  crm::sql_crm::TextRows texts = cells(tables.dialect(), rows, fields);
  std::string set;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string column = quoted_column(tables, fields[i]);
    std::string value = cast_cell(tables, "c" + std::to_string(i + 1), fields[i]);
    if (is_preserved_when_absent(fields[i]))
      value.insert(0, "coalesce(").append(", t.").append(column).append(")");
    set.append(i == 0 ? "" : ", ").append(column).append(" = ").append(value);
  }
  return crm::sql_crm::update_rows(session, transaction_table(tables, kGiftObject), texts, set, "true");
}

crm::sql_crm::TransactionIds insert(soci::session& session, const MappedTables& tables,
                                    const std::vector<const GiftUpsert*>& rows) {
  if (rows.empty()) return {};
  const std::vector<GiftField> fields = written_gift_fields(tables.mapping());
  crm::sql_crm::TextRows texts = cells(tables.dialect(), rows, fields);
  std::string names;
  std::string values;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    names += (i == 0 ? "" : ", ") + quoted_column(tables, fields[i]);
    values += (i == 0 ? "" : ", ") + cast_cell(tables, "c" + std::to_string(i + 1), fields[i]);
  }
  const std::string column = quoted_column(tables, GiftField::transaction_id);
  return crm::sql_crm::run_returning(session, texts,
                                     "INSERT INTO " + tables.table(kGiftObject) + " (" + names + ") SELECT " +
                                         values + " FROM " + texts.as_table() + " WHERE true ON CONFLICT (" +
                                         column + ") DO NOTHING RETURNING " +
                                         as_integer(tables.dialect(), column));
}

std::map<std::int64_t, std::int64_t> versions_by_transaction(const NewestVersionsLookup& newest_versions,
                                                             const std::vector<GiftUpsert>& rows) {
  std::map<std::int64_t, std::int64_t> versions;
  if (!newest_versions) return versions;
  std::vector<TransactionId> ids;
  for (const GiftUpsert& row : rows) ids.push_back(row.record.transaction());
  for (const auto& [id, version] : newest_versions(ids)) versions[id.value] = version;
  return versions;
}

/// A column that is too short cuts it.
bool has_same_email(const GiftRecord& record, const GiftRecord& ours) {
  const auto key = [](const GiftRecord& of) {
    const auto* address = std::get_if<std::string>(&of.get(GiftField::recipient_email));
    return address ? email_key(*address) : std::string();
  };
  const std::string crm_key = key(record);
  return crm_key.empty() ? key(ours).empty() : key(ours).starts_with(crm_key);
}

/// Independent of the CRM's time precision: an unknown record is unlikely to have been sent within the same
/// second.
bool has_same_sent_time(const GiftRecord& record, const GiftRecord& ours) {
  const auto* one = std::get_if<UtcMillis>(&record.get(GiftField::sent_at));
  const auto* other = std::get_if<UtcMillis>(&ours.get(GiftField::sent_at));
  if (!one || !other) return !one && !other;
  return are_within_a_second(*one, *other);
}

/// The existing records that giftsync did not write: recipient address and sent time both differ from what
/// giftsync would have written. Fields that the CRM does not have are not compared.
crm::sql_crm::TransactionIds find_id_conflicts(soci::session& session, const MappedTables& tables,
                                               const std::vector<const GiftUpsert*>& rows) {
  const bool has_address = !tables.mapping().gift_column(GiftField::recipient_email).empty();
  const bool has_time = !tables.mapping().gift_column(GiftField::sent_at).empty();
  std::map<TransactionId, const GiftRecord*> ours;
  std::vector<TransactionId> ids;
  for (const GiftUpsert* row : rows) {
    if (row->may_adopt) continue;
    ours[row->record.transaction()] = &row->record;
    ids.push_back(row->record.transaction());
  }
  if (ids.empty() || (!has_address && !has_time)) return {};
  crm::sql_crm::TransactionIds id_conflicts;
  for (const GiftRecord& record : gifts_of_transactions(session, tables, ids)) {
    const GiftRecord& our_record = *ours.at(record.transaction());
    const bool is_ours = (has_address && has_same_email(record, our_record)) ||
                         (has_time && has_same_sent_time(record, our_record));
    if (!is_ours) id_conflicts.insert(record.transaction().value);
  }
  return id_conflicts;
}

std::vector<RowResult> write(soci::session& session, const MappedTables& tables,
                             const NewestVersionsLookup& newest_versions, std::span<const GiftUpsert> given) {
  std::vector<GiftUpsert> rows(given.begin(), given.end());
  auto cleared_lookups = clear_missing_lookups(session, tables, rows);
  const auto versions = versions_by_transaction(newest_versions, rows);
  const auto is_outdated = [&](const GiftUpsert& row) {
    const auto known = versions.find(row.record.transaction().value);
    return known != versions.end() && known->second > row.record.version;
  };
  std::vector<std::int64_t> ids;
  for (const GiftUpsert& row : rows) ids.push_back(row.record.transaction().value);
  const crm::sql_crm::TransactionIds before =
      crm::sql_crm::existing_transactions(session, transaction_table(tables, kGiftObject), ids);
  std::vector<const GiftUpsert*> known_rows;
  std::vector<const GiftUpsert*> found_rows;
  std::vector<const GiftUpsert*> new_rows;
  for (const GiftUpsert& row : rows) {
    if (before.contains(row.record.transaction().value)) {
      if (!is_outdated(row)) (row.exists ? known_rows : found_rows).push_back(&row);
    } else if (!row.exists) {
      new_rows.push_back(&row);
    }
  }
  const crm::sql_crm::TransactionIds id_conflicts = find_id_conflicts(session, tables, found_rows);
  std::erase_if(found_rows, [&](const GiftUpsert* row) {
    return id_conflicts.contains(row->record.transaction().value);
  });
  known_rows.insert(known_rows.end(), found_rows.begin(), found_rows.end());
  const crm::sql_crm::TransactionIds updated = update(session, tables, known_rows);
  const crm::sql_crm::TransactionIds created = insert(session, tables, new_rows);
  // Their rows keep the Transaction Id.
  const crm::sql_crm::TransactionIds deleted =
      crm::sql_crm::excluded_transactions(session, transaction_table(tables, kGiftObject), ids);
  std::vector<RowResult> results;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (created.contains(ids[i]))
      results.push_back({Kind::created, {}, std::move(cleared_lookups[i])});
    else if (updated.contains(ids[i]))
      results.push_back({Kind::updated, {}, {}});
    else if (id_conflicts.contains(ids[i]))
      results.push_back(id_conflict_result({ids[i]}));
    else if (before.contains(ids[i]))
      results.push_back({Kind::unchanged, {}, {}});
    else if (rows[i].exists || deleted.contains(ids[i]))
      results.push_back({Kind::not_found, "the gift record was deleted in the CRM", {}});
    else
      results.push_back(
          {Kind::rejected,
           "the CRM's database did not store the new gift record and reported no error; check its "
           "triggers and rules",
           {}});
  }
  return results;
}

}  // namespace

std::vector<RowResult> ExternalGiftRecords::upsert(std::span<const GiftUpsert> rows) {
  return crm::sql_crm::bisect_upsert(rows, [&](std::span<const GiftUpsert> some) {
    crm::sql_crm::reject_duplicate_transactions(some);
    return crm_.write([&](soci::session& session, const MappedTables& tables) {
      return write(session, tables, newest_versions_, some);
    });
  });
}

}  // namespace giftsync::crm::external
