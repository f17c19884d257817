#include "schema/store/event/feed.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "schema/enums.h"
#include "schema/sql/prepared_query.h"
#include "schema/sql/record_rows.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/gift/held_gift_requests.h"
#include "schema/store/statements/bounded_queries.h"
#include "schema/store/statements/claims.h"
#include "schema/store/statements/feed_marks.h"
#include "schema/store/statements/metadata.h"

namespace giftsync {
namespace {

using Type = FeedEventType;
constexpr auto kTypes = enum_words<Type>({{Type::gift_sent, "gift.sent"},
                                          {Type::gift_delivered, "gift.delivered"},
                                          {Type::gift_undelivered, "gift.undelivered"},
                                          {Type::gift_opened, "gift.opened"},
                                          {Type::gift_redeemed, "gift.redeemed"},
                                          {Type::gift_donated, "gift.donated"},
                                          {Type::gift_expired, "gift.expired"},
                                          {Type::gift_refunded, "gift.refunded"},
                                          {Type::gift_updated, "gift.updated"},
                                          {Type::gift_request_held, "gift_request.held"},
                                          {Type::gift_request_sent, "gift_request.sent"},
                                          {Type::gift_request_rejected, "gift_request.rejected"},
                                          {Type::gift_request_expired, "gift_request.expired"},
                                          {Type::request_record_pending, "request_record.pending"},
                                          {Type::request_record_approved, "request_record.approved"},
                                          {Type::request_record_rejected, "request_record.rejected"},
                                          {Type::request_record_sent, "request_record.sent"},
                                          {Type::request_record_failed, "request_record.failed"}});

}  // namespace

std::string_view to_word(FeedEventType type) {
  return kTypes.word_of(type);
}

std::optional<FeedEventType> feed_event_type_from_word(std::string_view word) {
  return kTypes.parse(word);
}

std::vector<FeedEventType> feed_event_types_of(std::string_view word_or_pattern) {
  std::vector<FeedEventType> found;
  const bool is_pattern = word_or_pattern.ends_with(".*");
  const std::string_view kind = word_or_pattern.substr(0, word_or_pattern.size() - (is_pattern ? 1 : 0));
  for (std::size_t i = 0; i < kFeedEventTypes; ++i) {
    const auto type = static_cast<FeedEventType>(i);
    if (is_pattern ? to_word(type).starts_with(kind) : to_word(type) == kind) found.push_back(type);
  }
  return found;
}

}  // namespace giftsync

template <>
struct soci::type_conversion<giftsync::FeedEventType>
    : giftsync::sql::WordConversion<giftsync::FeedEventType, giftsync::feed_event_type_from_word,
                                    giftsync::FeedEventType::gift_updated> {};

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

constexpr const char* kFeedFact = "feed";
/// No statement reads more events than that for a type or an account that few of them have.
constexpr std::int64_t kScannedEvents = 5'000;

/// An epoch that began beside another daemon begins once more after that: each daemon looks several times
/// meanwhile whether the feed is as its settings say.
constexpr std::int64_t kProvisionalMillis = kMinuteMillis;
constexpr const char* kOn = "on";
constexpr const char* kProvisional = "provisional";

/// What the store's metadata say.
struct StoredFeed {
  FeedState state = {};
  /// It was switched on beside another daemon. One whose feed is off switches it off, but may have ended
  /// before that, with changes that have no marks.
  bool is_provisional = false;
};

/// "on 1796043483 1 1796043483123": whether it is on, the epoch, its first number, when it began.
StoredFeed stored_feed(soci::session& session) {
  StoredFeed feed;
  FeedState& state = feed.state;
  std::istringstream text(read_metadata(session, kFeedFact).value_or(""));
  std::string word;
  text >> word >> state.epoch >> state.first >> state.began_at.value;
  feed.is_provisional = word == kProvisional;
  state.is_on = feed.is_provisional || word == kOn;
  return feed;
}

FeedState stored_state(soci::session& session) {
  return stored_feed(session).state;
}

UtcMillis clock_of(soci::session& session) {
  return sql::select_value<UtcMillis>(session, "SELECT " + std::string(sql::database_now(session)));
}

bool has_to_begin_again(soci::session& session, const StoredFeed& feed) {
  return feed.is_provisional && feed.state.began_at + kProvisionalMillis <= clock_of(session);
}

/// Also this one before its start or reload: changes that it began then may be in progress.
bool has_seen_daemons(soci::session& session) {
  const UtcMillis since = clock_of(session) - 2 * kProvisionalMillis;
  return sql::has_row(session, "daemon_instance WHERE last_seen_at > :since", use(since));
}

std::int64_t latest_seq(soci::session& session) {
  return sql::select_value<std::int64_t>(session, "SELECT next_id FROM id_block WHERE name = 'feed_event'") -
         1;
}

FeedState whole_state(soci::session& session) {
  FeedState state = stored_state(session);
  state.latest = latest_seq(session);
  const auto oldest = sql::first_of(sql::select_column<std::int64_t>(
      session, "SELECT seq FROM feed_event WHERE seq >= :first ORDER BY seq LIMIT 1", use(state.first)));
  state.oldest = oldest.value_or(state.latest + 1);
  return state;
}

void write_feed(soci::session& session, const StoredFeed& feed) {
  const FeedState& state = feed.state;
  write_metadata(session, kFeedFact,
                 std::string(!state.is_on          ? "off"
                             : feed.is_provisional ? kProvisional
                                                   : kOn) +
                     " " + std::to_string(state.epoch) + " " + std::to_string(state.first) + " " +
                     std::to_string(state.began_at.value));
}

/// Another transaction that allots numbers waits until this transaction has ended.
std::int64_t lock_numbers(soci::session& session) {
  session << "UPDATE id_block SET next_id = next_id WHERE name = 'feed_event'";
  return latest_seq(session);
}

/// Epochs are times, so that a store that was restored from a backup begins none that it has begun before.
void begin_epoch(soci::session& session, FeedState& state) {
  const UtcMillis now = clock_of(session);
  state.epoch = std::max(state.epoch + 1, now.value / kSecondMillis);
  state.first = lock_numbers(session) + 1;
  state.began_at = now;
}

/// Ends when every change that began before has been committed: it may have no mark.
void wait_for_unmarked_changes(soci::session& session) {
  if (sql::Dialect(session) == sql::Dialect::sqlite) return;  // this transaction is alone
  session << "LOCK TABLE crm_outbox IN SHARE MODE";
}

/// The marked gifts, of those ids; the reasons by id.
std::vector<MarkedGift> read_marked(soci::session& session,
                                    const std::unordered_map<std::int64_t, std::int64_t>& reasons,
                                    const std::vector<std::int64_t>& ids) {
  std::vector<MarkedGift> gifts;
  const std::string list = sql::list_of(session, ids);
  sql::PreparedQuery row(session,
                         "SELECT " + kGiftColumns +
                             ", t.published FROM recipient_transaction t JOIN gift_request r ON r.id = "
                             "t.request_id WHERE " +
                             sql::in_list(session, "t.id", "list", false) + " ORDER BY t.id");
  row.each_row({list}, [&] {
    MarkedGift& gift = gifts.emplace_back(MarkedGift{gift_in(row)});
    const std::int64_t why = reasons.at(gift.gift.transaction.id.value);
    gift.was_made = (why & feed_reason::kMade) != 0;
    gift.is_silent = (why & feed_reason::kSilent) != 0;
    gift.published = published_state_from(row.text(kGiftColumnCount));
  });
  return gifts;
}

/// Reads what the gifts have come to. Their marks are locked, so that each change that has none of its own is
/// committed and seen here.
void read_spans(soci::session& session, std::vector<MarkedGift>& gifts) {
  std::unordered_map<TransactionId, MarkedGift*> by_id;
  std::vector<TransactionId> ids;
  std::vector<TransactionId> older;
  for (MarkedGift& gift : gifts) {
    const TransactionId id = gift.gift.transaction.id;
    by_id.emplace(id, &gift);
    ids.push_back(id);
    if (!gift.published && !gift.was_made) older.push_back(id);
  }
  for (const ChangeSpan& span : select_spans(session, ids)) by_id.at(span.transaction)->spans.push_back(span);
  if (older.empty()) return;
  const std::string began = std::to_string(stored_state(session).began_at.value);
  sql::PreparedQuery row(session, spans_query(sql::in_list(session, "c.transaction_id", "list", false) +
                                              " AND c.received_at < " + began));
  row.each_row({sql::list_of(session, older)}, [&] {
    const ChangeSpan span = span_in(row, 0);
    by_id.at(span.transaction)->former_spans.push_back(span);
  });
}

/// Saves what was published of gifts whose row has the state already.
std::vector<std::int64_t> save_published(soci::session& session, const std::vector<MarkedGift>& gifts,
                                         const std::vector<GiftPublication>& made,
                                         const std::vector<std::size_t>& which) {
  sql::BulkRows rows(session, {{"id", sql::BulkRows::Type::integer},
                               {"version", sql::BulkRows::Type::integer},
                               {"published", sql::BulkRows::Type::text}});
  for (const std::size_t i : which) {
    const RecipientTransaction& transaction = gifts[i].gift.transaction;
    const std::string text = to_text(made[i].published);
    rows.add({transaction.id.value, transaction.version, std::string_view(text)});
  }
  if (rows.empty()) return {};
  const std::string update = "UPDATE recipient_transaction AS t SET published = ";
  return rows.run_returning_keys(session, update + ":published WHERE id = :id AND version = :version",
                                 update + "input_row.published FROM " + rows.as_table() +
                                     " WHERE t.id = input_row.id AND t.version = input_row.version RETURNING "
                                     "t.id");
}

void delete_marks(soci::session& session, FeedMarkKind kind, const std::vector<std::int64_t>& objects) {
  if (objects.empty()) return;
  const std::string list = sql::list_of(session, objects);
  session << "DELETE FROM feed_queue WHERE kind = " + std::to_string(static_cast<std::int64_t>(kind)) +
                 " AND " + sql::in_list(session, "object_id", "ids", false),
      use(list);
}

/// The last statements of a transaction: see publish_gifts.
void insert_events(soci::session& session, std::vector<FeedEvent>& events) {
  if (events.empty()) return;
  const auto count = static_cast<std::int64_t>(events.size());
  session << "UPDATE id_block SET next_id = next_id + :count WHERE name = 'feed_event'", use(count);
  std::pair<std::int64_t, UtcMillis> next;
  const auto found = sql::select_rows(next, session,
                                      "SELECT next_id, " + std::string(sql::database_now(session)) +
                                          " FROM id_block WHERE name = 'feed_event'",
                                      into(next.first), into(next.second));
  const auto last_at = sql::first_of(
      sql::select_column<UtcMillis>(session, "SELECT recorded_at FROM feed_event ORDER BY seq DESC LIMIT 1"));
  std::int64_t seq = found.at(0).first - count;
  const UtcMillis now = std::max(found.at(0).second, last_at.value_or(UtcMillis{0}));
  sql::BulkInsert rows(session, kFeedEventFields.table, sql::bulk_columns(kFeedEventFields));
  for (FeedEvent& event : events) {
    event.seq = seq++;
    event.recorded_at = now;
    rows.add(sql::cells_of(kFeedEventFields, event));
  }
  rows.run(session);
}

/// The marks of one kind.
struct TakenMarks {
  std::vector<std::int64_t> ids = {};  ///< ascending
  std::unordered_map<std::int64_t, std::int64_t> reasons = {};
};

/// Locks marks that no other transaction holds. Who changes such an object waits until this transaction has
/// ended, and then makes another mark.
TakenMarks take_marks(soci::session& session, FeedMarkKind kind, std::int64_t after, std::size_t limit) {
  TakenMarks marks;
  std::pair<std::int64_t, std::int64_t> row;
  for (const auto& [id, reasons] :
       sql::select_rows(row, session,
                        "SELECT object_id, reasons FROM feed_queue WHERE kind = " +
                            std::to_string(static_cast<std::int64_t>(kind)) +
                            " AND object_id > :after ORDER BY object_id LIMIT " + std::to_string(limit) +
                            for_update(session, " SKIP LOCKED"),
                        use(after), into(row.first), into(row.second))) {
    marks.ids.push_back(id);
    marks.reasons.emplace(id, reasons);
  }
  return marks;
}

/// The gifts whose rows have to be written, split by how; and of those that need no write, which.
struct PublicationPlan {
  std::vector<FoldedState> folds = {};
  std::vector<std::size_t> published = {};
  std::vector<std::int64_t> written = {};
};

PublicationPlan plan_of(const std::vector<MarkedGift>& gifts, const std::vector<GiftPublication>& made) {
  PublicationPlan plan;
  for (std::size_t i = 0; i < gifts.size(); ++i) {
    const std::int64_t id = gifts[i].gift.transaction.id.value;
    if (made[i].folded) {
      plan.folds.push_back(*made[i].folded);
      plan.folds.back().published = to_text(made[i].published);
      plan.written.push_back(id);
    } else if (gifts[i].published != made[i].published) {
      plan.published.push_back(i);
      plan.written.push_back(id);
    }
  }
  return plan;
}

/// Writes what the plan says of gifts that are free, and removes the others from it; returns those whose row
/// another transaction holds or has changed since it was read.
std::unordered_set<std::int64_t> write_rows(soci::session& session, const std::vector<MarkedGift>& gifts,
                                            const std::vector<GiftPublication>& made, PublicationPlan& plan) {
  const std::unordered_set<std::int64_t> free = lock_free_gifts(session, plan.written);
  std::erase_if(plan.folds,
                [&](const FoldedState& state) { return !free.contains(state.transaction.value); });
  std::erase_if(plan.published,
                [&](std::size_t i) { return !free.contains(gifts[i].gift.transaction.id.value); });
  std::unordered_set<std::int64_t> saved;
  for (const TransactionId id : save_folded_rows(session, plan.folds)) saved.insert(id.value);
  std::erase_if(plan.folds,
                [&](const FoldedState& state) { return !saved.contains(state.transaction.value); });
  for (const std::int64_t id : save_published(session, gifts, made, plan.published)) saved.insert(id);
  std::unordered_set<std::int64_t> left(plan.written.begin(), plan.written.end());
  std::erase_if(left, [&](std::int64_t id) { return saved.contains(id); });
  return left;
}

}  // namespace

std::string to_text(const PublishedState& state) {
  return std::string(to_word(state.status)) + " " + std::to_string(state.reached) + " " +
         std::to_string(state.version);
}

std::optional<PublishedState> published_state_from(std::string_view text) {
  PublishedState state;
  std::istringstream words{std::string(text)};
  std::string word;
  if (!(words >> word >> state.reached >> state.version)) return std::nullopt;
  const auto status = status_from_word(word);
  if (!status) return std::nullopt;
  state.status = *status;
  return state;
}

bool Feed::switch_to(bool is_on) {
  const auto is_due = [&](soci::session& session, const StoredFeed& feed) {
    return feed.state.is_on != is_on || (is_on && has_to_begin_again(session, feed));
  };
  if (!database_->read([&](soci::session& session) { return is_due(session, stored_feed(session)); }))
    return false;
  return database_->write([&](soci::session& session) {
    if (is_on) wait_for_unmarked_changes(session);
    lock_numbers(session);
    StoredFeed feed = stored_feed(session);
    if (!is_due(session, feed)) return false;
    const bool was_on = std::exchange(feed.state.is_on, is_on);
    const std::int64_t first = feed.state.first;
    feed.is_provisional = is_on && !was_on && has_seen_daemons(session);
    if (is_on) store::begin_epoch(session, feed.state);
    // Its readers begin again, and none of its events is passed.
    if (was_on) feed.state.first = first;
    write_feed(session, feed);
    return is_on;
  });
}

bool Feed::begin_epoch() {
  return database_->write([](soci::session& session) {
    lock_numbers(session);
    StoredFeed feed = stored_feed(session);
    if (feed.state.epoch == 0) return false;
    store::begin_epoch(session, feed.state);
    write_feed(session, feed);
    return true;
  });
}

PublishRun Feed::publish_gifts(std::int64_t after, std::size_t limit, const PublishFunction& publish) {
  const auto has_marks = [&](soci::session& session) {
    return sql::has_row(session, "feed_queue WHERE kind = 1 AND object_id > :after", use(after));
  };
  return write_if_any(*database_, has_marks, [&](soci::session& session) {
    PublishRun run;
    const TakenMarks marks = take_marks(session, FeedMarkKind::gift, after, limit);
    run.taken = marks.ids.size();
    if (marks.ids.empty()) return run;
    run.last = marks.ids.back();
    std::vector<MarkedGift> gifts = read_marked(session, marks.reasons, marks.ids);
    read_spans(session, gifts);
    std::vector<GiftPublication> made = publish(gifts);
    PublicationPlan plan = plan_of(gifts, made);
    const std::unordered_set<std::int64_t> left = write_rows(session, gifts, made, plan);
    std::vector<std::int64_t> done = marks.ids;
    std::erase_if(done, [&](std::int64_t id) { return left.contains(id); });
    delete_marks(session, FeedMarkKind::gift, done);
    std::vector<FeedEvent> events;
    for (std::size_t i = 0; i < gifts.size(); ++i) {
      if (left.contains(gifts[i].gift.transaction.id.value)) continue;
      std::move(made[i].events.begin(), made[i].events.end(), std::back_inserter(events));
    }
    insert_events(session, events);
    run.events = events.size();
    run.folded = std::move(plan.folds);
    return run;
  });
}

namespace {

/// Calls visit(row) for each object of the kind that still exists, ascending; deletes the marks. Returns how
/// many there were. `select`: a SELECT of rows o with a condition to follow.
template <class Visit>
std::size_t take_objects(soci::session& session, FeedMarkKind kind, std::size_t limit,
                         const std::string& select, Visit&& visit) {
  const TakenMarks marks = take_marks(session, kind, 0, limit);
  if (marks.ids.empty()) return 0;
  const std::string list = sql::list_of(session, marks.ids);
  {
    sql::PreparedQuery row(session, select + " ORDER BY 1");
    row.each_row({list}, [&] { visit(row, marks.reasons.at(row.integer(0))); });
  }
  delete_marks(session, kind, marks.ids);
  return marks.ids.size();
}

void add_held_events(const sql::PreparedQuery& row, std::int64_t reasons, std::vector<FeedEvent>& events) {
  FeedEvent event;
  event.object = row.integer(0);
  event.account = {row.integer(1)};
  if (!row.is_null(2)) event.organization = OrganizationId{row.integer(2)};
  event.is_test = row.integer(3) != 0;
  if ((reasons & feed_reason::kMade) != 0) {
    event.type = FeedEventType::gift_request_held;
    event.status_after = to_word(HeldState::held);
    events.push_back(event);
  }
  const std::string state(row.text(4));
  const auto decided = feed_event_type_from_word("gift_request." + state);
  if ((reasons & feed_reason::kChanged) == 0 || !decided || *decided == FeedEventType::gift_request_held)
    return;
  event.type = *decided;
  event.status_before = to_word(HeldState::held);
  event.status_after = state;
  events.push_back(event);
}

void add_record_event(const sql::PreparedQuery& row, std::vector<FeedEvent>& events) {
  const auto type = feed_event_type_from_word("request_record." + std::string(row.text(3)));
  if (!type) return;
  FeedEvent event;
  event.type = *type;
  event.record = row.text(1);
  event.status_before = row.text(2);
  event.status_after = row.text(3);
  event.account = {row.integer(4)};
  if (!row.is_null(5)) event.organization = OrganizationId{row.integer(5)};
  events.push_back(std::move(event));
}

}  // namespace

PublishRun Feed::publish_requests(std::size_t limit) {
  const auto has_marks = [](soci::session& session) {
    return sql::has_row(session, "feed_queue WHERE kind IN (2, 3)");
  };
  return write_if_any(*database_, has_marks, [&](soci::session& session) {
    PublishRun run;
    std::vector<FeedEvent> events;
    run.taken = take_objects(
        session, FeedMarkKind::held_request, limit,
        "SELECT request_id, account_id, organization_id, CASE WHEN " + held_test_condition(true) +
            " THEN 1 ELSE 0 END, state FROM held_gift_request WHERE " +
            sql::in_list(session, "request_id", "list", false),
        [&](const sql::PreparedQuery& row, std::int64_t reasons) { add_held_events(row, reasons, events); });
    run.taken += take_objects(
        session, FeedMarkKind::request_record_transition, limit,
        "SELECT t.id, t.record_id, t.from_state, t.to_state, coalesce(a.id, 0), a.organization_id FROM "
        "request_record_transition t LEFT JOIN request_record_state s ON s.record_id = t.record_id LEFT JOIN "
        "account "
        "a ON a.email = s.requested_by WHERE " +
            sql::in_list(session, "t.id", "list", false),
        [&](const sql::PreparedQuery& row, std::int64_t) { add_record_event(row, events); });
    insert_events(session, events);
    run.events = events.size();
    return run;
  });
}

FeedBacklog Feed::backlog() {
  return database_->read([](soci::session& session) {
    std::pair<std::int64_t, std::optional<UtcMillis>> row;
    const auto found =
        sql::select_rows(row, session,
                         "SELECT count(*), min(marked_at) FROM (SELECT marked_at FROM feed_queue LIMIT " +
                             std::to_string(kMaxCounted + 1) + ") counted",
                         into(row.first), into(row.second));
    return FeedBacklog{found.at(0).first, found.at(0).second};
  });
}

namespace {

/// The highest number that a read behind `after` looks at.
std::int64_t scanned_until(std::int64_t after, std::int64_t latest) {
  return std::max(after, std::min(after + kScannedEvents, latest));
}

/// But for the types.
sql::Conditions conditions_of(const FeedFilter& filter, std::int64_t after, std::int64_t last) {
  sql::Conditions conditions;
  conditions.add("seq > :after", "after", std::to_string(after));
  conditions.add("seq <= :last_one", "last_one", std::to_string(last));
  conditions.add(filter.is_test ? "is_test = 1" : "is_test = 0");
  if (filter.account)
    conditions.add("account_id = :account", "account", std::to_string(filter.account->value));
  if (filter.organization)
    conditions.add("account_id IN (SELECT id FROM account WHERE organization_id = :organization)",
                   "organization", std::to_string(filter.organization->value));
  return conditions;
}

}  // namespace

FeedState Feed::state() {
  return database_->snapshot([](soci::session& session) { return whole_state(session); });
}

FeedPage Feed::list(const FeedFilter& filter, std::int64_t after, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    // Read first: each event up to it is visible to every later statement.
    const std::int64_t latest = latest_seq(session);
    FeedPage page;
    page.last = scanned_until(after, latest);
    sql::Conditions conditions = conditions_of(filter, after, page.last);
    if (!filter.types.empty()) {
      std::vector<std::string> words;
      for (const FeedEventType type : filter.types) words.emplace_back(to_word(type));
      conditions.add(sql::in_list(session, "type", "types", true), "types", sql::list_of(session, words));
    }
    sql::PreparedQuery row(session,
                           "SELECT " + sql::select_list(kFeedEventFields) + " FROM feed_event WHERE " +
                               conditions.text + " ORDER BY seq LIMIT " + std::to_string(limit),
                           conditions.names);
    row.each_row(conditions.values, [&] { page.events.push_back(sql::read_record(kFeedEventFields, row)); });
    if (page.events.size() == limit && limit > 0) page.last = page.events.back().seq;
    page.has_more = page.last < latest;
    return page;
  });
}

ChangedGifts Feed::list_changed(const FeedFilter& filter, std::int64_t after, std::size_t limit) {
  return database_->read([&](soci::session& session) {
    const std::int64_t latest = latest_seq(session);
    ChangedGifts page;
    page.last = scanned_until(after, latest);
    sql::Conditions conditions = conditions_of(filter, after, page.last);
    // Ids of other objects may be equal to those of gifts, which alone have versions.
    conditions.add(
        "version > 0 AND NOT EXISTS (SELECT 1 FROM feed_event later WHERE later.object_id = "
        "feed_event.object_id "
        "AND later.seq > feed_event.seq AND later.version > 0)");
    sql::PreparedQuery row(session,
                           "SELECT object_id, seq FROM feed_event WHERE " + conditions.text +
                               " ORDER BY seq LIMIT " + std::to_string(limit),
                           conditions.names);
    std::int64_t seq = 0;
    row.each_row(conditions.values, [&] {
      page.gifts.push_back({row.integer(0)});
      seq = row.integer(1);
    });
    if (page.gifts.size() == limit && limit > 0) page.last = seq;
    page.has_more = page.last < latest;
    return page;
  });
}

std::vector<FeedEvent> Feed::find(const std::vector<std::int64_t>& seqs) {
  return database_->read([&](soci::session& session) {
    const std::string list = sql::list_of(session, seqs);
    return sql::find_records(kFeedEventFields, session,
                             "WHERE " + sql::in_list(session, "seq", "seqs", false) + " ORDER BY seq",
                             use(list));
  });
}

std::int64_t Feed::place_of(UtcMillis time) {
  return database_->read([&](soci::session& session) {
    const std::int64_t latest = latest_seq(session);
    const auto first = sql::first_of(sql::select_column<std::int64_t>(
        session, "SELECT seq FROM feed_event WHERE recorded_at >= :since ORDER BY recorded_at, seq LIMIT 1",
        use(time)));
    return first ? *first - 1 : latest;
  });
}

std::int64_t Feed::prune(UtcMillis before) {
  return store::prune(*database_, {"feed_event", "recorded_at"}, before);
}

}  // namespace giftsync::store
