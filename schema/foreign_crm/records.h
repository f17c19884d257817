// schema/foreign_crm: gift records and tasks in somebody else's tables, told apart by their Transaction Id.
// Whoever writes holds one lock over all of it and asks our own store for the newest version while holding
// it: a stalled daemon that goes on later finds a newer one and writes nothing. Included by schema/'s .cpp
// files only.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "schema/foreign_crm/mapping.h"
#include "schema/sql/database.h"

namespace giftsync::schema::foreign_crm {

using NewestVersions = decltype(ForeignCrmOptions::newest);

std::vector<RowResult> upsert_gifts(sql::Database& database, const Tables& tables,
                                    const NewestVersions& newest, std::span<const GiftUpsert> rows);
/// Lookups that lead nowhere are left empty and named (design 3.2). Only new records carry lookups.
std::vector<std::vector<GiftField>> clear_lookups(soci::session& session, Dialect dialect,
                                                  const Tables& tables, std::vector<GiftUpsert>& rows);
std::vector<RowResult> relink_gifts(sql::Database& database, const Tables& tables, bool with_tasks,
                                    std::span<const GiftRelink> rows);
std::vector<std::vector<GiftField>> lost_lookups(sql::Database& database, const Tables& tables,
                                                 std::span<const Associations> links);
std::vector<GiftRecord> gifts_above(sql::Database& database, const Tables& tables, TransactionId after,
                                    std::size_t limit);
std::vector<GiftRecord> gifts_of(soci::session& session, Dialect dialect, const Tables& tables,
                                 std::span<const TransactionId> transactions);
std::vector<GiftRecord> find_gifts(sql::Database& database, const Tables& tables,
                                   std::span<const TransactionId> transactions);
std::vector<TransactionId> gifts_below(sql::Database& database, const Tables& tables, TransactionId below,
                                       std::size_t limit);
std::vector<TransactionId> gifts_to(sql::Database& database, const Tables& tables,
                                    const std::string& address);
std::int64_t count_gifts(sql::Database& database, const Tables& tables);
/// See Crm::fill_record_times.
std::vector<TransactionId> fill_times(sql::Database& database, const Tables& tables,
                                      std::span<const RecordTimes> times);

std::vector<RowResult> upsert_tasks(sql::Database& database, const Tables& tables,
                                    std::span<const TaskUpsert> rows);
std::vector<Task> tasks_above(sql::Database& database, const Tables& tables, TransactionId after,
                              std::size_t limit);

}  // namespace giftsync::schema::foreign_crm
