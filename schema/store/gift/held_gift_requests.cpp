#include "schema/store/gift/held_gift_requests.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "platform/strict_json.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "schema/sql/record_rows.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/statements/bounded_count.h"
#include "schema/store/statements/claims.h"
#include "schema/store/statements/feed_marks.h"
#include "schema/store/statements/word_conversions.h"

namespace giftsync::store {
namespace {

using soci::use;

constexpr std::size_t kMaxExpired = 500;
constexpr std::size_t kSearchedAtOnce = 5000;

/// The id that many requests after `after`; nothing if there are fewer.
std::optional<GiftRequestId> end_of_search(soci::session& session, GiftRequestId after) {
  return sql::first_of(sql::select_column<GiftRequestId>(
      session, "SELECT request_id FROM held_gift_request WHERE request_id > " + std::to_string(after.value) +
                   " ORDER BY request_id LIMIT 1 OFFSET " + std::to_string(kSearchedAtOnce - 1)));
}

/// A tabulator or line break would be read as the end of a part.
std::string on_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::string cut_before(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  std::string part(text.substr(0, at));
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

void add_member(std::string& json, std::string_view name, std::string_view text) {
  if (json.back() != '{') json += ',';
  json.append("\"").append(name).append("\":").append(sql::json_text(text));
}

std::string_view domain_of(std::string_view address_key) {
  const std::size_t at = address_key.rfind('@');
  return at == std::string_view::npos ? std::string_view() : address_key.substr(at + 1);
}

std::string in_unicode(const std::string& domain) {
  return std::string(domain_of(email_key_in_unicode("@" + domain)));
}

/// The waiting request becomes `state`; false when it does not wait any more. An approval may not come after
/// its end, though no worker has expired it yet.
bool decide(soci::session& session, const HeldDecision& decision, HeldState state, UtcMillis now) {
  const std::string word(to_word(state));
  const std::string in_time = state == HeldState::sent ? " AND expires_at > :now" : "";
  if (sql::change_rows(session,
                       "UPDATE held_gift_request SET state = :state, decided_at = :now, decided_by = :who, "
                       "comment = :comment WHERE request_id = :id AND state = 'held'" +
                           in_time,
                       use(word, "state"), use(now, "now"), use(decision.who, "who"),
                       use(decision.comment, "comment"), use(decision.request, "id")) == 0)
    return false;
  const std::int64_t id = decision.request.value;
  mark_for_feed(session, FeedMarkKind::held_request, std::span(&id, 1), feed_reason::kChanged, now);
  insert_audit_event(session, decision.audit);
  return true;
}

}  // namespace

std::string findings_text(std::span<const HoldReason> reasons) {
  std::string text;
  for (const HoldReason& reason : reasons)
    text += on_one_line(reason.code) + '\t' + on_one_line(reason.field) + '\t' + on_one_line(reason.message) +
            '\n';
  return text;
}

std::vector<HoldReason> reasons_of(const HeldGiftRequest& held) {
  std::vector<HoldReason> reasons;
  for (std::string_view rest = held.findings; !rest.empty();) {
    const std::string line = cut_before(rest, '\n');
    std::string_view parts = line;
    HoldReason& reason = reasons.emplace_back();
    reason.code = cut_before(parts, '\t');
    reason.field = cut_before(parts, '\t');
    reason.message = parts;
  }
  return reasons;
}

std::string content_of(const NewGiftRequest& request) {
  std::string json = "{";
  if (request.request.utm_campaign_id) add_member(json, "utm_campaign_id", *request.request.utm_campaign_id);
  if (!request.request.reference.empty()) add_member(json, "reference", request.request.reference);
  add_member(json, "triggered_by", request.request.triggered_by);
  add_member(json, "http_request_id", request.request.http_request_id);
  add_member(json, "warnings", request.warnings);
  json += ",\"recipients\":[";
  for (const NewRecipient& to : request.recipients) {
    json += json.back() == '[' ? "{" : ",{";
    add_member(json, "email", to.email);
    add_member(json, "first_name", to.first_name);
    add_member(json, "last_name", to.last_name);
    add_member(json, "message", to.message);
    if (!to.reference.empty()) add_member(json, "reference", to.reference);
    json += '}';
  }
  return json + "]}";
}

std::optional<NewGiftRequest> request_in(const HeldGiftRequest& held) {
  const auto document = parse_json(held.content);
  if (!document) return std::nullopt;
  const JsonValue& root = document->root();
  NewGiftRequest request;
  request.request.account = held.account;
  request.request.mode = held.mode;
  request.request.gift = held.gift;
  request.request.credential_prefix = held.credential_prefix;
  if (root.find("utm_campaign_id") != nullptr)
    request.request.utm_campaign_id = std::string(root.text_of("utm_campaign_id"));
  request.request.reference = root.text_of("reference");
  request.request.triggered_by = root.text_of("triggered_by");
  request.request.http_request_id = root.text_of("http_request_id");
  request.warnings = root.text_of("warnings");
  const JsonValue* recipients = root.find("recipients");
  if (recipients == nullptr || recipients->elements().empty()) return std::nullopt;
  for (const JsonValue& to : recipients->elements())
    request.recipients.push_back({std::string(to.text_of("email")), std::string(to.text_of("first_name")),
                                  std::string(to.text_of("last_name")), std::string(to.text_of("message")),
                                  std::string(to.text_of("reference"))});
  return request;
}

HeldGiftRequest held_row(GiftRequestId id, const NewGiftRequest& request, std::span<const HoldReason> reasons,
                         UtcMillis expires_at) {
  HeldGiftRequest row;
  row.id = id;
  row.account = request.request.account;
  row.organization = request.request.organization;
  row.mode = request.request.mode;
  row.gift = request.request.gift;
  row.credential_prefix = request.request.credential_prefix;
  row.content = content_of(request);
  row.gifts = static_cast<std::int64_t>(request.recipients.size());
  if (request.request.costs.item) row.amount = price_of_gifts(request.request.costs.total(), row.gifts);
  row.findings = findings_text(reasons);
  row.held_at = request.request.created_at;
  row.expires_at = expires_at;
  return row;
}

std::string held_test_condition(bool is_test) {
  return std::string("substr(credential_prefix, 1, 9) ") + (is_test ? "=" : "<>") + " '" +
         std::string(kTestKeyPrefix) + "'";
}

std::string held_columns_without_content() {
  return sql::select_list(kHeldGiftRequestFields, "",
                          [](const auto& column_field, const std::string& column) {
                            return column_field.column == "content" ? std::string("''") : column;
                          });
}

void insert_held(soci::session& session, std::span<const HeldGiftRequest> held) {
  sql::BulkInsert rows(session, kHeldGiftRequestFields.table, sql::bulk_columns(kHeldGiftRequestFields));
  std::vector<std::int64_t> ids;
  for (const HeldGiftRequest& row : held) {
    rows.add(sql::cells_of(kHeldGiftRequestFields, row));
    ids.push_back(row.id.value);
  }
  rows.run(session);
  if (!held.empty())
    mark_for_feed(session, FeedMarkKind::held_request, ids, feed_reason::kMade, held.front().held_at);
}

bool approve_held(soci::session& session, const HeldDecision& decision, UtcMillis now) {
  return decide(session, decision, HeldState::sent, now);
}

std::optional<HeldGiftRequest> HeldGiftRequests::find(GiftRequestId id) {
  return database_->read([&](soci::session& session) {
    return sql::first_of(
        sql::find_records(kHeldGiftRequestFields, session, "WHERE request_id = :id", use(id, "id")));
  });
}

std::vector<HeldGiftRequest> HeldGiftRequests::list(const HeldFilter& filter, GiftRequestId after,
                                                    std::size_t limit) {
  std::string rows = "SELECT " + held_columns_without_content() + " FROM held_gift_request WHERE " +
                     held_test_condition(filter.test);
  if (filter.state) rows += " AND state = '" + std::string(to_word(*filter.state)) + "'";
  if (filter.organization)
    rows += *filter.organization ? " AND organization_id = " + std::to_string((*filter.organization)->value)
                                 : " AND organization_id IS NULL";
  // LIKE would ignore the case on SQLite.
  rows += " AND substr(credential_prefix, 1, length(cast(:prefix AS text))) = :prefix AND request_id > ";
  std::vector<HeldGiftRequest> found;
  for (std::optional from = after; from && found.size() < limit;) {
    auto [last, some] = database_->read([&](soci::session& session) {
      // An index finds those that wait.
      const auto end = filter.state == HeldState::held ? std::nullopt : end_of_search(session, *from);
      return std::pair(
          end, sql::select_records(kHeldGiftRequestFields, session,
                                   rows + std::to_string(from->value) +
                                       (end ? " AND request_id <= " + std::to_string(end->value) : "") +
                                       " ORDER BY request_id LIMIT " + std::to_string(limit - found.size()),
                                   use(filter.credential_prefix, "prefix")));
    });
    std::ranges::move(some, std::back_inserter(found));
    from = last;
  }
  return found;
}

std::int64_t HeldGiftRequests::count_waiting() {
  return database_->read([](soci::session& session) {
    return sql::select_value<std::int64_t>(
        session, "SELECT count(*) FROM (SELECT 1 FROM held_gift_request WHERE state = 'held' AND " +
                     held_test_condition(false) + " LIMIT " + std::to_string(kMaxCounted + 1) + ") waiting");
  });
}

bool HeldGiftRequests::reject(const HeldDecision& decision, UtcMillis now) {
  return database_->write(
      [&](soci::session& session) { return decide(session, decision, HeldState::rejected, now); });
}

std::vector<GiftRequestId> HeldGiftRequests::expire(UtcMillis now) {
  const auto has_ended = [&](soci::session& session) {
    return sql::has_row(session, "held_gift_request WHERE state = 'held' AND expires_at <= :now",
                        use(now, "now"));
  };
  if (!database_->read(has_ended)) return {};
  return database_->write([&](soci::session& session) {
    std::vector<GiftRequestId> expired;
    std::pair<GiftRequestId, std::optional<OrganizationId>> row;
    const auto ended = sql::select_rows(
        row, session,
        "SELECT request_id, organization_id FROM held_gift_request WHERE state = 'held' AND expires_at <= "
        ":now ORDER BY request_id LIMIT " +
            std::to_string(kMaxExpired) + for_update(session),
        use(now, "now"), soci::into(row.first), soci::into(row.second));
    for (const auto& [id, organization] : ended) {
      AuditEvent event;
      event.occurred_at = now;
      event.actor_kind = ActorKind::system;
      event.actor = "giftsync";
      event.action = "held.expire";
      event.object_kind = "held";
      event.object_id = std::to_string(id.value);
      event.organization = organization;
      if (decide(session, {id, "giftsync", "", event}, HeldState::expired, now)) expired.push_back(id);
    }
    return expired;
  });
}

void HeldGiftRequests::empty_contents(UtcMillis before) {
  const std::string rows = "held_gift_request WHERE content <> '' AND decided_at < :before";
  if (!database_->read(
          [&](soci::session& session) { return sql::has_row(session, rows, use(before, "before")); }))
    return;
  database_->write([&](soci::session& session) {
    session << "UPDATE held_gift_request SET content = '' WHERE content <> '' AND decided_at < :before",
        use(before, "before");
  });
}

std::string RecipientDomains::first_new(std::span<const NewRecipient> recipients) {
  std::vector<std::string> domains;
  for (const NewRecipient& to : recipients) domains.emplace_back(domain_of(email_key(to.email)));
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(domains, [&](const std::string& domain) { return known_.contains(domain); });
  }
  if (domains.empty()) return {};
  // Those of gifts from before this table have the form of the gifts' addresses.
  std::vector<std::string> forms = domains;
  for (const std::string& domain : domains) forms.push_back(in_unicode(domain));
  const std::string list = sql::list_of(database_->dialect(), forms);
  const auto stored = database_->read([&](soci::session& session) {
    return sql::select_column<std::string>(
        session, "SELECT domain FROM recipient_domain WHERE " + sql::in_list(session, "domain", "list", true),
        use(list, "list"));
  });
  const std::set<std::string> found(stored.begin(), stored.end());
  const auto is_new = [&](const std::string& domain) {
    return !found.contains(domain) && !found.contains(in_unicode(domain));
  };
  const auto first = std::ranges::find_if(domains, is_new);
  std::string first_new = first == domains.end() ? std::string() : *first;
  std::erase_if(domains, is_new);
  remember({domains.begin(), domains.end()});
  return first_new;
}

std::set<std::string> RecipientDomains::unknown_of(std::span<const NewGiftRequest* const> requests) {
  std::set<std::string> domains;
  const std::lock_guard lock(mutex_);
  for (const NewGiftRequest* request : requests) {
    for (const NewRecipient& to : request->recipients) {
      // Most domains are known as they are written, so no key is made for them.
      if (known_.contains(domain_of(to.email))) continue;
      const std::string key = email_key(to.email);
      if (!known_.contains(domain_of(key))) domains.emplace(domain_of(key));
    }
  }
  return domains;
}

void RecipientDomains::remember(const std::set<std::string>& inserted) {
  const std::lock_guard lock(mutex_);
  if (known_.size() + inserted.size() > kMaxKnown) known_.clear();
  known_.insert(inserted.begin(), inserted.end());
}

}  // namespace giftsync::store
