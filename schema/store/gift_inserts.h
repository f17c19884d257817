// schema/store: the rows that several doors insert, each with its columns in one place. Included by this
// folder's .cpp files only.
#pragma once

#include <string_view>

#include "schema/sql/bulk_insert.h"
#include "schema/store/gift_ledger.h"

namespace giftsync::schema::sql {

/// For gift_request.
BulkInsert request_rows(Dialect dialect);
void add_request(BulkInsert& rows, GiftRequestId id, const GiftRequest& request, std::string_view terms = "");

/// For sent_request: a record that has a row keeps it.
BulkInsert origin_rows(Dialect dialect);
void add_origin(BulkInsert& rows, GiftRequestId id, const RequestOrigin& origin);

/// For sync_mark: a transaction that the CRM does not know yet, or not as it is now.
BulkInsert mark_rows(Dialect dialect, std::string_view suffix = "");
void add_mark(BulkInsert& rows, TransactionId transaction, UtcMillis due_at);

}  // namespace giftsync::schema::sql
