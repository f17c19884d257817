#include "schema/store/page_views.h"

#include "schema/sql/prepared_query.h"
#include "schema/sql/queries.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"

namespace giftsync::store {

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
  const std::string list = sql::list_of(database_->dialect(), transactions);
  return database_->read([&](soci::session& session) {
    std::pair<TransactionId, Donation> row;
    const auto found =
        sql::select_rows(row, session,
                         "SELECT transaction_id, charity, link FROM donation WHERE " +
                             sql::in_list(session, "transaction_id", "ids", false),
                         use(list), into(row.first), into(row.second.charity), into(row.second.link));
    return std::map<TransactionId, Donation>(found.begin(), found.end());
  });
}

std::optional<Donation> Donations::find(TransactionId transaction) {
  const auto found = find_all(std::span(&transaction, 1));
  return found.empty() ? std::nullopt : std::optional(found.begin()->second);
}

namespace {

/// The columns behind those of the gift.
enum Column : int {
  picture = kGiftColumnCount,
  redemption_text,
  redemption_link,
  code,
  charity,
  charity_link,
  span,
};

PageView view_in(const sql::PreparedQuery& row) {
  PageView view{gift_in(row),
                {},
                std::string(row.text(picture)),
                std::string(row.text(redemption_text)),
                std::string(row.text(redemption_link)),
                std::string(row.text(code)),
                std::nullopt};
  // A donation without a charity has an empty one: the sender's company chooses.
  if (!row.is_null(charity))
    view.donation = Donation{std::string(row.text(charity)), std::string(row.text(charity_link))};
  return view;
}

}  // namespace

std::string page_view_query() {
  return "SELECT " + kGiftColumns +
         ", i.picture, i.redemption_text, i.redemption_link, g.code, d.charity, d.link, s.transaction_id, "
         "s.status, s.premise, s.earliest, s.latest FROM recipient_transaction t "
         "JOIN gift_request r ON r.id = t.request_id "
         "LEFT JOIN gift_item i ON i.gift_id = r.gift_id "
         "LEFT JOIN gift_code g ON g.transaction_id = t.id "
         "LEFT JOIN donation d ON d.transaction_id = t.id "
         // The parameter is repeated: a condition s.transaction_id = t.id would not reach the changes' index.
         "LEFT JOIN (" +
         spans_query("c.transaction_id = :id") + ") s ON true WHERE t.id = :id";
}

PageViews::PageViews(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

std::optional<PageView> PageViews::find(TransactionId gift) {
  static const std::string query = page_view_query();
  return database_->read([&](soci::session& session) {
    std::optional<PageView> view;
    sql::PreparedQuery row(session, query, {"id"});
    row.each_row({std::to_string(gift.value)}, [&] {
      if (!view) view = view_in(row);
      if (!row.is_null(span)) view->changes.push_back(span_in(row, span));
    });
    return view;
  });
}

}  // namespace giftsync::store
