// Lists gifts by status, time, campaign, sender, item and key. Each page continues where the previous one
// ended, so that all pages together read the table once.
#include <algorithm>

#include "schema/contact_normalization.h"
#include "schema/sql/database.h"
#include "schema/sql/queries.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/gift/gift_rows.h"

namespace giftsync::store {
namespace {

std::string time_column(const GiftFilter& filter) {
  return "t." + std::string(to_word(filter.status.value_or(Status::sent))) + "_at";
}

void add_filter(sql::Conditions& all, sql::Dialect dialect, const GiftFilter& filter) {
  all.add(test_condition("t", filter.test));
  if (filter.status) all.add("t.status = :status", "status", std::string(to_word(*filter.status)));
  if (filter.since) all.add(time_column(filter) + " >= :since", "since", std::to_string(filter.since->value));
  if (filter.until) all.add(time_column(filter) + " < :until", "until", std::to_string(filter.until->value));
  if (filter.campaign) all.add("r.utm_campaign_id = :campaign", "campaign", *filter.campaign);
  if (filter.item) all.add("(CAST(r.gift_id AS TEXT) = :item OR r.item_name = :item)", "item", *filter.item);
  if (filter.key) all.add("r.credential_prefix = :key", "key", *filter.key);
  if (filter.sender) {
    // Stored as written: an international domain in either of its forms.
    const std::string sender = email_key(*filter.sender);
    all.add(address_key(dialect, "r.sender_email") + " IN (:sender, :in_unicode)", "sender", sender);
    all.bind("in_unicode", email_key_in_unicode(sender));
  }
}

constexpr std::size_t kSearchedAtOnce = 5000;
constexpr std::size_t kFewSent = 20'000;

/// The id that many gifts after `after`; nothing if there are fewer.
std::optional<TransactionId> end_of_search(soci::session& session, TransactionId after) {
  return sql::first_of(sql::select_column<TransactionId>(
      session, "SELECT id FROM recipient_transaction WHERE id > " + std::to_string(after.value) +
                   " ORDER BY id LIMIT 1 OFFSET " + std::to_string(kSearchedAtOnce - 1)));
}

/// The id below which no gift was sent since, if that is soon known: if few were sent since.
std::optional<TransactionId> first_sent_since(soci::session& session, UtcMillis since) {
  std::vector<TransactionId> sent = sql::select_column<TransactionId>(
      session, "SELECT id FROM recipient_transaction WHERE sent_at >= " + std::to_string(since.value) +
                   " ORDER BY sent_at, id LIMIT " + std::to_string(kFewSent));
  if (sent.empty() || sent.size() == kFewSent) return std::nullopt;
  return *std::min_element(sent.begin(), sent.end());
}

}  // namespace

GiftPage GiftRequests::list(const GiftFilter& filter, TransactionId after, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    if (filter.since && !filter.status && after == TransactionId{0}) {
      if (const auto first = first_sent_since(session, *filter.since)) after = {first->value - 1};
    }
    sql::Conditions condition;
    condition.add("t.id > :after", "after", std::to_string(after.value));
    add_filter(condition, session, filter);
    GiftPage page;
    // The index finds all test gifts.
    if (!filter.test) page.next = end_of_search(session, after);
    if (page.next) condition.add("t.id <= :last", "last", std::to_string(page.next->value));
    sql::PreparedQuery row(session,
                           gifts_query(condition.text + " ORDER BY t.id LIMIT " + std::to_string(limit)),
                           condition.names);
    row.each_row(condition.values, [&] { page.gifts.push_back(gift_in(row)); });
    if (page.gifts.size() == limit) page.next = page.gifts.back().transaction.id;
    return page;
  });
}

std::vector<SentPosition> GiftRequests::list_latest(const GiftFilter& filter, SentPosition below,
                                                    std::size_t limit) {
  sql::Conditions condition = sent_below("t.", below);
  add_filter(condition, database_->dialect(), filter);
  return database_->read([&](soci::session& session) {
    std::vector<SentPosition> found;
    sql::PreparedQuery row(session, latest_gifts_query(condition.text, limit), condition.names);
    row.each_row(condition.values, [&] {
      found.push_back({{row.integer(0)}, TransactionId{row.integer(1)}});
    });
    return found;
  });
}

LatestGifts GiftRequests::search_latest(const GiftFilter& filter, SentPosition below) {
  return database_->read([&](soci::session& session) {
    LatestGifts found;
    GiftFilter within = filter;
    found.next = end_of_sent(session, below, filter.status ? std::nullopt : filter.since, kSearchedAtOnce,
                             filter.test);
    sql::Conditions condition = sent_below("t.", below);
    if (found.next) {
      condition.add("(t.sent_at, t.id) >= (:sent_end, :id_end)", "sent_end",
                    std::to_string(found.next->sent_at.value));
      condition.bind("id_end", std::to_string(found.next->id.value));
      // The end is later; with both, the search may begin each time at the earlier of them.
      if (!filter.status) within.since.reset();
    }
    add_filter(condition, session, within);
    sql::PreparedQuery row(session, gifts_query(condition.text + " ORDER BY t.sent_at DESC, t.id DESC"),
                           condition.names);
    row.each_row(condition.values, [&] { found.gifts.push_back(gift_in(row)); });
    return found;
  });
}

std::optional<UtcMillis> GiftRequests::sent_at_of_latest(std::size_t count) {
  return database_->read([&](soci::session& session) {
    return sql::first_of(sql::select_column<UtcMillis>(session, sent_at_of_latest_query(count)));
  });
}

}  // namespace giftsync::store
