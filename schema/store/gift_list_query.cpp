// Lists gifts by status, time, campaign and sender. Each page continues where the previous one ended, so that
// all pages together read the table once.
#include "schema/contact_normalization.h"
#include "schema/sql/database.h"
#include "schema/store/gift_requests.h"
#include "schema/store/gift_rows.h"

namespace giftsync::schema::store {
namespace {

std::string time_column(const GiftFilter& filter) {
  return "t." + std::string(to_word(filter.status.value_or(Status::sent))) + "_at";
}

/// The filter as SQL, with the values of its parameters.
struct Condition {
  std::string text = "t.id > :after";
  std::vector<std::string> names = {"after"};
  std::vector<std::string> values;

  void add(const std::string& more, const std::string& name, std::string value) {
    text += more;
    names.push_back(name);
    values.push_back(std::move(value));
  }
};

Condition condition_of(const GiftFilter& filter, TransactionId after) {
  Condition all;
  all.values = {std::to_string(after.value)};
  if (filter.status) all.add(" AND t.status = :status", "status", std::string(to_word(*filter.status)));
  if (filter.since)
    all.add(" AND " + time_column(filter) + " >= :since", "since", std::to_string(filter.since->value));
  if (filter.until)
    all.add(" AND " + time_column(filter) + " < :until", "until", std::to_string(filter.until->value));
  if (filter.campaign) all.add(" AND r.utm_campaign_id = :campaign", "campaign", *filter.campaign);
  if (filter.sender) {
    // Stored as written: an international domain in either of its forms.
    const std::string sender = email_key(*filter.sender);
    all.add(" AND lower(trim(r.sender_email)) IN (:sender", "sender", sender);
    all.add(", :in_unicode)", "in_unicode", email_key_in_unicode(sender));
  }
  return all;
}

}  // namespace

std::vector<Gift> GiftRequests::list(const GiftFilter& filter, TransactionId after, std::size_t limit) {
  const Condition condition = condition_of(filter, after);
  return database_->read([&](soci::session& session) {
    std::vector<Gift> found;
    sql::PreparedQuery row(session,
                           gifts_query(condition.text + " ORDER BY t.id LIMIT " + std::to_string(limit)),
                           condition.names);
    row.each_row(condition.values, [&] { found.push_back(gift_in(row)); });
    return found;
  });
}

}  // namespace giftsync::schema::store
