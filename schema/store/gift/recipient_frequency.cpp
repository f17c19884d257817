#include "schema/store/gift/recipient_frequency.h"

#include <algorithm>
#include <set>

#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "schema/sql/queries.h"
#include "schema/store/gift/gift_rows.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

/// Whose gifts count together: those of an organization, of accounts without one (0), or all.
constexpr std::int64_t kAll = -1;

std::int64_t scope_of(const FrequencyRule& rule, const FrequencyRequest& request) {
  return rule.within_organization ? request.organization.value : kAll;
}

bool is_of(const FrequencyRequest& request, TransactionId gift) {
  const auto count = static_cast<std::int64_t>(request.emails.size());
  return request.made && gift >= *request.made && gift.value < request.made->value + count;
}

/// An address among the gifts that count for the request.
std::string gifts_key(const std::string& address_key, bool is_test) {
  return is_test ? "test " + address_key : address_key;
}

/// The next statement sees what the transactions before committed.
void lock_scopes(soci::session& session, const std::set<std::int64_t>& scopes) {
  if (sql::Dialect(session) == sql::Dialect::sqlite) return;
  const std::string list = sql::list_of(session, scopes);
  // Two organizations may share a lock. In one order for all daemons.
  sql::select_value<std::int64_t>(
      session,
      "SELECT count(pg_advisory_xact_lock(7208292, slot)) FROM (SELECT DISTINCT cast(id % 1000000 AS int) AS "
      "slot FROM unnest(cast(:scopes AS bigint[])) AS given (id) ORDER BY slot) slots",
      use(list));
}

}  // namespace

std::string recent_gifts_query(sql::Dialect dialect, bool is_test) {
  const std::string newest = " FROM recipient_transaction u WHERE " + address_key(dialect, "u.email") +
                             " = k.value AND u.is_test = " + (is_test ? "1" : "0") +
                             " ORDER BY u.id DESC LIMIT " + std::to_string(RecipientFrequency::kMaxGifts);
  const std::string gifts =
      dialect == sql::Dialect::sqlite
          ? "json_each(:keys) k CROSS JOIN recipient_transaction t ON t.id IN (SELECT u.id" + newest + ")"
          : "unnest(cast(:keys AS text[])) AS k (value) CROSS JOIN LATERAL (SELECT u.id, u.sent_at, "
            "u.resent_at, "
            "u.status, "
            "u.gift_source, u.request_id" +
                newest + ") t";
  const std::string last_sent_at = "CASE WHEN t.resent_at > t.sent_at THEN t.resent_at ELSE t.sent_at END";
  return "SELECT k.value, t.id, " + last_sent_at +
         ", coalesce(r.organization_id, 0), CASE WHEN t.gift_source = '' THEN 0 "
         "ELSE "
         "1 END FROM " +
         gifts + " JOIN gift_request r ON r.id = t.request_id WHERE " + last_sent_at +
         " > :since AND t.status NOT IN "
         "('refunded', 'undelivered')";
}

RecipientFrequency::RecipientFrequency(soci::session& session, const FrequencyRule& rule,
                                       std::span<const FrequencyRequest> requests, Use use)
    : rule_(rule) {
  if (rule_.gifts == 0 || requests.empty()) return;
  std::set<std::int64_t> scopes;
  for (const FrequencyRequest& request : requests) scopes.insert(scope_of(rule_, request));
  if (use == Use::to_create) lock_scopes(session, scopes);
  for (const bool is_test : {false, true}) read(session, requests, is_test);
}

void RecipientFrequency::read(soci::session& session, std::span<const FrequencyRequest> requests,
                              bool is_test) {
  std::map<std::string, std::string> keys;  // by each form that a stored address may have
  UtcMillis since = requests.front().at;
  for (const FrequencyRequest& request : requests) {
    if (request.is_test != is_test) continue;
    since = std::min(since, request.at);
    for (const std::string& email : request.emails) {
      const std::string key = email_key(email);
      if (key.empty()) continue;
      keys.emplace(key, key);
      keys.emplace(email_key_in_unicode(key), key);
      keys.emplace(ascii_lower(trimmed(email)), key);  // gifts of earlier versions
      const std::string mark = rule_.mark_of ? rule_.mark_of(key) : std::string();
      if (!mark.empty()) keys.emplace(mark, key);
    }
  }
  if (keys.empty()) return;
  since = since - rule_.days * kDayMillis;
  std::vector<std::string> forms;
  for (const auto& [form, key] : keys) forms.push_back(form);
  const std::string list = sql::list_of(session, forms);
  std::string form;
  CountedGift gift;
  soci::statement statement = sql::bound(
      session, recent_gifts_query(session, is_test), soci::use(list, "keys"), soci::use(since, "since"),
      into(form), into(gift.id), into(gift.sent_at), into(gift.organization), into(gift.is_sent_elsewhere));
  sql::each_row(statement, [&] { gifts_[gifts_key(keys.at(form), is_test)].push_back(gift); });
}

std::vector<UtcMillis> RecipientFrequency::times_of(const std::string& key,
                                                    const FrequencyRequest& request) const {
  std::vector<UtcMillis> times;
  const auto found = gifts_.find(gifts_key(key, request.is_test));
  if (found == gifts_.end()) return times;
  const UtcMillis since = request.at - rule_.days * kDayMillis;
  for (const CountedGift& gift : found->second) {
    const bool is_in_scope =
        !rule_.within_organization || gift.is_sent_elsewhere || gift.organization == request.organization;
    if (is_in_scope && !is_of(request, gift.id) && gift.sent_at > since) times.push_back(gift.sent_at);
  }
  std::ranges::sort(times);
  return times;
}

std::vector<RecentRecipient> RecipientFrequency::beyond_limit(const FrequencyRequest& request) const {
  std::vector<RecentRecipient> beyond;
  if (rule_.gifts == 0) return beyond;
  std::vector<std::string> keys;
  std::map<std::string, std::int64_t> requested;
  for (const std::string& email : request.emails) ++requested[keys.emplace_back(email_key(email))];
  std::map<std::string, std::vector<UtcMillis>> times_by_key;
  for (const auto& [key, count] : requested) times_by_key.emplace(key, times_of(key, request));
  std::map<std::string, std::int64_t> taken;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string& key = keys[i];
    if (key.empty()) continue;
    const std::vector<UtcMillis>& times = times_by_key[key];
    const auto gifts = static_cast<std::int64_t>(times.size());
    if (gifts + ++taken[key] <= rule_.gifts) continue;
    RecentRecipient& recipient =
        beyond.emplace_back(RecentRecipient{i, request.emails[i], gifts, {}, requested[key]});
    recipient.limit = rule_.gifts;
    recipient.days = rule_.days;
    recipient.holds = rule_.holds;
    if (!times.empty()) recipient.newest_at = times.back();
    if (requested[key] > rule_.gifts) continue;
    const std::int64_t leaving = gifts + requested[key] - rule_.gifts;
    recipient.fits_at = times[static_cast<std::size_t>(leaving - 1)] + rule_.days * kDayMillis;
  }
  return beyond;
}

void RecipientFrequency::add(const FrequencyRequest& request) {
  if (rule_.gifts == 0) return;
  for (const std::string& email : request.emails)
    gifts_[gifts_key(email_key(email), request.is_test)].push_back(
        {request.at, {}, request.organization, false});
}

}  // namespace giftsync::store
