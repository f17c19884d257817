// schema/crm/external: gift records and tasks in external tables, identified by their Transaction Id. A
// writer takes one lock over all of them and, under the lock, asks the store for the newest version: a
// daemon that resumes after a stall sees the newer version and writes nothing. Included by schema/'s .cpp
// files only.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "schema/crm/external/mapping.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::external {

using NewestVersionsLookup = decltype(ExternalCrmOptions::newest_versions);

std::vector<RowResult> upsert_gifts(sql::Database& database, const MappedTables& tables,
                                    const NewestVersionsLookup& newest_versions,
                                    std::span<const GiftUpsert> rows);
/// Lookups whose targets do not exist are left empty and returned (SYNC-17). Only new records get
/// lookups.
std::vector<std::vector<GiftField>> clear_missing_lookups(soci::session& session, sql::Dialect dialect,
                                                          const MappedTables& tables,
                                                          std::vector<GiftUpsert>& rows);
std::vector<RowResult> relink_gifts(sql::Database& database, const MappedTables& tables, bool with_tasks,
                                    std::span<const GiftRelink> rows);
std::vector<std::vector<GiftField>> missing_lookups(sql::Database& database, const MappedTables& tables,
                                                    std::span<const Associations> links);
std::vector<GiftRecord> gifts_after(sql::Database& database, const MappedTables& tables, TransactionId after,
                                    std::size_t limit);
std::vector<GiftRecord> gifts_of_transactions(soci::session& session, sql::Dialect dialect,
                                              const MappedTables& tables,
                                              std::span<const TransactionId> transactions);
std::vector<GiftRecord> find_gifts(sql::Database& database, const MappedTables& tables,
                                   std::span<const TransactionId> transactions);
std::vector<TransactionId> gifts_below(sql::Database& database, const MappedTables& tables,
                                       TransactionId below, std::size_t limit);
std::vector<TransactionId> gifts_by_email(sql::Database& database, const MappedTables& tables,
                                          const std::string& address);
std::int64_t count_gifts(sql::Database& database, const MappedTables& tables);
/// See Crm::fill_status_times.
std::vector<TransactionId> fill_times(sql::Database& database, const MappedTables& tables,
                                      std::span<const GiftStatusTimes> times);

std::vector<RowResult> upsert_tasks(sql::Database& database, const MappedTables& tables,
                                    std::span<const TaskUpsert> rows);
std::vector<Task> tasks_after(sql::Database& database, const MappedTables& tables, TransactionId after,
                              std::size_t limit);

}  // namespace giftsync::schema::crm::external
