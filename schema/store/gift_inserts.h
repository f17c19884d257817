// schema/store: inserts that several callers share, each with its column list in one place. Included by
// this folder's .cpp files only.
#pragma once

#include <string_view>

#include "schema/sql/bulk_insert.h"
#include "schema/store/gift_requests.h"

namespace giftsync::schema::store {

/// For gift_request.
sql::BulkInsert gift_request_rows(sql::Dialect dialect);
void add_gift_request(sql::BulkInsert& rows, GiftRequestId id, const GiftRequest& request,
                      std::string_view terms = "");

/// For recipient_transaction: id, request_id, position, email, first_name, last_name, message, generation,
/// status, sent_at, version, then `more`.
sql::BulkInsert recipient_transaction_rows(sql::Dialect dialect,
                                           const std::vector<sql::BulkInsert::Column>& more,
                                           std::string_view suffix = "");

/// For request_record_gift: an existing row of the record is not replaced.
sql::BulkInsert request_record_gift_rows(sql::Dialect dialect);
void add_request_record_gift(sql::BulkInsert& rows, GiftRequestId id, const RequestRecordLink& link);

/// For crm_outbox: transactions whose current state the CRM does not have.
sql::BulkInsert crm_outbox_rows(sql::Dialect dialect, std::string_view suffix = "");
void add_crm_outbox_row(sql::BulkInsert& rows, TransactionId transaction,
                        platform::UtcMillis next_attempt_at);

}  // namespace giftsync::schema::store
