#include "schema/store/donation_book.h"

#include "schema/sql/database.h"

namespace giftsync::schema {

using soci::into;
using soci::use;

DonationBook::DonationBook(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

HandOut DonationBook::record(TransactionId transaction, const Donation& donation) {
  return [transaction, donation](soci::session& session) {
    session << "INSERT INTO donation (transaction_id, charity, link) VALUES (:transaction, :charity, :link) "
               "ON CONFLICT (transaction_id) DO NOTHING",
        use(transaction), use(donation.charity), use(donation.link);
    return true;
  };
}

std::optional<Donation> DonationBook::donation(TransactionId transaction) {
  return database_->read([&](soci::session& session) {
    std::optional<Donation> found;
    Donation row;
    soci::statement statement =
        sql::bound(session, "SELECT charity, link FROM donation WHERE transaction_id = :transaction",
                   use(transaction), into(row.charity), into(row.link));
    sql::each_row(statement, [&] { found = row; });
    return found;
  });
}

}  // namespace giftsync::schema
