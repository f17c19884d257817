// schema/store: how gift requests and recipient transactions are read from their rows. Included by this
// folder's .cpp files only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/sql/soci_types.h"
#include "schema/store/gift_ledger.h"

namespace giftsync::schema::sql {

/// The columns of gift_request r, and the variables they are fetched into.
class RequestRow {
 public:
  static constexpr std::string_view kColumns =
      "r.id, r.account_id, r.mode, r.gift_id, r.item_name, r.item_description, r.item_cost, r.shipping_cost, "
      "r.carbon_neutral_cost, r.transaction_fee, r.sender_email, r.sender_name, r.utm_campaign_id, "
      "r.triggered_by, r.created_at, r.terms";
  void bind(soci::statement& statement) {
    statement.exchange(soci::into(row_.id));
    statement.exchange(soci::into(row_.account));
    statement.exchange(soci::into(mode_));
    statement.exchange(soci::into(row_.gift));
    statement.exchange(soci::into(row_.item_name));
    statement.exchange(soci::into(row_.item_description));
    statement.exchange(soci::into(row_.costs.item));
    statement.exchange(soci::into(row_.costs.shipping));
    statement.exchange(soci::into(row_.costs.carbon_neutral));
    statement.exchange(soci::into(row_.costs.transaction_fee));
    statement.exchange(soci::into(row_.sender_email));
    statement.exchange(soci::into(row_.sender_name));
    statement.exchange(soci::into(row_.utm_campaign_id));
    statement.exchange(soci::into(row_.triggered_by));
    statement.exchange(soci::into(row_.created_at));
    statement.exchange(soci::into(row_.terms));
  }
  GiftRequest value() const {
    GiftRequest request = row_;
    request.mode = send_mode_from_word(mode_).value_or(SendMode::email);
    return request;
  }

 private:
  GiftRequest row_;
  std::string mode_;
};

/// The columns of recipient_transaction t, and the variables they are fetched into.
class TransactionRow {
 public:
  static constexpr std::string_view kColumns =
      "t.id, t.email, t.first_name, t.last_name, t.message, t.generation, t.status, t.version, t.sent_at, "
      "t.delivered_at, t.undelivered_at, t.opened_at, t.redeemed_at, t.donated_at, t.expired_at, "
      "t.refunded_at, t.contradictory, t.phone, t.origin, t.untimed_status, t.due_at, "
      "t.resent_at, t.reminded_day";
  void bind(soci::statement& statement) {
    statement.exchange(soci::into(row_.id));
    statement.exchange(soci::into(row_.email));
    statement.exchange(soci::into(row_.first_name));
    statement.exchange(soci::into(row_.last_name));
    statement.exchange(soci::into(row_.message));
    statement.exchange(soci::into(generation_));
    statement.exchange(soci::into(status_));
    statement.exchange(soci::into(version_));
    for (const Status status : kAllStatuses) statement.exchange(soci::into(row_.times[status]));
    statement.exchange(soci::into(contradictory_));
    statement.exchange(soci::into(row_.phone));
    statement.exchange(soci::into(row_.origin));
    statement.exchange(soci::into(untimed_status_));
    statement.exchange(soci::into(row_.due_at));
    statement.exchange(soci::into(row_.resent_at));
    statement.exchange(soci::into(reminded_day_));
  }
  RecipientTransaction value() const {
    RecipientTransaction transaction = row_;
    transaction.generation = generation_;
    transaction.status = status_from_word(status_).value_or(Status::sent);
    transaction.version = version_;
    transaction.contradictory = contradictory_ != 0;
    transaction.untimed_status = status_from_word(untimed_status_);
    transaction.reminded_day = reminded_day_;
    return transaction;
  }

 private:
  RecipientTransaction row_;
  std::string status_;
  std::string untimed_status_;
  long long generation_ = 0;
  long long version_ = 0;
  long long contradictory_ = 0;
  long long reminded_day_ = 0;
};

inline std::vector<std::int64_t> values_of(std::span<const TransactionId> ids) {
  std::vector<std::int64_t> values;
  values.reserve(ids.size());
  for (const TransactionId id : ids) values.push_back(id.value);
  return values;
}

}  // namespace giftsync::schema::sql
