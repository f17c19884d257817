// Gifts by status, time, campaign and sender. A page goes on where the one before ended, so that all pages
// together read the table once.
#include "schema/address.h"
#include "schema/sql/database.h"
#include "schema/store/gift_ledger.h"
#include "schema/store/gift_rows.h"

namespace giftsync::schema {
namespace {

using soci::use;

std::string time_column(const GiftFilter& filter) {
  return "t." + std::string(to_word(filter.status.value_or(Status::sent))) + "_at";
}

std::string condition_of(const GiftFilter& filter) {
  std::string text = "t.id > :after";
  if (filter.status) text += " AND t.status = :status";
  if (filter.since) text += " AND " + time_column(filter) + " >= :since";
  if (filter.until) text += " AND " + time_column(filter) + " < :until";
  if (filter.campaign) text += " AND r.utm_campaign_id = :campaign";
  // Kept as it was written: an international domain in either of its forms.
  if (filter.sender) text += " AND lower(trim(r.sender_email)) IN (:sender, :sender_in_unicode)";
  return text;
}

}  // namespace

std::vector<Gift> GiftLedger::list(const GiftFilter& filter, TransactionId after, std::size_t limit) {
  const std::string status(filter.status ? to_word(*filter.status) : "");
  const std::string sender = filter.sender ? email_key(*filter.sender) : "";
  const std::string sender_in_unicode = filter.sender ? email_key_in_unicode(sender) : "";
  const std::string text = "SELECT " + std::string(sql::TransactionRow::kColumns) + ", " +
                           std::string(sql::RequestRow::kColumns) +
                           " FROM recipient_transaction t JOIN gift_request r ON r.id = t.request_id WHERE " +
                           condition_of(filter) + " ORDER BY t.id LIMIT " + std::to_string(limit);
  return database_->read([&](soci::session& session) {
    sql::TransactionRow transaction;
    sql::RequestRow request;
    soci::statement statement(session);
    statement.exchange(use(after));
    if (filter.status) statement.exchange(use(status));
    if (filter.since) statement.exchange(use(*filter.since));
    if (filter.until) statement.exchange(use(*filter.until));
    if (filter.campaign) statement.exchange(use(*filter.campaign));
    if (filter.sender) {
      statement.exchange(use(sender));
      statement.exchange(use(sender_in_unicode));
    }
    transaction.bind(statement);
    request.bind(statement);
    statement.alloc();
    statement.prepare(text, sql::kRunOnce);
    statement.define_and_bind();
    std::vector<Gift> found;
    sql::each_row(statement, [&] { found.push_back({request.value(), transaction.value()}); });
    return found;
  });
}

}  // namespace giftsync::schema
