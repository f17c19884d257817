#include "schema/store/donations.h"

#include "schema/sql/queries.h"
#include "schema/store/gift_rows.h"

namespace giftsync::schema::store {

using soci::into;
using soci::use;

Donations::Donations(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

TransactionEffect Donations::record_effect(TransactionId transaction, const Donation& donation) {
  return [transaction, donation](soci::session& session) {
    session << "INSERT INTO donation (transaction_id, charity, link) VALUES (:transaction, :charity, :link) "
               "ON CONFLICT (transaction_id) DO UPDATE SET charity = excluded.charity, link = excluded.link",
        use(transaction), use(donation.charity), use(donation.link);
    return true;
  };
}

std::map<TransactionId, Donation> Donations::find_all(std::span<const TransactionId> transactions) {
  const std::string list = sql::list_of(database_->dialect(), values_of(transactions));
  return database_->read([&](soci::session& session) {
    std::pair<TransactionId, Donation> row;
    const auto found =
        sql::select_rows(row, session,
                         "SELECT transaction_id, charity, link FROM donation WHERE " +
                             sql::in_list(database_->dialect(), "transaction_id", "ids", false),
                         use(list), into(row.first), into(row.second.charity), into(row.second.link));
    return std::map<TransactionId, Donation>(found.begin(), found.end());
  });
}

std::optional<Donation> Donations::find(TransactionId transaction) {
  const auto found = find_all(std::span(&transaction, 1));
  return found.empty() ? std::nullopt : std::optional(found.begin()->second);
}

}  // namespace giftsync::schema::store
