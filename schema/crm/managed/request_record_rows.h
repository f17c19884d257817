// schema/crm/managed: request records in crm_request_record, and the change events that its triggers
// insert. Included by schema/'s .cpp files only.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/crm/crm.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::managed {

std::vector<RequestRecordEvent> read_request_record_events(sql::Database& database, std::size_t limit);
void delete_request_record_events(sql::Database& database, std::span<const std::int64_t> event_ids);
void enqueue_open_request_rows(sql::Database& database);

std::vector<RequestRecord> find_request_record_rows(sql::Database& database,
                                                    std::span<const std::string> ids);
std::optional<RequestRecord> find_request_record_row(sql::Database& database,
                                                     const std::string& number_or_id);
std::vector<RequestRecord> read_request_record_rows(sql::Database& database, const std::string& after,
                                                    std::optional<RequestRecordStatus> status,
                                                    std::size_t limit);

/// `user` becomes Last Modified By, unless it is empty.
std::vector<RowResult> update_request_record_rows(sql::Database& database,
                                                  std::span<const RequestRecordUpdate> rows,
                                                  const std::string& user);
std::vector<RequestRecord> insert_request_record_rows(sql::Database& database,
                                                      std::span<const NewRequestRecord> rows);

}  // namespace giftsync::schema::crm::managed
