// schema/sql_crm: request records in crm_request_record, and the notes that its triggers make of every
// change. Included by schema/'s .cpp files only.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/sql/database.h"

namespace giftsync::schema::sql_crm {

std::vector<RequestNote> read_request_notes(sql::Database& database, std::size_t limit);
void delete_request_notes(sql::Database& database, std::span<const std::int64_t> notes);
void note_open_request_rows(sql::Database& database);

std::vector<RequestRecord> find_request_rows(sql::Database& database, std::span<const std::string> ids);
std::optional<RequestRecord> find_request_row(sql::Database& database, const std::string& number_or_id);
std::vector<RequestRecord> read_request_rows(sql::Database& database, const std::string& after,
                                             std::optional<RequestStatus> status, std::size_t limit);

/// `user` becomes Last Modified By, unless it is empty.
std::vector<RowResult> write_request_rows(sql::Database& database, std::span<const RequestWrite> rows,
                                          const std::string& user);
std::vector<RequestRecord> create_request_rows(sql::Database& database, std::span<const NewRequest> rows);

}  // namespace giftsync::schema::sql_crm
