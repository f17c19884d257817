// schema/store: reads gift requests and recipient transactions from their rows. Included by this folder's
// .cpp files only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "schema/sql/dsn.h"
#include "schema/sql/record_rows.h"
#include "schema/store/gift/gift_fields.h"
#include "schema/store/statements/word_conversions.h"

namespace soci {
class session;
}

namespace giftsync::store {

/// The columns of gift_request r and of recipient_transaction t, as sql::read_record() reads them.
inline const std::string kRequestColumns = sql::select_list(kGiftRequestFields, "r");
inline const std::string kTransactionColumns = sql::select_list(kRecipientTransactionFields, "t");
/// The columns that gift_in() reads.
inline const std::string kGiftColumns = kTransactionColumns + ", " + kRequestColumns;
inline constexpr int kGiftColumnCount =
    static_cast<int>(kRecipientTransactionFields.kCount + kGiftRequestFields.kCount);

/// What a masked viewer reads of the column (CON-59): of one address with a plain host name "***" and its
/// domain, of another text "***"; of an empty one nothing. masked_address() of the console's pages says the
/// same.
std::string masked_address_column(sql::Dialect dialect, const std::string& column);
std::string masked_column(const std::string& column);

/// An address in that column as email_key() folds it, in the form that recipient_transaction_email indexes.
std::string address_key(sql::Dialect dialect, const std::string& column);

/// Gifts as "SELECT ... WHERE <rest>", over recipient_transaction t and gift_request r.
std::string gifts_query(const std::string& rest);
/// Over gifts_query()'s tables: sent_at and id of the gifts that satisfy `condition`, the latest sent first.
std::string latest_gifts_query(const std::string& condition, std::size_t limit);
/// sent_at and id of the last of the `count` latest sent that satisfy `condition`; no row if there are fewer.
std::string latest_end_query(const std::string& condition, std::size_t count);
/// The condition on gifts of `table`, such as "t.", that they were sent before that place.
sql::Conditions sent_below(const std::string& table, SentPosition below);
/// The place that is `count` gifts below, of those sent since then, and of test gifts if asked for; nothing
/// if there are fewer.
std::optional<SentPosition> end_of_sent(soci::session& session, SentPosition below,
                                        std::optional<UtcMillis> since, std::size_t count,
                                        bool is_test = false);
/// sent_at of the gift after the `count` latest sent.
std::string sent_at_of_latest_query(std::size_t count);
/// From a row that begins with kGiftColumns.
Gift gift_in(const sql::PreparedQuery& row);

// Inserts that several callers share, each with its column list in one place. Included by
// this folder's .cpp files only.

/// For gift_request.
sql::BulkInsert gift_request_rows(sql::Dialect dialect);
/// A condition on gifts of `table`: the test gifts, which their index finds, or all others, which are looked
/// at anyway (TEST-7).
std::string test_condition(const std::string& table, bool is_test);
/// The same of a table without that column; `column` has the gifts' ids. One without a gift is no test.
std::string test_gift_condition(const std::string& column, bool is_test);
/// The condition that a column with transactions names no test gift, for counts of many rows: it reads the
/// index of test gifts alone, where SQLite would look up each gift.
std::string live_gift_condition(sql::Dialect dialect, const std::string& column);

void add_gift_request(sql::BulkInsert& rows, GiftRequestId id, const GiftRequest& request,
                      std::string_view terms = "", std::string_view sending_day = "");

/// For recipient_transaction: id, request_id, position, email, first_name, last_name, message, generation,
/// status, sent_at, version, then `more`.
sql::BulkInsert recipient_transaction_rows(sql::Dialect dialect,
                                           const std::vector<sql::BulkInsert::Column>& more,
                                           std::string_view suffix = "");

/// For crm_outbox: transactions whose current state the CRM does not have.
/// `change`: their changes are still to be folded, which a new gift has none of.
enum class MarkKind { made, change };
sql::BulkInsert crm_outbox_rows(sql::Dialect dialect, std::string_view suffix = "",
                                MarkKind kind = MarkKind::made);
void add_crm_outbox_row(sql::BulkInsert& rows, TransactionId transaction, UtcMillis next_attempt_at,
                        MarkKind kind = MarkKind::made);

// Transactions that write several gifts lock them in the order of their ids (ARCH-40). Included
// by this folder's .cpp files and their tests only.

/// Locks those gifts that exist, before they are changed. Does nothing on SQLite, where a transaction is
/// alone.
void lock_gifts(soci::session& session, const std::vector<std::int64_t>& ids);

/// Locks those of the gifts that no other transaction holds; returns them. Waits for none.
std::unordered_set<std::int64_t> lock_free_gifts(soci::session& session,
                                                 const std::vector<std::int64_t>& ids);

/// Before gifts are created whose ids were not allotted here: another transaction that creates one of them
/// waits here, and not at a row that was inserted in another order. To be called before any other lock of
/// gifts. Does nothing on SQLite.
void lock_new_gifts(soci::session& session, const std::vector<std::int64_t>& ids);

}  // namespace giftsync::store
